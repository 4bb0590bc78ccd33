//! A reference as a source lists it.

/// A reference as a source lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    /// What people call it; `None` for what the image records of itself.
    pub reference: Option<String>,
    /// Where it is read, as `imgcheck check` takes it.
    pub source: String,
    /// Running Pods that use it, if they were counted.
    pub pods: Option<u64>,
    /// A registry or container engine listed it a moment ago, so nothing is missing if it has vanished since, or is not an image.
    pub is_enumerated: bool,
    /// How often its repository was pulled, if the registry says so.
    pub pulls: Option<u64>,
}
