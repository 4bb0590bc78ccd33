//! The syntax tree of shell scripts ([POSIX.1-2024, Shell Command Language](https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html),
//! and what scripts of bash commonly use besides).

#![expect(
    missing_docs,
    reason = "the names are those of the grammar; comments are where they do not say it all"
)]

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

/// Commands that run one after the other.
pub type List = Vec<Item>;

/// Pipelines that `&&` and `||` join.
#[derive(Debug)]
pub struct Item {
    pub first: Pipeline,
    pub rest: Vec<(Connective, Pipeline)>,
    /// Whether it ends in `&`.
    pub background: bool,
}

impl Item {
    /// One command.
    pub fn of(command: Command) -> Self {
        Item {
            first: Pipeline {
                negated: false,
                commands: vec![command],
            },
            rest: Vec::new(),
            background: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connective {
    And,
    Or,
}

#[derive(Debug)]
pub struct Pipeline {
    pub negated: bool,
    pub commands: Vec<Command>,
}

#[derive(Debug)]
pub struct Command {
    /// The line that it starts in, from 1.
    pub line: usize,
    /// How it starts, for messages.
    pub text: Rc<str>,
    pub kind: CommandKind,
    pub redirects: Vec<Redirect>,
}

#[derive(Debug)]
pub enum CommandKind {
    Simple {
        assignments: Vec<Assignment>,
        words: Vec<Word>,
        /// The arrays of `declare NAME=(…)`. The words have their names.
        arrays: Vec<Assignment>,
    },
    Group(List),
    Subshell(List),
    If {
        branches: Vec<(List, List)>,
        otherwise: Option<List>,
    },
    For {
        name: String,
        /// `None` for the positional parameters.
        words: Option<Vec<Word>>,
        body: List,
    },
    While {
        until: bool,
        condition: List,
        body: List,
    },
    Case {
        word: Word,
        arms: Vec<Arm>,
    },
    Function {
        name: String,
        body: Rc<Command>,
    },
    /// `[[ … ]]`
    Test(Vec<TestToken>),
    /// `(( … ))`
    Arithmetic(String),
    /// What cannot be parsed, or is not modeled: what it is.
    Unknown(String),
}

#[derive(Debug)]
pub struct Arm {
    pub patterns: Vec<Word>,
    pub body: List,
    /// `;;`, `;&` or `;;&`.
    pub end: &'static str,
}

#[derive(Debug)]
pub enum TestToken {
    Word(Word),
    Operator(&'static str),
    /// What follows `=~`.
    Regex,
}

#[derive(Debug)]
pub struct Assignment {
    /// Its place in the script, with the name.
    pub span: Range<usize>,
    pub name: String,
    /// `+=`
    pub append: bool,
    pub value: AssignedValue,
}

#[derive(Debug)]
pub enum AssignedValue {
    Text(Word),
    Array(Vec<Word>),
    /// Of an element: `a[1]=x`, with its subscript.
    Element(String),
}

/// A word before expansion, or the lines of a here-document.
#[derive(Debug, Default)]
pub struct Word {
    /// Byte range in the script.
    pub span: Range<usize>,
    /// Empty if nothing in a here-document is expanded.
    pub pieces: Vec<Piece>,
}

/// A part of a word.
#[derive(Debug)]
pub enum Piece {
    Literal {
        text: String,
        quoted: bool,
    },
    Expansion {
        /// Its place in the script. Within backquotes and here-documents, places count from where these start.
        span: Range<usize>,
        kind: Expansion,
    },
}

/// Word expansions.
#[derive(Debug)]
pub enum Expansion {
    Parameter {
        /// `!name` for the parameter that `name` names.
        name: String,
        operation: Operation,
        quoted: bool,
    },
    /// `$(…)` or backquotes.
    Command { list: List, quoted: bool },
    /// `~`, before `/` or at the end of a word.
    Tilde,
    /// Arithmetic, brace expansion, `${x//a/b}`.
    Unknown(Box<UnknownPiece>),
    /// `<(…)` and `>(…)`.
    Process(List),
}

/// What is expanded to something unknown.
#[derive(Debug, Default)]
pub struct UnknownPiece {
    pub what: String,
    /// The text in it that is evaluated as arithmetic, which may assign variables.
    pub arithmetic: String,
    /// The words in it, which may run commands.
    pub inside: Word,
    pub is_number: bool,
}

#[derive(Debug)]
pub enum Operation {
    Value,
    Length,
    /// `${x[@]}` and `${x[*]}`.
    Elements {
        joined: bool,
    },
    /// `:-`, `-`, `:=`, `=`, `:?`, `?`, `:+`, `+`.
    Substitute {
        operator: char,
        colon: bool,
        word: Word,
    },
    Substring {
        offset: i64,
        length: Option<usize>,
    },
    /// `%`, `%%`, `#`, `##`.
    Trim {
        suffix: bool,
        longest: bool,
        pattern: Word,
    },
    Unknown,
}

#[derive(Debug)]
pub struct Redirect {
    /// The file descriptor in front, or that of the operator.
    pub descriptor: Option<u32>,
    /// `<`, `>`, `>>`, `>|`, `<>`, `<&`, `>&`, `&>`, `&>>`, `<<`, `<<<`.
    pub operator: &'static str,
    pub target: Target,
}

#[derive(Debug)]
pub enum Target {
    Word(Word),
    /// A here-document, which is read at the end of the line.
    Here(Rc<OnceCell<Word>>),
}

impl Word {
    /// The text of a word without quotes and expansions.
    pub fn plain(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [
                Piece::Literal {
                    text,
                    quoted: false,
                },
            ] => Some(text),
            _ => None,
        }
    }
}

impl Word {
    /// The text of a word of which a shell only takes the quotes away; `None` if it expands something.
    fn literal(&self) -> Option<String> {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Literal { text, quoted } => {
                let expands = !quoted && text.contains(['*', '?', '[', '~']);
                (!expands).then_some(text.as_str())
            }
            Piece::Expansion { .. } => None,
        });
        pieces.collect()
    }

    /// Whether it has the form of an assignment: `NAME=…` or `NAME+=…`.
    pub fn is_assignment(&self) -> bool {
        let Some(Piece::Literal {
            text,
            quoted: false,
        }) = self.pieces.first()
        else {
            return false;
        };
        text.split_once('=').is_some_and(|(name, _)| {
            let name = name.strip_suffix('+').unwrap_or(name);
            name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
                && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        })
    }

    /// Whether a shell may split what it expands to.
    pub fn has_unquoted_expansion(&self) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Literal { .. } => false,
            Piece::Expansion { kind, .. } => matches!(
                kind,
                Expansion::Parameter { quoted: false, .. }
                    | Expansion::Command { quoted: false, .. }
            ),
        })
    }
}

/// The words of a list that is one command with nothing that a shell expands or redirects; `None` for all others.
pub(super) fn only_words(list: &List) -> Option<Vec<String>> {
    let [
        Item {
            first,
            rest,
            background: false,
        },
    ] = list.as_slice()
    else {
        return None;
    };
    let [command] = first.commands.as_slice() else {
        return None;
    };
    let CommandKind::Simple {
        assignments,
        words,
        arrays,
    } = &command.kind
    else {
        return None;
    };
    let is_plain = rest.is_empty()
        && !first.negated
        && assignments.is_empty()
        && arrays.is_empty()
        && command.redirects.is_empty();
    let words = words.iter().map(Word::literal);
    is_plain.then(|| words.collect())?
}
