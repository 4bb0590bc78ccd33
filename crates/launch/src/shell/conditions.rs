//! `test`, `[` and `[[` (POSIX.1-2024, `test`; bash manual, "Bash Conditional Expressions").

use super::host::Presence;
use super::interpreter::Shell;
use super::pattern::Pattern;
use super::syntax::{TestToken, Word};
use crate::value::{Status, Value};
use imgcheck_image::Access;

/// An element of a `[[ … ]]` as it is evaluated.
enum Token<'w> {
    Word(&'w Word, Value),
    Operator(&'static str),
    Regex,
}

/// The elements of a `[[ … ]]` that are left.
struct Tokens<'w> {
    all: Vec<Token<'w>>,
    at: usize,
    depth: usize,
}

/// The deepest nesting of parentheses.
const MAX_PARENTHESES: usize = 20;

impl Shell<'_, '_> {
    /// `test` and `[`.
    pub(super) fn test(&mut self, name: &str, arguments: &[Value]) -> Status {
        let mut arguments = arguments;
        if name == "[" {
            let Some((last, rest)) = arguments.split_last() else {
                return Status::Failure(Some(2));
            };
            if last.known() != Some("]") {
                return Status::Unknown;
            }
            arguments = rest;
        }
        if arguments.iter().any(|it| matches!(it, Value::Many(_))) {
            return Status::Unknown;
        }
        let operator = arguments.get(1).and_then(Value::known);
        if arguments.len() == 3 && operator == Some("==") && self.is_dash() {
            self.gap("`==`, which dash refuses,");
            return Status::Failure(Some(2));
        }
        match self.test_arguments(arguments) {
            Some(result) => Status::of(result),
            None => Status::Unknown,
        }
    }

    /// Whether this shell is dash, which has no `source`, and whose `[` has no `==` (`src/bltin/test.c`).
    pub(super) fn is_dash(&self) -> bool {
        let shell = self.chain.last();
        let shell = shell.and_then(|it| self.host.root().resolve(&it.path).ok());
        shell.is_some_and(|it| it.name() == "dash")
    }

    /// The algorithm of POSIX for up to four arguments; more are split at `-o` and `-a`.
    fn test_arguments(&mut self, arguments: &[Value]) -> Option<bool> {
        match arguments {
            [] => Some(false),
            [one] => one.known().map(|it| !it.is_empty()),
            [not, one] if not.known() == Some("!") => one.known().map(str::is_empty),
            [operator, operand] => self.unary(operator.known()?, operand),
            [one, operator, two] if is_binary(operator.known()?) => {
                self.binary(one, operator.known()?, two)
            }
            [one, operator, two] if matches!(operator.known(), Some("-a" | "-o")) => {
                let is_or = operator.known() == Some("-o");
                let (one, two) = (one.known()?.is_empty(), two.known()?.is_empty());
                Some(if is_or { !one || !two } else { !one && !two })
            }
            [not, rest @ ..] if not.known() == Some("!") && rest.len() <= 3 => {
                self.test_arguments(rest).map(|it| !it)
            }
            [_, _, _] => None,
            many => {
                for operator in ["-o", "-a"] {
                    let at = many.iter().position(|it| it.known() == Some(operator));
                    if let Some(at) = at.filter(|at| *at > 0 && at + 1 < many.len()) {
                        if many
                            .iter()
                            .any(|it| matches!(it.known(), Some("(" | ")" | "!") | None))
                        {
                            return None;
                        }
                        let one = self.test_arguments(&many[..at])?;
                        let two = self.test_arguments(&many[at + 1..])?;
                        return Some(if operator == "-o" {
                            one || two
                        } else {
                            one && two
                        });
                    }
                }
                None
            }
        }
    }

    fn unary(&mut self, operator: &str, operand: &Value) -> Option<bool> {
        if operator == "-v" && self.bash && operand.known().is_none_or(|it| it.contains('[')) {
            self.gap("`-v` of an element");
        }
        let text = operand.known()?;
        match operator {
            "-n" => Some(!text.is_empty()),
            "-z" => Some(text.is_empty()),
            "-v" if self.bash => match self.variable_value(text) {
                Ok(value) => value.map_or(Some(false), |it| it.known().map(|_| true)),
                Err(_) => None,
            },
            "-e" | "-f" | "-d" | "-L" | "-h" | "-s" | "-r" | "-w" | "-x" | "-a" => {
                if text.is_empty() {
                    return Some(false);
                }
                let path = self.absolute(text)?;
                self.file_test(operator, &path)
            }
            // Descriptors, devices and the rest.
            _ => None,
        }
    }

    fn file_test(&mut self, operator: &str, path: &str) -> Option<bool> {
        if matches!(operator, "-L" | "-h") {
            return match self.host.file(path) {
                Presence::Unknown => None,
                _ => Some(
                    self.host
                        .root()
                        .entry(path)
                        .is_some_and(|it| it.symlink_target().is_some()),
                ),
            };
        }
        let node = match self.host.file(path) {
            Presence::Unknown => return None,
            Presence::Missing => return Some(false),
            Presence::Exists(node) => node,
        };
        let allows = |access: Access| {
            let user = &self.host.user().credentials;
            (!self.host.changes_mode(&node.path())).then(|| node.allows(user, access))
        };
        match operator {
            "-f" => Some(node.content().is_some()),
            "-d" => Some(node.is_directory()),
            "-s" if node.content().is_some() => Some(node.size() > 0),
            "-r" => allows(Access::Read),
            "-w" => allows(Access::Write),
            "-x" => allows(Access::Execute),
            "-e" | "-a" => Some(true),
            _ => None,
        }
    }

