//! Python distributions without some of the modules that their RECORD lists.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::{Line, lines};
use crate::stack::inventory::Inventory;
use crate::stack::{Distribution, Environment};
use imgcheck_base::lexical::{directory_of, name_of};

/// Modules of a distribution that are listed in a report.
const LISTED: usize = 3;

/// Maximum number of modules of all distributions that are looked for. No real image has more.
const MODULES: usize = 500_000;

/// Directories that images leave out to be smaller, and that nothing imports.
const LEFT_OUT: [&str; 9] = [
    "test",
    "tests",
    "doc",
    "docs",
    "example",
    "examples",
    "benchmark",
    "benchmarks",
    "__pycache__",
];

/// A Python distribution that is not whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IncompleteDistribution {
    /// Its normalized name (PEP 503).
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its metadata file.
    pub metadata: String,
    /// Layer index of that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// The first missing modules, relative to the directory of packages: `torch/_inductor/config.py`.
    pub files: Vec<String>,
    /// How many modules are missing.
    pub count: usize,
}

/// The incomplete distributions of the environments. Of two versions of one distribution, it is not known which one's files are there.
pub(in crate::stack) fn incomplete(
    inventory: &Inventory,
    distributions: &[Distribution],
    environments: &[Environment],
) -> Vec<IncompleteDistribution> {
    let mut versions: HashMap<(&str, &str), usize> = HashMap::new();
    for it in distributions {
        *versions.entry((&it.site, &it.name)).or_default() += 1;
    }
    let is_searched = |it: &&Distribution| {
        let mut environments = environments.iter();
        versions.get(&(it.site.as_str(), it.name.as_str())) == Some(&1)
            && environments.any(|environment| environment.sites.contains(&it.site))
    };
    let mut left = MODULES;
    let found = distributions.iter().filter(is_searched).filter_map(|it| {
        let modules = lines(inventory, it)?.filter(|it| is_module(it.path));
        let missing = modules.take(left).filter(|line| {
            left = left.saturating_sub(1);
            is_missing(inventory, &format!("{}/{}", it.site, line.path))
        });
        let missing: Vec<Line> = missing.collect();
        (!missing.is_empty()).then(|| IncompleteDistribution {
            name: it.name.clone(),
            version: it.version.clone(),
            metadata: it.path.clone(),
            layer: it.layer,
            count: missing.len(),
            files: missing
                .iter()
                .take(LISTED)
                .map(|it| it.path.to_owned())
                .collect(),
        })
    });
    found.collect()
}

/// Whether a path is that of a module which something may import.
fn is_module(path: &str) -> bool {
    let is_file = path.ends_with(".py") || path.ends_with(".so");
    let is_inside = !path.starts_with("../") && !path.starts_with('/');
    is_file && is_inside && !path.split('/').any(|it| LEFT_OUT.contains(&it))
}

/// Whether a module has neither its file nor another one in place of it, such as a compiled one.
fn is_missing(inventory: &Inventory, path: &str) -> bool {
    if inventory.root.resolve(path).is_ok() {
        return false;
    }
    let stem = name_of(path).split('.').next().unwrap_or_default();
    let directory = inventory.root.resolve(directory_of(path));
    let is_same = |name: &str| name.split('.').next() == Some(stem) && name != stem;
    !directory.is_ok_and(|it| it.children().any(|it| is_same(it.name())))
}
