//! Normalizes paths of members.

/// A path from the root: without leading `/`, without empty, `.` or `..` components, never above the root. Bytes that are not UTF-8 are
/// written as `\xNN`. The root is the empty path.
pub fn normalise(raw: &[u8]) -> String {
    let text = display(raw);
    if is_normal(&text) {
        return text;
    }
    let mut components: Vec<&str> = Vec::new();
    for component in text.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                components.pop();
            }
            name => components.push(name),
        }
    }
    components.join("/")
}

/// Whether a path is normalized already, as most are. May be false for hidden files.
fn is_normal(path: &str) -> bool {
    let bytes = path.as_bytes();
    let special = |pair: &[u8]| pair[0] == b'/' && matches!(pair[1], b'/' | b'.');
    !matches!(bytes.first(), Some(b'/' | b'.'))
        && bytes.last() != Some(&b'/')
        && !bytes.windows(2).any(special)
}

/// Bytes as text; those that are not UTF-8 are written as `\xNN`.
pub fn display(raw: &[u8]) -> String {
    if let Ok(text) = str::from_utf8(raw) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(raw.len());
    for chunk in raw.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_a_path_are_equal() {
        for raw in [
            "usr/lib",
            "./usr/lib",
            "/usr/lib",
            "usr//lib/",
            "usr/./lib/.",
            "../usr/x/../lib",
            "/../../usr/lib",
        ] {
            assert_eq!(normalise(raw.as_bytes()), "usr/lib", "{raw}");
        }
        for root in ["", ".", "./", "/", "..", "a/.."] {
            assert_eq!(normalise(root.as_bytes()), "", "{root}");
        }
    }

    #[test]
    fn invalid_utf8_is_escaped() {
        assert_eq!(normalise(b"etc/caf\xe9/x"), "etc/caf\\xe9/x");
        assert_eq!(normalise("etc/café".as_bytes()), "etc/café");
    }
}
