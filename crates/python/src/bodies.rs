//! Finds the bodies of functions that say nothing about an import: parsing them would take most of the time.
//!
//! A body matters if it may change what [`Effects`](crate::effects::Effects) collects, or if it may not be valid Python, which the parser
//! decides.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::depth;
use crate::scan::{Scanner, Token};

/// The function of a module that is called for names which it does not have (PEP 562).
pub(crate) const GETATTR: &str = "__getattr__";

/// The parts of a source that are bodies of functions and say nothing about its import, in order, and whether all of it is certainly shallow.
pub(crate) fn idle(source: &str) -> (Vec<Range<usize>>, bool) {
    let mut scanner = Scanner::of(source);
    let mut bodies = Bodies::of(source);
    let mut depth = depth::Bound::default();
    while let Some((token, range)) = scanner.next() {
        depth.add(token, scanner.in_fields());
        bodies.add(token, range, scanner.brackets());
    }
    match scanner.is_valid() {
        true => (bodies.idle(), depth.is_shallow()),
        false => (Vec::new(), false),
    }
}

/// Where the scan is.
#[derive(Debug, Clone, Copy)]
enum State {
    /// At the level of the module or of a class.
    Outside,
    /// Between `def` and its colon.
    Signature,
    /// After the colon.
    Colon,
    /// Before the first statement of the block.
    Opening,
    /// In the block, with the number of blocks that are open.
    Body(usize),
}

/// The body of a function.
struct Body<'t> {
    range: Range<usize>,
    /// Whether it is known to matter.
    matters: bool,
    /// The names whose attributes it may set.
    changed: Vec<&'t str>,
    /// The name of the function.
    name: &'t str,
    /// Names that it calls.
    calls: Vec<&'t str>,
    /// Whether it has an import.
    imports: bool,
}

