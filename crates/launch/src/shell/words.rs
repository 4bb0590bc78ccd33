//! Parses words: quotes, parameters, command substitutions.

use std::ops::Range;

use super::parameters::{arithmetic, parameter, unknown};
use super::parser::{Parser, Problem, Until};
use super::syntax::{Expansion, List, Operation, Piece, UnknownPiece, Word};

/// The characters that end a word unless they are quoted.
pub(super) fn ends_word(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')'
    )
}

/// Whether a text can be the name of a variable.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars
        .next()
        .is_some_and(|c| c == '_' || c.is_ascii_alphabetic())
        && chars.all(|c| c == '_' || c.is_ascii_alphanumeric())
}

/// A word under construction.
#[derive(Default)]
struct Builder {
    pieces: Vec<Piece>,
}

impl Builder {
    fn push(&mut self, c: char, is_quoted: bool) {
        match self.pieces.last_mut() {
            Some(Piece::Literal { text, quoted }) if *quoted == is_quoted => text.push(c),
            _ => self.pieces.push(Piece::Literal {
                text: c.to_string(),
                quoted: is_quoted,
            }),
        }
    }

    /// A quoted text, which makes a field even if it is empty.
    fn quoted(&mut self, text: &str) {
        self.pieces.push(Piece::Literal {
            text: text.to_owned(),
            quoted: true,
        });
    }

    fn expansion(&mut self, span: Range<usize>, kind: Expansion) {
        self.pieces.push(Piece::Expansion { span, kind });
    }
}

