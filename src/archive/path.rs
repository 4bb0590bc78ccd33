//! Paths of members as text, inside the root.

/// A path from the root: no leading `/`, no empty, `.` or `..` component, never above the root. Bytes that are not UTF-8
/// are written as `\xNN`. The root itself is empty.
pub fn normalise(raw: &[u8]) -> String {
    let text = display(raw);
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

/// Bytes as text; those that are not UTF-8 are written as `\xNN`.
pub fn display(raw: &[u8]) -> String {
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
