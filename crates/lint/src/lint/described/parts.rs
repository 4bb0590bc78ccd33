//! The parts that the files have in common: texts, images and variables.

use std::ops::Range;

use crate::lint::compose::pairs;
use crate::lint::dockerfile::MAX_VARIABLES;
use crate::lint::facts::{Base, Variable};
use crate::lint::text::Text;
use imgcheck_base::document::Node;
use imgcheck_base::reference::name::Name;

/// A text and its place.
pub fn scalar(node: &Node) -> (String, Range<usize>) {
    (
        node.text().unwrap_or_default().to_owned(),
        node.span.clone(),
    )
}

/// The image that a value names after a prefix; `None` without the prefix, or for an empty value.
pub fn image(text: &Text<'_>, node: &Node, prefix: &str) -> Option<Base> {
    let written = node
        .text()?
        .strip_prefix(prefix)
        .filter(|it| !it.is_empty())?;
    let name = written.parse::<Name>().ok();
    let span = text.without_quotes(node.span.clone());
    Some(Base {
        written: written.to_owned(),
        reference: name.is_some().then(|| written.to_owned()),
        repository: name.map(|name| name.repository).unwrap_or_default(),
        location: text.location(span.end.saturating_sub(written.len())..span.end),
        ..Base::default()
    })
}

/// Variables that have a value.
pub fn variables(text: &Text<'_>, node: Option<&Node>) -> Vec<Variable> {
    let valued = pairs(node).filter_map(|(name, value, node)| {
        Some(Variable {
            name: name.to_owned(),
            value: value?.to_owned(),
            location: text.location(text.without_quotes(node.span.clone())),
            ..Variable::default()
        })
    });
    valued.take(MAX_VARIABLES).collect()
}
