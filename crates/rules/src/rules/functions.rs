//! The functions that expressions have beside CEL's own: versions, text patterns, paths, severities.
//!
//! A version that is `unknown` or invalid is a missing fact: the rule that uses it does not apply.

use std::sync::{Arc, OnceLock};

use cel::{Context, Env, ExecutionError, Value, extensions};

use super::deadline::{self, Deadline};
use super::patterns;
pub use imgcheck_base::glob::glob;
use imgcheck_base::version;

/// A function for expressions.
pub struct Function {
    /// The name in expressions.
    pub name: &'static str,
    /// The number of arguments, all of which are text.
    pub arguments: usize,
    /// The type of the value.
    pub gives: Gives,
    /// The description in the book.
    pub meaning: &'static str,
}

/// The type of a function's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gives {
    /// True or false.
    Bool,
    /// A whole number.
    Number,
    /// Text.
    Text,
}

/// The functions that are added to CEL's own.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "meets",
        arguments: 2,
        gives: Gives::Bool,
        meaning: "`meets(version, claim)`: the version has all components of the claim: `2.9.1+cu128` meets `2.9`, `2.10` does not",
    },
    Function {
        name: "satisfies",
        arguments: 2,
        gives: Gives::Bool,
        meaning: "`satisfies(version, specifiers)`: PEP 440 specifiers: `satisfies(v, \">=2.8,<3\")`",
    },
    Function {
        name: "fits",
        arguments: 2,
        gives: Gives::Bool,
        meaning: "`fits(version, specifiers)`: as `satisfies`, but `==` and `!=` compare only the components that both have: `fits(\"12.8.90\", \"==12.8\")`; NVIDIA's builds (`2.8.0a0+….nv25.8`) count as the release that they precede",
    },
    Function {
        name: "newer",
        arguments: 2,
        gives: Gives::Bool,
        meaning: "`newer(a, b)`: version `a` is newer than `b`; local labels such as `+cu128` do not count",
    },
    Function {
        name: "major",
        arguments: 1,
        gives: Gives::Number,
        meaning: "`major(version)`: the first number, `12` of `12.8.1`",
    },
    Function {
        name: "minor",
        arguments: 1,
        gives: Gives::Number,
        meaning: "`minor(version)`: the second number, `8` of `12.8.1`; a missing fact if there is no second",
    },
    Function {
        name: "majorMinor",
        arguments: 1,
        gives: Gives::Text,
        meaning: "`majorMinor(version)`: the first two numbers as text, `12.8` of `12.8.1`; only the first if there is no second",
    },
    Function {
        name: "release",
        arguments: 1,
        gives: Gives::Text,
        meaning: "`release(version)`: the release numbers alone, `2.8.0` of `2.8.0a0+34c6371d24.nv25.8`",
    },
    Function {
        name: "renamed",
        arguments: 4,
        gives: Gives::Text,
        meaning: "`renamed(reference, text, claimed, version)`: the reference with another version in the place and spelling of a claim: `renamed(\"train:cu118\", \"cu118\", \"11.8\", \"12.8.90\")` is `train:cu128`; the reference as it is if it has the other version already",
    },
    Function {
        name: "glob",
        arguments: 2,
        gives: Gives::Bool,
        meaning: "`glob(text, pattern)`: `*` stands for any characters, `?` for one",
    },
    Function {
        name: "severityForRole",
        arguments: 2,
        gives: Gives::Text,
        meaning: "`severityForRole(severity, role)`: the given severity for the process that the image starts (`main`), at most a warning for another Python `environment`, a note for another `program`",
    },
    Function {
        name: "directory",
        arguments: 1,
        gives: Gives::Text,
        meaning: "`directory(path)`: the path without its last component",
    },
    Function {
        name: "file",
        arguments: 1,
        gives: Gives::Text,
        meaning: "`file(path)`: the last component of a path",
    },
];

/// Functions of earlier versions, and what they are called now.
pub const RENAMED: &[(&str, &str)] = &[("milder", "severityForRole")];

/// CEL's own functions, without macros, that an expression may call; all are bounded by the size of their arguments.
pub const STANDARD: &[&str] = &[
    "bool",
    "contains",
    "distinct",
    "double",
    "dyn",
    "endsWith",
    "flatten",
    "indexOf",
    "int",
    "join",
    "lowerAscii",
    "hasValue",
    "matches",
    "orValue",
    "replace",
    "reverse",
    "size",
    "slice",
    "sort",
    "split",
    "startsWith",
    "string",
    "substring",
    "trim",
    "type",
    "uint",
    "upperAscii",
    "value",
];

/// The environment that all expressions are compiled for: CEL's own functions with its string and list extensions.
pub fn environment() -> &'static Arc<Env> {
    static ENVIRONMENT: OnceLock<Arc<Env>> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| {
        let mut env = Env::stdlib();
        // This fails only for a name declared twice, which the tests would show.
        let declared = env
            .add_extension(extensions::strings)
            .and_then(|_| env.add_extension(extensions::lists))
            .and_then(|_| env.add_extension(patterns::extension));
        debug_assert!(declared.is_ok());
        Arc::new(env)
    })
}

