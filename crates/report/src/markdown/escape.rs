//! Escapes texts of an image for GitHub Flavored Markdown (<https://github.github.com/gfm/>), where a name could be a table
//! cell, a tag, a link, a mention or an issue.

use super::super::escape::{one_line, percent};
use imgcheck_base::excerpt::shortened;

/// Maximum length of a text, in characters; a build step can be a whole script.
const LONGEST: usize = 600;

/// Escapes inline prose; text between backticks becomes code.
pub(super) fn prose(text: &str) -> String {
    with_code(text, code_span)
}

/// [`prose`] inside HTML elements such as a summary, where Markdown's code spans do not work.
pub(super) fn html(text: &str) -> String {
    with_code(text, html_span)
}

fn with_code(text: &str, span: fn(&str) -> String) -> String {
    let text = shortened(&one_line(text), LONGEST);
    let mut written = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, code, after)) = next_code(rest) {
        written.push_str(&plain(before));
        written.push_str(&span(code));
        rest = after;
    }
    written + &plain(rest)
}

/// The text before, between and after the next two backticks.
fn next_code(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (code, after) = rest.split_once('`')?;
    Some((before, code, after))
}

/// Escapes the address of a link.
pub(super) fn address(url: &str) -> String {
    percent(url, ":/?#&=%+,;@!")
}

/// A name, path or command as code, in which neither mentions nor links work.
pub(super) fn code(text: &str) -> String {
    code_span(&shortened(&one_line(text), LONGEST))
}

/// [`code`] inside HTML elements.
pub(super) fn html_code(text: &str) -> String {
    html_span(&shortened(&one_line(text), LONGEST))
}

fn code_span(text: &str) -> String {
    // Backslashes have no meaning in a code span; a pipe would end the table cell.
    match text.contains(['`', '|']) || text.trim().is_empty() {
        true => html_span(text),
        false => format!("`{text}`"),
    }
}

fn html_span(text: &str) -> String {
    format!("<code>{}</code>", entities(text))
}

/// Replaces punctuation by character references, which Markdown treats as letters (section 6.2).
fn entities(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        let is_link = c == '.' && written.ends_with("www");
        match is_link || (c.is_ascii_punctuation() && !",;-/()'+=.".contains(c)) {
            true => push_reference(&mut written, c),
            false => written.push(c),
        }
    }
    written
}

/// Replaces inline markup by character references. GitHub and GitLab search the rendered text for mentions, issues, merge
/// requests and emoji, and do not find them after a zero-width space.
fn plain(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        let before_word = letters.peek().is_some_and(|next| !next.is_whitespace());
        match c {
            '&' | '<' | '>' | '*' | '_' | '[' | ']' | '\\' | '|' | '~' | '$' | '`' => {
                push_reference(&mut written, c);
            }
            '@' | '#' | ':' if before_word => {
                push_reference(&mut written, c);
                written.push_str("&#8203;");
            }
            // `GH-1` is an issue, `!1` a merge request.
            '-' if written.ends_with("GH") => written.push_str("&#8203;-"),
            '!' if letters.peek().is_some_and(char::is_ascii_digit) => {
                written.push_str("!&#8203;");
            }
            // `www.` would be a link.
            '.' if written.ends_with("www") => push_reference(&mut written, c),
            _ => written.push(c),
        }
    }
    written
}

fn push_reference(written: &mut String, c: char) {
    written.push_str(&format!("&#{};", u32::from(c)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_and_code_are_escaped() {
        assert_eq!(
            prose("the tag says PyTorch 2.9 (`v2.9`), see help: a b"),
            "the tag says PyTorch 2.9 (`v2.9`), see help: a b"
        );
        assert_eq!(
            prose("one ` backtick <b> @team #1 https://x.example"),
            "one &#96; backtick &#60;b&#62; &#64;&#8203;team &#35;&#8203;1 https&#58;&#8203;//x.example"
        );
    }

    #[test]
    fn nothing_becomes_a_mention_or_a_link() {
        assert_eq!(
            prose("GH-1 !2 (www.x) !=3"),
            "GH&#8203;-1 !&#8203;2 (www&#46;x) !=3"
        );
        assert_eq!(
            address("https://x/a) ![b](c\n`<"),
            "https://x/a%29%20!%5Bb%5D%28c%0A%60%3C"
        );
    }

    #[test]
    fn nothing_ends_a_code_span() {
        assert_eq!(code("a@b:c<d>"), "`a@b:c<d>`");
        assert_eq!(code("a`b|c"), "<code>a&#96;b&#124;c</code>");
        assert_eq!(code(""), "<code></code>");
        assert_eq!(
            html("`</code>`@a"),
            "<code>&#60;/code&#62;</code>&#64;&#8203;a"
        );
        assert_eq!(code(&"x".repeat(1000)).chars().count(), LONGEST + 3);
    }
}
