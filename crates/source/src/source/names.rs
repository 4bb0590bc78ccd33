//! Comparison of references.

use imgcheck_base::reference::name::Name;

/// An image of an engine that lists what it has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedImage {
    /// Tags, or else names with a digest. Empty for an image without a name.
    pub names: Vec<String>,
    /// What the engine also finds it by.
    pub id: String,
}

/// The hexadecimal digits of the ID of an image, or its first ones.
pub(super) struct ImageId<'a>(&'a str);

/// `nerdctl` shows as many, `crictl` one more.
const SHORTEST_ID: usize = 12;

impl<'a> ImageId<'a> {
    /// `None` if the text is not a name.
    pub fn new(text: &'a str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (digits.len() >= SHORTEST_ID && digits.bytes().all(is_digit)).then_some(ImageId(digits))
    }

    /// Whether a whole ID begins with these digits.
    pub fn begins(&self, id: &str) -> bool {
        id.starts_with(self.0)
    }
}

/// Whether both name the same image: the same text, or the same after Docker's defaults
/// (`docker.io`, `library/`, `latest`) are filled in.
pub(super) fn same(wanted: &str, recorded: &str) -> bool {
    wanted == recorded || complete(wanted) == complete(recorded)
}

/// The whole name of an image that Podman built under a name without a registry.
pub(super) fn built(reference: &str) -> String {
    format!("localhost/{reference}")
}

/// The name with Docker's defaults filled in; other text stays unchanged.
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
