//! Words and operators of shell scripts and Dockerfile instructions, with their positions.

use std::ops::Range;

use super::variables::{Expanded, Values, expression, unquote};

/// A script.
#[derive(Debug, Clone, Copy)]
pub struct Script<'s> {
    /// The text.
    pub text: &'s str,
    /// Its position in the file.
    pub offset: usize,
    /// The character that continues a line.
    pub escape: char,
    /// Whether it is a Dockerfile instruction, where comments and empty lines may come between continued lines.
    pub instruction: bool,
}

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<'s> {
    /// As written, with quotes and variables.
    pub raw: &'s str,
    /// Its position in the file.
    pub span: Range<usize>,
}

/// A token of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token<'s> {
    /// A word.
    Word(Word<'s>),
    /// `&&`, `||`, `|`, `;`, `;;`, `&`, `(`, `)`, `>`, `>>`, `<`, `<<`; the end of a line is `;`.
    Operator(&'static str),
}

/// Operators as written and as reported, longer ones first.
const OPERATORS: &[(&str, &str)] = &[
    ("<<<", "<"),
    ("<<", "<<"),
    ("&>>", ">>"),
    ("&>", ">"),
    (">>", ">>"),
    (">&", ">&"),
    (">|", ">"),
    ("<(", "("),
    (">(", "("),
    (";;", ";;"),
    ("&&", "&&"),
    ("||", "||"),
    ("|&", "|"),
    ("|", "|"),
    (";", ";"),
    ("&", "&"),
    ("(", "("),
    (")", ")"),
    (">", ">"),
    ("<", "<"),
    ("\n", ";"),
];

impl<'s> Script<'s> {
    /// All words and operators.
    pub fn tokens(&self) -> Vec<Token<'s>> {
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(rest) = self.text.get(at..).filter(|rest| !rest.is_empty()) {
            let goes_on = self.goes_on(rest);
            let operator = OPERATORS
                .iter()
                .find(|(written, _)| rest.starts_with(written));
            if goes_on > 0 {
                at += goes_on;
            } else if rest.starts_with([' ', '\t', '\r']) {
                at += 1;
            } else if rest.starts_with('#') {
                at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some((written, operator)) = operator {
                // The file descriptor of a redirection is not a word: `2>&1`.
                if let Some(Token::Word(word)) = tokens.last()
                    && operator.starts_with(['>', '<'])
                    && word.span.end == self.offset + at
                    && word.raw.bytes().all(|byte| byte.is_ascii_digit())
                {
                    tokens.pop();
                }
                tokens.push(Token::Operator(operator));
                at += written.len();
            } else {
                let end = at + self.word(rest, true).max(1);
                tokens.push(Token::Word(self.piece(at..end)));
                at = end;
            }
        }
        tokens
    }

    /// The words of an instruction without operators: `ENV`, `ARG`.
    pub fn words(&self) -> Vec<Word<'s>> {
        let mut words = Vec::new();
        let mut at = 0;
        while let Some(rest) = self.text.get(at..).filter(|rest| !rest.is_empty()) {
            let goes_on = self.goes_on(rest);
            if goes_on > 0 {
                at += goes_on;
            } else if rest.starts_with([' ', '\t', '\r', '\n']) {
                at += 1;
            } else {
                let end = at + self.word(rest, false).max(1);
                words.push(self.piece(at..end));
                at = end;
            }
        }
        words
    }

    /// A word without quotes and with expanded variables.
    pub fn value(&self, word: &Word<'_>, values: Values<'_>) -> Expanded {
        unquote(word.raw, self.escape, values, &|rest| self.goes_on(rest))
    }

    fn piece(&self, range: Range<usize>) -> Word<'s> {
        let raw = self.text.get(range.clone()).unwrap_or_default();
        Word {
            raw,
            span: self.offset + range.start..self.offset + range.start + raw.len(),
        }
    }

    /// The length of the word at the start of a text.
    fn word(&self, text: &str, operators: bool) -> usize {
        let mut at = 0;
        let mut quote = None;
        while let Some(c) = text[at..].chars().next() {
            let rest = &text[at..];
            let goes_on = self.goes_on(rest);
            if goes_on > 0 {
                // A continued line ends a word only if the next line starts with white space.
                if quote.is_none() && rest[goes_on..].starts_with([' ', '\t']) {
                    break;
                }
                at += goes_on;
                continue;
            }
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (Some('\''), _) => {}
                (None, '\'' | '"') => quote = Some(c),
                (None, ' ' | '\t' | '\r' | '\n') => break,
                (None, ';' | '&' | '|' | '(' | ')' | '<' | '>') if operators => break,
                (_, c) if c == self.escape => {
                    let next = rest[c.len_utf8()..].chars().next();
                    at += next.map_or(0, char::len_utf8);
                }
                (_, '$' | '`') => {
                    at += expression(rest);
                    continue;
                }
                _ => {}
            }
            at += c.len_utf8();
        }
        at
    }

    /// The length of the line continuation at the start of a text, or 0.
    fn goes_on(&self, text: &str) -> usize {
        let Some(rest) = text.strip_prefix(self.escape) else {
            return 0;
        };
        let blank = if self.instruction {
            rest.trim_start_matches([' ', '\t', '\r'])
        } else {
            rest
        };
        let Some(mut next) = blank
            .strip_prefix('\n')
            .or_else(|| blank.strip_prefix("\r\n"))
        else {
            return 0;
        };
        while self.instruction && !next.is_empty() {
            let (line, behind) = next.split_once('\n').unwrap_or((next, ""));
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                break;
            }
            next = behind;
        }
        text.len() - next.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Script<'_> {
        Script {
            text,
            offset: 0,
            escape: '\\',
            instruction: true,
        }
    }

    fn written(text: &str) -> Vec<String> {
        let tokens = script(text).tokens();
        tokens
            .iter()
            .map(|token| match token {
                Token::Word(word) => word.raw.to_owned(),
                Token::Operator(operator) => format!("<{operator}>"),
            })
            .collect()
    }

    #[test]
    fn words_end_as_in_a_shell() {
        assert_eq!(
            written("pip install 'a b'==1 # no"),
            ["pip", "install", "'a b'==1"]
        );
        assert_eq!(
            written("a&&b||c;d|e"),
            ["a", "<&&>", "b", "<||>", "c", "<;>", "d", "<|>", "e"]
        );
        assert_eq!(written("a 2>&1 >x"), ["a", "<>&>", "1", "<>>", "x"]);
        assert_eq!(written("a \"b;c\" d\\ e"), ["a", "\"b;c\"", "d\\ e"]);
        assert_eq!(written("x$(a b)y ${A:-b c}"), ["x$(a b)y", "${A:-b c}"]);
        assert_eq!(written("torch>=2"), ["torch", "<>>", "=2"]);
    }

    #[test]
    fn lines_continue_over_comments_and_empty_lines() {
        assert_eq!(written("a \\\n  # not \\\n\n  b"), ["a", "b"]);
        assert_eq!(written("a\\\nb"), ["a\\\nb"]);
        let script = script("a\\\nb");
        let words = script.words();
        assert_eq!(script.value(&words[0], &|_| None).text, "ab");
    }
}
