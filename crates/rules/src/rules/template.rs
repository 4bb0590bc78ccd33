//! Texts with `{expression}` in them, and lists of such texts of which the first that applies counts.

use std::sync::Arc;

use super::expression::{Expression, Missing, Source, written};
use super::file::Texts;
use super::scope::Scope;
use imgcheck_base::error::Result;
use imgcheck_base::yaml::{self, Spanned};

/// A text with expressions in braces: `{it.origin} claims PyTorch {it.version}`. `{{` and `}}` are braces of the text.
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

    /// The template as written.
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

    /// Replaces each expression by its value. A missing fact becomes `unknown`; line breaks of a fact become `\n`, so that the lines
    /// are those of the rule.
    ///
    /// # Errors
    ///
    /// Same as [`Expression::evaluate`].
    pub fn render(&self, scope: &mut Scope<'_, '_, '_>) -> Result<String> {
        let mut rendered = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => rendered.push_str(text),
                Piece::Value(expression) => match scope.evaluate(expression)? {
                    Ok(value) => rendered.push_str(&written(value.as_ref()).replace('\n', "\\n")),
                    Err(Missing) => rendered.push_str("unknown"),
                },
            }
        }
        Ok(rendered)
    }
}

/// The length of the text before the closing brace; braces in strings and maps are skipped.
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

/// The texts of a rule's `message` or `help`: the first whose condition holds.
#[derive(Debug)]
pub struct Cases(Vec<Case>);

/// One text and when it applies. Only the last one has no condition.
#[derive(Debug)]
pub struct Case {
    /// Whether the text applies.
    pub when: Option<Expression>,
    /// The text if the condition holds.
    pub text: Template,
}

impl Cases {
    /// Reads the conditions and texts of a rule file. `key` is `message` or `help`, for messages.
    ///
    /// # Errors
    ///
    /// A template is invalid, or another case than the last has no condition, or the last has one.
    pub fn read(source: &Arc<Source>, key: &str, texts: &Spanned<Texts>) -> Result<Self> {
        let several = match &texts.value {
            Texts::One(text) => {
                let scalar = Spanned::new(text.clone(), texts.referenced, texts.defined);
                let text = Template::new(source, &scalar)?;
                return Ok(Cases(vec![Case { when: None, text }]));
            }
            Texts::Several(several) => several,
        };
        let mut cases = Vec::new();
        for (index, case) in several.iter().enumerate() {
            let is_last = index + 1 == several.len();
            let problem = match (&case.when, is_last) {
                (None, false) => "only the last case may have no `when`",
                (Some(_), true) => {
                    "the last case must have no `when`, so that there is always a text"
                }
                _ => "",
            };
            if !problem.is_empty() {
                let place = yaml::span(case.when.as_ref().unwrap_or(&case.text));
                return Err(source.fault(place, problem, None));
            }
            cases.push(Case {
                when: case.when.as_ref().map(|when| Expression::new(source, when)),
                text: Template::new(source, &case.text)?,
            });
        }
        match cases.is_empty() {
            true => Err(source.fault(yaml::span(texts), &format!("`{key}` has no text"), None)),
            false => Ok(Cases(cases)),
        }
    }

    /// The cases in order.
    pub fn iter(&self) -> impl Iterator<Item = &Case> {
        self.0.iter()
    }

    /// All expressions: conditions, and those in the texts.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.iter()
            .flat_map(|case| case.when.iter().chain(case.text.expressions()))
    }

    /// The first text whose condition holds, rendered.
    ///
    /// # Errors
    ///
    /// Same as [`Expression::evaluate`].
    pub fn render(&self, scope: &mut Scope<'_, '_, '_>) -> Result<String> {
        for case in &self.0 {
            let applies = match &case.when {
                Some(when) => scope.holds(when)? == Ok(true),
                None => true,
            };
            if applies {
                return case.text.render(scope);
            }
        }
        Ok(String::new())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::functions;
    use super::super::value::shared;
    use super::*;

    fn template(text: &str) -> Result<Template> {
        let yaml = format!("'{}'", text.replace('\'', "''"));
        let source = Arc::new(Source {
            name: "rule.yaml".to_owned(),
            text: yaml.clone(),
        });
        Template::new(&source, &yaml::parse("rule.yaml", &yaml)?)
    }

    #[test]
    fn expressions_are_replaced_by_their_values() {
        let mut scope = Scope::new(functions::context(&Arc::default()), Vec::new());
        scope.set("name", shared(&"torch").unwrap());
        for (text, expected) in [
            ("plain", "plain"),
            ("{name} and {name + '}'}", "torch and torch}"),
            ("{{name}} {[1, 2]}", "{name} 1, 2"),
            ("{{'a': name}.a}", "{'a': name}.a}"),
            ("{ {'a': name}.a }", "torch"),
            ("{missing} é {size(name)}", "unknown é 5"),
        ] {
            assert_eq!(
                template(text).unwrap().render(&mut scope).unwrap(),
                expected,
                "{text}"
            );
        }
        scope.set("name", shared(&"a\nb").unwrap());
        let of_a_fact = template("one\n{name}").unwrap().render(&mut scope);
        assert_eq!(of_a_fact.unwrap(), "one a\\nb", "YAML folds the other");
        assert!(template("an {open brace").is_err());
    }
}
