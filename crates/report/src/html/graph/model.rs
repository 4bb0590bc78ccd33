//! The content of the picture, before any coordinate: cards with rows, and links between them.

use std::fmt;

use super::placement::{LoadFailure, Placement};
use imgcheck_model::finding::Severity;

/// The content of the picture.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// The cards, column by column from top to bottom.
    pub cards: Vec<Card>,
    pub links: Vec<Link>,
    /// How many objects and failures are not drawn, because there are too many.
    pub left_out: usize,
}

/// A box with files of one origin.
#[derive(Debug, Clone)]
pub(super) struct Card {
    pub placement: Placement,
    /// The text at the right of the title: a version.
    pub badge: String,
    /// The line below the rows.
    pub footer: String,
    /// The mark of the title; rows have their own.
    pub mark: Mark,
    /// How the files differ, if they are parts of one library and do not belong together.
    pub mixture: Option<Mixture>,
    pub rows: Vec<Row>,
}

/// How the files of one library differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mixture {
    /// They have these versions, the most frequent first.
    Versions(Vec<String>),
    /// They come from several directories.
    Directories,
}

impl fmt::Display for Mixture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mixture::Versions(versions) => formatter.write_str(&versions.join(" and ")),
            Mixture::Directories => formatter.write_str("files from several directories"),
        }
    }
}

/// One file, or several less important ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    /// The file name, or a description of several files.
    pub label: String,
    /// The version, unless the card has the same.
    pub version: String,
    /// The second line.
    pub note: String,
    pub tooltip: String,
    pub mark: Mark,
    /// Index of the finding on the file.
    pub finding: Option<usize>,
    /// Indexes of the objects of the process that the row represents.
    pub objects: Vec<usize>,
    /// Path of a file that was found but could not be loaded.
    pub unloaded: String,
    /// Why the file could not be loaded.
    pub failure: Option<LoadFailure>,
    /// The files that need it, if it could not be loaded.
    pub requesters: Vec<Requester>,
}

impl Row {
    /// Adds to the second line.
    pub fn add_note(&mut self, note: &str) {
        if self.note.is_empty() {
            self.note = note.to_owned();
        } else if !self.note.contains(note) {
            self.note = format!("{} · {note}", self.note);
        }
    }
}

/// What needs a library that could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Requester {
    /// Path of the file; empty if Python or the program opens the library.
    pub path: String,
    /// The package whose import leads there; empty at the start of the program.
    pub package: String,
}

/// The mark of a card or row, the least important first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// No fault.
    #[default]
    None,
    /// Not used: another copy was loaded, or the program continues without it.
    Ghost,
    /// A note mentions it.
    Note,
    /// A warning mentions it, or it is loaded instead of another copy.
    Warning,
    /// An error mentions it, or its version does not match that of related files.
    Error,
    /// It is missing.
    Missing,
}

impl From<Severity> for Mark {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Note => Mark::Note,
            Severity::Warning => Mark::Warning,
            Severity::Error => Mark::Error,
        }
    }
}

/// An arrow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub from: End,
    pub to: End,
    pub kind: LinkKind,
}

/// One end of a link: a row of a card, or its title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct End {
    /// Index of the card.
    pub card: usize,
    /// Index of the row on it; `None` for the title.
    pub row: Option<usize>,
}

impl End {
    pub fn row(card: usize, row: usize) -> Self {
        let row = Some(row);
        End { card, row }
    }

    pub fn title(card: usize) -> Self {
        End { card, row: None }
    }
}

/// The meaning of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum LinkKind {
    /// A file of one card was the first to load a file of the other.
    Loads,
    /// A file of one card needs a file of the other that was loaded before.
    Needs,
    /// One file needs or opens the other; shown while the pointer is on one of them.
    File,
    /// The copy that is used instead of the expected one.
    Instead,
    /// The copy that was expected.
    Expected,
    /// The file that was found lacks a version or symbol.
    Conflict,
    /// The library is missing.
    Missing,
    /// The library is missing and optional.
    Optional,
}
