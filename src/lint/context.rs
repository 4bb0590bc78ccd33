//! What every reader needs: the catalogue of components, and the files that a file includes.

use std::cell::Cell;

use super::text::Text;
use crate::error::{Error, Result};
use crate::stack::Catalogue;

/// The maximum size of all included files together, in bytes; each lookup counts as [`LOOK`] bytes.
const MAX_NEIGHBOURS: usize = 16 * 1024 * 1024;

/// The cost of a lookup, whether the file exists or not.
const LOOK: usize = 1024;

/// Reads an included file by its path relative to the directory of the including file, with `/` as separator.
pub type Neighbours<'n> = &'n dyn Fn(&str) -> Neighbour;

/// The result of looking up an included file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Neighbour {
    /// The contents of a file.
    Text(String),
    /// A file that is not read: it is outside of the directory, too large or not text, or the directory is unknown.
    Unread,
    /// There is no such file.
    Missing,
}

/// What every reader needs beside the file.
pub struct Context<'c> {
    pub catalogue: &'c Catalogue,
    neighbours: Neighbours<'c>,
    /// The size of the included files so far, in bytes.
    read: Cell<usize>,
}

impl<'c> Context<'c> {
    /// Nothing was included yet.
    pub fn new(catalogue: &'c Catalogue, neighbours: Neighbours<'c>) -> Self {
        Context {
            catalogue,
            neighbours,
            read: Cell::new(0),
        }
    }

    /// Looks up an included file.
    ///
    /// # Errors
    /// [`Error::Rule`]: the included files are too large. A file may be included many times, and include many others.
    pub fn neighbour(&self, by: &Text<'_>, path: &str) -> Result<Neighbour> {
        let found = (self.neighbours)(path);
        let length = match &found {
            Neighbour::Text(text) => text.len(),
            _ => 0,
        };
        self.read.set(self.read.get().saturating_add(LOOK + length));
        if self.read.get() > MAX_NEIGHBOURS {
            let problem = format!(
                "error: {}: included files exceed {} MiB in total",
                by.name,
                MAX_NEIGHBOURS / 1024 / 1024
            );
            return Err(Error::Rule { problem });
        }
        Ok(found)
    }
}
