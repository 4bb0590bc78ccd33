//! CEL expressions of a rule file, with their location in the file.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use cel::common::value::Val;
use cel::parser::{Expression as Tree, PrattParser};
use cel::{ExecutionError, Program, Value};

use super::value::{Boxed, elements, text};
use super::{deadline, functions};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::yaml::{self, Spanned};

/// Maximum length of an expression, in bytes.
pub const MAX_EXPRESSION: usize = 8 * 1024;

/// The text of a rule file.
#[derive(Debug)]
pub struct Source {
    /// The path of the file as the user gave it.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl Source {
    /// An error at a byte range of this file.
    pub fn fault(&self, place: Range<usize>, problem: &str, help: Option<&str>) -> Error {
        yaml::fault(&self.name, &self.text, place, problem, help)
    }
}

/// One expression, compiled on first use.
#[derive(Debug)]
pub struct Expression {
    /// The value of the YAML scalar that holds it.
    value: Arc<str>,
    /// The bytes of the value that are the expression.
    range: Range<usize>,
    /// The bytes of the file that are the scalar.
    scalar: Range<usize>,
    source: Arc<Source>,
    compiled: OnceLock<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    tree: Tree,
    variables: HashSet<String>,
}

/// The value of an expression, or a missing fact.
pub type Outcome<'v> = std::result::Result<Boxed<'v>, Missing>;

/// A fact that the expression needs is missing, so its rule does not apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing;

impl Expression {
    /// The whole of a scalar.
    pub fn new(source: &Arc<Source>, scalar: &Spanned<String>) -> Self {
        Self::part(source, scalar, 0..scalar.value.len())
    }

    /// A part of a scalar.
    pub(super) fn part(
        source: &Arc<Source>,
        scalar: &Spanned<String>,
        range: Range<usize>,
    ) -> Self {
        Expression {
            value: scalar.value.as_str().into(),
            range,
            scalar: yaml::span(scalar),
            source: Arc::clone(source),
            compiled: OnceLock::new(),
        }
    }

    /// The expression as written, without YAML quotes.
    pub fn text(&self) -> &str {
        self.value.get(self.range.clone()).unwrap_or_default()
    }

    /// The expression with the location of each node: for checks, not for evaluation.
    ///
    /// # Errors
    ///
    /// It is too long or not valid CEL; the error shows the place.
    pub fn program(&self) -> Result<Program> {
        if self.text().len() > MAX_EXPRESSION {
            return Err(self.fault(0..1, "this expression is longer than 8 KiB", None));
        }
        functions::environment()
            .compile(self.text())
            .map_err(|errors| self.syntax_error(&errors))
    }

    /// Whether it mentions a variable.
    ///
    /// # Errors
    ///
    /// Same as [`Expression::program`].
    pub fn mentions(&self, variable: &str) -> Result<bool> {
        // Most expressions need not be compiled for it.
        Ok(self.text().contains(variable) && self.compiled()?.variables.contains(variable))
    }

    /// The expression to evaluate. This parser builds the same tree without locations, fifteen times faster.
    fn compiled(&self) -> Result<&Compiled> {
        if let Some(compiled) = self.compiled.get() {
            return Ok(compiled);
        }
        let parser = PrattParser::new().enable_optional_syntax(true);
        let mut tree = match parser.parse(self.text()) {
            Ok(tree) => tree,
            Err(_) => self.program()?.expression().clone(),
        };
        let variables = tree
            .references()
            .variables()
            .into_iter()
            .map(str::to_owned)
            .collect();
        deadline::guard(&mut tree);
        Ok(self.compiled.get_or_init(|| Compiled { tree, variables }))
    }

    fn syntax_error(&self, errors: &cel::ParseErrors) -> Error {
        let Some(first) = errors.errors.first() else {
            return self.fault(0..self.text().len(), "this is not a CEL expression", None);
        };
        let number = |n: isize| usize::try_from(n).unwrap_or_default();
        let (line, column) = (number(first.pos.0), number(first.pos.1));
        let line_start: usize = self
            .text()
            .split_inclusive('\n')
            .take(line.saturating_sub(1))
            .map(str::len)
            .sum();
        // The parser lists everything that it would accept, which does not help a reader, and counts the columns of some errors
        // from 0 and of others from 1.
        let message = first.msg.split(" expecting {").next().unwrap_or_default();
        let message = message.trim_start_matches("Syntax error: ");
        let at = line_start.saturating_add(column.saturating_sub(1));
        self.fault(
            at..at + 1,
            &format!("not a CEL expression: {message}"),
            None,
        )
    }

