//! References of images of which a layout records only a tag.

/// The repository that stands for the unknown one. Rules know it, too.
const UNNAMED: &str = "unnamed:";

/// The reference of such an image.
pub fn with_repository(tag: &str) -> String {
    format!("{UNNAMED}{tag}")
}

/// The tag of such a reference; `None` for a reference with a repository.
pub fn tag(reference: &str) -> Option<&str> {
    reference.strip_prefix(UNNAMED)
}
