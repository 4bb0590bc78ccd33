//! Environment markers of PEP 508, judged for the machines that images are built for: CPython on Linux.

use crate::version;

/// The longest marker that is judged, in bytes, and how deep its parentheses may be.
const MAX_MARKER: usize = 1024;
const MAX_DEPTH: usize = 16;

/// Where a marker holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// On every Linux.
    Always,
    /// On some, or it cannot be said.
    Sometimes,
    /// On none.
    Never,
}

/// Judges a marker.
///
/// # Errors
///
/// It is none; what is wrong with it.
pub fn held(marker: &str) -> Result<Held, String> {
    if marker.len() > MAX_MARKER {
        return Ok(Held::Sometimes);
    }
    let mut answers = Vec::new();
    for python in ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"] {
        for machine in ["x86_64", "aarch64"] {
            let mut parser = Parser {
                rest: marker,
                depth: 0,
                python,
                machine,
            };
            let answer = parser.any()?;
            if !parser.rest.trim().is_empty() {
                return Err(format!("`{}` does not belong here", parser.rest.trim()));
            }
            answers.push(answer);
        }
    }
    Ok(match answers.iter().all(|answer| *answer == answers[0]) {
        true if answers[0] == Some(true) => Held::Always,
        true if answers[0] == Some(false) => Held::Never,
        _ => Held::Sometimes,
    })
}

/// A side of a comparison.
enum Operand<'m> {
    Text(&'m str),
    Variable(&'m str),
}

struct Parser<'m> {
    rest: &'m str,
    depth: usize,
    python: &'static str,
    machine: &'static str,
}

/// What is known of a condition.
type Answer = Option<bool>;

impl<'m> Parser<'m> {
    fn any(&mut self) -> Result<Answer, String> {
        let mut answer = self.all()?;
        while self.word("or") {
            answer = match (answer, self.all()?) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
        }
        Ok(answer)
    }