/// A context with all functions and no variables, whose expressions must end before `deadline`.
pub fn context<'v>(deadline: &Arc<Deadline>) -> Context<'static, 'v> {
    let deadline = Arc::clone(deadline);
    let mut context = Context::with_env(Arc::clone(environment()));
    type Text = Arc<String>;
    let added = [
        context.add_function("meets", |version: Text, claim: Text| {
            known(version::meets(&version, &claim))
        }),
        context.add_function(
            "satisfies",
            |version: Text, specifiers: Text| match version::satisfies(&version, &specifiers) {
                Ok(answer) => known(answer),
                Err(problem) => Err(ExecutionError::function_error("satisfies", problem)),
            },
        ),
        context.add_function(
            "fits",
            |version: Text, specifiers: Text| match version::fits(&version, &specifiers) {
                Ok(answer) => known(answer),
                Err(problem) => Err(ExecutionError::function_error("fits", problem)),
            },
        ),
        context.add_function("newer", |a: Text, b: Text| known(version::newer(&a, &b))),
        context.add_function("major", |version: Text| number(&version, 0)),
        context.add_function("minor", |version: Text| number(&version, 1)),
        context.add_function("majorMinor", |version: Text| numbers(&version, 2)),
        context.add_function("release", |version: Text| numbers(&version, usize::MAX)),
        context.add_function(
            "renamed",
            |reference: Text, text: Text, claimed: Text, found: Text| {
                version::renamed(&reference, &text, &claimed, &found)
            },
        ),
        context.add_function("glob", |text: Text, pattern: Text| glob(&text, &pattern)),
        context.add_function("severityForRole", |severity: Text, role: Text| {
            severity_for_role(&severity, &role).to_owned()
        }),
        context.add_function("directory", |path: Text| split(&path).0.to_owned()),
        context.add_function("file", |path: Text| split(&path).1.to_owned()),
        context.add_function(deadline::FUNCTION, move || deadline.is_in_time()),
    ];
    debug_assert!(added.iter().all(std::result::Result::is_ok));
    context
}

type Answer = Result<Value, ExecutionError>;

fn known<T: Into<Value>>(answer: Option<T>) -> Answer {
    answer
        .map(Into::into)
        .ok_or_else(|| ExecutionError::no_such_key("unknown"))
}

fn number(version: &str, index: usize) -> Answer {
    let number = version::release(version).and_then(|numbers| numbers.get(index).copied());
    known(number.and_then(|number| i64::try_from(number).ok()))
}

fn numbers(version: &str, count: usize) -> Answer {
    known(version::first_numbers(version, count))
}

/// The severity in a process of some role of a fault that has `severity` in the main process.
fn severity_for_role<'s>(severity: &'s str, role: &str) -> &'s str {
    match (role, severity) {
        ("environment", "error") => "warning",
        ("program", _) => "note",
        _ => severity,
    }
}

/// Directory and last component of a path.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn evaluate(expression: &str) -> Result<Value, ExecutionError> {
        environment()
            .compile(expression)
            .unwrap()
            .execute(&context(&Arc::default()))
    }

    #[test]
    fn functions_answer() {
        for (expression, expected) in [
            ("meets('2.9.1+cu128', '2.9')", Value::from(true)),
            ("satisfies('2.8.0+cu128', '==2.8.*')", Value::from(true)),
            ("fits('12.8.90', '==12.8')", Value::from(true)),
            ("newer('2.10', '2.9')", Value::from(true)),
            ("major('12.8.1')", Value::from(12)),
            ("minor('12.8.1')", Value::from(8)),
            ("majorMinor('12.8.1')", Value::from("12.8")),
            ("majorMinor('12')", Value::from("12")),
            ("release('2.8.0a0+34c')", Value::from("2.8.0")),
            (
                "renamed('train:cu118', 'cu118', '11.8', '12.8.90')",
                Value::from("train:cu128"),
            ),
            ("glob('pytorch/pytorch', 'pytorch/*')", Value::from(true)),
            ("severityForRole('error', 'main')", Value::from("error")),
            (
                "severityForRole('error', 'environment')",
                Value::from("warning"),
            ),
            (
                "severityForRole('note', 'environment')",
                Value::from("note"),
            ),
            ("severityForRole('error', 'program')", Value::from("note")),
            ("directory('/opt/lib/a.so')", Value::from("/opt/lib")),
            ("file('/opt/lib/a.so')", Value::from("a.so")),
            (
                "['b', 'a', 'b'].distinct().sort().join(', ')",
                Value::from("a, b"),
            ),
        ] {
            assert_eq!(evaluate(expression), Ok(expected), "{expression}");
        }
    }

    #[test]
    fn an_unknown_version_is_a_missing_fact() {
        for expression in [
            "meets('unknown', '2')",
            "newer('2', 'unknown')",
            "minor('12')",
            "satisfies('?', '>=1')",
        ] {
            assert!(
                matches!(evaluate(expression), Err(ExecutionError::NoSuchKey(_))),
                "{expression}"
            );
        }
    }

    #[test]
    fn every_function_is_declared_and_described() {
        let context = context(&Arc::default());
        for function in FUNCTIONS {
            let arguments = vec!["'1.2'"; function.arguments].join(", ");
            let call = format!("{}({arguments})", function.name);
            let program = environment().compile(&call).unwrap();
            let value = program.execute(&context);
            assert!(
                !matches!(value, Err(ExecutionError::UndeclaredReference(_))),
                "{call}"
            );
            assert!(
                function
                    .meaning
                    .starts_with(&format!("`{}(", function.name))
            );
        }
    }
}
