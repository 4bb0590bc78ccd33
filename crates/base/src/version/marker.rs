//! Environment markers of requirements, evaluated for CPython on Linux
//! ([dependency specifiers](https://packaging.python.org/specifications/dependency-specifiers/#environment-markers), PEP 508).
//!
//! Comparisons are those of `packaging.markers`: as versions for releases of Python, otherwise as text. A condition on something
//! unknown, such as an extra or the kernel release, has no answer, which does not matter if the rest of the marker decides.

use super::compare::satisfies;

/// Longest marker that is evaluated, in bytes, and maximum nesting of its parentheses.
const MAX_MARKER: usize = 1024;
const MAX_DEPTH: usize = 16;

/// The environment that a marker is evaluated for.
#[derive(Debug, Clone, Copy)]
pub struct Environment<'e> {
    /// Major and minor version of Python: `3.11`.
    pub python: &'e str,
    /// Its full version, `3.11.9`; `None` if unknown.
    pub full_python: Option<&'e str>,
    /// `platform.machine()`: `x86_64`.
    pub machine: &'e str,
}

/// Whether a marker holds; `None` if that depends on something unknown, or the marker is too long.
///
/// # Errors
/// The marker is invalid; the message says why.
pub fn holds(marker: &str, environment: &Environment<'_>) -> Result<Option<bool>, String> {
    if marker.len() > MAX_MARKER {
        return Ok(None);
    }
    let mut parser = Parser {
        rest: marker,
        depth: 0,
        environment,
    };
    let answer = parser.any()?;
    match parser.rest.trim() {
        "" => Ok(answer),
        rest => Err(format!("unexpected `{rest}`")),
    }
}

/// A side of a comparison.
enum Operand<'m> {
    Text(&'m str),
    Variable(&'m str),
}

struct Parser<'m> {
    rest: &'m str,
    depth: usize,
    environment: &'m Environment<'m>,
}

/// Whether a condition holds; `None` if unknown.
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
                return Err(format!("parentheses nested more than {MAX_DEPTH} deep"));
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
            "" => Err("expected a variable such as `python_version` or a quoted string".to_owned()),
            name => Ok(Operand::Variable(name)),
        }
    }

    fn operator(&mut self) -> Result<&'static str, String> {
        if self.word("not") {
            return if self.word("in") {
                Ok("not in")
            } else {
                Err("expected `in` after `not`".to_owned())
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
        Err("expected a comparison such as `==`".to_owned())
    }

    /// Skips a keyword; false if another token is next.
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
            false => literal.contains(value),
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
        if name.ends_with("version") {
            let specifier = format!("{operator}{literal}");
            return satisfies(value, &specifier)
                .map_err(|_| format!("`{literal}` is not a version"));
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

    /// The value of a variable; `None` if unknown.
    fn variable(&self, name: &str) -> Result<Option<&str>, String> {
        let environment = self.environment;
        Ok(Some(match name {
            "os_name" | "os.name" => "posix",
            "sys_platform" | "sys.platform" => "linux",
            "platform_system" => "Linux",
            "platform_machine" | "platform.machine" => environment.machine,
            "platform_python_implementation" | "python_implementation" => "CPython",
            "implementation_name" => "cpython",
            "python_version" => environment.python,
            "python_full_version" | "implementation_version" => return Ok(environment.full_python),
            "platform_release" | "platform_version" | "platform.version" | "extra" | "extras"
            | "dependency_groups" => return Ok(None),
            name => return Err(format!("unknown variable `{name}`")),
        }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const ENVIRONMENT: Environment = Environment {
        python: "3.11",
        full_python: Some("3.11.9"),
        machine: "x86_64",
    };

    /// Answers of `packaging.markers` in pip 23.2 for this environment.
    #[test]
    fn markers_hold_as_for_pip() {
        for (marker, expected) in [
            (
                r#"platform_system == "Linux" and platform_machine == "x86_64" and python_version < "3.13""#,
                true,
            ),
            ("sys_platform == 'win32' or sys_platform == 'darwin'", false),
            ("platform_machine in 'x86_64 aarch64'", true),
            ("sys_platform in 'linux2 darwin'", true),
            ("python_version in '3.10, 3.11'", true),
            ("python_version not in '3.1'", true),
            ("'linux' in sys_platform", true),
            ("'aarch64' not in platform_machine", true),
            ("'3.8' <= python_version", true),
            ("python_version == '3.11.*'", true),
            ("python_version == '3'", false),
            ("python_version <= '3.11'", true),
            ("python_version ~= '3.8'", true),
            ("python_full_version < '3.11.4'", false),
            ("python_full_version >= '3.11.4'", true),
            ("implementation_version >= '3.11.9'", true),
            (
                "python_version > '3.9' and (os_name == 'nt' or os_name == 'posix')",
                true,
            ),
            ("platform_python_implementation != 'PyPy'", true),
            (
                "platform_machine == 'arm64' and platform_system == 'Darwin' or platform_machine == 'x86_64'",
                true,
            ),
            (
                "python_version >= '3.10' or python_version < '3.9' and sys_platform == 'win32'",
                true,
            ),
        ] {
            assert_eq!(holds(marker, &ENVIRONMENT), Ok(Some(expected)), "{marker}");
        }
    }

    #[test]
    fn unknown_values_have_no_answer() {
        let vague = Environment {
            full_python: None,
            ..ENVIRONMENT
        };
        for (marker, expected) in [
            ("extra == 'gpu'", None),
            ("extra == 'gpu' or os_name == 'posix'", Some(true)),
            ("extra == 'gpu' and os_name == 'nt'", Some(false)),
            ("platform_release >= '5'", None),
            ("python_full_version < '3.11.4'", None),
            ("python_version < '3.12'", Some(true)),
        ] {
            assert_eq!(holds(marker, &vague), Ok(expected), "{marker}");
        }
        assert_eq!(holds(&" ".repeat(2000), &vague), Ok(None));
    }

    #[test]
    fn invalid_markers_are_errors() {
        for marker in [
            "",
            "python",
            "python_version",
            "python_version = '3'",
            "pyton_version == '3'",
            "python_version < 'three'",
            "os_name == 'a",
            "(os_name == 'a'",
            "os_name == 'a' b",
            "python_version not '3'",
            "os_name == \u{e9}",
        ] {
            assert!(holds(marker, &ENVIRONMENT).is_err(), "{marker}");
        }
        assert!(holds(&"(".repeat(1000), &ENVIRONMENT).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(
            text in ".{0,60}",
            near in "([(]|python_version|os_name|extra| in | not |[=<>!~]{1,3}|['\"][^'\"]{0,5}['\"]| and | or |[)]|.){0,12}",
        ) {
            let _ = holds(&text, &ENVIRONMENT);
            let _ = holds(&near, &ENVIRONMENT);
        }
    }
}
