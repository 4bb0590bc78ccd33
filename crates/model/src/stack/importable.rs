//! Which Python distributions each environment can import.

use std::collections::{BTreeMap, HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Distribution;
use super::python::{Environment, Labels};
use super::python_faults::ShadowedPackage;
use imgcheck_base::limits::{Limit, LimitExceeded, Limits};

/// How many comparisons of the limit `requirements` a distribution of an environment counts as: it is kept in memory.
const COST: u64 = 16;

/// What a Python environment can import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ImportableDistributions {
    /// The environment, by its prefix: `/opt/venv`, or `/usr with Python 3.13` beside another Python.
    pub environment: String,
    /// The version of each distribution, by normalized name (PEP 503).
    pub distributions: BTreeMap<String, String>,
}

/// What each environment can import, the first one first; those with the same directories count as one.
///
/// # Errors
/// There are more distributions in all environments than [`Limit::Requirements`] allows.
pub fn all(
    distributions: &[Distribution],
    environments: &[Environment],
    limits: &Limits,
) -> Result<Vec<ImportableDistributions>, LimitExceeded> {
    let mut sites: HashMap<&str, Vec<&Distribution>> = HashMap::new();
    for distribution in distributions {
        let there = sites.entry(&distribution.site).or_default();
        there.push(distribution);
    }
    let labels = Labels::of(environments);
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    let mut done = 0;
    for environment in environments {
        if !seen.insert(&environment.sites) {
            continue;
        }
        let mut importable: BTreeMap<String, String> = BTreeMap::new();
        for copy in environment
            .sites
            .iter()
            .filter_map(|site| sites.get(site.as_str()))
            .flatten()
        {
            done += COST;
            limits.check(Limit::Requirements, done)?;
            let is_shadowed = |it: &ShadowedPackage| it.hides(copy);
            if environment.shadowed.iter().any(is_shadowed) {
                continue;
            }
            // Of several copies, Python takes the first on its search path.
            let version = importable.entry(copy.name.clone());
            version.or_insert_with(|| copy.version.clone());
        }
        all.push(ImportableDistributions {
            environment: labels.label(environment),
            distributions: importable,
        });
    }
    Ok(all)
}
