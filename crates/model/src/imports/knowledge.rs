//! The table of modules.

use std::collections::{BTreeMap, BTreeSet};

use imgcheck_base::version::requirement::normalized;
use imgcheck_base::version::{is_since, is_until};
use imgcheck_python::run::{Brought, NativeNames};
use serde::Deserialize;

/// What the import of a module rests on besides files: `rules/knowledge/python-modules.yaml`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knowledge {
    /// Modules that an interpreter may contain.
    pub(super) builtin: BTreeSet<String>,
    /// Those of them that a build may have as files of its own.
    pub(super) extensions: BTreeSet<String>,
    /// The modules of the standard library that need an extension module, for those that many images leave out: all others are for many.
    pub(super) wrapped: BTreeMap<String, Vec<String>>,
    /// Modules of the standard library with a source.
    standard: BTreeSet<String>,
    /// The first release of Python without a module.
    removed: BTreeMap<String, String>,
    /// Modules that no file of a search path hides.
    pub(super) frozen: BTreeSet<String>,
    finders: Vec<Finder>,
    brought: Vec<BroughtRow>,
    #[serde(rename = "native-names")]
    native_names: Vec<NativeRow>,
    hidden: Vec<Hidden>,
    /// Packages that are imported where they are installed, besides those of the tables of processes.
    pub packages: Vec<String>,
    #[serde(rename = "first-uses")]
    first_uses: Vec<FirstUse>,
    #[serde(rename = "left-out")]
    left_out: Vec<LeftOut>,
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

/// Modules that a function of a package brings without files.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct BroughtRow {
    by: String,
    function: String,
    prefixes: Vec<String>,
    #[allow(dead_code, reason = "for readers of the table")]
    source: String,
}

/// Names that a library binds in modules that have a source.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct NativeRow {
    modules: BTreeSet<String>,
    names: BTreeSet<String>,
    #[allow(dead_code, reason = "for readers of the table")]
    source: String,
}

/// What the import of a module imports that its text does not show.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Hidden {
    module: String,
    imports: Vec<String>,
    #[serde(default)]
    restores_search_path: bool,
    distributions: Vec<String>,
    since: String,
    until: String,
    #[allow(dead_code, reason = "for readers of the table")]
    source: String,
}

/// What a function of a package imports at its first use.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FirstUse {
    package: String,
    pub modules: Vec<String>,
    distributions: Vec<String>,
    since: String,
    until: String,
    /// What fails without them.
    pub when: String,
    #[allow(dead_code, reason = "for readers of the table")]
    source: String,
}

/// A module that images leave out.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LeftOut {
    pub package: String,
    pub module: String,
    /// What has the module, or requires it.
    pub distributions: Vec<String>,
    since: String,
    until: String,
    /// What has the module, if `distributions` require it; normalized names (PEP 503).
    #[serde(default)]
    pub requires: Vec<String>,
    /// What is used in place of it.
    #[serde(default)]
    pub without: Vec<String>,
    /// A file below the directory of packages, without which nothing is known.
    #[serde(default)]
    pub used_by: Option<String>,
    /// What happens without it.
    pub outcome: String,
    #[allow(dead_code, reason = "for readers of the table")]
    source: String,
}

/// The installed version of a distribution, by normalized name (PEP 503).
pub(super) trait Versions: Fn(&str) -> Option<String> {}

impl<F: Fn(&str) -> Option<String>> Versions for F {}

/// Whether one of some distributions has a version from a release to another. Without versions, all that may be imported is read.
fn is_installed(
    distributions: &[String],
    (since, until): (&str, &str),
    version: Option<&impl Versions>,
) -> bool {
    let Some(version) = version else {
        return true;
    };
    let mut versions = distributions.iter().filter_map(|it| version(it));
    versions.any(|it| is_since(&it, since) && is_until(&it, until))
}

impl Knowledge {
    pub(super) fn brought(&self) -> Vec<Brought> {
        let rows = self.brought.iter().map(|it| Brought {
            by: it.by.clone(),
            function: it.function.clone(),
            prefixes: it.prefixes.clone(),
        });
        rows.collect()
    }

    pub(super) fn native(&self) -> Vec<NativeNames> {
        let rows = self.native_names.iter().map(|it| NativeNames {
            modules: it.modules.clone(),
            names: it.names.clone(),
        });
        rows.collect()
    }

    fn hidden_rows(&self, version: Option<&impl Versions>) -> impl Iterator<Item = &Hidden> {
        let rows = self.hidden.iter();
        rows.filter(move |it| is_installed(&it.distributions, (&it.since, &it.until), version))
    }

    /// What the import of a module imports that its text does not show: the module, and what it needs.
    pub(super) fn hidden(&self, version: Option<&impl Versions>) -> Vec<(String, String)> {
        let pairs = self.hidden_rows(version).flat_map(|row| {
            let imports = row.imports.iter();
            imports.map(|it| (row.module.clone(), it.clone()))
        });
        pairs.collect()
    }

    /// The modules that change the search path, and restore it.
    pub(super) fn restoring(&self, version: Option<&impl Versions>) -> BTreeSet<String> {
        let rows = self.hidden_rows(version);
        let rows = rows.filter(|it| it.restores_search_path);
        rows.map(|it| it.module.clone()).collect()
    }

    /// What functions of a package import at their first use.
    pub(super) fn first_uses(
        &self,
        package: &str,
        version: Option<&impl Versions>,
    ) -> impl Iterator<Item = &FirstUse> {
        let rows = self.first_uses.iter();
        rows.filter(move |it| {
            let releases = (it.since.as_str(), it.until.as_str());
            it.package == package && is_installed(&it.distributions, releases, version)
        })
    }

    /// The modules of a package that may be left out. When sources are read, none is.
    pub(super) fn left_out(
        &self,
        package: &str,
        version: Option<&impl Versions>,
    ) -> impl Iterator<Item = &LeftOut> {
        let rows = self.left_out.iter().filter(move |_| version.is_some());
        rows.filter(move |it| {
            let releases = (it.since.as_str(), it.until.as_str());
            it.package == package && is_installed(&it.distributions, releases, version)
        })
    }

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

    /// Whether a module is one of the standard library.
    pub(super) fn is_standard(&self, module: &str) -> bool {
        self.standard.contains(module) || self.extensions.contains(module)
    }

    /// How many modules of the standard library there are, by a question for each.
    pub(super) fn count_standard(&self, is_there: impl Fn(&str) -> bool) -> usize {
        self.standard.iter().filter(|it| is_there(it)).count()
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
