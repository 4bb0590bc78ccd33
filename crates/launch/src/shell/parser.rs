//! The state of the parser of a script.

use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;

use super::cursor::Cursor;
use super::syntax::Word;

/// The deepest nesting of commands, substitutions and words. Scripts of people stay below 20; each level takes some kilobytes of
/// the stack of whoever parses and runs them.
const MAX_NESTING: usize = 40;

/// What is wrong with a script: a noun phrase, for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The parser does not model it.
    NotModeled(String),
    /// The shell refuses it, too.
    Syntax(String),
}

impl<T: Into<String>> From<T> for Problem {
    fn from(text: T) -> Self {
        Problem::NotModeled(text.into())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Problem::NotModeled(text) | Problem::Syntax(text)) = self;
        formatter.write_str(text)
    }
}

/// A syntax error of the shell.
pub(super) fn refused<T>(what: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::Syntax(what.into()))
}

/// Where a word ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// At a blank or an operator.
    Blank,
    /// As `Blank`, in the value of an assignment.
    Value,
    /// At `}`: within `${x:-…}`.
    Brace,
    /// At the end of the text: a here-document.
    End,
}

impl Until {
    pub fn is_argument(self) -> bool {
        matches!(self, Until::Blank | Until::Value)
    }
}

/// A parser of one script.
#[derive(Debug)]
pub(super) struct Parser<'t> {
    pub cursor: Cursor<'t>,
    pub depth: usize,
    /// Whether the shell is bash.
    pub bash: bool,
    /// Whether bash reads `@(…)` as a pattern here.
    pub extglob: bool,
    /// The here-documents that follow this line.
    pub here: Vec<PendingHere>,
    /// How many bytes may still be parsed again. With 0, the first problem ends the script.
    pub reparsable: usize,
}

/// A here-document whose text follows the line.
#[derive(Debug, Clone)]
pub(super) struct PendingHere {
    pub delimiter: String,
    /// Nothing in it is expanded.
    pub literal: bool,
    /// `<<-`
    pub strip_tabs: bool,
    pub body: Rc<OnceCell<Word>>,
}

impl<'t> Parser<'t> {
    pub fn new(text: &'t str, bash: bool, extglob: bool) -> Self {
        Parser {
            cursor: Cursor::new(text, 1),
            depth: 0,
            bash,
            extglob,
            here: Vec::new(),
            reparsable: 0,
        }
    }

    /// A parser of a text within this one.
    pub fn of<'o>(&self, text: &'o str, line: usize) -> Parser<'o> {
        Parser {
            cursor: Cursor::new(text, line),
            depth: self.depth,
            reparsable: self.reparsable,
            ..Parser::new(text, self.bash, self.extglob)
        }
    }

    /// A syntax error of dash. In bash, of which not all words are modeled, it may follow from a word before.
    pub(super) fn unclosed<T>(&self, what: &str) -> Result<T, Problem> {
        match self.bash {
            true => Err(what.into()),
            false => refused(what),
        }
    }

    /// Enters a nested construct.
    pub fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        if self.depth >= MAX_NESTING {
            return Err("commands that are nested too deeply".into());
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }
}
