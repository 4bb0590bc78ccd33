//! Checks the types of an expression: every name, field and function must exist, and what is used as a list, text or truth value
//! must be one. CEL itself has no such check.

use std::collections::BTreeMap;
use std::ops::Range;

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr,
};

use super::expression::Expression;
use super::functions::{FUNCTIONS, Gives, RENAMED, STANDARD};
use super::shape::Shape;
use super::tables::Tables;
use imgcheck_base::error::Result;
use imgcheck_base::spelling::nearest;

/// The maximum depth of nested comprehensions (`filter`, `map`, `exists` …): each level multiplies the time.
const MAX_NESTING: usize = 4;

/// The variables in scope, and the knowledge tables.
#[derive(Clone)]
pub struct Names<'t> {
    /// The shape of each variable.
    pub variables: BTreeMap<String, Shape>,
    /// The fields of `known`.
    pub tables: &'t Tables,
}

/// The shape of an expression's value.
///
/// # Errors
///
/// A name, field or function does not exist, or a value has the wrong type; the error shows the location.
pub fn infer(expression: &Expression, names: &Names<'_>) -> Result<Shape> {
    let program = expression.program()?;
    let checker = Checker {
        names: names.clone(),
        nesting: 0,
    };
    checker.shape(program.expression()).map_err(|problem| {
        let place = program.source_info().offset_for(problem.node);
        let start = place.map_or(0, |(start, _)| start as usize);
        let range = problem.range_from(start, expression.text());
        expression.fault(range, &problem.title, problem.help.as_deref())
    })
}

/// Checks that an expression's value has one of some shapes.
///
/// # Errors
///
/// Same as [`infer`], or the value has a different shape.
pub fn expect(expression: &Expression, names: &Names<'_>, expected: &[Shape]) -> Result<Shape> {
    let shape = infer(expression, names)?;
    if expected.iter().any(|expected| shape.fits(expected)) {
        return Ok(shape);
    }
    let names: Vec<&str> = expected.iter().map(Shape::name).collect();
    let problem = format!(
        "this must be {}, it is {}",
        names.join(" or "),
        shape.name()
    );
    Err(expression.fault(0..expression.text().len(), &problem, None))
}

struct Problem {
    node: u64,
    /// The word at fault, searched from the node on.
    word: String,
    title: String,
    help: Option<String>,
}

impl Problem {
    fn unknown<'a>(
        node: u64,
        what: &str,
        word: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.filter(|name| !name.starts_with('@')).collect();
        let help = nearest(word, known.iter().copied()).map_or_else(
            || format!("known are {}", known.join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        Problem {
            node,
            word: word.to_owned(),
            title: format!("there is no {what} `{word}`"),
            help: Some(help),
        }
    }

    /// Texts have an order, but not that of versions.
    fn order_of_texts(node: u64, operator: &str) -> Self {
        let operator = operator.trim_matches('_');
        Problem {
            node,
            word: operator.to_owned(),
            title: format!(
                "`{operator}` compares texts, not versions: \"2.10\" is less than \"2.9\""
            ),
            help: Some(
                "use `newer(a, b)` or `satisfies(version, \"<2.6\")`; for numbers, `int(text)`"
                    .to_owned(),
            ),
        }
    }

    fn range_from(&self, start: usize, text: &str) -> Range<usize> {
        let found = text.get(start..).and_then(|tail| tail.find(&self.word));
        let found = found
            .map(|at| start + at)
            .or_else(|| text.rfind(&self.word));
        match found {
            Some(at) if !self.word.is_empty() => at..at + self.word.len(),
            _ => start..text.len(),
        }
    }
}

type Checked = std::result::Result<Shape, Problem>;

struct Checker<'t> {
    names: Names<'t>,
    nesting: usize,
}