impl Parser<'_> {
    /// Parses a word, which may be empty at a character that ends it. `quoted`: it is within double quotes.
    pub fn word(&mut self, until: Until, quoted: bool) -> Result<Word, Problem> {
        let start = self.place();
        match self.nested(|parser| parser.word_here(until, quoted)) {
            Err(problem) if until.is_argument() && self.recovers(start) => {
                self.unknown_word(problem)
            }
            Err(_) if until == Until::End && self.reparsable > 0 => Ok(Word::default()),
            parsed => parsed,
        }
    }

    fn word_here(&mut self, until: Until, quoted: bool) -> Result<Word, Problem> {
        let mut word = Builder::default();
        let start = self.cursor.offset();
        while let Some(c) = self.cursor.peek() {
            match c {
                '}' if until == Until::Brace => break,
                '<' | '>' if until.is_argument() && self.is_process_substitution() => {
                    let start = self.cursor.offset();
                    self.cursor.skip(2);
                    let list = self.list_in_parentheses()?;
                    word.expansion(start..self.cursor.offset(), Expansion::Process(list));
                }
                c if until.is_argument() && ends_word(c) => break,
                '\\' => self.backslash(&mut word, until, quoted),
                '\'' if until == Until::End => word.push(self.any(), true),
                '\'' if quoted => return Err("a single quote within `\"${…}\"`".into()),
                '\'' => self.single_quoted(&mut word)?,
                '"' if until == Until::End => word.push(self.any(), true),
                '"' if quoted && !self.bash => {
                    return Err("a double quote within `\"${…}\"`".into());
                }
                '"' => {
                    self.cursor.skip(1);
                    self.double_quoted(&mut word)?;
                }
                '$' if self.bash && !quoted && until != Until::End && self.is_dollar_quote() => {
                    let text = self.dollar_quoted()?;
                    word.quoted(&text);
                }
                '@' | '?' | '*' | '+' | '!' if until.is_argument() && self.is_group() => {
                    self.group(&mut word)?;
                }
                '$' => self.dollar(&mut word, quoted || until == Until::End)?,
                '`' => self.backquotes(&mut word, quoted || until == Until::End)?,
                '~' if !quoted && until != Until::End && self.is_tilde(start, until) => {
                    self.tilde(&mut word, until);
                }
                _ => {
                    let c = self.any();
                    word.push(c, quoted || until == Until::End);
                }
            }
        }
        let span = start..self.cursor.offset();
        let mut word = Word {
            span: span.clone(),
            pieces: word.pieces,
        };
        if self.bash && !quoted && until == Until::Blank && has_braces(&word.pieces) {
            let inside = std::mem::take(&mut word);
            let parts = UnknownPiece {
                inside,
                ..UnknownPiece::default()
            };
            let kind = unknown("a brace expansion", parts);
            word = Word {
                span: span.clone(),
                pieces: vec![Piece::Expansion { span, kind }],
            };
        }
        Ok(word)
    }

    fn single_quoted(&mut self, word: &mut Builder) -> Result<(), Problem> {
        self.cursor.skip(1);
        let text = self.cursor.take_while(|c| c != '\'');
        if !self.cursor.eat("'") {
            return self.unclosed("a single quote that is not closed");
        }
        word.quoted(text);
        Ok(())
    }

    fn tilde(&mut self, word: &mut Builder, until: Until) {
        let start = self.cursor.offset();
        self.cursor.skip(1);
        let prefix = self.cursor.rest().chars().next();
        let is_home = prefix.is_none_or(|c| c == '/' || c == ':' || c == '}' || ends_word(c));
        // Shells disagree about arguments such as `a=~`.
        let is_sure = self.bash || until != Until::Blank || word.pieces.is_empty();
        let kind = match is_home && is_sure {
            true => Expansion::Tilde,
            false => unknown("a tilde", UnknownPiece::default()),
        };
        word.expansion(start..self.cursor.offset(), kind);
    }

    /// The next character, which the caller has seen.
    fn any(&mut self) -> char {
        self.cursor.next().unwrap_or_default()
    }

    fn is_process_substitution(&self) -> bool {
        let rest = self.cursor.rest();
        self.bash && (rest.starts_with("<(") || rest.starts_with(">("))
    }

    fn is_dollar_quote(&self) -> bool {
        let rest = self.cursor.rest();
        rest.starts_with("$'") || rest.starts_with("$\"")
    }

    /// `$'…'` (bash manual, "ANSI-C Quoting"), without the escapes that depend on the locale.
    fn dollar_quoted(&mut self) -> Result<String, Problem> {
        let unknown = || "an escape in `$'…'`, or `$\"…\"`".into();
        if !self.cursor.eat("$'") {
            return Err(unknown());
        }
        let mut text = String::new();
        loop {
            match self.cursor.next() {
                None => return self.unclosed("a single quote that is not closed"),
                Some('\'') => return Ok(text),
                Some('\\') => match self.cursor.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some('e' | 'E') => text.push('\u{1b}'),
                    Some(c @ ('\\' | '\'' | '"' | '?')) => text.push(c),
                    Some('0') if self.cursor.eat("33") => text.push('\u{1b}'),
                    _ => return Err(unknown()),
                },
                Some(c) => text.push(c),
            }
        }
    }

    fn is_group(&self) -> bool {
        self.extglob && self.cursor.rest().get(1..2) == Some("(")
    }

    /// `@(a|b)` and the like, with `extglob`: its characters, of which none is quoted.
    fn group(&mut self, word: &mut Builder) -> Result<(), Problem> {
        let rest = self.cursor.rest();
        let length = rest.find(')').ok_or("a parenthesis that is not closed")? + 1;
        let text = &rest[..length];
        if text[2..].contains(['$', '`', '\'', '"', '\\', '(', '/', '\n']) {
            return Err("a pattern of `extglob`".into());
        }
        text.chars().for_each(|c| word.push(c, false));
        self.cursor.skip(length);
        Ok(())
    }

    /// Whether a `~` here is one that the shell expands: at the start of a word, or in an assignment after `=` or `:`.
    fn is_tilde(&self, start: usize, until: Until) -> bool {
        let before = self.cursor.since(start);
        match before.split_once('=') {
            _ if before.is_empty() => true,
            None => until == Until::Value && before.ends_with(':'),
            Some((name, value)) => {
                let is_assignment = until == Until::Value || is_name(name);
                is_assignment && (value.is_empty() || value.ends_with(':'))
            }
        }
    }

    fn backslash(&mut self, word: &mut Builder, until: Until, quoted: bool) {
        self.cursor.skip(1);
        match self.cursor.peek() {
            None => word.push('\\', true),
            Some('\n') => self.cursor.skip(1),
            Some(c) => {
                let in_quotes = quoted || until == Until::End;
                let escapes = match until {
                    Until::End => "$`\\",
                    _ => "$`\\\"}",
                };
                if in_quotes && !escapes.contains(c) {
                    word.push('\\', true);
                }
                self.cursor.next();
                word.push(c, true);
            }
        }
    }

    fn double_quoted(&mut self, word: &mut Builder) -> Result<(), Problem> {
        let before = word.pieces.len();
        loop {
            match self.cursor.peek() {
                None => return self.unclosed("a double quote that is not closed"),
                Some('"') => {
                    self.cursor.skip(1);
                    // `"$@"` makes no field without parameters, `""` does.
                    if word.pieces.len() == before {
                        word.quoted("");
                    }
                    return Ok(());
                }
                Some('\\') => {
                    self.cursor.skip(1);
                    match self.cursor.next() {
                        Some('\n') | None => {}
                        Some(c) => {
                            if !"$`\\\"".contains(c) {
                                word.push('\\', true);
                            }
                            word.push(c, true);
                        }
                    }
                }
                Some('$') => self.dollar(word, true)?,
                Some('`') => self.backquotes(word, true)?,
                Some(c) => {
                    self.cursor.next();
                    word.push(c, true);
                }
            }
        }
    }

    fn backquotes(&mut self, word: &mut Builder, quoted: bool) -> Result<(), Problem> {
        let start = self.cursor.offset();
        self.cursor.skip(1);
        let line = self.cursor.line();
        let mut text = String::new();
        loop {
            match self.cursor.next() {
                None => return Err("a backquote that is not closed".into()),
                Some('`') => break,
                Some('\\') => match self.cursor.next() {
                    Some(c) if "$`\\".contains(c) || (quoted && c == '"') => text.push(c),
                    Some(c) => text.extend(['\\', c]),
                    None => text.push('\\'),
                },
                Some(c) => text.push(c),
            }
        }
        // Shells parse it only when they run the command.
        let list = self.nested(|parser| parser.list_of(&text, line));
        let list = list.map_err(|problem| Problem::NotModeled(problem.to_string()))?;
        let kind = Expansion::Command { list, quoted };
        word.expansion(start..self.cursor.offset(), kind);
        Ok(())
    }

    /// Parses the list of another text.
    fn list_of(&mut self, text: &str, line: usize) -> Result<List, Problem> {
        let mut parser = self.of(text, line);
        let list = parser.whole();
        self.reparsable = parser.reparsable;
        list
    }

    fn dollar(&mut self, word: &mut Builder, quoted: bool) -> Result<(), Problem> {
        let start = self.cursor.offset();
        self.cursor.skip(1);
        let kind = match self.cursor.peek() {
            Some('(') if self.cursor.rest().starts_with("((") => {
                self.cursor.skip(2);
                let text = self.arithmetic()?;
                arithmetic(text)
            }
            Some('[') if self.bash => {
                self.cursor.skip(1);
                let text = self.cursor.take_while(|c| c != ']');
                if !self.cursor.eat("]") || text.contains(['`', '$', '[']) {
                    return Err("arithmetic in brackets".into());
                }
                arithmetic(text.to_owned())
            }
            Some('(') => {
                self.cursor.skip(1);
                let list = self.nested(Self::list_in_parentheses)?;
                Expansion::Command { list, quoted }
            }
            Some('{') => {
                self.cursor.skip(1);
                self.nested(|parser| parser.braced(quoted))?
            }
            Some(c) if c == '_' || c.is_ascii_alphabetic() => {
                let name = self
                    .cursor
                    .take_while(|c| c == '_' || c.is_ascii_alphanumeric());
                parameter(name, Operation::Value, quoted)
            }
            Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => {
                self.cursor.skip(1);
                parameter(&c.to_string(), Operation::Value, quoted)
            }
            _ => {
                word.push('$', quoted);
                return Ok(());
            }
        };
        word.expansion(start..self.cursor.offset(), kind);
        Ok(())
    }
}

/// Whether bash would expand braces: `{a,b}` or `{1..3}`.
fn has_braces(pieces: &[Piece]) -> bool {
    let mut open = false;
    let mut separated = false;
    let mut before = ' ';
    for piece in pieces {
        let Piece::Literal {
            text,
            quoted: false,
        } = piece
        else {
            continue;
        };
        for c in text.chars() {
            match c {
                '{' => open = true,
                ',' if open => separated = true,
                '.' if open && before == '.' => separated = true,
                '}' if separated => return true,
                _ => {}
            }
            before = c;
        }
    }
    false
}
