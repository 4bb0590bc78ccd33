//! What was read once and never changes: layer facts and small documents, by the digest of what they were read from.
//!
//! One file an entry, in a directory of this machine and, where the user names one, in a store that many machines share. There
//! is no lock and no index: a file is written under a temporary name and renamed, so that a reader sees all of it or none, and
//! what is read is believed only if its checksum and its name are right. Two runs that write the same entry write the same.
//!
//! A cache never fails a run. What cannot be read is missing, what cannot be written is not kept, and of what the user named
//! expressly there is a [remark](Cache::remarks).

mod entry;
mod local;
mod shared;
mod trust;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use etcetera::{BaseStrategy, choose_base_strategy};

use crate::digest::{hexadecimal, sha256};
use crate::error::{Error, Result};
use local::Directory;
pub use local::{Kind, Stored};
use shared::Shared;

/// Bytes that the directory may hold unless the user says otherwise.
pub const DEFAULT_LIMIT: u64 = 2_000_000_000;

/// Where things are kept from one run to the next. The default keeps nothing.
///
/// It is cheap to clone and may be used by many threads, but not from asynchronous code: it waits for the shared store.
#[derive(Debug, Clone, Default)]
pub struct Cache(Option<Arc<Stores>>);

#[derive(Debug)]
struct Stores {
    directory: Option<Directory>,
    /// Whether the user named the directory, and so wants to hear of it.
    named: bool,
    shared: Option<Shared>,
    remarks: Mutex<Vec<String>>,
}

/// Where a cache keeps things.
#[derive(Debug, Clone)]
pub struct Places {
    /// The directory; `None` is `imgcheck` in the user's cache directory (XDG Base Directory Specification).
    pub directory: Option<PathBuf>,
    /// URL of a store that is asked for what the directory lacks, and is given what it gets.
    pub shared: Option<String>,
    /// Bytes that the directory may hold. What was not used for longest goes first.
    pub limit: u64,
}

impl Default for Places {
    fn default() -> Self {
        Places {
            directory: None,
            shared: None,
            limit: DEFAULT_LIMIT,
        }
    }
}

/// What is kept, and under which name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// Facts of the layer with this diff id.
    Facts {
        /// `sha256:…` of the uncompressed layer.
        diff_id: String,
        /// Names the code, the data and the depth that made the facts: 16 hexadecimal digits.
        version: String,
    },
    /// A manifest or configuration: the bytes with this digest. They are verified whenever they are read.
    Document {
        /// `sha256:…` of the bytes.
        digest: String,
    },
}

impl Key {
    /// The name of the file. `None` for what is no digest: an image may claim anything.
    fn name(&self) -> Option<String> {
        match self {
            Key::Facts { diff_id, version } => {
                let hex = hexadecimal(diff_id)?;
                is_version(version).then(|| format!("facts-{version}-{hex}"))
            }
            Key::Document { digest } => hexadecimal(digest).map(|hex| format!("document-{hex}")),
        }
    }

    /// Whether the bytes are what the key names, as far as it can tell.
    fn names(&self, bytes: &[u8]) -> bool {
        match self {
            Key::Facts { .. } => true,
            Key::Document { digest } => sha256(bytes) == *digest,
        }
    }
}

