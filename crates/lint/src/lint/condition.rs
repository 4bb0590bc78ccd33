//! Conditions of shell scripts that can be decided: comparisons of texts, and `case`.

use imgcheck_base::glob::glob;
use imgcheck_launch::shell::syntax::{Arm, Command, CommandKind, TestToken, Word};

/// The text of a word; `None` if a variable in it is unknown.
pub type Texts<'t> = &'t dyn Fn(&Word) -> Option<String>;

/// A condition.
#[derive(Debug, Clone, Copy)]
pub enum Condition<'s> {
    /// A command such as `[ "$A" = b ]`, and whether it has to succeed.
    Test {
        command: &'s Command,
        succeeds: bool,
    },
    /// An arm of a `case`.
    Case {
        subject: &'s Word,
        /// The arm, with those before it that fall through to it.
        arms: &'s [Arm],
        /// The arms before these.
        earlier: &'s [Arm],
    },
}

impl Condition<'_> {
    /// Whether it holds; `None` if that is unknown.
    pub fn holds(&self, texts: Texts<'_>) -> Option<bool> {
        match self {
            Condition::Test { command, succeeds } => Some(test(command, texts)? == *succeeds),
            Condition::Case {
                subject,
                arms,
                earlier,
            } => {
                let subject = texts(subject)?;
                let matches = |arms: &[Arm]| {
                    let mut is_match = false;
                    for pattern in arms.iter().flat_map(|arm| &arm.patterns) {
                        is_match |= fits(&subject, &texts(pattern)?)?;
                    }
                    Some(is_match)
                };
                Some(matches(arms)? && !matches(earlier)?)
            }
        }
    }
}

/// Whether `test`, `[` or `[[` succeeds.
fn test(command: &Command, texts: Texts<'_>) -> Option<bool> {
    let (words, is_double): (Vec<&Word>, bool) = match &command.kind {
        CommandKind::Simple { words, .. } => {
            let first = words.first().and_then(Word::plain);
            let last = words.last().and_then(Word::plain);
            let behind = match (first, last) {
                (Some("["), Some("]")) => words.len() - 1,
                (Some("test"), _) => words.len(),
                _ => return None,
            };
            (words.get(1..behind)?.iter().collect(), false)
        }
        CommandKind::Test(tokens) => (tokens.iter().map(operand).collect::<Option<_>>()?, true),
        _ => return None,
    };
    match words.as_slice() {
        [not, rest @ ..] if not.plain() == Some("!") && !rest.is_empty() => {
            Some(!simple(rest, is_double, texts)?)
        }
        words => simple(words, is_double, texts),
    }
}

/// A word of `[[ … ]]`; `None` for an operator.
pub fn operand(token: &TestToken) -> Option<&Word> {
    match token {
        TestToken::Word(word) => Some(word),
        _ => None,
    }
}

fn simple(words: &[&Word], is_double: bool, texts: Texts<'_>) -> Option<bool> {
    match words {
        [operator, word] => match operator.plain()? {
            "-n" => Some(!texts(word)?.is_empty()),
            "-z" => Some(texts(word)?.is_empty()),
            _ => None,
        },
        [left, operator, right] => {
            let (left, right) = (texts(left)?, texts(right)?);
            if is_double && right.contains(['*', '?', '[']) {
                return None;
            }
            match operator.plain()? {
                "=" | "==" => Some(left == right),
                "!=" => Some(left != right),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a text matches a pattern; `None` if the pattern has more than one `*`.
fn fits(text: &str, pattern: &str) -> Option<bool> {
    let is_plain = !pattern.contains(['?', '[']) && pattern.matches('*').count() < 2;
    is_plain.then(|| glob(text, pattern))
}
