//! The lines of a requirements file.

use std::ops::Range;

/// A line, or several joined by `\`, without comments.
pub struct Line {
    pub text: String,
    /// The position of its first line.
    pub span: Range<usize>,
}

/// The lines of a file.
pub fn lines(text: &str) -> Vec<Line> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut current: Option<Line> = None;
    for physical in text.split_inclusive('\n') {
        let start = at;
        at += physical.len();
        let (content, goes_on) = match physical.trim_end().strip_suffix('\\') {
            Some(content) if !content.trim_start().starts_with('#') => (content, true),
            _ => (physical.trim_end(), false),
        };
        let content = without_comment(content);
        let line = current.get_or_insert_with(|| {
            let start = start + (content.len() - content.trim_start().len());
            Line {
                text: String::new(),
                span: start..start + content.trim().len(),
            }
        });
        line.text.push_str(content);
        if !goes_on {
            found.extend(current.take());
        }
    }
    found.extend(current);
    found.retain(|line| !line.text.trim().is_empty());
    for line in &mut found {
        line.text = line.text.trim().to_owned();
    }
    found
}

/// A comment starts with `#`, at the start of a line or after white space.
fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        if c == '#' && before.is_whitespace() {
            return &line[..at];
        }
        before = c;
    }
    line
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn lines_and_options() {
        let text = "# c\na==1 \\\n  --hash=x \\\n  --hash=y\nb #c\n\n--index-url=https://x/cu118\n-r  y.txt\nu#frag";
        let found: Vec<String> = lines(text).into_iter().map(|line| line.text).collect();
        assert_eq!(
            found,
            [
                "a==1   --hash=x   --hash=y",
                "b",
                "--index-url=https://x/cu118",
                "-r  y.txt",
                "u#frag"
            ]
        );
    }
}
