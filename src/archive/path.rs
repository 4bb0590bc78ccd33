//! Paths of members as text, inside the root.

/// A path from the root: no leading `/`, no empty, `.` or `..` component, never above the root. Bytes that are not UTF-8
/// are written as `\xNN`. The root itself is empty.
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

/// Whether a path needs no work, as most do. Hidden files count as if they did.
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
    fn every_spelling_of_a_path_is_one_path() {
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
    fn bytes_that_are_not_text_are_escaped() {
        assert_eq!(normalise(b"etc/caf\xe9/x"), "etc/caf\\xe9/x");
        assert_eq!(normalise("etc/café".as_bytes()), "etc/café");
    }
}