    fn all(&mut self) -> Result<Answer, String> {
        let mut answer = self.one()?;
        while self.word("and") {
            answer = match (answer, self.one()?) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        Ok(answer)
    }

    fn one(&mut self) -> Result<Answer, String> {
        self.rest = self.rest.trim_start();
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(format!("more than {MAX_DEPTH} parentheses in one another"));
            }
            let answer = self.any()?;
            self.rest = self.rest.trim_start();
            self.rest = self.rest.strip_prefix(')').ok_or("a `)` is missing")?;
            self.depth -= 1;
            return Ok(answer);
        }
        let left = self.operand()?;
        let operator = self.operator()?;
        let right = self.operand()?;
        self.compare(&left, operator, &right)
    }

    fn operand(&mut self) -> Result<Operand<'m>, String> {
        self.rest = self.rest.trim_start();
        if let Some(quote) = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
            let (text, rest) = self.rest[1..]
                .split_once(quote)
                .ok_or("a quote is not closed")?;
            self.rest = rest;
            return Ok(Operand::Text(text));
        }
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c)));
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        match name {
            "" => Err("a marker such as `python_version` or a quoted text is missing".to_owned()),
            name => Ok(Operand::Variable(name)),
        }
    }

    fn operator(&mut self) -> Result<&'static str, String> {
        if self.word("not") {
            return if self.word("in") {
                Ok("not in")
            } else {
                Err("`in` is missing after `not`".to_owned())
            };
        }
        if self.word("in") {
            return Ok("in");
        }
        self.rest = self.rest.trim_start();
        for operator in ["===", "==", "!=", "<=", ">=", "~=", "<", ">"] {
            if let Some(rest) = self.rest.strip_prefix(operator) {
                self.rest = rest;
                return Ok(operator);
            }
        }
        Err("a comparison such as `==` is missing".to_owned())
    }

    /// Takes a word that stands alone.
    fn word(&mut self, word: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(word);
        let rest =
            rest.filter(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'));
        if let Some(rest) = rest {
            self.rest = rest;
        }
        rest.is_some()
    }

    fn compare(
        &self,
        left: &Operand<'_>,
        operator: &str,
        right: &Operand<'_>,
    ) -> Result<Answer, String> {
        let (name, literal, flipped) = match (left, right) {
            (Operand::Variable(name), Operand::Text(text)) => (*name, *text, false),
            (Operand::Text(text), Operand::Variable(name)) => (*name, *text, true),
            _ => return Ok(None),
        };
        let Some(value) = self.variable(name)? else {
            return Ok(None);
        };
        let contained = match flipped {
            true => value.contains(literal),
            false => literal.split([' ', ',', '|']).any(|word| word == value) || literal == value,
        };
        let operator = match (operator, flipped) {
            ("in", _) => return Ok(Some(contained)),
            ("not in", _) => return Ok(Some(!contained)),
            ("<", true) => ">",
            (">", true) => "<",
            ("<=", true) => ">=",
            (">=", true) => "<=",
            (operator, _) => operator,
        };
        if name.ends_with("version") && name != "platform_version" {
            let specifier = format!("{operator}{literal}");
            return version::satisfies(value, &specifier)
                .map_err(|_| format!("`{literal}` is no version"));
        }
        Ok(match operator {
            "==" | "===" => Some(value == literal),
            "!=" => Some(value != literal),
            "<" => Some(value < literal),
            ">" => Some(value > literal),
            "<=" => Some(value <= literal),
            ">=" => Some(value >= literal),
            _ => None,
        })
    }

    /// The value of a marker; `None` for one that differs from machine to machine.
    fn variable(&self, name: &str) -> Result<Option<&str>, String> {
        Ok(Some(match name {
            "os_name" | "os.name" => "posix",
            "sys_platform" | "sys.platform" => "linux",
            "platform_system" => "Linux",
            "platform_machine" | "platform.machine" => self.machine,
            "platform_python_implementation" | "python_implementation" => "CPython",
            "implementation_name" => "cpython",
            "python_version" | "python_full_version" | "implementation_version" => self.python,
            "platform_release" | "platform_version" | "platform.version" | "extra" | "extras"
            | "dependency_groups" => return Ok(None),
            name => return Err(format!("there is no marker `{name}`")),
        }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn markers_are_judged_for_linux() {
        for (marker, expected) in [
            ("sys_platform == 'linux'", Held::Always),
            (
                "platform_system != \"Darwin\" and os_name=='posix'",
                Held::Always,
            ),
            (
                "sys_platform == 'win32' or sys_platform == 'darwin'",
                Held::Never,
            ),
            ("platform_machine == 'x86_64'", Held::Sometimes),
            ("platform_machine in 'x86_64 aarch64'", Held::Always),
            ("platform_machine not in 'arm64'", Held::Always),
            ("'linux' in sys_platform", Held::Always),
            ("python_version >= '3.6'", Held::Always),
            ("python_version < '3.10'", Held::Sometimes),
            ("'3.6' <= python_version", Held::Always),
            ("python_version == '3.11.*'", Held::Sometimes),
            (
                "(python_version < '3' or sys_platform == 'linux') and os_name != 'nt'",
                Held::Always,
            ),
            ("extra == 'gpu'", Held::Sometimes),
            ("extra == 'gpu' and sys_platform == 'win32'", Held::Never),
        ] {
            assert_eq!(held(marker), Ok(expected), "{marker}");
        }
    }

    #[test]
    fn what_is_no_marker_is_an_error() {
        for marker in [
            "",
            "python",
            "python_version",
            "python_version = '3'",
            "pyton_version == '3'",
            "os_name == 'a",
            "(os_name == 'a'",
            "os_name == 'a' b",
            "python_version not '3'",
        ] {
            assert!(held(marker).is_err(), "{marker}");
        }
        assert!(held(&"(".repeat(1000)).is_err());
        assert_eq!(held(&" ".repeat(2000)), Ok(Held::Sometimes));
    }
}