impl Checker<'_> {
    fn shape(&self, node: &IdedExpr) -> Checked {
        match &node.expr {
            Expr::Unspecified | Expr::Struct(_) => Ok(Shape::Any),
            Expr::Literal(literal) => Ok(literal_shape(literal)),
            Expr::Ident(name) => self.name(node.id, name),
            Expr::Select(select) => self.select(node.id, select),
            Expr::Call(call) => self.call(node.id, call),
            Expr::List(list) => {
                let mut element = Shape::Never;
                for item in &list.elements {
                    element = element.join(self.shape(item)?);
                }
                Ok(Shape::list(element))
            }
            Expr::Map(map) => {
                let mut fields = BTreeMap::new();
                let mut values = Shape::Never;
                let mut fixed = true;
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else {
                        return Ok(Shape::Any);
                    };
                    let value = self.shape(&entry.value)?;
                    self.shape(&entry.key)?;
                    match literal_text(&entry.key) {
                        Some(key) => {
                            fields.insert(key.to_owned(), value.clone());
                        }
                        None => fixed = false,
                    }
                    values = values.join(value);
                }
                Ok(match fixed {
                    true => Shape::Record(fields),
                    false => Shape::Map(Box::new(values)),
                })
            }
            Expr::Comprehension(comprehension) => self.comprehension(node.id, comprehension),
        }
    }

    fn name(&self, node: u64, name: &str) -> Checked {
        match self.names.variables.get(name) {
            Some(shape) => Ok(shape.clone()),
            None if name == "known" => Ok(Shape::Any),
            None => {
                let known = self
                    .names
                    .variables
                    .keys()
                    .map(String::as_str)
                    .chain(["known"]);
                Err(Problem::unknown(node, "name", name, known))
            }
        }
    }

    fn select(&self, node: u64, select: &SelectExpr) -> Checked {
        if matches!(&select.operand.expr, Expr::Ident(name) if name == "known") {
            let tables = self.names.tables;
            return tables.shape(&select.field).ok_or_else(|| {
                Problem::unknown(node, "knowledge table", &select.field, tables.names())
            });
        }
        let field = field(node, &self.shape(&select.operand)?, &select.field)?;
        Ok(if select.test { Shape::Bool } else { field })
    }

    fn call(&self, node: u64, call: &CallExpr) -> Checked {
        let mut shapes = Vec::new();
        for argument in call.target.as_deref().into_iter().chain(&call.args) {
            shapes.push(self.shape(argument)?);
        }
        let shape = |index: usize| shapes.get(index).cloned().unwrap_or(Shape::Any);
        match call.func_name.as_str() {
            "_<_" | "_<=_" | "_>_" | "_>=_" if shapes.contains(&Shape::Text) => {
                Err(Problem::order_of_texts(node, &call.func_name))
            }
            "_[_]" => match call.args.get(1).and_then(literal_text) {
                Some(key) => field(node, &shape(0), key),
                None => Ok(element(shape(0))),
            },
            "_?._" | "_[?_]" => {
                let key = call.args.get(1).and_then(literal_text);
                key.map_or(Ok(Shape::Any), |key| {
                    field(node, &shape(0), key).map(|_| Shape::Any)
                })
            }
            "@in" => match (call.args.first().and_then(literal_text), shape(1)) {
                (Some(key), Shape::Keys(keys, value)) => {
                    field(node, &Shape::Keys(keys, value), key).map(|_| Shape::Bool)
                }
                _ => Ok(Shape::Bool),
            },
            "_?_:_" => Ok(shape(1).join(shape(2))),
            "_+_" => Ok(shape(0).join(shape(1))),
            "-_" | "_-_" | "_*_" | "_/_" | "_%_" | "size" | "int" | "uint" | "double"
            | "indexOf" => Ok(Shape::Number),
            name if name.starts_with(['_', '!', '@']) => Ok(Shape::Bool),
            "contains" | "startsWith" | "endsWith" | "matches" | "bool" => Ok(Shape::Bool),
            "join" | "replace" | "trim" | "lowerAscii" | "upperAscii" | "substring" | "string" => {
                Ok(Shape::Text)
            }
            "split" => Ok(Shape::list(Shape::Text)),
            "distinct" | "sort" | "reverse" | "slice" => Ok(shape(0)),
            "flatten" => Ok(match shape(0) {
                Shape::List(inner) if matches!(*inner, Shape::List(_)) => *inner,
                other => other,
            }),
            name => self.own_function(node, name, &shapes),
        }
    }

    fn own_function(&self, node: u64, name: &str, arguments: &[Shape]) -> Checked {
        let Some(function) = FUNCTIONS.iter().find(|function| function.name == name) else {
            if STANDARD.contains(&name) {
                return Ok(Shape::Any);
            }
            if let Some((_, new)) = RENAMED.iter().find(|(old, _)| *old == name) {
                return Err(Problem {
                    node,
                    word: name.to_owned(),
                    title: format!("there is no function `{name}`"),
                    help: Some(format!("it is now called `{new}`")),
                });
            }
            let macros = ["has", "all", "exists", "exists_one", "map", "filter"];
            let known = FUNCTIONS.iter().map(|function| function.name);
            let known = known.chain(STANDARD.iter().copied()).chain(macros);
            return Err(Problem::unknown(node, "function", name, known));
        };
        let problem = |title: String| Problem {
            node,
            word: name.to_owned(),
            title,
            help: Some(function.meaning.to_owned()),
        };
        if arguments.len() != function.arguments {
            let title = format!(
                "`{name}` takes {} arguments, not {}",
                function.arguments,
                arguments.len()
            );
            return Err(problem(title));
        }
        if let Some(wrong) = arguments.iter().find(|shape| !shape.fits(&Shape::Text)) {
            return Err(problem(format!(
                "`{name}` takes texts, not {}",
                wrong.name()
            )));
        }
        Ok(match function.gives {
            Gives::Bool => Shape::Bool,
            Gives::Number => Shape::Number,
            Gives::Text => Shape::Text,
        })
    }

    fn comprehension(&self, node: u64, comprehension: &ComprehensionExpr) -> Checked {
        let range = self.shape(&comprehension.iter_range)?;
        if self.nesting >= MAX_NESTING {
            return Err(Problem {
                node,
                word: String::new(),
                title: format!("more than {MAX_NESTING} nested filter, map, exists or all"),
                help: None,
            });
        }
        let item = match range {
            Shape::List(element) => *element,
            Shape::Map(_) | Shape::Keys(..) | Shape::Record(_) => Shape::Text,
            Shape::Any | Shape::Never => Shape::Any,
            other => {
                return Err(Problem {
                    node: comprehension.iter_range.id,
                    word: String::new(),
                    title: format!("this must be a list, it is {}", other.name()),
                    help: None,
                });
            }
        };
        let mut names = self.names.clone();
        names.variables.insert(comprehension.iter_var.clone(), item);
        if let Some(second) = &comprehension.iter_var2 {
            names.variables.insert(second.clone(), Shape::Any);
        }
        let start = self.shape(&comprehension.accu_init)?;
        names
            .variables
            .insert(comprehension.accu_var.clone(), start.clone());
        let mut inner = Checker {
            names,
            nesting: self.nesting + 1,
        };
        inner.shape(&comprehension.loop_cond)?;
        let step = inner.shape(&comprehension.loop_step)?;
        inner
            .names
            .variables
            .insert(comprehension.accu_var.clone(), start.join(step));
        inner.shape(&comprehension.result)
    }
}

