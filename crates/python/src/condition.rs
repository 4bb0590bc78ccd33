//! Conditions about the interpreter and its platform.

use std::collections::BTreeMap;

use ruff_python_ast::{BoolOp, CmpOp, Expr, Number, UnaryOp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names of a module that are bound to constants: whether each is true, or `None` if it may be both.
pub(crate) type Constants<'a> = BTreeMap<&'a str, Option<bool>>;

/// The condition of an `if`: all or one of its parts. One part that is not understood is [`Subject::Unknown`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Condition {
    /// All parts must hold (`and`), not one of them (`or`).
    pub all: bool,
    /// The parts.
    pub atoms: Vec<Atom>,
}

/// A part of a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Atom {
    /// It holds if the comparison does not.
    pub negated: bool,
    /// What is compared, with what, and how.
    pub subject: Subject,
}

/// What a part of a condition compares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Subject {
    /// `True` or `False`, and `TYPE_CHECKING`.
    Constant(bool),
    /// `sys.version_info` with a tuple.
    Version(Comparison, Vec<u32>),
    /// `sys.version_info[:N]` with a tuple: the count and the tuple.
    VersionPrefix(u32, Comparison, Vec<u32>),
    /// `sys.platform` or `platform.system().lower()`: `linux`.
    Platform(String),
    /// `sys.platform.startswith(…)`.
    PlatformPrefix(String),
    /// `os.name`: `posix`.
    SystemName(String),
    /// `__name__ == "__main__"`.
    IsMain,
    /// Anything else.
    Unknown,
}

/// How two versions are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equal,
    /// `!=`
    Different,
}

impl Condition {
    pub(crate) fn of(test: &Expr, constants: &Constants) -> Self {
        match test {
            Expr::BoolOp(operation) => Condition {
                all: operation.op == BoolOp::And,
                atoms: operation
                    .values
                    .iter()
                    .map(|it| Atom::of(it, constants))
                    .collect(),
            },
            test => Condition {
                all: true,
                atoms: vec![Atom::of(test, constants)],
            },
        }
    }

    /// Whether nothing is known about it.
    pub(crate) fn is_unknown(&self) -> bool {
        self.atoms
            .iter()
            .all(|atom| atom.subject == Subject::Unknown)
    }

    pub(crate) fn memory(&self) -> usize {
        let more = |atom: &Atom| match &atom.subject {
            Subject::Version(_, numbers) | Subject::VersionPrefix(_, _, numbers) => {
                size_of_val(&**numbers)
            }
            Subject::Platform(text) | Subject::PlatformPrefix(text) | Subject::SystemName(text) => {
                text.len()
            }
            Subject::Constant(_) | Subject::IsMain | Subject::Unknown => 0,
        };
        let atoms = self.atoms.iter();
        atoms.map(|atom| size_of::<Atom>() + more(atom)).sum()
    }
}

impl Atom {
    fn of(test: &Expr, constants: &Constants) -> Self {
        if let Expr::UnaryOp(operation) = test
            && operation.op == UnaryOp::Not
        {
            let inner = Atom::of(&operation.operand, constants);
            return Atom {
                negated: !inner.negated,
                ..inner
            };
        }
        if let Expr::Name(name) = test
            && let Some(Some(value)) = constants.get(name.id.as_str())
        {
            return Atom {
                negated: false,
                subject: Subject::Constant(*value),
            };
        }
        let (negated, subject) = subject(test).unwrap_or((false, Subject::Unknown));
        Atom { negated, subject }
    }
}

