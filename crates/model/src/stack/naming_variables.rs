//! Which variables name something in an image, by `rules/knowledge/settings.yaml`.

use std::collections::BTreeMap;

/// The variables whose values name something in the image.
#[derive(Debug, Clone, Default)]
pub struct NamingVariables {
    /// Those that name a directory, which their package makes.
    pub directories: Vec<String>,
    /// Those that are lists of words, among which are modules, each with further words that matter.
    pub modules: BTreeMap<String, Vec<String>>,
    /// The modules that an interpreter contains.
    pub builtin: Vec<String>,
}