/// Collects bodies, token by token.
struct Bodies<'t> {
    source: &'t str,
    state: State,
    all: Vec<Body<'t>>,
    /// Names in import statements, with the number of the body that they are in; 0 outside.
    imported: HashSet<(usize, &'t str)>,
    /// Whether the token is in an import statement.
    is_import: bool,
    /// Whether it is between `except` or `raise` and the next colon or end of a line.
    is_clause: bool,
    brackets: usize,
    /// The token before, and its text.
    previous: (Token, &'t str),
    /// The name at the start of `NAME.attribute`, and whether an attribute follows.
    root: Option<(&'t str, bool)>,
    /// Whether the statement has a keyword so far: then a colon ends its head, and annotates nothing.
    has_keyword: bool,
    /// Such names in the statement, which may be the targets of an assignment.
    targets: Vec<&'t str>,
    /// The end of the last token.
    end: usize,
    /// The name of the last function.
    name: &'t str,
    /// Names that are called outside of bodies.
    calls: Vec<&'t str>,
}

impl<'t> Bodies<'t> {
    fn of(source: &'t str) -> Self {
        Bodies {
            source,
            state: State::Outside,
            all: Vec::new(),
            imported: HashSet::new(),
            is_import: false,
            is_clause: false,
            brackets: 0,
            previous: (Token::Newline, ""),
            root: None,
            has_keyword: false,
            targets: Vec::new(),
            end: 0,
            name: "",
            calls: Vec::new(),
        }
    }

    fn add(&mut self, token: Token, range: Range<usize>, brackets: usize) {
        let text = self.source.get(range.clone()).unwrap_or_default();
        self.brackets = brackets;
        self.note_import(token, text);
        self.note_function(token, text);
        match self.state {
            State::Body(blocks) => self.in_body(token, text, blocks),
            state => self.outside(state, token, text, range.end),
        }
        if !matches!(token, Token::Indent | Token::Dedent) {
            self.end = range.end;
        }
        self.previous = (token, text);
    }

    fn idle(self) -> Vec<Range<usize>> {
        let executed = self.executed();
        let matters = |number: usize, body: &Body| {
            let is_imported = |name: &&str| {
                let places = [0, number];
                places
                    .iter()
                    .any(|it| self.imported.contains(&(*it, *name)))
            };
            body.matters
                || body.name == GETATTR
                || executed.contains(body.name)
                || body.changed.iter().any(is_imported)
        };
        let numbered = self.all.iter().enumerate();
        let idle = numbered.filter(|(at, body)| !matters(at + 1, body));
        idle.map(|(_, body)| body.range.clone()).collect()
    }

    /// The names of the functions that the module may call when it is executed, if one of them imports something.
    fn executed(&self) -> HashSet<&'t str> {
        let mut executed = HashSet::new();
        if !self.all.iter().any(|it| it.imports) {
            return executed;
        }
        let mut bodies: HashMap<&str, Vec<&Body>> = HashMap::new();
        for body in &self.all {
            bodies.entry(body.name).or_default().push(body);
        }
        let mut pending = self.calls.clone();
        let mut imports = false;
        while let Some(name) = pending.pop() {
            let Some(bodies) = bodies.get(name).filter(|_| executed.insert(name)) else {
                continue;
            };
            for body in bodies {
                imports |= body.imports;
                pending.extend(&body.calls);
            }
        }
        match imports {
            true => executed,
            false => HashSet::new(),
        }
    }

    /// Notes the name of a function, and what may be a call.
    fn note_function(&mut self, token: Token, text: &str) {
        let (before, name) = self.previous;
        if text == "def" && !matches!(self.state, State::Body(_)) {
            self.name = "";
        }
        if token != Token::Open || !matches!(before, Token::Word | Token::SoftKeyword) {
            return;
        }
        match (self.state, self.all.last_mut()) {
            (State::Body(_), Some(body)) => body.calls.push(name),
            (State::Signature, _) if self.name.is_empty() => self.name = name,
            _ => self.calls.push(name),
        }
    }

    fn note_import(&mut self, token: Token, text: &'t str) {
        match (token, text) {
            (Token::Keyword, "import") => self.is_import = true,
            (Token::Keyword, "from") if self.starts_statement() => self.is_import = true,
            (Token::Newline | Token::Semicolon, _) => self.is_import = false,
            (Token::Word, name) if self.is_import => {
                let body = match self.state {
                    State::Body(_) => self.all.len(),
                    _ => 0,
                };
                self.imported.insert((body, name));
            }
            _ => {}
        }
    }

    fn starts_statement(&self) -> bool {
        use Token::{Colon, Dedent, Indent, Newline, Semicolon};
        matches!(
            self.previous.0,
            Newline | Indent | Dedent | Semicolon | Colon
        )
    }

    fn outside(&mut self, state: State, token: Token, text: &str, at: usize) {
        self.state = match (state, token) {
            (_, Token::Keyword) if text == "def" => State::Signature,
            (State::Signature, Token::Colon) if self.brackets == 0 => State::Colon,
            (State::Signature, _) => State::Signature,
            (State::Colon, Token::Newline) => State::Opening,
            (State::Opening, Token::Indent) => {
                self.all.push(Body {
                    range: at..at,
                    matters: false,
                    changed: Vec::new(),
                    name: self.name,
                    calls: Vec::new(),
                    imports: false,
                });
                self.is_clause = false;
                self.root = None;
                self.has_keyword = false;
                self.targets.clear();
                State::Body(1)
            }
            _ => State::Outside,
        };
    }

    fn in_body(&mut self, token: Token, text: &'t str, blocks: usize) {
        let changed = self.changed(token, text);
        let matters = self.is_unusual(token, text);
        let end = self.end;
        let Some(body) = self.all.last_mut() else {
            return;
        };
        body.changed.extend(changed);
        body.matters |= matters;
        body.imports |= (token, text) == (Token::Keyword, "import");
        body.range.end = end.max(body.range.start);
        self.state = match token {
            Token::Indent => State::Body(blocks + 1),
            Token::Dedent if blocks == 1 => State::Outside,
            Token::Dedent => State::Body(blocks - 1),
            _ => State::Body(blocks),
        };
    }

    /// The names whose attributes are set, where that shows.
    fn changed(&mut self, token: Token, text: &'t str) -> Vec<&'t str> {
        let root = self.root;
        let is_attribute = self.previous.0 == Token::Dot;
        self.root = match token {
            Token::Word if is_attribute => root.map(|(name, _)| (name, true)),
            Token::Word => Some((text, false)),
            Token::Dot => root,
            _ => None,
        };
        self.has_keyword |= token == Token::Keyword;
        let ended = root.filter(|(_, has_attribute)| *has_attribute);
        match token {
            Token::Comma | Token::Close | Token::Assign | Token::Augmented | Token::Colon => {
                self.targets.extend(ended.map(|(name, _)| name));
            }
            _ => {}
        }
        match token {
            Token::Colon if self.has_keyword => Vec::new(),
            Token::Assign | Token::Augmented | Token::Colon if self.brackets == 0 => {
                std::mem::take(&mut self.targets)
            }
            Token::Newline | Token::Semicolon => {
                self.has_keyword = false;
                self.targets.clear();
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a token makes a body matter: `global`, and what Python 3 may refuse.
    fn is_unusual(&mut self, token: Token, text: &str) -> bool {
        let is_clause = self.is_clause;
        let (before, word_before) = self.previous;
        match (token, text) {
            (Token::Keyword, "except" | "raise") => self.is_clause = true,
            (Token::Colon | Token::Newline | Token::Semicolon, _) => self.is_clause = false,
            _ => {}
        }
        match token {
            Token::Keyword if text == "import" => false,
            Token::Keyword => text == "global" || before == Token::Dot,
            Token::Word => {
                let is_system = self.is_import && word_before == "from" && text == "sys";
                let is_octal = text.len() > 1 && text.starts_with('0') && is_digits(text);
                let is_sys = self.root.is_some_and(|(root, _)| is_sys(root));
                let is_trick = is_trick(text) || is_sys && is_of_sys(text);
                let ends_operand = [Token::Word, Token::String, Token::Close].contains(&before);
                is_system || is_octal || is_trick || ends_operand
            }
            // `print "text"`
            Token::String => [Token::Word, Token::Close].contains(&before),
            // `except X, e` and `raise X, "text"`
            Token::Comma => is_clause && self.brackets == 0,
            // `lambda (x, y):`
            Token::Open => word_before == "lambda",
            // `f(async=True)`
            Token::Assign => before == Token::Keyword,
            _ => false,
        }
    }
}

/// Whether [`Effects`](crate::effects::Effects) looks at a name in the body of a function.
fn is_trick(text: &str) -> bool {
    matches!(
        text,
        "globals"
            | "exec"
            | "addsitedir"
            | "__path__"
            | "declare_namespace"
            | "setattr"
            | "global_enum"
            | "_convert_"
            | "_convert"
    )
}

/// Whether a name is usual for the module `sys`, as in [`is_attribute`](crate::condition::is_attribute).
fn is_sys(name: &str) -> bool {
    name == "sys" || name == "_sys"
}

/// Whether something of `sys` has this name.
fn is_of_sys(text: &str) -> bool {
    matches!(text, "path" | "modules" | "meta_path" | "path_hooks")
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|it| it.is_ascii_digit())
}
