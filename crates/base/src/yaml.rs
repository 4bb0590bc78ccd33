//! The one place that knows which YAML library is used, and how a fault in a file is shown: file, line, column, and
//! the line itself with a caret.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};

use crate::error::{Error, Result};
use crate::spelling::nearest;

/// A value that remembers where it was written.
pub type Spanned<T> = serde_saphyr::Spanned<T>;

/// A map of texts that keeps the order of the file.
#[derive(Debug, Default)]
pub struct Pairs(pub Vec<(Spanned<String>, Spanned<String>)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// Reads a YAML document. `name` is the path of the file as the user gave it.
///
/// # Errors
///
/// An [`Error::Rule`] that shows the line, and for an unknown key the one that was probably meant.
pub fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T> {
    parse_with_renamed_keys(name, text, &[])
}

/// Like [`parse`], for a format some of whose keys have new names: each old key with what to do about it.
///
/// # Errors
///
/// Same as [`parse`].
pub fn parse_with_renamed_keys<T: DeserializeOwned>(
    name: &str,
    text: &str,
    renamed: &[(&str, &str)],
) -> Result<T> {
    serde_saphyr::from_str(text).map_err(|error| located(name, text, renamed, error))
}

/// Maximum number of values in a stream of documents: enough for the objects of a large cluster.
const MAX_NODES: usize = 3_000_000;

/// Reads all documents of a stream; empty ones are left out.
///
/// # Errors
///
/// Same as [`parse`].
pub fn documents<T: DeserializeOwned>(name: &str, text: &str) -> Result<Vec<T>> {
    documents_with(name, text, MAX_NODES, DuplicateKeyPolicy::Error)
}

/// Like [`documents`], with at most this many values.
///
/// # Errors
///
/// Same as [`parse`].
pub fn documents_within<T: DeserializeOwned>(
    name: &str,
    text: &str,
    max_nodes: usize,
) -> Result<Vec<T>> {
    documents_with(name, text, max_nodes, DuplicateKeyPolicy::Error)
}

/// Like [`documents`], where a map may have a key several times: whoever reads it gets all of them, in their order.
///
/// # Errors
///
/// Same as [`parse`].
pub fn documents_with_repeated_keys<T: DeserializeOwned>(name: &str, text: &str) -> Result<Vec<T>> {
    documents_with(name, text, MAX_NODES, DuplicateKeyPolicy::LastWins)
}

fn documents_with<T: DeserializeOwned>(
    name: &str,
    text: &str,
    max_nodes: usize,
    duplicate_keys: DuplicateKeyPolicy,
) -> Result<Vec<T>> {
    let max_nodes = max_nodes.min(MAX_NODES);
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: max_nodes,
            max_events: 2 * max_nodes + 16,
            max_documents: 100_000,
        },
        duplicate_keys: duplicate_keys,
        // Go takes a number that is too large for text.
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
    };
    serde_saphyr::from_multiple_with_options(text, options)
        .map_err(|error| located(name, text, &[], error))
}

fn located(name: &str, text: &str, renamed: &[(&str, &str)], error: serde_saphyr::Error) -> Error {
    let error = error.without_snippet();
    let (problem, help) = describe(error, renamed);
    let start = error.location().map_or(0, |location| {
        let offset = location.span().byte_offset();
        offset
            .and_then(|offset| usize::try_from(offset).ok())
            .unwrap_or_else(|| offset_of(text, location.line(), location.column()))
    });
    fault(name, text, word_at(text, start), &problem, help.as_deref())
}

/// Where in the text a value is written, in bytes, quotes included.
pub fn span<T>(value: &Spanned<T>) -> Range<usize> {
    range(value.referenced)
}

/// Where in the text the value is written that an alias (`*name`) stands for, in bytes.
pub fn defined<T>(value: &Spanned<T>) -> Range<usize> {
    range(value.defined)
}

fn range(location: serde_saphyr::Location) -> Range<usize> {
    let span = location.span();
    let part = |number: Option<u64>| number.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let start = part(span.byte_offset());
    start..start.saturating_add(part(span.byte_len()))
}

