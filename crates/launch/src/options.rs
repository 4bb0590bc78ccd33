//! Options and operands of small programs, as getopt reads them.

use serde::Deserialize;

use super::value::Value;

/// The known options of a program.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Options {
    /// Those without a value.
    pub flags: Vec<String>,
    /// Those with a value.
    pub values: Vec<String>,
    /// Those with two values, of which the first is kept.
    pub pairs: Vec<String>,
    /// Those with a value whose effect is not modeled.
    pub unknown: Vec<String>,
    /// Those with a value that is part of the same word: `--name=value`, `-nvalue`. Without a value, they are flags.
    pub attached: Vec<String>,
}

/// What a program is called with.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// Options with their values.
    pub options: Vec<(String, Value)>,
    pub flags: Vec<String>,
    pub operands: Vec<Value>,
}

impl Given {
    /// Takes all words that look like options for some, whose names do not matter, and the others for operands.
    pub fn without_options(arguments: &[Value]) -> Self {
        let is_option = |it: &&Value| it.known().is_some_and(|it| it.starts_with('-'));
        let operands = arguments.iter().filter(|it| !is_option(it)).cloned();
        Given {
            operands: operands.collect(),
            ..Given::default()
        }
    }

    /// The last value of an option, if it is known.
    pub fn option(&self, names: &[&str]) -> Option<&str> {
        let mut options = self.options.iter().rev();
        let found = options.find(|(name, _)| names.contains(&name.as_str()));
        found.and_then(|(_, value)| value.known())
    }

    /// Whether one of these flags is there.
    pub fn has(&self, names: &[&str]) -> bool {
        self.flags.iter().any(|it| names.contains(&it.as_str()))
    }
}

impl Options {
    /// Takes the options before the first operand off the arguments. Unless `strict`, one that is not known has no value.
    pub fn leading(&self, rest: &mut Vec<Value>, strict: bool) -> Result<Given, String> {
        let mut given = Given::default();
        while let Some(first) = rest.first() {
            let text = first.known().ok_or("its arguments are unknown")?.to_owned();
            if text == "--" {
                rest.remove(0);
                break;
            }
            if !self.is_option(&text) {
                break;
            }
            rest.remove(0);
            let read = self.read(&text, rest, &mut given);
            read.or_else(|problem| if strict { Err(problem) } else { Ok(()) })?;
        }
        Ok(given)
    }

    /// Reads all arguments; options may follow operands.
    pub fn all(&self, arguments: &[Value]) -> Result<Given, String> {
        let mut rest = arguments.to_vec();
        let mut operands = Vec::new();
        let mut given = Given::default();
        while !rest.is_empty() {
            let first = rest.remove(0);
            match first.known() {
                Some("--") => break,
                Some(text) if self.is_option(text) => self.read(text, &mut rest, &mut given)?,
                Some(_) => operands.push(first),
                None => return Err("its arguments are unknown".to_owned()),
            }
        }
        operands.append(&mut rest);
        given.operands = operands;
        Ok(given)
    }

    fn is_option(&self, text: &str) -> bool {
        text.starts_with('-') && (text != "-" || self.has_flag(text))
    }

    pub fn is_empty(&self) -> bool {
        self.flags.is_empty() && self.values.is_empty()
    }

    fn has_flag(&self, name: &str) -> bool {
        self.flags.iter().any(|it| it == name)
    }

    fn has_value(&self, name: &str) -> bool {
        let mut values = self.values.iter().chain(&self.unknown);
        values.any(|it| it == name)
    }

    fn has_attached(&self, name: &str) -> bool {
        self.attached.iter().any(|it| it == name)
    }

    /// Reads one word with options, and the value that may follow it.
    fn read(&self, text: &str, rest: &mut Vec<Value>, given: &mut Given) -> Result<(), String> {
        self.take(text, rest, given)?;
        match given.options.last() {
            Some((name, _)) if self.unknown.contains(name) => Err(not_understood(text)),
            _ => Ok(()),
        }
    }

    fn take(&self, text: &str, rest: &mut Vec<Value>, given: &mut Given) -> Result<(), String> {
        let unknown = || not_understood(text);
        let mut next = |name: String| match rest.is_empty() {
            true => Err(unknown()),
            false => Ok((name, rest.remove(0))),
        };
        if self.has_flag(text) || self.has_attached(text) {
            given.flags.push(text.to_owned());
            return Ok(());
        }
        if self.has_value(text) {
            given.options.push(next(text.to_owned())?);
            return Ok(());
        }
        if self.pairs.iter().any(|it| it == text) {
            let first = next(text.to_owned())?;
            next(text.to_owned())?;
            given.options.push(first);
            return Ok(());
        }
        if let Some((name, value)) = text
            .split_once('=')
            .filter(|(name, _)| self.has_value(name) || self.has_attached(name))
        {
            given.options.push((name.to_owned(), value.into()));
            return Ok(());
        }
        let is_number = |text: &str| text.bytes().all(|it| it.is_ascii_digit());
        if self.has_flag("-NUMBER") && is_number(&text[1..]) {
            return Ok(());
        }
        if text.starts_with("--") {
            return Err(unknown());
        }
        for (at, letter) in text.char_indices().skip(1) {
            let name = format!("-{letter}");
            let attached = &text[at + letter.len_utf8()..];
            let is_attached = self.has_attached(&name);
            if self.has_flag(&name) || (is_attached && attached.is_empty()) {
                given.flags.push(name);
            } else if is_attached {
                given.options.push((name, attached.into()));
                break;
            } else if !self.has_value(&name) {
                return Err(unknown());
            } else if attached.is_empty() {
                given.options.push(next(name)?);
            } else {
                given.options.push((name, attached.into()));
                break;
            }
        }
        Ok(())
    }
}

fn not_understood(option: &str) -> String {
    format!("its option {option} is not understood")
}
