//! The state of the parser of a script.

use std::cell::OnceCell;
use std::rc::Rc;

use super::cursor::Cursor;
use super::syntax::Word;

/// The deepest nesting of commands, substitutions and words. Scripts of people stay below 20; each level takes some kilobytes of
/// the stack of whoever parses and runs them.
const MAX_NESTING: usize = 40;

/// What is wrong with a script, for a message.
pub type Problem = String;

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

    /// Enters a nested construct.
    pub fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        if self.depth >= MAX_NESTING {
            return Err("it is nested too deeply".to_owned());
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }
}