/// An [`Error::Rule`] that shows the place in the file.
pub fn fault(
    name: &str,
    text: &str,
    place: Range<usize>,
    problem: &str,
    help: Option<&str>,
) -> Error {
    // A place that cuts a character would be shown wrongly, or not at all.
    let boundary = |at: usize| (at..text.len()).find(|at| text.is_char_boundary(*at));
    let end = boundary(place.end).unwrap_or(text.len());
    let place = boundary(place.start).unwrap_or(end).min(end)..end;
    let snippet = Snippet::source(text)
        .path(name)
        .annotation(AnnotationKind::Primary.span(place));
    let mut group = Level::ERROR.primary_title(problem).element(snippet);
    if let Some(help) = help {
        group = group.element(Level::HELP.message(help));
    }
    Error::Rule {
        problem: Renderer::plain().render(&[group]).to_string(),
    }
}

/// The byte at a line and column, both counted from 1.
fn offset_of(text: &str, line: u64, column: u64) -> usize {
    let number = |n: u64| usize::try_from(n.saturating_sub(1)).unwrap_or(usize::MAX);
    let mut lines = text.split_inclusive('\n');
    let before: usize = lines.by_ref().take(number(line)).map(str::len).sum();
    let within = lines.next().unwrap_or_default();
    let bytes = within
        .chars()
        .take(number(column))
        .map(char::len_utf8)
        .sum::<usize>();
    before.saturating_add(bytes)
}

/// The word that starts at a place, or one character.
fn word_at(text: &str, start: usize) -> Range<usize> {
    let start = start.min(text.len());
    let rest = text.get(start..).unwrap_or_default();
    let word = rest
        .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
        .unwrap_or(rest.len());
    start..start.saturating_add(word.max(1)).min(text.len())
}

/// What is wrong, and what to do where that is clear.
fn describe(error: &serde_saphyr::Error, renamed: &[(&str, &str)]) -> (String, Option<String>) {
    match error {
        serde_saphyr::Error::SerdeUnknownField {
            field, expected, ..
        } => {
            let known = expected.join(", ");
            if let Some((_, help)) = renamed.iter().find(|(old, _)| old == field) {
                return (format!("unknown key `{field}`"), Some((*help).to_owned()));
            }
            let help = nearest(field, expected.iter().copied()).map_or_else(
                || format!("the known keys are {known}"),
                |near| format!("did you mean `{near}`?"),
            );
            (format!("unknown key `{field}`"), Some(help))
        }
        serde_saphyr::Error::SerdeMissingField { field, .. } => {
            (format!("the key `{field}` is missing"), None)
        }
        other => {
            let text = other.render();
            let text = text.split(" at line ").next().unwrap_or(&text);
            in_plain_words(text)
        }
    }
}

/// Words of the library, what they mean, and what to do.
const PLAIN_WORDS: [(&str, &str, &str); 8] = [
    (
        "expected sequence start",
        "this must be a list",
        "write `[one, another]`, or one in a line, each behind `- `",
    ),
    (
        "expected mapping start",
        "this must be keys with values",
        "write `key: value` lines, or `{key: value}`",
    ),
    (
        "expected string scalar",
        "this must be text",
        "write one text without brackets and braces, in quotes where it has them itself",
    ),
    (
        "cannot deserialize null",
        "a value is missing",
        "write one here, or take away what asks for it",
    ),
    (
        "multiple YAML documents",
        "a file may hold one document only",
        "take away the line `---` and one of the two documents",
    ),
    (
        "DuplicateKeyPolicy",
        "this key is here a second time",
        "keep one of them",
    ),
    (
        "budget breached",
        "this document is too large when its aliases are written out",
        "write it shorter, without aliases (`*name`) of lists of aliases",
    ),
    (
        "recursion limit",
        "this is nested too deeply",
        "real files of this kind are a few levels deep",
    ),
];

/// The message of the YAML library.
fn in_plain_words(text: &str) -> (String, Option<String>) {
    let mut known = PLAIN_WORDS.iter();
    match known.find(|(words, _, _)| text.contains(words)) {
        Some((_, problem, help)) => ((*problem).to_owned(), Some((*help).to_owned())),
        None => (text.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_may_be_shown_anywhere() {
        let text = "a\u{1f574}b";
        for start in 0..8 {
            for end in 0..8 {
                let error = fault("f", text, start..end, "problem", None).to_string();
                assert!(error.contains("problem"), "{start}..{end}");
            }
        }
    }
}