/// The shape of a field or key.
fn field(node: u64, shape: &Shape, name: &str) -> Checked {
    match shape {
        Shape::Any | Shape::Never => Ok(Shape::Any),
        Shape::Map(value) => Ok((**value).clone()),
        Shape::Keys(keys, value) if keys.contains(&name) => Ok((**value).clone()),
        Shape::Keys(keys, _) => Err(Problem::unknown(node, "key", name, keys.iter().copied())),
        Shape::Record(fields) => fields.get(name).cloned().ok_or_else(|| {
            Problem::unknown(node, "field", name, fields.keys().map(String::as_str))
        }),
        other => Err(Problem {
            node,
            word: name.to_owned(),
            title: format!("{} has no field `{name}`", other.name()),
            help: None,
        }),
    }
}

/// The shape of an element whose index or key is computed.
fn element(shape: Shape) -> Shape {
    match shape {
        Shape::List(element) | Shape::Map(element) | Shape::Keys(_, element) => *element,
        Shape::Record(fields) => fields.into_values().fold(Shape::Never, Shape::join),
        _ => Shape::Any,
    }
}

fn literal_text(node: &IdedExpr) -> Option<&str> {
    match &node.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

fn literal_shape(literal: &LiteralValue) -> Shape {
    match literal {
        LiteralValue::Boolean(_) => Shape::Bool,
        LiteralValue::Null => Shape::Null,
        LiteralValue::String(_) => Shape::Text,
        LiteralValue::Bytes(_) => Shape::Any,
        LiteralValue::Double(_) | LiteralValue::Int(_) | LiteralValue::UInt(_) => Shape::Number,
    }
}
