//! Options of a command, as `getopt_long` reads them when it stops at the first operand.

use std::ops::Range;

use crate::lint::{Argument, option_and_value};

/// An option with its value.
pub(super) struct CommandOption<'w> {
    /// `--name`, or `-n`.
    pub name: &'w str,
    /// Empty if it has none.
    pub value: &'w str,
    /// The place of the option with its value.
    pub span: Range<usize>,
}

impl CommandOption<'_> {
    /// The place of the value.
    pub fn value_span(&self) -> Range<usize> {
        let Range { start, end } = self.span;
        end.saturating_sub(self.value.len()).max(start)..end
    }
}

/// The options before the first operand. One that is not in `flags` has a value, unless it is joined to it.
pub(super) struct Options<'w> {
    pub rest: &'w [Argument],
    pub flags: &'static [&'static str],
}

impl<'w> Iterator for Options<'w> {
    type Item = CommandOption<'w>;

    fn next(&mut self) -> Option<Self::Item> {
        let (word, after) = self.rest.split_first()?;
        let text = word.text.as_str();
        if text.len() < 2 || !text.starts_with('-') {
            return None;
        }
        self.rest = after;
        if text == "--" {
            return None;
        }
        let (name, joined) = option_and_value(text);
        let joined = joined.map(|value| match name.starts_with("--") {
            true => value,
            false => value.strip_prefix('=').unwrap_or(value),
        });
        let mut span = word.span.clone();
        let value = match joined {
            Some(value) => value,
            None if self.flags.contains(&name) => "",
            None => {
                let (value, after) = self.rest.split_first()?;
                self.rest = after;
                span.end = value.span.end;
                &value.text
            }
        };
        Some(CommandOption { name, value, span })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_end_at_the_first_operand() {
        let words = |text: &str| -> Vec<Argument> {
            let words = text.split(' ');
            let words = words.map(|it| Argument {
                known: true,
                text: it.to_owned(),
                span: 0..it.len(),
            });
            words.collect()
        };
        for (text, expected, rest) in [
            ("-N 2 -n16 --gpus=8 run -x", "-N=2 -n=16 --gpus=8", "run -x"),
            ("-lu --label --mem 4G run", "-l=u --label= --mem=4G", "run"),
            ("--label -- -run", "--label=", "-run"),
            ("-c=4 - run", "-c=4", "- run"),
            ("--mem", "", ""),
            ("-é run", "-é=run", ""),
        ] {
            let words = words(text);
            let mut options = Options {
                rest: &words,
                flags: &["-l", "--label"],
            };
            let found: Vec<String> = options
                .by_ref()
                .map(|it| format!("{}={}", it.name, it.value))
                .collect();
            let left: Vec<&str> = options.rest.iter().map(|it| it.text.as_str()).collect();
            assert_eq!(
                (found.join(" ").as_str(), left.join(" ").as_str()),
                (expected, rest),
                "{text}"
            );
        }
    }
}
