//! Splits a source into the few kinds of tokens that show where blocks begin and end. It is several times as fast as a whole lexer.
//!
//! Source: the Python language reference, "Lexical analysis". What is not clear ends the scan; then the source is parsed as a whole.

use std::ops::Range;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// A name or number.
    Word,
    /// A keyword.
    Keyword,
    /// A name that is a keyword in some places.
    SoftKeyword,
    String,
    Open,
    Close,
    Dot,
    Comma,
    Colon,
    Semicolon,
    /// `=`
    Assign,
    /// `+=` and its like.
    Augmented,
    /// Any other operator.
    Operator,
    /// The end of a line outside of brackets.
    Newline,
    Indent,
    Dedent,
}

/// Reads tokens.
pub(crate) struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
    brackets: usize,
    /// The columns of the blocks around.
    indents: Vec<usize>,
    /// Blocks that end before the next token.
    dedents: usize,
    is_line_start: bool,
    is_valid: bool,
    /// Bytes of the expressions in the last f-string.
    in_fields: usize,
}

/// The distance of tab stops.
const TAB: usize = 8;

/// Strings inside one another, in the expressions of f-strings.
const MOST_NESTED: usize = 20;

impl<'t> Scanner<'t> {
    pub fn of(text: &'t str) -> Self {
        Scanner {
            text: text.as_bytes(),
            at: if text.starts_with('\u{feff}') { 3 } else { 0 },
            brackets: 0,
            indents: Vec::new(),
            dedents: 0,
            is_line_start: true,
            is_valid: true,
            in_fields: 0,
        }
    }

    /// How many bytes of the last token are expressions in an f-string.
    pub fn in_fields(&self) -> usize {
        self.in_fields
    }

    /// Whether everything was understood.
    pub fn is_valid(&self) -> bool {
        self.is_valid
    }

    /// How many brackets are open.
    pub fn brackets(&self) -> usize {
        self.brackets
    }

    /// The next token, with its place.
    pub fn next(&mut self) -> Option<(Token, Range<usize>)> {
        if self.is_line_start {
            self.is_line_start = false;
            if self.indent() {
                return Some((Token::Indent, self.at..self.at));
            }
        }
        if self.dedents > 0 {
            self.dedents -= 1;
            return Some((Token::Dedent, self.at..self.at));
        }
        self.skip_space();
        self.in_fields = 0;
        let start = self.at;
        let Some(byte) = self.byte(0) else {
            return self.end();
        };
        let token = match byte {
            b'\n' | b'\r' => {
                self.newline();
                self.is_line_start = true;
                Some(Token::Newline)
            }
            b'"' | b'\'' => self.string(b"", 0).then_some(Token::String),
            _ if is_word(byte) => self.word(),
            _ => self.punctuation(byte),
        };
        self.is_valid &= token.is_some();
        Some((token?, start..self.at))
    }

    fn byte(&self, after: usize) -> Option<u8> {
        self.text.get(self.at + after).copied()
    }

    /// Ends the last line and all blocks.
    fn end(&mut self) -> Option<(Token, Range<usize>)> {
        self.is_valid &= self.brackets == 0;
        self.indents.pop()?;
        Some((Token::Dedent, self.at..self.at))
    }

    fn newline(&mut self) {
        let is_pair = self.byte(0) == Some(b'\r') && self.byte(1) == Some(b'\n');
        self.at += if is_pair { 2 } else { 1 };
    }

    /// Reads the start of a line with a statement, and whether a block begins there.
    fn indent(&mut self) -> bool {
        let mut column = 0;
        loop {
            match self.byte(0) {
                Some(b' ') => column += 1,
                Some(b'\t') => column = (column / TAB + 1) * TAB,
                Some(b'\x0c') => column = 0,
                Some(b'\n' | b'\r') => {
                    self.newline();
                    column = 0;
                    continue;
                }
                Some(b'#') => {
                    self.skip_comment();
                    continue;
                }
                None => return false,
                Some(_) => break,
            }
            self.at += 1;
        }
        let around = |indents: &[usize]| indents.last().copied().unwrap_or(0);
        if column > around(&self.indents) {
            self.indents.push(column);
            return true;
        }
        while column < around(&self.indents) {
            self.indents.pop();
            self.dedents += 1;
        }
        self.is_valid &= column == around(&self.indents);
        false
    }

