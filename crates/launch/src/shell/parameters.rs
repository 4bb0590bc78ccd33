//! Parses parameter expansions and arithmetic.

use super::parser::{Parser, Problem, Until};
use super::syntax::{Expansion, Operation, UnknownPiece};

impl Parser<'_> {
    /// The inside of `(( … ))`, with its end passed.
    pub fn arithmetic(&mut self) -> Result<String, Problem> {
        let start = self.cursor.offset();
        let mut open = 0;
        loop {
            if open == 0 && self.cursor.rest().starts_with("))") {
                let text = self.cursor.since(start).to_owned();
                self.cursor.skip(2);
                // A substitution within it runs a command.
                return match text.contains(['`', '"', '\'']) || text.contains("$(") {
                    true => Err("a command within arithmetic".into()),
                    false => Ok(text),
                };
            }
            match self.cursor.next() {
                None => return Err("arithmetic that is not closed".into()),
                Some('(') => open += 1,
                Some(')') if open == 0 => return Err("arithmetic that is not closed".into()),
                Some(')') => open -= 1,
                Some(_) => {}
            }
        }
    }

    /// `${…}` behind its brace.
    pub(super) fn braced(&mut self, quoted: bool) -> Result<Expansion, Problem> {
        let start = self.cursor.offset();
        let is_length = self.cursor.rest().starts_with('#')
            && !matches!(
                self.cursor.rest().get(1..2),
                Some("}" | "%" | "#" | ":" | "-" | "+" | "=")
            );
        if is_length {
            self.cursor.skip(1);
        }
        let name = self.parameter_name();
        let is_indirect = name.len() > 1 && name.starts_with('!');
        let subscript = self.subscript().map(str::to_owned);
        let subscript = subscript.as_deref();
        let operation = match (is_length, subscript) {
            (_, Some(_)) if is_indirect => Operation::Unknown,
            (_, Some("@" | "*")) if self.cursor.rest().starts_with('}') => match is_length {
                true => Operation::Unknown,
                false => Operation::Elements {
                    joined: subscript == Some("*"),
                },
            },
            // The first element, which is also the value of the name alone.
            (false, Some("0")) if self.bash => self.operation(quoted)?,
            (_, Some(_)) => Operation::Unknown,
            (true, None) => Operation::Length,
            (false, None)
                if name.is_empty() || (name == "!" && !self.cursor.rest().starts_with('}')) =>
            {
                Operation::Unknown
            }
            (false, None) => self.operation(quoted)?,
        };
        if matches!(operation, Operation::Unknown) || !self.cursor.rest().starts_with('}') {
            return self.unknown_braced(start, &name, is_length, quoted);
        }
        self.cursor.skip(1);
        Ok(parameter(&name, operation, quoted))
    }

    /// The name of a parameter, `!NAME` if it is indirect.
    fn parameter_name(&mut self) -> String {
        let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
        let indirect = self.cursor.rest().strip_prefix('!');
        match self.cursor.peek() {
            Some(_) if self.bash && indirect.is_some_and(|it| it.starts_with(is_name)) => {
                self.cursor.skip(1);
                format!("!{}", self.cursor.take_while(is_name))
            }
            Some(c) if "@*#?$!-".contains(c) => {
                self.cursor.skip(1);
                c.to_string()
            }
            _ => self.cursor.take_while(is_name).to_owned(),
        }
    }

    /// The rest of an expansion that is not understood, which started at this offset.
    fn unknown_braced(
        &mut self,
        start: usize,
        name: &str,
        is_length: bool,
        quoted: bool,
    ) -> Result<Expansion, Problem> {
        let inside = self.word(Until::Brace, quoted)?;
        let text = self.cursor.since(start).to_owned();
        if !self.cursor.eat("}") {
            return Err("a `${` that is not closed".into());
        }
        let operation = text.trim_start_matches('#').get(name.len()..);
        if !self.bash {
            // dash ends the script.
            return Err(format!("`${{{text}}}`").into());
        }
        let is_arithmetic = operation.is_some_and(|it| it.starts_with([':', '[']));
        let parts = UnknownPiece {
            arithmetic: match is_arithmetic {
                true => text.clone(),
                false => String::new(),
            },
            inside,
            is_number: is_length,
            ..UnknownPiece::default()
        };
        Ok(unknown(&format!("`${{{text}}}`"), parts))
    }

    fn subscript(&mut self) -> Option<&str> {
        let rest = self.cursor.rest();
        let inside = rest.strip_prefix('[')?;
        let mut open = 0_usize;
        let end = inside.find(|c| {
            let ends = c == ']' && open == 0;
            open = open.saturating_add(usize::from(c == '['));
            open = open.saturating_sub(usize::from(c == ']'));
            ends
        })?;
        let subscript = &inside[..end];
        self.cursor.skip(subscript.len() + 2);
        Some(subscript)
    }

    /// The operation behind the name of a parameter.
    fn operation(&mut self, quoted: bool) -> Result<Operation, Problem> {
        let rest = self.cursor.rest();
        let colon = rest.starts_with(':');
        let operator = rest.chars().nth(usize::from(colon));
        Ok(match operator {
            Some('}') if !colon => Operation::Value,
            Some(operator @ ('-' | '=' | '?' | '+')) => {
                self.cursor.skip(1 + usize::from(colon));
                let word = self.word(Until::Brace, quoted)?;
                Operation::Substitute {
                    operator,
                    colon,
                    word,
                }
            }
            Some(_) if colon && self.bash => self.substring(),
            Some(operator @ ('%' | '#')) if !colon => {
                self.cursor.skip(1);
                let longest = self.cursor.eat(&operator.to_string());
                Operation::Trim {
                    suffix: operator == '%',
                    longest,
                    // Quotes around the whole do not quote the pattern.
                    pattern: self.word(Until::Brace, false)?,
                }
            }
            _ => Operation::Unknown,
        })
    }
}

impl Parser<'_> {
    /// `:1:2` with plain numbers.
    fn substring(&mut self) -> Operation {
        let rest = self.cursor.rest();
        let end = rest.find('}').unwrap_or(rest.len());
        let text = &rest[1..end];
        let (offset, length) = match text.split_once(':') {
            Some((offset, length)) => (offset, Some(length.parse::<usize>())),
            None => (text, None),
        };
        let is_plain = offset.starts_with(|c: char| c == ' ' || c.is_ascii_digit());
        match (offset.trim().parse(), length.transpose()) {
            (Ok(offset), Ok(length)) if is_plain => {
                self.cursor.skip(end);
                Operation::Substring { offset, length }
            }
            _ => Operation::Unknown,
        }
    }
}

pub(super) fn unknown(what: &str, parts: UnknownPiece) -> Expansion {
    Expansion::Unknown(Box::new(UnknownPiece {
        what: what.to_owned(),
        ..parts
    }))
}

pub(super) fn arithmetic(text: String) -> Expansion {
    let parts = UnknownPiece {
        arithmetic: text,
        is_number: true,
        ..UnknownPiece::default()
    };
    unknown("arithmetic", parts)
}

pub(super) fn parameter(name: &str, operation: Operation, quoted: bool) -> Expansion {
    Expansion::Parameter {
        name: name.to_owned(),
        operation,
        quoted,
    }
}
