//! Python distributions without some of the modules and libraries that their RECORD lists.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::listed_files::{LEFT_OUT, is_damaged, is_missing_module};
use super::record::{Line, lines};
use crate::stack::inventory::Inventory;
use crate::stack::{Distribution, Environment};
use imgcheck_base::lexical::name_of;

/// Modules of a distribution that are listed in a report.
const LISTED: usize = 3;

/// Maximum number of modules of all distributions that are looked for. No real image has more.
const MODULES: usize = 500_000;

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
    /// The first of its libraries that are empty or cut off.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedLibrary>,
}

/// A library that is empty or cut off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DamagedLibrary {
    /// Its path.
    pub path: String,
    /// Its layer index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
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
        let mut damaged = Vec::new();
        let missing = modules.take(left).filter(|line| {
            left = left.saturating_sub(1);
            let path = format!("{}/{}", it.site, line.path);
            if damaged.len() < LISTED {
                damaged.extend(damaged_library(inventory, line, &path));
            }
            is_missing_module(inventory, &path)
        });
        let missing: Vec<Line> = missing.collect();
        (!missing.is_empty() || !damaged.is_empty()).then(|| IncompleteDistribution {
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
            damaged,
        })
    });
    found.collect()
}

/// A library that is there, and is not what its distribution contained.
fn damaged_library(inventory: &Inventory, line: &Line, path: &str) -> Option<DamagedLibrary> {
    if line.path.ends_with(".py") || line.size.parse() == Ok(0_u64) {
        return None;
    }
    let file = inventory.root.resolve(path).ok();
    file.filter(|it| is_damaged(*it)).map(|it| DamagedLibrary {
        path: path.to_owned(),
        layer: it.layer(),
    })
}

/// Whether a path is that of a module which something may import, or of a library which something may load.
fn is_module(path: &str) -> bool {
    let is_file = path.ends_with(".py") || path.ends_with(".so") || name_of(path).contains(".so.");
    let is_inside = !path.starts_with("../") && !path.starts_with('/');
    is_file && is_inside && !path.split('/').any(|it| LEFT_OUT.contains(&it))
}
