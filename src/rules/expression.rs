//! CEL expressions of a rule file, and texts with `{expression}` in them, both with their place in the file.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use cel::parser::{Expression as Tree, PrattParser};
use cel::{ExecutionError, Program, Value};

use super::{deadline, functions};
use crate::error::{Error, Result};
use crate::yaml::{self, Spanned};

/// The longest expression, in bytes.
pub const MAX_EXPRESSION: usize = 8 * 1024;

/// A rule file as it was read.
#[derive(Debug)]
pub struct Source {
    /// The file as the user knows it.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Source {
    /// An error at a place of this file.
    pub fn fault(&self, place: Range<usize>, problem: &str, help: Option<&str>) -> Error {
        yaml::fault(&self.name, &self.text, place, problem, help)
    }
}

/// One expression, compiled when it is first needed.
#[derive(Debug)]
pub struct Expression {
    /// The value of the YAML scalar that holds it.
    value: Arc<str>,
    /// Which part of the value it is.
    range: Range<usize>,
    /// Where the scalar is written in the file.
    scalar: Range<usize>,
    source: Arc<Source>,
    tree: OnceLock<Tree>,
}

/// What evaluating an expression gave.
pub type Outcome = std::result::Result<Value, Missing>;

/// A fact that the expression needs is not there, so its rule does not apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing;

impl Expression {
    /// The whole of a scalar.
    pub fn new(source: &Arc<Source>, scalar: &Spanned<String>) -> Self {
        Self::part(source, scalar, 0..scalar.value.len())
    }

    fn part(source: &Arc<Source>, scalar: &Spanned<String>, range: Range<usize>) -> Self {
        Expression {
            value: scalar.value.as_str().into(),
            range,
            scalar: yaml::span(scalar),
            source: Arc::clone(source),
            tree: OnceLock::new(),
        }
    }

    /// The expression as it is written, without the quotes of YAML.
    pub fn text(&self) -> &str {
        self.value.get(self.range.clone()).unwrap_or_default()
    }

    /// The expression with the place of each of its nodes: for checks, not for evaluation.
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

    /// The expression to evaluate. This parser gives the same tree without places, fifteen times faster.
    fn tree(&self) -> Result<&Tree> {
        if let Some(tree) = self.tree.get() {
            return Ok(tree);
        }
        let parser = PrattParser::new().enable_optional_syntax(true);
        let mut tree = match parser.parse(self.text()) {
            Ok(tree) => tree,
            Err(_) => self.program()?.expression().clone(),
        };
        deadline::guard(&mut tree);
        Ok(self.tree.get_or_init(|| tree))
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
        // The parser counts columns from 1 for the one kind of error, from 0 for the other, and lists all that it
        // would accept: neither helps a reader.
        let message = first.msg.split(" expecting {").next().unwrap_or_default();
        let message = message.trim_start_matches("Syntax error: ");
        let at = line_start.saturating_add(column.saturating_sub(1));
        self.fault(
            at..at + 1,
            &format!("not a CEL expression: {message}"),
            None,
        )
    }

    /// Evaluates it; a fact that is not there is an outcome, not an error.
    ///
    /// # Errors
    ///
    /// The expression does what it cannot do, such as comparing a list with a number.
    pub fn evaluate(&self, context: &cel::Context<'_, '_>) -> Result<Outcome> {
        match Value::resolve(self.tree()?, context) {
            Ok(value) => Ok(Ok(value)),
            Err(
                ExecutionError::NoSuchKey(_)
                | ExecutionError::IndexOutOfBounds(_)
                | ExecutionError::UndeclaredReference(_),
            ) => Ok(Err(Missing)),
            Err(error) => Err(self.fault(0..self.text().len(), &error.to_string(), None)),
        }
    }

    /// Evaluates it to true or false.
    ///
    /// # Errors
    ///
    /// As [`Expression::evaluate`], or the value is neither.
    pub fn holds(
        &self,
        context: &cel::Context<'_, '_>,
    ) -> Result<std::result::Result<bool, Missing>> {
        match self.evaluate(context)? {
            Ok(Value::Bool(value)) => Ok(Ok(value)),
            Ok(_) => Err(self.fault(0..self.text().len(), "this must be true or false", None)),
            Err(missing) => Ok(Err(missing)),
        }
    }

