//! Layer facts in the cache.
//!
//! They are encoded with postcard, which does not write names of fields. The version in the key ensures that only a program with the
//! same code reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::patterns::Capture;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::{self, Limit, Limits};
use imgcheck_elf::Depth;
use imgcheck_image::{Entry, LayerFacts};
use imgcheck_python::ModuleFacts;
use imgcheck_source::cache::{Cache, Key};

/// A hash of the code and data that compute facts; see `build.rs`.
const CODE: &str = env!("IMGCHECK_FACTS_CODE");

/// The facts of Python sources, by the index of their entry.
pub(crate) type ParsedModules = BTreeMap<u32, ModuleFacts>;

/// Layer facts of earlier runs.
#[derive(Debug, Clone)]
pub struct FactsCache {
    cache: Cache,
    version: String,
    /// If there are some, only the entries with these paths are stored.
    paths: Arc<BTreeSet<String>>,
}

impl FactsCache {
    /// Facts as this program computes them at this depth within these limits.
    pub fn new(cache: Cache, depth: Depth, limits: &Limits) -> Self {
        FactsCache {
            cache,
            version: version(depth, limits),
            paths: Arc::default(),
        }
    }

    /// Facts of which only these paths are captured; the other entries are not stored.
    pub(crate) fn of_paths(&self, paths: &BTreeMap<String, Capture>) -> Self {
        let computed_with = format!("{} {paths:?}", self.version);
        FactsCache {
            cache: self.cache.clone(),
            version: format!("{:016x}", xxh3_64(computed_with.as_bytes())),
            paths: Arc::new(paths.keys().cloned().collect()),
        }
    }