    fn binary(&mut self, one: &Value, operator: &str, two: &Value) -> Option<bool> {
        let (one, two) = (one.known()?, two.known()?);
        match operator {
            "=" | "==" if operator == "=" || self.bash => Some(one == two),
            "!=" => Some(one != two),
            "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                let (one, two) = (
                    one.trim().parse::<i64>().ok()?,
                    two.trim().parse::<i64>().ok()?,
                );
                Some(match operator {
                    "-eq" => one == two,
                    "-ne" => one != two,
                    "-lt" => one < two,
                    "-le" => one <= two,
                    "-gt" => one > two,
                    _ => one >= two,
                })
            }
            _ => None,
        }
    }

    /// `[[ … ]]`
    pub(super) fn extended_test(&mut self, tokens: &[TestToken]) -> Status {
        let all = tokens
            .iter()
            .map(|token| match token {
                TestToken::Word(word) => Token::Word(word, self.expand_text(word)),
                TestToken::Operator(operator) => Token::Operator(operator),
                TestToken::Regex => Token::Regex,
            })
            .collect();
        let mut tokens = Tokens {
            all,
            at: 0,
            depth: 0,
        };
        let result = self.test_or(&mut tokens);
        match result.filter(|_| tokens.at == tokens.all.len()) {
            Some(result) => Status::of(result),
            None => Status::Unknown,
        }
    }

    fn test_or(&mut self, tokens: &mut Tokens) -> Option<bool> {
        let mut result = self.test_and(tokens);
        while tokens.eat("||") {
            let other = self.test_and(tokens);
            result = match (result, other) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), other) => other,
                (None, _) => None,
            };
        }
        result
    }

    fn test_and(&mut self, tokens: &mut Tokens) -> Option<bool> {
        let mut result = self.test_not(tokens);
        while tokens.eat("&&") {
            let other = self.test_not(tokens);
            result = match (result, other) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), other) => other,
                (None, _) => None,
            };
        }
        result
    }

    fn test_not(&mut self, tokens: &mut Tokens) -> Option<bool> {
        let mut negated = false;
        while tokens.word_is("!") {
            tokens.at += 1;
            negated = !negated;
        }
        let result = self.test_primary(tokens);
        result.map(|it| it != negated)
    }

    fn test_primary(&mut self, tokens: &mut Tokens) -> Option<bool> {
        if tokens.eat("(") {
            tokens.depth += 1;
            if tokens.depth > MAX_PARENTHESES {
                return None;
            }
            let result = self.test_or(tokens);
            return result.filter(|_| tokens.eat(")"));
        }
        let (_, one) = tokens.next_word()?;
        match tokens.all.get(tokens.at) {
            Some(Token::Regex) => {
                tokens.at += 1;
                let cause = self.command_cause();
                let matches = super::state::Contents::Array(vec![Value::Many(cause)]);
                self.put("BASH_REMATCH", matches);
                None
            }
            Some(Token::Operator("<" | ">")) => {
                tokens.at += 1;
                tokens.next_word();
                None
            }
            Some(Token::Word(operator, _)) => {
                let operator = operator.plain().unwrap_or_default().to_owned();
                let is_unary = one
                    .known()
                    .is_some_and(|it| it.len() == 2 && it.starts_with('-'));
                if is_binary(&operator) {
                    tokens.at += 1;
                    let (pattern, two) = tokens.next_word()?;
                    return match operator.as_str() {
                        "=" | "==" | "!=" => {
                            let matched = self.matches_word(&one, pattern)?;
                            Some(matched == (operator != "!="))
                        }
                        operator => {
                            // `-nt`, `-ot` and `-ef` compare files.
                            if !matches!(operator, "-nt" | "-ot" | "-ef") {
                                self.evaluate(&one);
                                self.evaluate(&two);
                            }
                            self.binary(&one, operator, &two)
                        }
                    };
                }
                if !is_unary {
                    return None;
                }
                let (_, operand) = tokens.next_word()?;
                self.unary(one.known()?, &operand)
            }
            _ => one.known().map(|it| !it.is_empty()),
        }
    }

    /// An operand of `-eq` and the like in `[[ … ]]`, which is arithmetic.
    fn evaluate(&mut self, operand: &Value) {
        match operand {
            Value::Known(text) => self.arithmetic(text),
            Value::Unknown(cause) | Value::Many(cause) if cause.is_number => {}
            Value::Unknown(cause) | Value::Many(cause) => {
                self.gap(format!(
                    "arithmetic with a value that is unknown after {}",
                    cause.what
                ));
            }
        }
    }

    fn matches_word(&mut self, value: &Value, pattern: &Word) -> Option<bool> {
        let pattern: Pattern = self.expand_pattern(pattern)?;
        let text: Vec<char> = value.known()?.chars().collect();
        Some(pattern.matches(&text))
    }
}

impl<'w> Tokens<'w> {
    fn eat(&mut self, operator: &str) -> bool {
        let is_next = matches!(self.all.get(self.at), Some(Token::Operator(it)) if *it == operator);
        self.at += usize::from(is_next);
        is_next
    }

    fn word_is(&self, text: &str) -> bool {
        matches!(self.all.get(self.at), Some(Token::Word(word, _)) if word.plain() == Some(text))
    }

    fn next_word(&mut self) -> Option<(&'w Word, Value)> {
        match self.all.get(self.at) {
            Some(Token::Word(word, value)) => {
                let found = (*word, value.clone());
                self.at += 1;
                Some(found)
            }
            _ => None,
        }
    }
}

fn is_binary(operator: &str) -> bool {
    matches!(
        operator,
        "=" | "==" | "!=" | "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-nt" | "-ot" | "-ef"
    )
}
