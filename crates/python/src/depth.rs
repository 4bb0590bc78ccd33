//! Bounds the nesting of a source before it is parsed: parsing, visiting and dropping a syntax tree recurse.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer};

use crate::scan::Token;

/// Blocks inside one another. CPython allows 100 (`MAXINDENT` in `Parser/lexer/state.h`).
const MOST_INDENTS: usize = 100;

/// Tokens of one expression that can each be a level of its tree. The longest sum of SymPy has 2,500.
const MOST_OPERATORS: usize = 10_000;

/// Number of such tokens up to which the tree fits on the stack of any thread.
const FEW_OPERATORS: usize = 60;

/// How deep the syntax tree of a source can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Any thread can parse it.
    Shallow,
    /// It needs a thread with a large stack.
    Deep,
    /// It is not parsed.
    TooDeep,
}

/// An upper bound for the depth of a source, by its tokens.
pub(crate) fn of(source: &str) -> Depth {
    let mut lexer = lexer::lex(source, Mode::Module);
    let mut bound = Bound::default();
    loop {
        let token = match lexer.next_token() {
            TokenKind::EndOfFile => break,
            TokenKind::Newline => Token::Newline,
            TokenKind::Indent => Token::Indent,
            TokenKind::Dedent => Token::Dedent,
            TokenKind::Comma => Token::Comma,
            TokenKind::Lpar
            | TokenKind::Lsqb
            | TokenKind::Lbrace
            | TokenKind::FStringStart
            | TokenKind::TStringStart => Token::Open,
            TokenKind::Rpar
            | TokenKind::Rsqb
            | TokenKind::Rbrace
            | TokenKind::FStringEnd
            | TokenKind::TStringEnd => Token::Close,
            TokenKind::Name
            | TokenKind::String
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Comment
            | TokenKind::NonLogicalNewline
            | TokenKind::FStringMiddle
            | TokenKind::TStringMiddle => continue,
            _ => Token::Operator,
        };
        bound.add(token, 0);
        if bound.is_exceeded() {
            return Depth::TooDeep;
        }
    }
    match bound.is_shallow() {
        true => Depth::Shallow,
        false => Depth::Deep,
    }
}

/// An upper bound for the depth of what was read so far: between two commas of one pair of brackets, each operator, bracket or keyword can be a
/// level below the one before.
#[derive(Default)]
pub(crate) struct Bound {
    open: Operators,
    indents: usize,
    most_indents: usize,
    most: usize,
}

impl Bound {
    /// Adds a token; `in_fields` is the number of bytes of it that are expressions in an f-string.
    pub fn add(&mut self, token: Token, in_fields: usize) {
        match token {
            Token::Word => return,
            Token::Newline => self.open = Operators::default(),
            Token::Indent => self.indents += 1,
            Token::Dedent => self.indents = self.indents.saturating_sub(1),
            Token::Comma => self.open.separate(),
            Token::Open => self.open.enter(),
            Token::Close => self.open.leave(),
            Token::String => (0..in_fields).for_each(|_| self.open.add()),
            _ => self.open.add(),
        }
        self.most = self.most.max(self.open.all);
        self.most_indents = self.most_indents.max(self.indents);
    }

    /// Whether any thread can parse the source.
    pub fn is_shallow(&self) -> bool {
        self.most + self.most_indents <= FEW_OPERATORS
    }

    /// Whether it is too deep for any thread.
    fn is_exceeded(&self) -> bool {
        self.indents > MOST_INDENTS || self.most > MOST_OPERATORS
    }
}

/// Operators since the last comma, of the brackets that are open.
#[derive(Default)]
struct Operators {
    /// Of each pair of brackets outside the innermost.
    outer: Vec<Level>,
    innermost: Level,
    /// The sum of what is current.
    all: usize,
}

/// Operators in one pair of brackets.
#[derive(Default)]
struct Level {
    current: usize,
    /// The most between two commas before.
    most: usize,
}

impl Operators {
    fn add(&mut self) {
        self.innermost.current += 1;
        self.all += 1;
    }

    fn enter(&mut self) {
        self.add();
        self.outer.push(std::mem::take(&mut self.innermost));
    }

    /// What was in the brackets is below what follows them: `f(x).y`.
    fn leave(&mut self) {
        let left = std::mem::replace(&mut self.innermost, self.outer.pop().unwrap_or_default());
        let inside = left.most.max(left.current);
        self.innermost.current += inside;
        self.all += inside - left.current;
        self.add();
    }

    fn separate(&mut self) {
        let level = &mut self.innermost;
        self.all -= level.current;
        level.most = level.most.max(level.current);
        level.current = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_nesting_is_bounded() {
        for (unit, end) in [
            ("(", ""),
            ("-", "1"),
            ("not ", "1"),
            ("lambda: ", "1"),
            ("1+", "1"),
            ("1 if 1 else ", "1"),
            ("a.", "b"),
            ("x**", "1"),
            ("f(", ""),
            ("{1:", ""),
            ("[0 for x in ", "y"),
            ("await ", "x"),
        ] {
            let source = format!("{}{end}\n", unit.repeat(20_000));
            assert_eq!(of(&source), Depth::TooDeep, "{unit}");
        }
        let calls = format!("f{}\n", "(x)".repeat(20_000));
        assert_eq!(of(&calls), Depth::TooDeep);
        let strings = format!("{}{}\n", "f'{".repeat(15_000), "}'".repeat(15_000));
        assert_eq!(of(&strings), Depth::TooDeep);
        let blocks = (0..200).map(|level| format!("{}if x:\n", " ".repeat(level)));
        assert_eq!(of(&blocks.collect::<String>()), Depth::TooDeep);
    }

    #[test]
    fn what_is_in_brackets_counts_after_them() {
        let source = format!(
            "{}x{}\n",
            "(".repeat(200),
            format!("{})", ".y".repeat(200)).repeat(200)
        );
        assert_eq!(of(&source), Depth::TooDeep);
    }

    #[test]
    fn long_lists_are_shallow() {
        let list = format!(
            "x = [\n{}]\n",
            "  (-1, 'a' 'b', {'c': d.e}),\n".repeat(5_000)
        );
        assert_eq!(of(&list), Depth::Shallow);
        let middle = format!("x = {}1\n", "1 + ".repeat(200));
        assert_eq!(of(&middle), Depth::Deep);
    }
}
