//! A cache of layer facts and small documents, by the digest of what they were read from.
//!
//! There is one file per entry, in a directory of this machine and, if the user names one, in a store that several machines share.
//! There is no lock and no index: a file is written under a temporary name and renamed, so a reader sees all of it or nothing. An entry
//! is used only if its checksum and name are right. Two runs that write the same entry write the same bytes.
//!
//! A cache never fails a run: an entry that cannot be read is missing, one that cannot be written is dropped. Problems with places that
//! the user named are [warnings](Cache::warnings).

mod entry;
mod key;
mod local;
mod shared;
mod signature;
mod trust;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use etcetera::{BaseStrategy, choose_base_strategy};

use crate::object_storage::ObjectStorage;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::unit::Unit;
pub use key::{CacheEntryKind, Key};
pub use local::CacheEntry;
use local::Directory;
use shared::Shared;
pub use signature::CacheKey;

/// Default maximum size of the directory in bytes.
pub const DEFAULT_LIMIT: u64 = 2_000_000_000;

/// A cache. The default one stores nothing.
///
/// It is cheap to clone and can be used from several threads, but not from asynchronous code: it blocks on the shared store.
#[derive(Debug, Clone, Default)]
pub struct Cache {
    stores: Option<Arc<Stores>>,
    cancellation: Cancellation,
}

#[derive(Debug)]
struct Stores {
    directory: Option<Directory>,
    /// Whether the user named the directory, and wants to know about problems with it.
    named: bool,
    shared: Option<Shared>,
    key: Option<CacheKey>,
    warnings: Mutex<Vec<String>>,
}

/// Where a cache stores entries.
#[derive(Debug, Clone)]
pub struct CacheOptions {
    /// The directory; `None` is `imgcheck` in the user's cache directory (XDG Base Directory Specification).
    pub directory: Option<PathBuf>,
    /// URL of a shared store, which provides entries that the directory lacks, and receives all new entries. It is used only with a key,
    /// or if it is a directory that others cannot write to.
    pub shared: Option<String>,
    /// The key that signs entries of the shared store.
    pub key: Option<CacheKey>,
    /// Maximum size of the directory in bytes. The least recently used entries are removed first.
    pub limit: u64,
}

impl Default for CacheOptions {
    fn default() -> Self {
        CacheOptions {
            directory: None,
            shared: None,
            key: None,
            limit: DEFAULT_LIMIT,
        }
    }
}

impl CacheOptions {
    /// A size as the command line takes it: `500MB`, `2GiB`. `None` if it is not one.
    pub fn parse_size(text: &str) -> Option<u64> {
        Unit::Bytes.parse(text)
    }
}

impl Cache {
    /// Opens a cache; files and connections are created on demand. Without a directory (no `HOME`), only the shared store is used.
    ///
    /// # Errors
    /// [`Error::Usage`] for a URL that is not that of a store.
    pub fn open(options: &CacheOptions) -> Result<Self> {
        let directory = match &options.directory {
            Some(directory) => Some(directory.clone()),
            None => choose_base_strategy()
                .ok()
                .map(|base| base.cache_dir().join("imgcheck")),
        };
        let mut stores = Stores {
            directory: directory.map(|path| Directory::new(path, options.limit)),
            named: options.directory.is_some(),
            shared: options.shared.as_deref().map(Shared::new).transpose()?,
            key: options.key.clone(),
            warnings: Mutex::default(),
        };
        stores.refuse_untrusted();
        Ok(Cache {
            stores: Some(Arc::new(stores)),
            cancellation: Cancellation::default(),
        })
    }

    /// The store of a sweep: it takes the place of the directory, and nothing works without it. Its failures are
    /// [warnings](Self::warnings) each time.
    ///
    /// # Errors
    /// [`Error::Usage`] for a URL that is not that of a store, and for a store that others may write to if there is no key.
    pub fn in_store(url: &str, key: Option<CacheKey>) -> Result<Self> {
        let shared = Shared::required(url)?;
        if key.is_none()
            && let Some(problem) = shared.distrust()
        {
            let problem = format!("the store {}: {problem}", shared.objects.address());
            let help = "sign its entries: --store-key FILE, a file with 32 random bytes or more that all workers have";
            return Err(Error::usage(problem).with_help(help));
        }
        let stores = Stores {
            directory: None,
            named: false,
            shared: Some(shared),
            key,
            warnings: Mutex::default(),
        };
        Ok(Cache {
            stores: Some(Arc::new(stores)),
            cancellation: Cancellation::default(),
        })
    }

    /// The objects of the shared store.
    pub fn objects(&self) -> Option<&ObjectStorage> {
        let stores = self.stores.as_deref()?;
        stores.shared.as_ref().map(|it| &it.objects)
    }

    /// The same cache for a request that can be cancelled: then it no longer waits for the shared store.
    #[must_use]
    pub fn with_cancellation(&self, cancellation: &Cancellation) -> Self {
        Cache {
            stores: self.stores.clone(),
            cancellation: cancellation.clone(),
        }
    }

