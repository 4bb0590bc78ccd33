//! What a value without quotes is: text, a number or a truth value.
//!
//! Source: sigs.k8s.io/yaml, which reads YAML 1.1 (`resolve` of go-yaml 2).

use crate::workload::text::{Manifest, is_final};
use imgcheck_base::document::{Node, Value};

/// The longest tag.
const LONGEST: usize = 60;

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Text,
    Number,
    Boolean,
    List,
    Map,
    /// A template or the parser of another version decides.
    Unknown,
}

impl Kind {
    /// As a sentence names it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Null => "nothing",
            Kind::Text => "text",
            Kind::Number => "a number",
            Kind::Boolean => "a truth value",
            Kind::List => "a list",
            Kind::Map => "a map",
            Kind::Unknown => "unknown",
        }
    }
}

/// What the API server takes a value for.
pub(super) fn kind_of(node: &Node, manifest: &Manifest) -> Kind {
    let text = match &node.value {
        Value::Null => return Kind::Null,
        Value::List(_) => return Kind::List,
        Value::Map(_) => return Kind::Map,
        Value::Plain => return Kind::Unknown,
        Value::Text(text) => text,
    };
    let (Some(before), Some(written)) = (
        manifest.text().get(..node.span.start),
        manifest.text().get(node.span.clone()),
    ) else {
        return Kind::Unknown;
    };
    let written = written.trim();
    if !is_final(text) || is_placeholder(text) || is_tagged(before) {
        return Kind::Unknown;
    }
    match written.chars().next() {
        Some('"' | '\'' | '|' | '>') => Kind::Text,
        _ if is_block_header(before) => Kind::Text,
        _ if written == text => plain(text),
        _ => Kind::Unknown,
    }
}

/// A number as YAML 1.1 writes it: 493, or octal `0755` and `0o755`.
pub(in crate::workload::kubernetes) fn number(node: &Node) -> Option<u32> {
    let text = node.text()?;
    let octal = text.strip_prefix("0o").or(text.strip_prefix('0'));
    match octal.filter(|it| !it.is_empty()) {
        Some(octal) => u32::from_str_radix(octal, 8).ok(),
        None => text.parse().ok(),
    }
}

/// Whether what is written before a value is the first line of a block scalar: `key: |-`.
fn is_block_header(before: &str) -> bool {
    let end = before.trim_end().len();
    // Its text is on the lines that follow.
    if !before[end..].contains('\n') {
        return false;
    }
    let header = before[..end].rsplit('\n').next().unwrap_or_default();
    let header = header.split(" #").next().unwrap_or_default().trim_end();
    let header = header.trim_end_matches(|c: char| c.is_ascii_digit() || "+-".contains(c));
    let start = header.strip_suffix(['|', '>']);
    start.is_some_and(|it| it.is_empty() || it.ends_with(char::is_whitespace))
}

/// Whether what is written before a value ends with a tag, such as `!!str`.
fn is_tagged(before: &str) -> bool {
    let before = before.trim_end();
    let start = before.len().saturating_sub(LONGEST);
    let start = before.ceil_char_boundary(start);
    let word = before[start..].rsplit(char::is_whitespace).next();
    word.is_some_and(|it| it.trim_start_matches(['[', '{', ',']).starts_with('!'))
}

/// What a value without quotes is.
fn plain(text: &str) -> Kind {
    const NULL: [&str; 5] = ["", "~", "null", "Null", "NULL"];
    const BOOLEAN: [&str; 22] = [
        "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", "n", "N", "no",
        "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF",
    ];
    match text {
        it if NULL.contains(&it) => Kind::Null,
        it if BOOLEAN.contains(&it) => Kind::Boolean,
        it if it.starts_with('_') => Kind::Text,
        it if is_number(&it.replace('_', "")) => Kind::Number,
        // Infinity and the like are no JSON.
        it if it
            .trim_start_matches(['+', '-', '.'])
            .eq_ignore_ascii_case("inf") =>
        {
            Kind::Unknown
        }
        it if it.eq_ignore_ascii_case(".nan") => Kind::Unknown,
        _ => Kind::Text,
    }
}

/// Whether a text looks like one that another program replaces: `@PORT@`, `__PORT__`, `PORT`.
fn is_placeholder(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "_-.".contains(c);
    let is_word = text.chars().all(is_name) && text.chars().any(|it| it.is_ascii_uppercase());
    (text.starts_with(['@', '_']) || is_word) && plain(text) == Kind::Text
}

/// An integer in any base, or `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let based = [
        ("0x", 16),
        ("0X", 16),
        ("0o", 8),
        ("0O", 8),
        ("0b", 2),
        ("0B", 2),
    ];
    let mut based = based.iter();
    if let Some((prefix, base)) = based.find(|(prefix, _)| digits.starts_with(prefix)) {
        return u64::from_str_radix(&digits[prefix.len()..], *base).is_ok();
    }
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (digits, None),
    };
    let is_digits = |it: &str| it.chars().all(|c| c.is_ascii_digit());
    let is_exponent = |it: &str| {
        let digits = it.strip_prefix(['-', '+']).unwrap_or(it);
        !digits.is_empty() && is_digits(digits)
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !whole.is_empty() || !part.is_empty();
    let is_float = has_digits && is_digits(whole) && is_digits(part);
    // One that is too large is text.
    let is_finite = || text.parse::<f64>().is_ok_and(f64::is_finite);
    is_float && exponent.is_none_or(is_exponent) && is_finite()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_without_quotes_are_those_of_yaml_1_1() {
        for text in [
            "8000", "0755", "0x1F", "1e3", "1.5", ".5", "1.", "-1", "+1", "1_000", "08", "0b11",
        ] {
            assert_eq!(plain(text), Kind::Number, "{text}");
        }
        for text in [
            "_1",
            "95e4031",
            "1.2.3",
            "1:30",
            "1e",
            "0xg",
            "cu128",
            "-",
            ".",
            "2025-01-01",
            "1Gi",
            "tRue",
            "yes please",
        ] {
            assert_eq!(plain(text), Kind::Text, "{text}");
        }
        assert_eq!(plain("on"), Kind::Boolean);
        assert_eq!(plain("~"), Kind::Null);
        assert_eq!(plain("-.inf"), Kind::Unknown);
    }
}
