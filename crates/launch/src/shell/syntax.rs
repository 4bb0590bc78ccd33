//! The syntax tree of shell scripts ([POSIX.1-2024, Shell Command Language](https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html),
//! and what scripts of bash commonly use besides).

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

/// Commands that run one after the other.
pub type List = Vec<Item>;

/// Pipelines that `&&` and `||` join.
#[derive(Debug)]
pub struct Item {
    /// The pipeline that always runs.
    pub first: Pipeline,
    /// The others, each with what joins it to those before it.
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

/// What joins two pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connective {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Commands that `|` joins.
#[derive(Debug)]
pub struct Pipeline {
    /// Whether it begins with `!`.
    pub negated: bool,
    /// At least one.
    pub commands: Vec<Command>,
}

/// A command with its redirections.
#[derive(Debug)]
pub struct Command {
    /// The line that it starts in, from 1.
    pub line: usize,
    /// How it starts, for messages.
    pub text: Rc<str>,
    /// What it is.
    pub kind: CommandKind,
    /// In the order in which they are written.
    pub redirects: Vec<Redirect>,
}

/// The kinds of commands.
#[derive(Debug)]
pub enum CommandKind {
    /// `NAME=value … program argument …`
    Simple {
        /// Those before the program.
        assignments: Vec<Assignment>,
        /// The program and its arguments.
        words: Vec<Word>,
        /// The arrays of `declare NAME=(…)`. The words have their names.
        arrays: Vec<Assignment>,
    },
    /// `{ …; }`
    Group(List),
    /// `( … )`
    Subshell(List),
    /// `if …; then …; elif …; then …; else …; fi`
    If {
        /// Conditions, and what runs if they hold.
        branches: Vec<(List, List)>,
        /// What runs if none holds.
        otherwise: Option<List>,
    },
    /// `for NAME in WORD …; do …; done`
    For {
        /// The variable.
        name: String,
        /// `None` for the positional parameters.
        words: Option<Vec<Word>>,
        /// What runs for each word.
        body: List,
    },
    /// `while …; do …; done`
    While {
        /// Whether it is `until`.
        until: bool,
        /// What runs before each round.
        condition: List,
        /// What runs in each round.
        body: List,
    },
    /// `case WORD in …) …;; esac`
    Case {
        /// What the patterns are compared with.
        word: Word,
        /// The first that matches runs.
        arms: Vec<Arm>,
    },
    /// `NAME() …`
    Function {
        /// Its name.
        name: String,
        /// What runs when it is called.
        body: Rc<Command>,
    },
    /// `[[ … ]]`
    Test(Vec<TestToken>),
    /// `(( … ))`
    Arithmetic(String),
    /// What cannot be parsed, or is not modeled: what it is.
    Unknown(String),
}

/// `PATTERN | PATTERN) …;;`
#[derive(Debug)]
pub struct Arm {
    /// At least one.
    pub patterns: Vec<Word>,
    /// What runs if one matches.
    pub body: List,
    /// `;;`, `;&` or `;;&`.
    pub end: &'static str,
}

/// A part of `[[ … ]]`.
#[derive(Debug)]
pub enum TestToken {
    /// An operand, or an operator such as `=` or `-n`.
    Word(Word),
    /// `&&`, `||`, `(`, `)`, `<`, `>`.
    Operator(&'static str),
    /// What follows `=~`.
    Regex,
}

/// `NAME=value`
#[derive(Debug)]
pub struct Assignment {
    /// Its place in the script, with the name.
    pub span: Range<usize>,
    /// The variable.
    pub name: String,
    /// `+=`
    pub append: bool,
    /// What it gets.
    pub value: AssignedValue,
}

/// What a variable gets.
#[derive(Debug)]
pub enum AssignedValue {
    /// A text.
    Text(Word),
    /// `(…)`
    Array(Vec<Word>),
    /// Of an element: `a[1]=x`, with its subscript.
    Element(String),
}

/// A word before expansion, or the lines of a here-document.
#[derive(Debug, Default)]
pub struct Word {
    /// Its place in the script.
    pub span: Range<usize>,
    /// Empty if nothing in a here-document is expanded.
    pub pieces: Vec<Piece>,
}

/// A part of a word.
#[derive(Debug)]
pub enum Piece {
    /// A text that stays as it is, without its quotes.
    Literal {
        /// The text.
        text: String,
        /// Whether it was in quotes, or behind a backslash.
        quoted: bool,
    },
    /// What the shell expands.
    Expansion {
        /// Its place in the script. Within backquotes and here-documents, places count from where these start.
        span: Range<usize>,
        /// What it is.
        kind: Expansion,
    },
}

/// Word expansions.
#[derive(Debug)]
pub enum Expansion {
    /// `$name` or `${name…}`
    Parameter {
        /// `!name` for the parameter that `name` names.
        name: String,
        /// What is done with its value.
        operation: Operation,
        /// Whether it is in double quotes.
        quoted: bool,
    },
    /// `$(…)` or backquotes.
    Command {
        /// The commands.
        list: List,
        /// Whether it is in double quotes.
        quoted: bool,
    },
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
    /// What it is, for a message.
    pub what: String,
    /// The text in it that is evaluated as arithmetic, which may assign variables.
    pub arithmetic: String,
    /// The words in it, which may run commands.
    pub inside: Word,
    /// Whether it is one whole number.
    pub is_number: bool,
}

/// What is done with the value of a parameter.
#[derive(Debug)]
pub enum Operation {
    /// `${x}`
    Value,
    /// `${#x}`
    Length,
    /// `${x[@]}` and `${x[*]}`.
    Elements {
        /// Whether it is `*`.
        joined: bool,
    },
    /// `:-`, `-`, `:=`, `=`, `:?`, `?`, `:+`, `+`.
    Substitute {
        /// The sign.
        operator: char,
        /// Whether an empty value counts as none.
        colon: bool,
        /// The other value.
        word: Word,
    },
    /// `${x:1:2}`
    Substring {
        /// In characters; a negative one counts from the end.
        offset: i64,
        /// In characters.
        length: Option<usize>,
    },
    /// `%`, `%%`, `#`, `##`.
    Trim {
        /// Whether the end is removed, and not the start.
        suffix: bool,
        /// Whether the longest match is removed, and not the shortest.
        longest: bool,
        /// What is removed.
        pattern: Word,
    },
    /// Another one.
    Unknown,
}

/// A redirection.
#[derive(Debug)]
pub struct Redirect {
    /// The file descriptor in front, or that of the operator.
    pub descriptor: Option<u32>,
    /// `<`, `>`, `>>`, `>|`, `<>`, `<&`, `>&`, `&>`, `&>>`, `<<`, `<<<`.
    pub operator: &'static str,
    /// What it redirects to or from.
    pub target: Target,
}

/// The operand of a redirection.
#[derive(Debug)]
pub enum Target {
    /// A file or a descriptor.
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