    /// Evaluates it. A missing fact is an outcome, not an error.
    ///
    /// # Errors
    ///
    /// The expression cannot be evaluated, for example because it compares a list with a number.
    pub fn evaluate<'v>(&self, context: &cel::Context<'_, 'v>) -> Result<Outcome<'v>> {
        match Value::resolve_val(&self.compiled()?.tree, context) {
            Ok(value) => Ok(Ok(value.into_owned())),
            Err(
                ExecutionError::NoSuchKey(_)
                | ExecutionError::IndexOutOfBounds(_)
                | ExecutionError::UndeclaredReference(_),
            ) => Ok(Err(Missing)),
            Err(error) => Err(self.fault(0..self.text().len(), &error.to_string(), None)),
        }
    }

    /// The name of the fact that it lacks; `None` if it has a value.
    ///
    /// # Errors
    ///
    /// It is no valid CEL.
    pub fn missing(&self, context: &cel::Context<'_, '_>) -> Result<Option<String>> {
        match Value::resolve_val(&self.compiled()?.tree, context) {
            Err(ExecutionError::NoSuchKey(name) | ExecutionError::UndeclaredReference(name)) => {
                Ok(Some(name.to_string()))
            }
            Err(ExecutionError::IndexOutOfBounds(_)) => Ok(Some("an element of a list".to_owned())),
            _ => Ok(None),
        }
    }

    /// An error at a byte range of the expression, shown at its location in the file.
    pub fn fault(&self, range: Range<usize>, problem: &str, help: Option<&str>) -> Error {
        let written = self
            .source
            .text
            .get(self.scalar.clone())
            .unwrap_or_default();
        let start = self.range.start + range.start;
        let last = self.range.start + range.end.max(range.start + 1) - 1;
        let place = locate(written, &self.value, start)..locate(written, &self.value, last) + 1;
        let shown =
            self.scalar.start + place.start..self.scalar.start + place.end.max(place.start + 1);
        self.source.fault(shown, problem, help)
    }
}

/// The position, in a scalar as written, of the character at `offset` of its value. Both are walked together; quotes, escapes and
/// indentation are skipped.
fn locate(written: &str, value: &str, offset: usize) -> usize {
    let mut raw = written.char_indices().peekable();
    let mut last = 0;
    for (at, wanted) in value.char_indices() {
        if at > offset {
            break;
        }
        if wanted.is_whitespace() {
            continue;
        }
        for (place, c) in raw.by_ref() {
            if c == wanted {
                last = place;
                break;
            }
        }
    }
    last
}

/// A value as a message shows it.
pub fn written(value: &dyn Val) -> String {
    if let Some(text) = text(value) {
        return text.to_owned();
    }
    if let Some(items) = elements(value) {
        let items: Vec<String> = items.iter().map(|item| written(item.as_ref())).collect();
        return items.join(", ");
    }
    match Value::try_from(value) {
        Ok(Value::Int(number)) => number.to_string(),
        Ok(Value::UInt(number)) => number.to_string(),
        Ok(Value::Float(number)) => number.to_string(),
        Ok(Value::Bool(value)) => value.to_string(),
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::RuleSet;
    use super::*;

    /// The tree without the numbers of its nodes.
    fn shape(tree: &Tree) -> String {
        let text = format!("{:?}", tree.expr);
        let numbers = regex::Regex::new(r"\bid: \d+").unwrap();
        numbers.replace_all(&text, "id").into_owned()
    }

    /// Rules are checked with the one parser and evaluated with the other.
    #[test]
    fn both_parsers_give_the_same_tree() {
        for rule in RuleSet::builtin().unwrap().rules() {
            for expression in rule.expressions() {
                let mut checked = expression.program().unwrap().expression().clone();
                deadline::guard(&mut checked);
                let evaluated = &expression.compiled().unwrap().tree;
                assert_eq!(shape(&checked), shape(evaluated), "{}", expression.text());
            }
        }
    }
}
