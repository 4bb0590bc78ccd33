//! What every reader needs: what is known of components and programs, and the files that a file includes.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::ignores::InlineIgnore;
use super::text::Text;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::lexical::simplified;
use imgcheck_model::knowledge::Knowledge;

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
    pub knowledge: &'c Knowledge,
    neighbours: Neighbours<'c>,
    /// The directory of the file, or the build context, as the user would name it; empty for the working directory.
    directory: String,
    /// The size of the included files so far, in bytes.
    read: Cell<usize>,
    seen: Rc<RefCell<Seen>>,
    /// Whether the directory is the build context, which otherwise may be above.
    is_build_context: bool,
}

/// What was seen in a file and those that it includes.
#[derive(Debug, Default)]
pub struct Seen {
    /// The files, as the user would name them.
    pub files: Vec<String>,
    pub ignores: Vec<InlineIgnore>,
}

impl<'c> Context<'c> {
    /// Nothing was included yet.
    pub fn new(knowledge: &'c Knowledge, neighbours: Neighbours<'c>, directory: &str) -> Self {
        Context {
            knowledge,
            neighbours,
            directory: simplified(directory),
            read: Cell::new(0),
            seen: Rc::default(),
            is_build_context: false,
        }
    }

    /// The same with its directory as the build context.
    pub fn into_build_context(self) -> Self {
        Context {
            is_build_context: true,
            ..self
        }
    }

    /// The context of a build in another directory.
    pub fn of_build<'o>(&'o self, neighbours: Neighbours<'o>, directory: &str) -> Context<'o> {
        self.elsewhere(neighbours, directory).into_build_context()
    }

    /// The context of a file in another directory.
    pub fn elsewhere<'o>(&'o self, neighbours: Neighbours<'o>, directory: &str) -> Context<'o> {
        Context {
            seen: self.seen.clone(),
            ..Context::new(self.knowledge, neighbours, directory)
        }
    }

    /// Starts to read a file.
    ///
    /// # Errors
    /// A line is too long.
    pub fn text<'t>(&self, name: &'t str, content: &'t str) -> Result<Text<'t>> {
        let text = Text::new(name, content)?;
        let mut seen = self.seen.borrow_mut();
        if !seen.files.iter().any(|file| file == name) {
            seen.files.push(name.to_owned());
            seen.ignores.extend(InlineIgnore::all(&text));
        }
        Ok(text)
    }

    /// What was seen so far.
    pub fn into_seen(self) -> Seen {
        self.seen.take()
    }

    /// The name of an included file.
    pub fn name(&self, path: &str) -> String {
        let mut folder = self.directory.as_str();
        let mut path = path;
        while let Some(above) = path.strip_prefix("../") {
            folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
            path = above;
        }
        match folder {
            "" => path.to_owned(),
            folder => format!("{folder}/{path}"),
        }
    }

    /// Number of directories between the working directory and the file; 0 if the build context is known.
    pub fn depth(&self) -> usize {
        if self.is_build_context {
            return 0;
        }
        self.directory
            .split('/')
            .filter(|part| !matches!(*part, "" | "."))
            .count()
    }

    /// Looks up a file for another context; one beyond the limit is not read.
    pub fn found(&self, path: &str) -> Neighbour {
        self.counted(path).unwrap_or(Neighbour::Unread)
    }

    /// Looks up an included file.
    ///
    /// # Errors
    /// [`Error::Rule`]: the included files are too large. A file may be included many times, and include many others.
    pub fn neighbour(&self, by: &Text<'_>, path: &str) -> Result<Neighbour> {
        self.counted(path).ok_or_else(|| {
            let problem = format!(
                "error: {}: included files exceed {} MiB in total",
                by.name,
                MAX_NEIGHBOURS / 1024 / 1024
            );
            Error::Rule { problem }
        })
    }

    /// The file, unless all that were looked up are too large.
    fn counted(&self, path: &str) -> Option<Neighbour> {
        let found = match self.is_build_context && path.starts_with("../") {
            true => Neighbour::Unread,
            false => (self.neighbours)(path),
        };
        let length = match &found {
            Neighbour::Text(text) => text.len(),
            _ => 0,
        };
        self.read.set(self.read.get().saturating_add(LOOK + length));
        (self.read.get() <= MAX_NEIGHBOURS).then_some(found)
    }
}

/// A path in a directory; empty for the directory of the file.
pub fn joined(directory: &str, path: &str) -> String {
    match directory.is_empty() || path.starts_with('/') {
        true => simplified(path),
        false => simplified(&format!("{directory}/{path}")),
    }
}
