//! Comparison of references.

use crate::reference::name::Name;

/// An image of an engine that lists what it has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedImage {
    /// Tags, or else names with a digest. Empty for an image without a name.
    pub names: Vec<String>,
    /// What the engine also finds it by.
    pub id: String,
}

/// Whether both name the same image: the same text, or the same after Docker's defaults
/// (`docker.io`, `library/`, `latest`) are filled in.
pub(super) fn same(wanted: &str, recorded: &str) -> bool {
    wanted == recorded || complete(wanted) == complete(recorded)
}

/// The name with Docker's defaults filled in; a text that is no name stays as it is.
pub(super) fn complete(reference: &str) -> String {
    let name = Name::of_grammar(reference);
    name.map_or_else(
        |_| reference.to_owned(),
        |name| name.canonical().to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_filled_in() {
        for (wanted, recorded) in [
            ("busybox", "docker.io/library/busybox:latest"),
            ("index.docker.io/x/y:1", "x/y:1"),
            ("localhost:5000/x", "localhost:5000/x:latest"),
            ("latest", "latest"),
        ] {
            assert!(same(wanted, recorded), "{wanted} {recorded}");
        }
        assert!(!same("busybox:1", "busybox"));
        assert!(!same("localhost/x", "x"));
    }
}
