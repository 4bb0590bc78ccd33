//! The table of modules.

use std::collections::{BTreeMap, BTreeSet};

use imgcheck_base::version::requirement::normalized;
use serde::Deserialize;

/// What the import of a module rests on besides files: `rules/knowledge/python-modules.yaml`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knowledge {
    /// Modules that an interpreter may contain.
    pub(super) builtin: BTreeSet<String>,
    /// Modules of the standard library with a source.
    standard: BTreeSet<String>,
    /// The first release of Python without a module.
    removed: BTreeMap<String, String>,
    finders: Vec<Finder>,
    /// The distribution of a module whose name is another.
    distributions: BTreeMap<String, String>,
}

/// Modules that a package finds by other means than files.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Finder {
    package: String,
    module: String,
    #[allow(dead_code, reason = "for readers of the table")]
    source: String,
}

impl Knowledge {
    pub(super) fn finders(&self) -> Vec<(String, String)> {
        let finders = self.finders.iter();
        let finders = finders.map(|it| (it.package.clone(), it.module.clone()));
        finders.collect()
    }

    /// The modules of the standard library of a release of Python.
    pub(super) fn optional(&self, release: (u32, u32)) -> BTreeSet<String> {
        let is_there = |name: &&String| {
            let removed = self.removed.get(*name).and_then(|it| it.split_once('.'));
            let numbers = removed.and_then(|it| Some((it.0.parse().ok()?, it.1.parse().ok()?)));
            numbers.is_none_or(|it: (u32, u32)| release < it)
        };
        let all = self.standard.iter().chain(self.removed.keys());
        all.filter(is_there).cloned().collect()
    }

    /// The release of Python that removed a module from the standard library.
    pub(super) fn removed(&self, module: &str) -> Option<&String> {
        self.removed.get(module)
    }

    /// The distribution that a module is usually from, by normalized name (PEP 503).
    pub(super) fn distribution_of(&self, module: &str) -> String {
        let ends = module.match_indices('.').map(|(at, _)| at);
        let mut names = ends.chain([module.len()]).map(|end| &module[..end]);
        let known = names.find_map(|name| self.distributions.get(name));
        let top = module.split('.').next().unwrap_or_default();
        known.cloned().unwrap_or_else(|| normalized(top))
    }
}