    /// Whether all entries of a layer are stored.
    pub(crate) fn has_all_entries(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether a blob with this digest was read, and its uncompressed bytes have this diff id. That a configuration says so proves nothing.
    pub fn is_verified(&self, digest: &str, diff_id: &str) -> bool {
        // The digest of an uncompressed layer is its diff id.
        digest == diff_id || self.cache.get(&verified(digest, diff_id)).is_some()
    }

    /// Remembers that a blob with this digest has this diff id.
    pub fn put_verified(&self, digest: &str, diff_id: &str) {
        if digest != diff_id {
            self.cache.put(&verified(digest, diff_id), &[]);
        }
    }

    /// The facts of the layer with this diff id, if the cache has them.
    pub fn get(&self, diff_id: &str) -> Option<LayerFacts> {
        let bytes = self.cache.get(&self.key(diff_id))?;
        match postcard::take_from_bytes(&bytes) {
            Ok((facts, [])) => Some(facts),
            _ => None,
        }
    }

    /// Stores facts that were read from bytes that have this diff id.
    ///
    /// # Errors
    /// The facts cannot be encoded, which is a mistake in their types. A cache that cannot be written is not an error.
    pub fn put(&self, diff_id: &str, facts: &LayerFacts) -> Result<()> {
        let bytes = match self.paths.is_empty() {
            true => postcard::to_stdvec(facts),
            false => {
                let stored = |entry: &&Entry| self.paths.contains(&entry.path);
                let entries = facts.entries.iter().filter(stored).cloned().collect();
                postcard::to_stdvec(&LayerFacts { entries })
            }
        };
        let bytes = bytes.map_err(|error| Error::output(format!("facts of {diff_id}"), error))?;
        self.cache.put(&self.key(diff_id), &bytes);
        Ok(())
    }

    /// The facts of the Python sources of the layer with this diff id, if the cache has them.
    pub(crate) fn modules(&self, diff_id: &str) -> Option<ParsedModules> {
        let bytes = self.cache.get(&self.modules_key(diff_id))?;
        match postcard::take_from_bytes(&bytes) {
            Ok((modules, [])) => Some(modules),
            _ => None,
        }
    }

    /// Stores the facts of the Python sources of a layer that has this diff id.
    ///
    /// # Errors
    /// Same as [`put`](Self::put).
    pub(crate) fn put_modules(&self, diff_id: &str, modules: &ParsedModules) -> Result<()> {
        let bytes = postcard::to_stdvec(modules);
        let bytes = bytes.map_err(|error| Error::output(format!("modules of {diff_id}"), error))?;
        self.cache.put(&self.modules_key(diff_id), &bytes);
        Ok(())
    }

    fn modules_key(&self, diff_id: &str) -> Key {
        Key::Modules {
            diff_id: diff_id.to_owned(),
            version: self.version.clone(),
        }
    }

    fn key(&self, diff_id: &str) -> Key {
        Key::Facts {
            diff_id: diff_id.to_owned(),
            version: self.version.clone(),
        }
    }
}

fn verified(digest: &str, diff_id: &str) -> Key {
    Key::Verified {
        digest: digest.to_owned(),
        diff_id: diff_id.to_owned(),
    }
}

/// The version of the facts, as in [`Key::Facts`]: depends on the code, the built-in data, the depth, and the limits that a layer can
/// exceed, so that what was read within large limits is not used within smaller ones.
pub fn version(depth: Depth, limits: &Limits) -> String {
    version_of(CODE, depth, limits, |limit| limit.applies_to_layers())
}

/// The version of what this code computes at this depth within the limits that it depends on.
pub fn version_of(
    code: &str,
    depth: Depth,
    limits: &Limits,
    depends_on: impl Fn(&Limit) -> bool,
) -> String {
    let limits = limits::ALL
        .iter()
        .filter(|it| depends_on(it))
        .map(|it| limits.of(*it));
    let limits: Vec<u64> = limits.collect();
    let computed_with = format!("{code} {depth:?} {limits:?}");
    format!("{:016x}", xxh3_64(computed_with.as_bytes()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use imgcheck_elf::Refusal;
    use imgcheck_elf::facts::*;
    use imgcheck_image::{Content, Entry, EntryKind};

    fn entry(path: &str, kind: EntryKind) -> Entry {
        Entry {
            path: path.to_owned(),
            kind,
            size: u64::MAX,
            mode: 0o4755,
            owner: Default::default(),
        }
    }

    /// Every variant of every type, and no field at its default.
    fn all_kinds() -> LayerFacts {
        let text = |text: &str| Some(text.to_owned());
        let import = |version, weak, bound| Import {
            name: "_ZN3c104cuda9SetDeviceEa".into(),
            version,
            weak,
            bound,
        };
        let counts = || vec![("sm_90a".to_owned(), 4)];
        let elf = ElfFacts {
            class: 64,
            machine: 62,
            object_type: 3,
            refusal: Some(Refusal::Padding),
            soname: text("libc.so.6"),
            needed: vec!["libm.so.6".to_owned(), "libdl.so.2".to_owned()],
            rpath: text("$ORIGIN"),
            runpath: text(""),
            flags: 8,
            flags_1: u64::MAX,
            interpreter: text("/lib64/ld-linux-x86-64.so.2"),
            build_id: text("00ff"),
            executable_stack: Some(false),
            version_needs: vec![VersionNeed {
                file: "libc.so.6".to_owned(),
                versions: vec![("GLIBC_2.2.5".to_owned(), true)],
            }],
            version_definitions: vec!["V1".to_owned()],
            symbol_versions: true,
            exports: Exports::of(&[("f", Some("V1")), ("g", None)]),
            imports: [
                import(None, false, Bound::Never),
                import(Some(0), true, Bound::Lazy),
                import(Some(u16::MAX), false, Bound::Now),
            ]
            .into_iter()
            .collect(),
            identity: Some(Identity {
                library: "cudnn".to_owned(),
                part: text("graph"),
                readings: [ReadingKind::Code, ReadingKind::String]
                    .map(|kind| Reading {
                        fact: "version".to_owned(),
                        value: "9.10.2".to_owned(),
                        kind,
                        detail: "cudnnGetVersion".to_owned(),
                    })
                    .into(),
            }),
            gpu: Some(GpuCode {
                sampled: true,
                containers: 1,
                entries: 2,
                sass: counts(),
                ptx: counts(),
                ptx_isa: vec![("compute_90".to_owned(), "8.7".to_owned())],
                lto: counts(),
                bytes: vec![("sm_80 sm_90".to_owned(), 1 << 40)],
                damaged: true,
            }),
        };
        let contents = [
            Content::Unread,
            Content::Text("ID=debian\n\u{fffd}".to_owned()),
            Content::Bytes(vec![0, 0xff]),
            Content::Elf(Box::default()),
            Content::Elf(Box::new(elf)),
            Content::BrokenElf {
                problem: "no dynamic section".to_owned(),
                refusal: Some(Refusal::NoOpen),
            },
        ];
        let kinds = [
            EntryKind::Directory,
            EntryKind::Symlink("../lib".to_owned()),
            EntryKind::HardLink("usr/lib".to_owned()),
            EntryKind::Special,
            EntryKind::Whiteout,
            EntryKind::Opaque,
            EntryKind::WhiteoutDevice,
        ];
        let files = contents.map(|content| entry("usr/lib/\\xff", EntryKind::File(content)));
        let entries = kinds.map(|kind| entry("", kind)).into_iter().chain(files);
        LayerFacts {
            entries: entries.collect(),
        }
    }

    #[test]
    fn all_kinds_of_facts_survive_the_cache() {
        let scratch = tempfile::tempdir().unwrap();
        let places = imgcheck_source::cache::CacheOptions {
            directory: Some(scratch.path().to_owned()),
            ..imgcheck_source::cache::CacheOptions::default()
        };
        let limits = Limits::default();
        let cache = FactsCache::new(Cache::open(&places).unwrap(), Depth::Default, &limits);
        let diff_id = imgcheck_base::digest::sha256(b"a layer");
        assert_eq!(cache.get(&diff_id), None);
        cache.put(&diff_id, &all_kinds()).unwrap();
        assert_eq!(cache.get(&diff_id), Some(all_kinds()));
        assert_eq!(
            cache.get(&imgcheck_base::digest::sha256(b"another layer")),
            None
        );
    }

    #[test]
    fn damaged_bytes_are_errors_not_panics() {
        let bytes = postcard::to_stdvec(&all_kinds()).unwrap();
        for at in 0..bytes.len() {
            assert!(postcard::from_bytes::<LayerFacts>(&bytes[..at]).is_err());
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            let _ = postcard::from_bytes::<LayerFacts>(&damaged);
        }
    }

    #[test]
    fn the_version_depends_on_depth_and_limits() {
        let default = version(Depth::Default, &Limits::default());
        assert_ne!(version(Depth::Deep, &Limits::default()), default);
        let mut limits = Limits::default();
        limits.set(Limit::Time, 7);
        assert_eq!(version(Depth::Default, &limits), default);
        limits.set(Limit::Symbols, 7);
        assert_ne!(version(Depth::Default, &limits), default);
    }
}
