//! Escaping. An image is hostile input, and its names may contain anything.
//!
//! Each format escapes a text once, where it writes it:
//!
//! | format | escaped by |
//! |---|---|
//! | text, tree, diff, lint, progress, remarks and errors | [`one_line`]; [`printable`] for help with several lines |
//! | JSON, CycloneDX, baselines | [`json`] for the whole document: programs read the exact text, terminals show nothing hidden |
//! | SARIF | as JSON, and each text by [`printable`]; addresses by [`percent`]; links and placeholders in `sarif` |
//! | GitLab | as JSON, and each text by [`one_line`] |
//! | JUnit | each text by [`printable`] or [`one_line`], tags by `quick_junit` |
//! | GitHub annotations | [`printable`], and the runner's own escapes in `github` |
//! | Markdown | `markdown::escape`, on top of [`one_line`] |
//! | HTML | tags by the templates and `html::markup`, the whole page by [`printable`] |
//! | Graphviz | [`printable`], and quotes in `tree::graph` |

use serde::Serialize;

/// Invisible characters that change what is displayed or that carry text only a program reads: control characters, line and
/// paragraph separators, marks of the writing direction (Unicode Technical Report 36, "Bidirectional Text Spoofing"), and
/// everything Unicode calls default ignorable (`Default_Ignorable_Code_Point` of `DerivedCoreProperties.txt`): zero-width
/// characters, fillers, variation selectors and tags. Noncharacters too: XML cannot represent two of them.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || is_noncharacter(c)
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c,
            '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
        )
}

/// The Unicode Standard, section 23.7.
fn is_noncharacter(c: char) -> bool {
    u32::from(c) & 0xfffe == 0xfffe || matches!(c, '\u{fdd0}'..='\u{fdef}')
}

/// A text for a terminal or a log. Hidden characters are written `\r` and `\u{…}`, so that nothing in an image can control a terminal
/// or disguise a name, and commands of build systems are defused. Line breaks are kept.
pub fn printable(text: &str) -> String {
    let escaped = |c| c != '\n' && is_hidden(c);
    if !text.contains(escaped) {
        return without_commands(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match escaped(c) {
            true if c == '\r' => shown.push_str("\\r"),
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    without_commands(&shown)
}

/// [`printable`] on one line: a line break is written `\n`, so that no name can imitate a line of the report.
pub fn one_line(text: &str) -> String {
    printable(text).replace('\n', "\\n")
}

/// A text with several lines, such as help, joined to one line; not escaped.
pub(crate) fn unwrapped(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// Starts of build system commands that work anywhere in a line.
const COMMANDS: [&str; 3] = ["##[", "##vso[", "##teamcity["];

/// Defuses commands of build systems in log output: GitHub obeys lines that start with `::` and text after `##[`, Azure text
/// after `##vso[`, TeamCity text after `##teamcity[`.
fn without_commands(text: &str) -> String {
    if !text.contains("::") && !text.contains("##") {
        return text.to_owned();
    }
    let mut shown = text.to_owned();
    for command in COMMANDS {
        shown = shown.replace(command, &format!("\\u{{23}}{}", &command[1..]));
    }
    let lines = shown.split_inclusive('\n').map(|line| {
        let words = line.trim_start();
        match words.strip_prefix("::") {
            Some(rest) => format!("{}\\u{{3a}}:{rest}", &line[..line.len() - words.len()]),
            None => line.to_owned(),
        }
    });
    lines.collect()
}

/// An indented JSON document with a line break at its end; see [`safe_json`].
pub fn json<T: Serialize>(document: &T) -> serde_json::Result<String> {
    Ok(safe_json(&serde_json::to_string_pretty(document)?) + "\n")
}

/// A JSON document that is safe to print. Hidden characters and build system commands are written `\uXXXX`, characters beyond
/// four digits as a surrogate pair (RFC 8259, section 7): a parser gets the exact text of the image.
pub fn safe_json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        // Line breaks only occur between values; inside them they are escaped already.
        match c != '\n' && is_hidden(c) {
            true => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    escaped.push_str(&format!("\\u{unit:04x}"));
                }
            }
            false => escaped.push(c),
        }
    }
    // No line starts with `::`, because every text is quoted.
    for command in COMMANDS {
        escaped = escaped.replace(command, &format!("\\u0023{}", &command[1..]));
    }
    escaped
}

/// Percent-encodes everything except unreserved characters (RFC 3986, section 2.1) and those in `keep`.
pub(crate) fn percent(text: &str, keep: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        match byte.is_ascii_alphanumeric() || "-._~".contains(c) || keep.contains(c) {
            true => encoded.push(c),
            false => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_bidirectional_marks_are_escaped() {
        assert_eq!(
            printable("v2.9\u{1b}[2J\u{202e}x"),
            "v2.9\\u{1b}[2J\\u{202e}x"
        );
        assert_eq!(
            printable("a\u{e0041}\u{180e}\u{fffa}\u{3164}\u{fe0f}z"),
            "a\\u{e0041}\\u{180e}\\u{fffa}\\u{3164}\\u{fe0f}z"
        );
        assert_eq!(printable("é 漢 한 🙂 …"), "é 漢 한 🙂 …");
        assert_eq!(printable("line\nline"), "line\nline");
        assert_eq!(one_line("line\n\n  line\n"), "line\\n\\n  line\\n");
        assert_eq!(unwrapped("\nline\n\n  line\n"), "line line");
        assert_eq!(printable("\u{fffe}\u{10ffff}"), "\\u{fffe}\\u{10ffff}");
    }

    #[test]
    fn build_system_commands_are_defused() {
        assert_eq!(
            printable("::error::a\n  ::stop-commands::b"),
            "\\u{3a}:error::a\n  \\u{3a}:stop-commands::b"
        );
        assert_eq!(
            printable("a ##[error]b ##vso[task.complete]"),
            "a \\u{23}#[error]b \\u{23}#vso[task.complete]"
        );
        assert_eq!(printable("c10::Error ## x"), "c10::Error ## x");
    }

    #[test]
    fn json_shows_nothing_hidden_and_loses_nothing() {
        let hostile = "a\u{9b}2J\u{202e}\u{feff}\u{7f}\u{e0041}\u{e01ef}🙂\n\"\\##[error]";
        let text = json(&[hostile]).unwrap_or_default();
        assert!(!text.contains(|c| c != '\n' && is_hidden(c)), "{text}");
        assert!(!text.contains("##["), "{text}");
        let read: Vec<String> = serde_json::from_str(&text).unwrap_or_default();
        assert_eq!(read, [hostile]);
    }

    #[test]
    fn uris_contain_only_allowed_characters() {
        assert_eq!(
            percent("usr/lib/a b:%\u{e9}<", "/"),
            "usr/lib/a%20b%3A%25%C3%A9%3C"
        );
    }
}