fn subject(test: &Expr) -> Option<(bool, Subject)> {
    match test {
        Expr::BooleanLiteral(literal) => Some((false, Subject::Constant(literal.value))),
        Expr::NumberLiteral(_) => Some((false, Subject::Constant(number(test)? != 0))),
        Expr::Name(name) if name.id == "TYPE_CHECKING" => Some((false, Subject::Constant(false))),
        Expr::Attribute(attribute) if attribute.attr.as_str() == "TYPE_CHECKING" => {
            Some((false, Subject::Constant(false)))
        }
        Expr::Call(call) => {
            let Expr::Attribute(method) = &*call.func else {
                return None;
            };
            let [Expr::StringLiteral(prefix)] = &*call.arguments.args else {
                return None;
            };
            let is_platform = is_attribute(&method.value, "sys", "platform");
            let is_prefix = is_platform && method.attr.as_str() == "startswith";
            let prefix = prefix.value.to_str().to_owned();
            is_prefix.then_some((false, Subject::PlatformPrefix(prefix)))
        }
        Expr::Compare(compare) => {
            let ([operator], [right]) = (&*compare.ops, &*compare.comparators) else {
                return None;
            };
            comparison(&compare.left, *operator, right)
        }
        _ => None,
    }
}

fn comparison(left: &Expr, operator: CmpOp, right: &Expr) -> Option<(bool, Subject)> {
    if let Some(subject) = text_subject(left, right) {
        return match operator {
            CmpOp::Eq => Some((false, subject)),
            CmpOp::NotEq => Some((true, subject)),
            _ => None,
        };
    }
    let how = match operator {
        CmpOp::Lt => Comparison::Less,
        CmpOp::LtE => Comparison::LessOrEqual,
        CmpOp::Gt => Comparison::Greater,
        CmpOp::GtE => Comparison::GreaterOrEqual,
        CmpOp::Eq => Comparison::Equal,
        CmpOp::NotEq => Comparison::Different,
        _ => return None,
    };
    if is_attribute(left, "sys", "version_info") {
        return Some((false, Subject::Version(how, tuple(right)?)));
    }
    if let Expr::Attribute(part) = left
        && part.attr.as_str() == "major"
        && is_attribute(&part.value, "sys", "version_info")
    {
        let subject = Subject::VersionPrefix(1, how, vec![number(right)?]);
        return Some((false, subject));
    }
    let Expr::Subscript(part) = left else {
        return None;
    };
    if !is_attribute(&part.value, "sys", "version_info") {
        return None;
    }
    let subject = match &*part.slice {
        Expr::Slice(slice) if slice.lower.is_none() && slice.step.is_none() => {
            Subject::VersionPrefix(number(slice.upper.as_deref()?)?, how, tuple(right)?)
        }
        index if number(index)? == 0 => Subject::VersionPrefix(1, how, vec![number(right)?]),
        _ => return None,
    };
    Some((false, subject))
}

fn text_subject(left: &Expr, right: &Expr) -> Option<Subject> {
    let Expr::StringLiteral(text) = right else {
        return None;
    };
    let text = text.value.to_str();
    if is_attribute(left, "sys", "platform") {
        return Some(Subject::Platform(text.to_owned()));
    }
    if is_attribute(left, "os", "name") {
        return Some(Subject::SystemName(text.to_owned()));
    }
    match left {
        Expr::Name(name) if name.id == "__name__" && text == "__main__" => Some(Subject::IsMain),
        Expr::Call(call) if is_attribute(&call.func, "platform", "system") => {
            Some(Subject::Platform(text.to_lowercase()))
        }
        _ => None,
    }
}

/// Whether an expression is `MODULE.NAME`.
pub(crate) fn is_attribute(expression: &Expr, module: &str, name: &str) -> bool {
    let Expr::Attribute(attribute) = expression else {
        return false;
    };
    // `import sys as _sys` is usual in modules that list their names.
    let is_module = |it: &str| it == module || it.strip_prefix('_') == Some(module);
    attribute.attr.as_str() == name
        && matches!(&*attribute.value, Expr::Name(name) if is_module(&name.id))
}

fn tuple(expression: &Expr) -> Option<Vec<u32>> {
    let Expr::Tuple(tuple) = expression else {
        return None;
    };
    tuple.elts.iter().map(number).collect()
}

fn number(expression: &Expr) -> Option<u32> {
    match expression {
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(number) => u32::try_from(number.as_u64()?).ok(),
            _ => None,
        },
        _ => None,
    }
}
