//! The packages that read settings, as an image has them.

/// What an image has.
pub trait Installed {
    /// The version of a component of the stack, which may be empty, and its kind of build (`cuda`, `cpu`).
    fn component(&self, name: &str) -> Option<(&str, Option<&str>)>;

    /// The version of a Python distribution that the image's process can import, by normalized name.
    fn distribution(&self, name: &str) -> Option<&str>;
}
