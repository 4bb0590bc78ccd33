//! Conditions of shell scripts that can be decided: comparisons of texts, and `case`.

use super::shell::Word;
use imgcheck_base::glob::glob;

/// The text of a word; `None` if a variable in it is unknown.
pub type Texts<'t> = &'t dyn Fn(&Word<'_>) -> Option<String>;

/// A condition.
#[derive(Debug, Clone)]
pub enum Condition<'s> {
    /// A command such as `[ "$A" = b ]`, and whether it has to succeed.
    Test {
        words: Vec<Word<'s>>,
        succeeds: bool,
    },
    /// A branch of a `case`.
    Case {
        subject: Word<'s>,
        patterns: Vec<Word<'s>>,
        /// The patterns of the branches before it.
        earlier: Vec<Word<'s>>,
    },
}

impl<'s> Condition<'s> {
    /// A command that has to succeed or to fail.
    pub fn test(words: Vec<Word<'s>>, succeeds: bool) -> Self {
        Condition::Test { words, succeeds }
    }

    /// Whether it holds; `None` if that is unknown.
    pub fn holds(&self, texts: Texts<'_>) -> Option<bool> {
        match self {
            Condition::Test { words, succeeds } => Some(test(words, texts)? == *succeeds),
            Condition::Case {
                subject,
                patterns,
                earlier,
            } => {
                let subject = texts(subject)?;
                let matches = |patterns: &[Word<'_>]| {
                    let mut answers = Vec::new();
                    for pattern in patterns {
                        answers.push(fits(&subject, &texts(pattern)?)?);
                    }
                    Some(answers.contains(&true))
                };
                Some(matches(patterns)? && !matches(earlier)?)
            }
        }
    }
}

/// Whether `test`, `[` or `[[` succeeds.
fn test(words: &[Word<'_>], texts: Texts<'_>) -> Option<bool> {
    let raw: Vec<&str> = words.iter().map(|word| word.raw).collect();
    let (inner, is_double) = match raw.as_slice() {
        ["!", ..] => return Some(!test(&words[1..], texts)?),
        ["[", .., "]"] => (&words[1..words.len() - 1], false),
        ["[[", .., "]]"] => (&words[1..words.len() - 1], true),
        ["test", ..] => (&words[1..], false),
        _ => return None,
    };
    match inner {
        [not, rest @ ..] if not.raw == "!" && !rest.is_empty() => {
            Some(!simple(rest, is_double, texts)?)
        }
        inner => simple(inner, is_double, texts),
    }
}

fn simple(words: &[Word<'_>], is_double: bool, texts: Texts<'_>) -> Option<bool> {
    match words {
        [operator, word] => match operator.raw {
            "-n" => Some(!texts(word)?.is_empty()),
            "-z" => Some(texts(word)?.is_empty()),
            _ => None,
        },
        [left, operator, right] => {
            let (left, right) = (texts(left)?, texts(right)?);
            if is_double && right.contains(['*', '?', '[']) {
                return None;
            }
            match operator.raw {
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
