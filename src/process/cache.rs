//! `/etc/ld.so.cache` and what `ldconfig` would write, as facts.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::facts::{CacheFacts, LoaderFacts};
use crate::image::RootFilesystem;
use crate::loader::System;
use crate::loader::abi::Abi;
use crate::loader::cache::Cache;
use crate::loader::ldconfig::{self, CacheState, Rebuilt, Staleness};

/// The cache of an image, and the one that `ldconfig` would write.
pub(super) struct Index<'s> {
    rebuilt: Rebuilt<'s>,
    staleness: Staleness,
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
        Some(Index { rebuilt, staleness })
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
            CacheState::Current => "current",
            CacheState::Missing => "missing",
            CacheState::Stale => "stale",
            CacheState::Corrupt => "corrupt",
        };
        let mut facts = CacheFacts {
            state: state.to_owned(),
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
                facts.state = "unknown".to_owned();
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
