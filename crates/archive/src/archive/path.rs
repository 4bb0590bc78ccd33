//! Normalizes paths of members.

use imgcheck_base::lexical;

/// A path from the root: without leading `/`, without empty, `.` or `..` components, never above the root. Bytes that are not UTF-8 are
/// written as `\xNN`. The root is the empty path.
pub fn normalise(raw: &[u8]) -> String {
    let text = display(raw);
    if is_normal(&text) {
        return text;
    }
    lexical::normalized(&text)
}

/// Whether a path is normalized already, as most are. May be false for hidden files.
fn is_normal(path: &str) -> bool {
    let bytes = path.as_bytes();
    let special = |pair: &[u8]| pair[0] == b'/' && matches!(pair[1], b'/' | b'.');
    !matches!(bytes.first(), Some(b'/' | b'.'))
        && bytes.last() != Some(&b'/')
        && !bytes.windows(2).any(special)
}

/// Bytes as text. Those that are not UTF-8 are written as `\xNN`; a backslash in front of what would then look like such a byte, or
/// like itself, is written as `\x5c`. So different bytes are different texts, and a name without such a sequence is its own text.
pub fn display(raw: &[u8]) -> String {
    match str::from_utf8(raw) {
        Ok(text) if memchr::memmem::find(raw, b"\\x").is_none() => return text.to_owned(),
        _ => {}
    }
    let mut text = String::with_capacity(raw.len());
    for chunk in raw.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find('\\') {
            let (before, after) = (&rest[..at], &rest[at + 1..]);
            text.push_str(before);
            text.push_str(if looks_escaped(after) { "\\x5c" } else { "\\" });
            rest = after;
        }
        text.push_str(rest);
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// Whether the text after a backslash is the rest of an escape: `x80` to `xff`, or `x5c`.
fn looks_escaped(after: &str) -> bool {
    match after.as_bytes() {
        [
            b'x',
            b'8'..=b'9' | b'a'..=b'f',
            b'0'..=b'9' | b'a'..=b'f',
            ..,
        ] => true,
        after => after.starts_with(b"x5c"),
    }
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
    fn different_names_are_different_texts() {
        let mut names: Vec<&[u8]> = vec![
            b"\xff",
            b"\\xff",
            b"\\x5cxff",
            b"\\x5c",
            b"\\\xff",
            b"\\\\xff",
            b"\\x5cx5c",
            b"\\x5c\xff",
        ];
        let texts: std::collections::HashSet<String> =
            names.iter().map(|name| display(name)).collect();
        assert_eq!(texts.len(), names.len(), "{texts:?}");
        assert_eq!(display(b"\\xff"), "\\x5cxff");
        // Names that systemd and others really use.
        names = vec![
            b"dev-disk-by\\x2dlabel.mount",
            b"a\\b",
            b"\\x",
            b"\\xFF",
            b"caf\xc3\xa9",
        ];
        for name in names {
            assert_eq!(display(name).as_bytes(), name);
        }
    }

    #[test]
    fn invalid_utf8_is_escaped() {
        assert_eq!(normalise(b"etc/caf\xe9/x"), "etc/caf\\xe9/x");
        assert_eq!(normalise("etc/café".as_bytes()), "etc/café");
    }
}
