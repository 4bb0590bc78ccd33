//! Lists of requirements as they are written.

use std::ops::Range;

use super::super::stage::MAX_PINS;

/// Something that a list of requirements consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<'t> {
    /// A requirement, and where it is written.
    Requirement { text: &'t str, span: Range<usize> },
    /// A requirements file, relative to the directory of the project.
    File { path: &'t str, span: Range<usize> },
}

/// A list of requirements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirements<'t> {
    pub parts: Vec<Part<'t>>,
    /// Where requirements are computed.
    pub unread: Vec<Range<usize>>,
}

impl<'t> Requirements<'t> {
    pub fn unread(span: Range<usize>) -> Self {
        Requirements {
            parts: Vec::new(),
            unread: vec![span],
        }
    }

    pub fn file(path: &'t str, span: Range<usize>) -> Self {
        Requirements {
            parts: vec![Part::File { path, span }],
            unread: Vec::new(),
        }
    }

    /// Adds another list. One package too many is reported when it is recorded.
    pub fn add(&mut self, other: Requirements<'t>) {
        let left = (MAX_PINS + 1).saturating_sub(self.parts.len());
        self.parts.extend(other.parts.into_iter().take(left));
        let left = MAX_PINS.saturating_sub(self.unread.len());
        self.unread.extend(other.unread.into_iter().take(left));
    }
}

/// What a project says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Setup<'t> {
    pub main: Requirements<'t>,
    pub extras: Vec<(&'t str, Requirements<'t>)>,
    /// Where extras are computed.
    pub unread: Vec<Range<usize>>,
}
