//! Goes on behind what cannot be parsed.

use super::cursor::Cursor;
use super::parameters::unknown;
use super::parser::{Parser, PendingHere, Problem};
use super::syntax::{Command, CommandKind, Piece, UnknownPiece, Word};
use super::words::ends_word;

/// How much of a script is parsed again at most, in bytes, to go on behind what cannot be parsed.
pub(super) const MAX_REPARSED: usize = 1 << 20;

/// The deepest nesting of blocks that are told apart. It leaves room for the words in them.
const MAX_BLOCKS: usize = 20;

/// Where a parser is, with the here-documents that follow the line.
type Place<'t> = (Cursor<'t>, Vec<PendingHere>);

impl<'t> Parser<'t> {
    pub(super) fn place(&self) -> Place<'t> {
        (self.cursor, self.here.clone())
    }

    /// Goes back after a problem, unless that ends the script.
    pub(super) fn recovers(&mut self, to: Place<'t>) -> bool {
        let bytes = 1 + self.cursor.offset() - to.0.offset();
        self.reparsable = self.reparsable.saturating_sub(bytes);
        let recovers = self.reparsable > 0;
        if recovers {
            (self.cursor, self.here) = to;
        }
        recovers
    }

    /// Whether a block that is open ends here.
    pub(super) fn closes(&self) -> bool {
        self.reparsable > 0 && self.cursor.peek().is_none()
    }

    /// Fails where blocks can no longer be distinguished.
    pub(super) fn check_blocks(&self) -> Result<(), Problem> {
        match self.reparsable > 0 && self.depth > MAX_BLOCKS {
            true => Err("commands that are nested too deeply".into()),
            false => Ok(()),
        }
    }

    pub(super) fn unknown_command(&self, problem: Problem) -> Command {
        Command {
            line: self.cursor.line(),
            text: problem.to_string().into(),
            kind: CommandKind::Unknown(problem.to_string()),
            redirects: Vec::new(),
        }
    }

    /// A command, or the word before one that cannot be parsed with it.
    pub(super) fn command_or_unknown(&mut self) -> Result<Command, Problem> {
        let start = self.place();
        match self.nested(Self::command) {
            Err(problem) if self.recovers(start) => {
                if self.cursor.take_while(|c| !ends_word(c)).is_empty() {
                    self.cursor.next();
                }
                Ok(self.unknown_command(problem))
            }
            parsed => parsed,
        }
    }

    /// A word that cannot be parsed, up to a blank or an operator that is neither quoted nor in brackets.
    pub(super) fn unknown_word(&mut self, problem: Problem) -> Result<Word, Problem> {
        let start = self.cursor.offset();
        let (mut quote, mut open, mut before) = (None, 0, ' ');
        while let Some(c) = self.cursor.peek() {
            match (quote, c) {
                (Some(it), c) if it == c => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"' | '`') => quote = Some(c),
                (None, '(' | '{') if open > 0 || before == '$' => open += 1,
                (None, ')' | '}') if open > 0 => open -= 1,
                (None, c) if open == 0 && ends_word(c) => break,
                _ => {}
            }
            if c == '\\' {
                self.cursor.next();
            }
            self.cursor.next();
            before = c;
        }
        if quote.is_some() || open > 0 || self.cursor.offset() == start {
            return Err(problem);
        }
        let span = start..self.cursor.offset();
        let kind = unknown(&problem.to_string(), UnknownPiece::default());
        Ok(Word {
            span: span.clone(),
            pieces: vec![Piece::Expansion { span, kind }],
        })
    }
}
