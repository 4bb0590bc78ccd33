//! The packages that read settings, and what their values name, as an image has them.

/// What an image has.
pub trait Installed {
    /// The version of a component of the stack, which may be empty, and its kind of build (`cuda`, `cpu`).
    fn component(&self, name: &str) -> Option<(&str, Option<&str>)>;

    /// The version of a Python distribution that the image's process can import, by normalized name.
    fn distribution(&self, name: &str) -> Option<&str>;

    /// Whether a word in the value of a variable may be the name of a module that Python finds.
    fn may_be_module(&self, variable: &str, word: &str) -> bool;

    /// The file because of which the directory that a variable names cannot be made.
    fn file_in_place(&self, variable: &str) -> Option<&str>;
}
