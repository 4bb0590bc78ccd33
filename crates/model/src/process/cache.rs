//! `/etc/ld.so.cache` and what `ldconfig` would write, as facts.

use super::cause;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::facts::{CacheFacts, LoaderFacts};
use imgcheck_image::{Node, RootFilesystem};
use imgcheck_loader::System;
use imgcheck_loader::abi::Abi;
use imgcheck_loader::cache::Cache;
use imgcheck_loader::ldconfig::{
    self, CacheState, DirectoryOrigin, Rebuilt, Staleness, system_directories,
};

/// The cache of an image, and the one that `ldconfig` would write.
pub(super) struct Index<'s> {
    rebuilt: Rebuilt<'s>,
    staleness: Staleness,
    /// The built-in directories of `ldconfig`. NVIDIA's container toolkit mounts the driver's libraries into one of them.
    system: Vec<String>,
}

/// A file of the image that takes the place of a library of the host.
pub(super) struct Substitute<'i> {
    /// The path that the loader finds.
    pub path: &'i str,
    /// The file there.
    pub node: Node<'i>,
    /// Where its directory is configured: `/etc/ld.so.conf.d/cuda.conf:1`.
    pub origin: String,
}

impl<'s> Index<'s> {
    /// `None` for an image without a process whose glibc reads the cache.
    pub fn of(
        root: &'s RootFilesystem<'s>,
        mut systems: impl Iterator<Item = &'s System<'s>>,
    ) -> Option<Self> {
        let (abi, glibc) = systems.find_map(|system| {
            let abi = Abi::of(system.machine, system.class)?;
            Some((abi, system.glibc?)).filter(|_| system.uses_system_cache())
        })?;
        let rebuilt = ldconfig::rebuild(root, abi, glibc);
        let staleness = ldconfig::staleness(root, &rebuilt);
        Some(Index {
            rebuilt,
            staleness,
            system: system_directories(root, abi).collect(),
        })
    }

    /// The file that answers to a name, once `ldconfig` has run in a container that has the libraries of the host; `None` if no file of
    /// the image does, or if the host's comes first. Of equal names, the cache has that of the directory that is configured first.
    pub fn substitute(&self, name: &str) -> Option<Substitute<'_>> {
        if !self.rebuilt.complete {
            return None;
        }
        let entries = &self.rebuilt.cache.entries;
        let at = entries.iter().position(|entry| entry.name == name)?;
        let path = entries[at].path.as_str();
        let configured = &self.rebuilt.configuration.directories;
        let place = |directory: &str| configured.iter().position(|it| it.path == directory);
        let own = place(path.rsplit_once('/')?.0)?;
        let of_host = self.system.iter().filter_map(|it| place(it)).min();
        if of_host.is_some_and(|host| host <= own) {
            return None;
        }
        let DirectoryOrigin::File { path: file, line } = &configured[own].origin else {
            return None;
        };
        Some(Substitute {
            path,
            node: self.rebuilt.files[at],
            origin: format!("{file}:{line}"),
        })
    }

    /// Whether a directory is one into which the host's libraries are mounted.
    pub fn is_of_system(&self, directory: &str) -> bool {
        let directory = directory.trim_end_matches('/');
        self.system.iter().any(|it| it == directory)
    }

    /// The cache after `ldconfig`, if it differs. NVIDIA's container toolkit writes one even if the image has none
    /// (internal/ldconfig/ldconfig.go, `UpdateLDCache`).
    pub fn changed(&self) -> Option<Rc<Cache>> {
        let differs = self.rebuilt.complete && self.staleness.state != CacheState::Current;
        differs.then(|| Rc::new(self.rebuilt.cache.clone()))
    }

    fn facts(&self) -> CacheFacts {
        let staleness = &self.staleness;
        let state = match staleness.state {
            CacheState::Current => cause::CacheState::Current,
            CacheState::Missing => cause::CacheState::Missing,
            CacheState::Stale => cause::CacheState::Stale,
            CacheState::Corrupt => cause::CacheState::Corrupt,
        };
        let mut facts = CacheFacts {
            state,
            layer: staleness.layer,
            ..CacheFacts::default()
        };
        if self.rebuilt.complete {
            let unlisted = staleness.missing.iter().map(|it| it.entry.path.clone());
            facts.unlisted = unlisted.collect();
            facts.dangling = staleness
                .dangling
                .iter()
                .map(|it| it.path.clone())
                .collect();
            facts.dropped = staleness.dropped.iter().map(|it| it.path.clone()).collect();
        } else {
            facts.incomplete = true;
            if staleness.state == CacheState::Stale {
                facts.state = cause::CacheState::Unknown;
            }
        }
        facts
    }
}

/// Adds the facts of the cache, and for each library that a process which reads the cache misses the file that would be found after
/// `ldconfig`.
pub(super) fn add(index: Option<&Index>, processes: &HashSet<&str>, facts: &mut LoaderFacts) {
    facts.cache = index.map(Index::facts);
    let answers = answers(index.map(|index| &index.rebuilt));
    for missing in facts.missing.iter_mut().filter(|it| it.broken.is_empty()) {
        if processes.contains(missing.context.process.as_str()) {
            let answer = answers.get(missing.library.as_str());
            missing.after_ldconfig = answer.copied().unwrap_or_default().to_owned();
        }
    }
}

/// The file that would answer to each name after `ldconfig`.
fn answers<'c>(rebuilt: Option<&'c Rebuilt>) -> HashMap<&'c str, &'c str> {
    let mut answers = HashMap::new();
    for entry in rebuilt.into_iter().flat_map(|it| &it.cache.entries) {
        answers.entry(entry.name.as_str()).or_insert(&*entry.path);
    }
    answers
}
