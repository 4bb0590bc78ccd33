//! Single values that every API server refuses, whatever their type: the table `rules/knowledge/kubernetes-values.yaml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::form::Form;
use super::refusal::Refusal;
use super::scalar::{Kind, number};
use crate::workload::text::is_final;
use imgcheck_base::document::Node;
use imgcheck_base::error::Result;
use imgcheck_model::knowledge::{OnFirstUse, table};

/// `rules/knowledge/kubernetes-values.yaml`, by `Type.field`.
#[derive(Debug, Deserialize)]
pub(super) struct Values {
    values: BTreeMap<String, Vec<String>>,
    numbers: BTreeMap<String, Bounds>,
    forms: BTreeMap<String, Form>,
}

/// Bounds, both included.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bounds {
    from: i64,
    to: Option<i64>,
}

impl Values {
    /// The built-in table, which is read on first use.
    ///
    /// # Errors
    /// The table is broken, which the tests exclude.
    pub fn builtin() -> Result<&'static Self> {
        static VALUES: OnFirstUse<Values> = OnFirstUse::new();
        VALUES.get_or_make(|| table("kubernetes-values"))
    }

    /// What is refused of the value of a field, such as `Container.imagePullPolicy`.
    pub fn refused<'n>(&self, field: &str, node: &'n Node, kind: Kind) -> Vec<Refusal<'n>> {
        if let Some(form) = self.forms.get(field) {
            return form.refused(node, kind);
        }
        let Some(text) = node.text().filter(|it| !it.is_empty() && is_final(it)) else {
            return Vec::new();
        };
        let known = self.values.get(field).map(Vec::as_slice);
        let number = self.numbers.get(field).copied();
        let says = known
            .and_then(|it| beside(it, text))
            .or_else(|| number.and_then(|it| it.exceeded_by(node)));
        let refusal = says.map(|it| (String::new(), node, it));
        refusal.into_iter().collect()
    }

    /// The fields of the table.
    #[cfg(test)]
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        let numbers = self.numbers.keys().chain(self.forms.keys());
        self.values.keys().chain(numbers).map(String::as_str)
    }
}

/// What the API server says about a word that the field does not take.
fn beside(known: &[String], text: &str) -> Option<String> {
    let is_one = |it: &String| match it.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => it == text,
    };
    (!known.iter().any(is_one)).then(|| format!("supported values: {}", quoted(known)))
}

/// Words as the API server lists them.
pub(in crate::workload::kubernetes) fn quoted(words: &[impl AsRef<str>]) -> String {
    let words = words.iter().map(|it| format!("\"{}\"", it.as_ref()));
    words.collect::<Vec<_>>().join(", ")
}

impl Bounds {
    fn exceeded_by(self, node: &Node) -> Option<String> {
        let text = node.text()?;
        // Octal numbers are positive.
        let number = match text.starts_with('-') {
            true => text.parse().ok()?,
            false => i64::from(number(node)?),
        };
        let is_outside = number < self.from || self.to.is_some_and(|it| number > it);
        is_outside.then(|| match self.to {
            Some(to) => format!("must be between {} and {to}, inclusive", self.from),
            None => format!("must be greater than or equal to {}", self.from),
        })
    }
}
