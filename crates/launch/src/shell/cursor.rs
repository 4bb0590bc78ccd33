//! A position in the text of a script.

/// A position in a script, which knows its line.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl<'t> Cursor<'t> {
    /// The start of a script whose first line has this number.
    pub fn new(text: &'t str, line: usize) -> Self {
        Cursor { text, at: 0, line }
    }

    /// The number of the current line.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The position, for [`Self::since`].
    pub fn offset(&self) -> usize {
        self.at
    }

    /// The text from a position to here.
    pub fn since(&self, offset: usize) -> &'t str {
        self.text.get(offset..self.at).unwrap_or_default()
    }

    /// The text from here.
    pub fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        self.line += usize::from(next == '\n');
        Some(next)
    }

    /// Passes a text if it is next.
    pub fn eat(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.skip(text.len());
        }
        is_next
    }

    /// Passes a number of bytes, which must end between characters.
    pub fn skip(&mut self, bytes: usize) {
        let passed = self.rest().get(..bytes).unwrap_or_default();
        self.line += passed.matches('\n').count();
        self.at += passed.len();
    }

    /// Passes characters while they match, and returns them.
    pub fn take_while(&mut self, mut matches: impl FnMut(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !matches(c)).unwrap_or(rest.len());
        self.skip(end);
        &rest[..end]
    }

    /// The rest of the line, without its end, which is passed.
    pub fn take_line(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        if rest.is_empty() {
            return None;
        }
        let line = rest.split_once('\n').map_or(rest, |(line, _)| line);
        self.skip((line.len() + 1).min(rest.len()));
        Some(line)
    }

    /// Passes blanks and continued lines.
    pub fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) || self.rest().starts_with("\\\n") {
            let width = if self.peek() == Some('\\') { 2 } else { 1 };
            self.skip(width);
        }
    }
}
