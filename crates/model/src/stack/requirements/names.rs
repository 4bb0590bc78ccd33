//! The distributions whose requirements are checked.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::stack::Distribution;
use crate::stack::pattern::matches_pattern;
use imgcheck_base::version::newer;

/// The table `rules/knowledge/requirements.yaml`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequirementNames {
    names: Vec<String>,
    /// By distribution, the names of those whose versions it compares with its requirements when it is imported.
    compared_at_import: BTreeMap<String, Vec<Compared>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compared {
    names: Vec<String>,
    /// The first release that does.
    since: String,
    #[serde(rename = "source")]
    _source: String,
}

impl RequirementNames {
    /// Whether a distribution belongs to the GPU stack.
    pub(super) fn contain(&self, name: &str) -> bool {
        self.names.iter().any(|it| matches_pattern(it, name))
    }

    /// Whether a distribution compares the version of another one when it is imported.
    pub(super) fn are_compared(&self, distribution: &Distribution, name: &str) -> bool {
        let rows = self.compared_at_import.get(&distribution.name);
        let mut rows = rows.into_iter().flatten();
        rows.any(|row| {
            let is_later = newer(&row.since, &distribution.version) == Some(false);
            is_later && row.names.iter().any(|it| it == name)
        })
    }

    /// Whether the version of a distribution matters to others.
    pub(super) fn matter(&self, name: &str) -> bool {
        let mut compared = self.compared_at_import.values().flatten();
        self.contain(name) || compared.any(|it| it.names.iter().any(|it| it == name))
    }
}