    fn skip_comment(&mut self) {
        let rest = &self.text[self.at..];
        self.at += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
    }

    /// Spaces, comments, and line ends that end no statement.
    fn skip_space(&mut self) {
        loop {
            match self.byte(0) {
                Some(b' ' | b'\t' | b'\x0c') => self.at += 1,
                Some(b'#') => self.skip_comment(),
                Some(b'\n' | b'\r') if self.brackets > 0 => self.newline(),
                Some(b'\\') if matches!(self.byte(1), Some(b'\n' | b'\r')) => {
                    self.at += 1;
                    self.newline();
                }
                _ => return,
            }
        }
    }

    /// A name, number or keyword, or a string with its prefix.
    fn word(&mut self) -> Option<Token> {
        let rest = &self.text[self.at..];
        let is_number = rest.first().is_some_and(u8::is_ascii_digit);
        let is_end = |byte: &u8| !WORD[usize::from(*byte)] && (!is_number || *byte != b'.');
        let length = rest.iter().position(is_end);
        let word = &rest[..length.unwrap_or(rest.len())];
        self.at += word.len();
        if is_prefix(word) && matches!(self.byte(0), Some(b'"' | b'\'')) {
            return self.string(word, 0).then_some(Token::String);
        }
        Some(keyword(word).unwrap_or(Token::Word))
    }