    /// Reads an entry; `None` if it is missing, damaged or cannot be read.
    ///
    /// The directory comes first; an entry that only the shared store has is copied into it.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let stores = self.stores.as_deref()?;
        let name = key.name()?;
        let read = |sealed: &[u8]| entry::unseal(&name, sealed).filter(|it| key.accepts(it));
        let own = stores.directory.as_ref().and_then(|it| it.get(&name));
        own.and_then(|sealed| read(&sealed)).or_else(|| {
            let shared = || stores.get_shared(&name, &self.cancellation);
            let sealed = key.is_shared().then(shared).flatten()?;
            let bytes = read(&sealed)?;
            stores.put_own(&name, &sealed);
            Some(bytes)
        })
    }

    /// Writes an entry if possible.
    pub fn put(&self, key: &Key, bytes: &[u8]) {
        if let (Some(stores), Some(name)) = (self.stores.as_deref(), key.name())
            && let Some(sealed) = entry::seal(&name, bytes)
        {
            stores.put_own(&name, &sealed);
            if key.is_shared() {
                stores.put_shared(&name, sealed, &self.cancellation);
            }
        }
    }

    /// Removes what this process has half written. To be called before the process is ended.
    pub fn abandon(&self) {
        if let Some(directory) = self.stores.as_deref().and_then(|it| it.directory.as_ref()) {
            directory.abandon();
        }
    }

    /// Warnings since the last call: why a directory or store that the user named is not used.
    pub fn warnings(&self) -> Vec<String> {
        let Some(stores) = self.stores.as_deref() else {
            return Vec::new();
        };
        std::mem::take(
            &mut *stores
                .warnings
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// The directory of this machine.
    pub fn directory(&self) -> Option<&Path> {
        let directory = self.stores.as_deref()?.directory.as_ref()?;
        Some(directory.path())
    }

    /// The URL of the shared store, without credentials.
    pub fn shared(&self) -> Option<&str> {
        let shared = self.stores.as_deref()?.shared.as_ref()?;
        Some(shared.objects.address())
    }

    /// All entries in the directory of this machine.
    ///
    /// # Errors
    /// [`Error::Source`] if the directory exists and cannot be read.
    pub fn list(&self) -> Result<Vec<CacheEntry>> {
        let Some(directory) = self.stores.as_deref().and_then(|it| it.directory.as_ref()) else {
            return Ok(Vec::new());
        };
        let listed = directory.list();
        listed.map_err(|error| unusable(directory.path(), error))
    }

    /// Removes the entries that fulfill the condition from the directory of this machine, and files that killed runs left. Returns the
    /// removed entries.
    ///
    /// # Errors
    /// [`Error::Source`] if the directory cannot be read or a file cannot be removed.
    pub fn clean(&self, condition: impl Fn(&CacheEntry) -> bool) -> Result<Vec<CacheEntry>> {
        let Some(directory) = self.stores.as_deref().and_then(|it| it.directory.as_ref()) else {
            return Ok(Vec::new());
        };
        let cleaned = directory.clean(condition);
        cleaned.map_err(|error| unusable(directory.path(), error))
    }
}

impl Stores {
    /// Whoever writes an entry decides what is believed about a layer.
    fn refuse_untrusted(&mut self) {
        if self.key.is_none()
            && let Some(problem) = self.shared.as_ref().and_then(Shared::distrust)
            && let Some(shared) = self.shared.take()
        {
            let address = shared.objects.address();
            self.warn(format!(
                "the shared cache {address} is not used: {problem}; sign its entries with --cache-key"
            ));
        }
    }

    fn put_own(&self, name: &str, sealed: &[u8]) {
        let Some(directory) = &self.directory else {
            return;
        };
        if let Err(error) = directory.put(name, sealed)
            && self.named
        {
            let place = directory.path().display();
            self.warn(format!("nothing is written to the cache {place}: {error}"));
        }
    }

    fn get_shared(&self, name: &str, cancellation: &Cancellation) -> Option<Vec<u8>> {
        let read = self.shared.as_ref()?.get(name, cancellation);
        let entry = read.unwrap_or_else(|problem| {
            self.warn(problem);
            None
        })?;
        match &self.key {
            Some(key) => key.verify(name, &entry),
            None => Some(entry),
        }
    }

    fn put_shared(&self, name: &str, sealed: Vec<u8>, cancellation: &Cancellation) {
        let entry = match &self.key {
            Some(key) => key.sign(name, &sealed),
            None => Some(sealed),
        };
        if let (Some(shared), Some(entry)) = (&self.shared, entry)
            && let Err(problem) = shared.put(name, entry, cancellation)
        {
            self.warn(problem);
        }
    }

    fn warn(&self, text: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.push(text);
    }
}

fn unusable(directory: &Path, error: std::io::Error) -> Error {
    Error::io(directory.display().to_string(), error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use imgcheck_base::digest::sha256;

    #[test]
    fn a_document_must_have_its_digest() {
        let scratch = tempfile::tempdir().unwrap();
        let cache = Cache::open(&CacheOptions {
            directory: Some(scratch.path().to_owned()),
            ..CacheOptions::default()
        });
        let cache = cache.unwrap();
        let key = Key::Document {
            digest: sha256(b"{}"),
        };
        cache.put(&key, b"{ }");
        assert_eq!(cache.get(&key), None);
        cache.put(&key, b"{}");
        assert_eq!(cache.get(&key).unwrap(), b"{}");
        assert!(cache.warnings().is_empty());
    }

    #[test]
    fn the_default_cache_stores_nothing() {
        let cache = Cache::default();
        let key = Key::Document {
            digest: sha256(b"{}"),
        };
        cache.put(&key, b"{}");
        assert_eq!(cache.get(&key), None);
        assert!(cache.list().unwrap().is_empty() && cache.clean(|_| true).unwrap().is_empty());
    }
}
