//! The distributions whose requirements are checked.

use serde::Deserialize;

use crate::stack::pattern::matches_pattern;

/// The table `rules/knowledge/requirements.yaml`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequirementNames {
    names: Vec<String>,
}

impl RequirementNames {
    /// Whether a distribution belongs to the GPU stack.
    pub(super) fn contain(&self, name: &str) -> bool {
        self.names.iter().any(|it| matches_pattern(it, name))
    }
}