/// Whether a text can be the version of a key.
fn is_version(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl Cache {
    /// A cache at these places; nothing is created or reached before it is needed. Without a directory of the user (no `HOME`)
    /// only the shared store is used.
    ///
    /// # Errors
    /// [`Error::Usage`] for a URL that names no kind of store.
    pub fn open(places: &Places) -> Result<Self> {
        let directory = match &places.directory {
            Some(directory) => Some(directory.clone()),
            None => choose_base_strategy()
                .ok()
                .map(|base| base.cache_dir().join("imgcheck")),
        };
        Ok(Cache(Some(Arc::new(Stores {
            directory: directory.map(|path| Directory::new(path, places.limit)),
            named: places.directory.is_some(),
            shared: places.shared.as_deref().map(Shared::new).transpose()?,
            remarks: Mutex::default(),
        }))))
    }

    /// What is kept under the key. Nothing where it is missing, damaged or cannot be read.
    ///
    /// The directory is asked first; what only the shared store has is copied into it.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let stores = self.0.as_deref()?;
        let name = key.name()?;
        let read = |sealed: &[u8]| entry::unseal(&name, sealed).filter(|it| key.names(it));
        let own = stores.directory.as_ref().and_then(|it| it.get(&name));
        own.and_then(|sealed| read(&sealed)).or_else(|| {
            let sealed = stores.get_shared(&name)?;
            let bytes = read(&sealed)?;
            stores.put_own(&name, &sealed);
            Some(bytes)
        })
    }

    /// Keeps the bytes under the key, or does not where that is impossible.
    pub fn put(&self, key: &Key, bytes: &[u8]) {
        if let (Some(stores), Some(name)) = (self.0.as_deref(), key.name())
            && let Some(sealed) = entry::seal(&name, bytes)
        {
            stores.put_own(&name, &sealed);
            stores.put_shared(&name, sealed);
        }
    }

    /// Removes what this process has half written. To be called when it is about to end in the middle.
    pub fn abandon(&self) {
        if let Some(directory) = self.0.as_deref().and_then(|it| it.directory.as_ref()) {
            directory.abandon();
        }
    }

    /// What the user should know since this was last asked: each a sentence on why a place that he named is not used.
    pub fn remarks(&self) -> Vec<String> {
        let Some(stores) = self.0.as_deref() else {
            return Vec::new();
        };
        std::mem::take(
            &mut *stores
                .remarks
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// The directory of this machine, if there is one.
    pub fn directory(&self) -> Option<&Path> {
        let directory = self.0.as_deref()?.directory.as_ref()?;
        Some(directory.path())
    }

    /// The address of the shared store, without passwords.
    pub fn shared(&self) -> Option<&str> {
        let shared = self.0.as_deref()?.shared.as_ref()?;
        Some(shared.address())
    }

    /// What the directory of this machine holds.
    ///
    /// # Errors
    /// [`Error::Source`] if the directory is there and cannot be read.
    pub fn list(&self) -> Result<Vec<Stored>> {
        let Some(directory) = self.0.as_deref().and_then(|it| it.directory.as_ref()) else {
            return Ok(Vec::new());
        };
        let listed = directory.list();
        listed.map_err(|error| unusable(directory.path(), error))
    }

    /// Removes from the directory of this machine what the condition chooses, and what killed runs left. Returns what was removed.
    ///
    /// # Errors
    /// [`Error::Source`] if the directory cannot be read, or a file in it not removed.
    pub fn clean(&self, condition: impl Fn(&Stored) -> bool) -> Result<Vec<Stored>> {
        let Some(directory) = self.0.as_deref().and_then(|it| it.directory.as_ref()) else {
            return Ok(Vec::new());
        };
        let cleaned = directory.clean(condition);
        cleaned.map_err(|error| unusable(directory.path(), error))
    }
}

impl Stores {
    fn put_own(&self, name: &str, sealed: &[u8]) {
        let Some(directory) = &self.directory else {
            return;
        };
        if let Err(error) = directory.put(name, sealed)
            && self.named
        {
            let place = directory.path().display();
            self.remark(format!("nothing is kept in the cache {place}: {error}"));
        }
    }

    fn get_shared(&self, name: &str) -> Option<Vec<u8>> {
        let read = self.shared.as_ref()?.get(name);
        read.unwrap_or_else(|problem| {
            self.remark(problem);
            None
        })
    }

    fn put_shared(&self, name: &str, sealed: Vec<u8>) {
        if let Some(shared) = &self.shared
            && let Err(problem) = shared.put(name, sealed)
        {
            self.remark(problem);
        }
    }

    fn remark(&self, text: String) {
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        remarks.push(text);
    }
}

fn unusable(directory: &Path, error: std::io::Error) -> Error {
    Error::io(directory.display().to_string(), error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn facts(diff_id: &str, version: &str) -> Key {
        Key::Facts {
            diff_id: diff_id.to_owned(),
            version: version.to_owned(),
        }
    }

    #[test]
    fn only_digests_are_names() {
        let digest = sha256(b"");
        assert!(facts(&digest, "0123456789abcdef").name().is_some());
        for (diff_id, version) in [
            ("sha256:../../../etc/passwd", "0123456789abcdef"),
            ("", "0123456789abcdef"),
            (digest.as_str(), "../456789abcdef/"),
            (digest.as_str(), ""),
        ] {
            assert_eq!(facts(diff_id, version).name(), None);
        }
        let digest = "sha256:/".to_owned();
        assert_eq!(Key::Document { digest }.name(), None);
    }

    #[test]
    fn a_document_is_what_its_digest_says() {
        let scratch = tempfile::tempdir().unwrap();
        let cache = Cache::open(&Places {
            directory: Some(scratch.path().to_owned()),
            ..Places::default()
        });
        let cache = cache.unwrap();
        let key = Key::Document {
            digest: sha256(b"{}"),
        };
        cache.put(&key, b"{ }");
        assert_eq!(cache.get(&key), None);
        cache.put(&key, b"{}");
        assert_eq!(cache.get(&key).unwrap(), b"{}");
        assert!(cache.remarks().is_empty());
    }

    #[test]
    fn the_default_keeps_nothing() {
        let cache = Cache::default();
        let key = Key::Document {
            digest: sha256(b"{}"),
        };
        cache.put(&key, b"{}");
        assert_eq!(cache.get(&key), None);
        assert!(cache.list().unwrap().is_empty() && cache.clean(|_| true).unwrap().is_empty());
    }
}