    /// An error at a byte range of the expression, shown where that is in the file.
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

/// Where in a scalar as written the character `offset` of its value is: both are walked together, and what only the
/// notation has (quotes, escapes, indentation) is skipped.
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

/// A text with expressions in braces: `{it.origin} says PyTorch {it.version}`. A doubled brace stands for itself.
#[derive(Debug)]
pub struct Template {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Value(Expression),
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    ///
    /// A brace is not closed.
    pub fn new(source: &Arc<Source>, scalar: &Spanned<String>) -> Result<Self> {
        let value = &scalar.value;
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut rest = 0;
        while let Some(c) = value.get(rest..).and_then(|tail| tail.chars().next()) {
            let doubled = value
                .get(rest..)
                .is_some_and(|tail| tail.starts_with("{{") || tail.starts_with("}}"));
            if doubled {
                text.push(c);
                rest += 2;
            } else if c == '{' {
                let Some(length) = closing_brace(&value[rest + 1..]) else {
                    let whole = Expression::new(source, scalar);
                    return Err(whole.fault(
                        rest..rest + 1,
                        "this brace is not closed",
                        Some("write `{{` for a brace"),
                    ));
                };
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                let inner = rest + 1..rest + 1 + length;
                rest = inner.end + 1;
                pieces.push(Piece::Value(Expression::part(source, scalar, inner)));
            } else {
                text.push(c);
                rest += c.len_utf8();
            }
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Ok(Template {
            text: value.clone(),
            pieces,
        })
    }

    /// The template as it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The expressions in it.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Value(expression) => Some(expression),
            Piece::Text(_) => None,
        })
    }

    /// Fills it in. A fact that is not there is written as `unknown`. Line breaks of a fact are written `\n`: the lines are those
    /// of the rule.
    ///
    /// # Errors
    ///
    /// As [`Expression::evaluate`].
    pub fn render(&self, context: &cel::Context<'_, '_>) -> Result<String> {
        let mut rendered = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => rendered.push_str(text),
                Piece::Value(expression) => match expression.evaluate(context)? {
                    Ok(value) => rendered.push_str(&written(&value).replace('\n', "\\n")),
                    Err(Missing) => rendered.push_str("unknown"),
                },
            }
        }
        Ok(rendered)
    }
}

/// Length of the text before the brace that closes; braces in strings and maps are skipped.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '{') => depth += 1,
            (None, '}') if depth == 0 => return Some(at),
            (None, '}') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

/// A value as a reader writes it.
pub fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::List(items) => items.iter().map(written).collect::<Vec<_>>().join(", "),
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
                let evaluated = expression.tree().unwrap();
                assert_eq!(shape(&checked), shape(evaluated), "{}", expression.text());
            }
        }
    }

    fn template(text: &str) -> Result<Template> {
        let yaml = format!("'{}'", text.replace('\'', "''"));
        let source = Arc::new(Source {
            name: "rule.yaml".to_owned(),
            text: yaml.clone(),
        });
        Template::new(&source, &yaml::parse("rule.yaml", &yaml)?)
    }

    #[test]
    fn templates_are_filled_in() {
        let mut context = functions::context(&Arc::default());
        context.add_variable_from_value("name", "torch");
        for (text, expected) in [
            ("plain", "plain"),
            ("{name} and {name + '}'}", "torch and torch}"),
            ("{{name}} {[1, 2]}", "{name} 1, 2"),
            ("{{'a': name}.a}", "{'a': name}.a}"),
            ("{ {'a': name}.a }", "torch"),
            ("{missing} é {size(name)}", "unknown é 5"),
        ] {
            assert_eq!(
                template(text).unwrap().render(&context).unwrap(),
                expected,
                "{text}"
            );
        }
        context.add_variable_from_value("name", "a\nb");
        let of_a_fact = template("one\n{name}").unwrap().render(&context);
        assert_eq!(of_a_fact.unwrap(), "one a\\nb", "YAML folds the other");
        assert!(template("an {open brace").is_err());
    }
}