    fn punctuation(&mut self, byte: u8) -> Option<Token> {
        let (next, after) = (self.byte(1), self.byte(2));
        let is_double = next == Some(byte);
        let (token, length) = match byte {
            b'(' | b'[' | b'{' => {
                self.brackets += 1;
                (Token::Open, 1)
            }
            b')' | b']' | b'}' => {
                self.brackets = self.brackets.checked_sub(1)?;
                (Token::Close, 1)
            }
            b'.' => (Token::Dot, 1),
            b',' => (Token::Comma, 1),
            b';' => (Token::Semicolon, 1),
            b':' if next == Some(b'=') => (Token::Operator, 2),
            b':' => (Token::Colon, 1),
            b'=' if is_double => (Token::Operator, 2),
            b'=' => (Token::Assign, 1),
            b'*' | b'/' | b'<' | b'>' if is_double && after == Some(b'=') => (Token::Augmented, 3),
            b'*' | b'/' | b'<' | b'>' if is_double => (Token::Operator, 2),
            b'<' | b'>' | b'!' if next == Some(b'=') => (Token::Operator, 2),
            b'<' | b'>' | b'~' => (Token::Operator, 1),
            b'-' if next == Some(b'>') => (Token::Operator, 2),
            b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' | b'@' => {
                match next == Some(b'=') {
                    true => (Token::Augmented, 2),
                    false => (Token::Operator, 1),
                }
            }
            _ => return None,
        };
        self.at += length;
        Some(token)
    }

    /// Skips a string that starts with its quote, and whether it ends.
    fn string(&mut self, prefix: &[u8], nested: usize) -> bool {
        let has = |letter: u8| prefix.iter().any(|it| it.eq_ignore_ascii_case(&letter));
        let Some(quote) = self.byte(0) else {
            return false;
        };
        let is_long = self.byte(1) == Some(quote) && self.byte(2) == Some(quote);
        self.at += if is_long { 3 } else { 1 };
        let is_formatted = has(b'f') || has(b't');
        let is_raw = has(b'r');
        loop {
            if !is_formatted {
                let rest = self.text.get(self.at..).unwrap_or_default();
                let special = match is_long {
                    true => memchr::memchr2(quote, b'\\', rest),
                    false => memchr::memchr3(quote, b'\\', b'\n', rest),
                };
                self.at += special.unwrap_or(rest.len());
            }
            let Some(byte) = self.byte(0) else {
                return false;
            };
            match byte {
                b'\\' if is_formatted => self.skip_escape(is_raw),
                b'\\' => self.at += 2,
                b'\n' | b'\r' if !is_long => return false,
                _ if byte == quote && !is_long => {
                    self.at += 1;
                    return true;
                }
                _ if byte == quote
                    && self.byte(1) == Some(quote)
                    && self.byte(2) == Some(quote) =>
                {
                    self.at += 3;
                    return true;
                }
                b'{' if is_formatted && self.byte(1) == Some(b'{') => self.at += 2,
                b'{' if is_formatted => {
                    let start = self.at;
                    if !self.field(nested) {
                        return false;
                    }
                    self.in_fields += self.at - start;
                }
                _ => self.at += 1,
            }
        }
    }

    /// A backslash in an f-string: a brace after it is a brace.
    fn skip_escape(&mut self, is_raw: bool) {
        match self.byte(1) {
            Some(b'{' | b'}') => self.at += 1,
            Some(b'N') if !is_raw && self.byte(2) == Some(b'{') => {
                let rest = &self.text[self.at..];
                self.at += memchr::memchr(b'}', rest).map_or(rest.len(), |at| at + 1);
            }
            _ => self.at += 2,
        }
    }

    /// Skips `{expression:format}` of an f-string, and whether it ends.
    fn field(&mut self, nested: usize) -> bool {
        if nested > MOST_NESTED {
            return false;
        }
        self.at += 1;
        let mut brackets = 0_usize;
        let mut is_format = false;
        loop {
            let Some(byte) = self.byte(0) else {
                return false;
            };
            match byte {
                b'}' if brackets == 0 => {
                    self.at += 1;
                    return true;
                }
                b'{' if is_format => {
                    if !self.field(nested + 1) {
                        return false;
                    }
                    continue;
                }
                _ if is_format => {}
                b'(' | b'[' | b'{' => brackets += 1,
                b')' | b']' | b'}' => match brackets.checked_sub(1) {
                    Some(fewer) => brackets = fewer,
                    None => return false,
                },
                b':' if brackets == 0 => is_format = true,
                b'#' => return false,
                b'"' | b'\'' => {
                    let before = &self.text[..self.at];
                    let is_letter = |it: &&u8| is_word(**it);
                    let prefix = before.iter().rev().take_while(is_letter).count();
                    let prefix = &before[before.len() - prefix..];
                    if !self.string(prefix, nested + 1) {
                        return false;
                    }
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }
}

/// Whether a byte is part of a name or number.
const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Whether each byte is part of a name or number.
const WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = is_word(byte as u8);
        byte += 1;
    }
    table
};

/// Whether a word before a quote is the prefix of a string.
fn is_prefix(word: &[u8]) -> bool {
    let is_raw = |it: u8| it.eq_ignore_ascii_case(&b'r');
    match *word {
        [letter] => b"rRbBuUfFtT".contains(&letter),
        [first, second] => {
            let other = if is_raw(first) { second } else { first };
            (is_raw(first) || is_raw(second)) && b"bBfFtT".contains(&other)
        }
        _ => false,
    }
}

fn keyword(word: &[u8]) -> Option<Token> {
    if !(2..=8).contains(&word.len()) {
        return None;
    }
    match word {
        b"and" | b"as" | b"assert" | b"async" | b"await" | b"break" | b"class" | b"continue"
        | b"def" | b"del" | b"elif" | b"else" | b"except" | b"False" | b"finally" | b"for"
        | b"from" | b"global" | b"if" | b"import" | b"in" | b"is" | b"lambda" | b"None"
        | b"nonlocal" | b"not" | b"or" | b"pass" | b"raise" | b"return" | b"True" | b"try"
        | b"while" | b"with" | b"yield" => Some(Token::Keyword),
        b"match" | b"case" | b"type" | b"lazy" => Some(Token::SoftKeyword),
        _ => None,
    }
}
