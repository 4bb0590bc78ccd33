//! The text of a manifest, and positions in it.

use std::ops::Range;

use crate::lint::Text;
use imgcheck_base::document::Node;
use imgcheck_base::error::{Error, Result};
use imgcheck_model::finding::Location;

/// Maximum length of a line, in bytes: JSON may be on one line.
const MAX_LINE: usize = 1024 * 1024;

/// A file and its text.
pub struct Manifest<'t> {
    text: Text<'t>,
}

impl<'t> Manifest<'t> {
    /// # Errors
    /// A line is too long.
    pub fn new(name: &'t str, text: &'t str) -> Result<Self> {
        let text = Text::with_lines_up_to(name, text, MAX_LINE).map_err(Error::in_judged_file)?;
        Ok(Manifest { text })
    }

    /// The file as the user named it.
    pub fn name(&self) -> &'t str {
        self.text.name
    }

    /// The text without a byte order mark.
    pub fn text(&self) -> &'t str {
        self.text.text
    }

    /// Where a value is, without its quotes.
    pub fn location(&self, node: &Node) -> Location {
        self.text
            .location(self.text.without_quotes(node.span.clone()))
    }

    /// Where a range is.
    pub fn range(&self, span: Range<usize>) -> Location {
        self.text.location(span)
    }

    /// An error that shows a range.
    pub fn fault(&self, span: Range<usize>, problem: &str, help: &str) -> Error {
        self.text.fault(span, problem, Some(help)).in_judged_file()
    }

    /// An error that shows a location.
    pub fn fault_at(&self, location: &Location, problem: &str, help: &str) -> Error {
        let start = self.text.start_of(location.line);
        let before = location
            .text
            .chars()
            .take(location.column.saturating_sub(1));
        let start = start + before.map(char::len_utf8).sum::<usize>();
        self.fault(start..start + 1, problem, help)
    }
}

/// Whether nothing replaces a text before the API server gets it, as templates and variables are.
pub(super) fn is_final(text: &str) -> bool {
    !text.contains(['{', '$', '<', '%'])
}

/// The longest label of RFC 1123, and the longest name in a key.
pub(super) const LONGEST_LABEL: usize = 63;

/// Whether a text is the name in the key of a label or a resource, or the value of a label that has one (`IsQualifiedName`,
/// `IsValidLabelValue`).
pub(super) fn is_name(text: &str) -> bool {
    let is_edge = |c: Option<char>| c.is_some_and(|it| it.is_ascii_alphanumeric());
    let is_inside = |c: char| "-_.".contains(c) || c.is_ascii_alphanumeric();
    text.len() <= LONGEST_LABEL
        && text.chars().all(is_inside)
        && is_edge(text.chars().next())
        && is_edge(text.chars().next_back())
}

/// Whether a text is a label of RFC 1123, apart from its length.
pub(super) fn is_label(text: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_edge = |c: Option<char>| c.is_some_and(|it| it != '-');
    text.chars().all(is_inside) && is_edge(text.chars().next()) && is_edge(text.chars().next_back())
}
