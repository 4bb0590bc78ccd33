//! What the files that an image is built from ask for: Dockerfile, requirements.txt, environment.yml, pyproject.toml.
//!
//! [`read`] takes a file apart into [`Sources`]: the images that stages start from, the packages that are installed,
//! the variables that are set; each with its place in the file. Nothing is judged here: that is what rules do.

mod command;
mod dockerfile;
mod environment;
mod facts;
mod heredoc;
mod install;
mod kind;
mod marker;
mod pin;
mod pyproject;
mod requirements;
mod shell;
mod stage;
mod text;
mod variables;

use std::cell::Cell;
use std::path::Path;

use crate::error::{Error, Result};
use crate::stack::Catalogue;

pub use facts::{Base, BaseFinding, Pin, SearchDirectory, Sources, Stage, Variable};
pub use kind::FileKind;

use text::Text;

/// The largest file that is read, in bytes.
pub const MAX_FILE: u64 = 1024 * 1024;

/// How many bytes of other files are read for one file, in all; a look for a file counts as [`LOOK`] bytes.
const MAX_NEIGHBOURS: usize = 16 * 1024 * 1024;

/// What a look for a file counts as, whether there is one or not.
const LOOK: usize = 1024;

/// Reads other files that a file names: a path, with `/`, relative to the file's directory.
pub type Neighbours<'n> = &'n dyn Fn(&str) -> Neighbour;

/// What stands where a file names another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Neighbour {
    /// A file, with its text.
    Text(String),
    /// Something that is not read: it stands outside the directory, is too large or no text, or nobody knows the directory.
    Unread,
    /// Nothing.
    Missing,
}

/// Reads a file. `name` is the file as the user knows it.
///
/// # Errors
///
/// [`Error::Rule`] that shows the line, if the file is not what its kind must be.
pub fn read(
    name: &str,
    text: &str,
    kind: FileKind,
    catalogue: &Catalogue,
    neighbours: Neighbours<'_>,
) -> Result<Sources> {
    let text = Text::new(name, text)?;
    let context = Context {
        catalogue,
        neighbours,
        read: Cell::new(0),
    };
    let stages = match kind {
        FileKind::Dockerfile => dockerfile::read(&text, &context)?,
        FileKind::Requirements => requirements::read(&text, &context)?,
        FileKind::Environment => environment::read(&text, &context)?,
        FileKind::Pyproject => pyproject::read(&text, &context)?,
    };
    Ok(Sources {
        file: name.to_owned(),
        kind: kind.name().to_owned(),
        stages,
    })
}

/// What every reader needs beside the file.
struct Context<'c> {
    catalogue: &'c Catalogue,
    neighbours: Neighbours<'c>,
    /// What was read of other files, in bytes.
    read: Cell<usize>,
}

impl Context<'_> {
    /// Another file that a file names.
    ///
    /// # Errors
    ///
    /// [`Error::Rule`] if too much was read already: a file may be named by many lines, and files may name many others.
    fn neighbour(&self, by: &Text<'_>, path: &str) -> Result<Neighbour> {
        let found = (self.neighbours)(path);
        let length = match &found {
            Neighbour::Text(text) => text.len(),
            _ => 0,
        };
        self.read.set(self.read.get().saturating_add(LOOK + length));
        if self.read.get() > MAX_NEIGHBOURS {
            let problem = format!(
                "error: {}: the files that are named here and read again and again have more than {} MiB together",
                by.name,
                MAX_NEIGHBOURS / 1024 / 1024
            );
            return Err(Error::Rule { problem });
        }
        Ok(found)
    }
}

/// Reads a file of the user.
///
/// # Errors
///
/// [`Error::Usage`] if it does not exist, is no file, is too large or no text; [`Error::Source`] if it cannot be read.
pub fn load(path: &Path) -> Result<String> {
    let name = path.display().to_string();
    let usage = |problem: String| Error::Usage {
        problem,
        help: None,
    };
    let data = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => usage(format!("{name}: there is no such file")),
        _ => Error::io(name.clone(), error),
    })?;
    if !data.is_file() {
        return Err(usage(format!("{name}: this is no file")));
    }
    if data.len() > MAX_FILE {
        return Err(usage(too_large(&name)));
    }
    let bytes = std::fs::read(path).map_err(|error| Error::io(name.clone(), error))?;
    decode(&name, bytes)
}

/// The text of a file's bytes.
///
/// # Errors
///
/// [`Error::Usage`] if it is too large, or no UTF-8.
pub fn decode(name: &str, bytes: Vec<u8>) -> Result<String> {
    if bytes.len() as u64 > MAX_FILE {
        return Err(Error::Usage {
            problem: too_large(name),
            help: None,
        });
    }
    String::from_utf8(bytes).map_err(|error| Error::Usage {
        problem: format!(
            "{name}: byte {} is not UTF-8 text",
            error.utf8_error().valid_up_to() + 1
        ),
        help: Some("save the file as UTF-8".to_owned()),
    })
}

fn too_large(name: &str) -> String {
    format!("{name}: a file may have 1 MiB, this one has more")
}

/// The file at a relative path below a directory, if it is one that may be read: no link leads out of the directory.
pub fn neighbour(directory: &Path, relative: &str) -> Neighbour {
    let relative = relative.trim_start_matches("./");
    let outside = |part: &str| part == ".." || part.contains(['\\', '\0', ':']);
    if relative.is_empty() || relative.starts_with('/') || relative.split('/').any(outside) {
        return Neighbour::Unread;
    }
    let Ok(root) = std::fs::canonicalize(directory) else {
        return Neighbour::Unread;
    };
    match std::fs::canonicalize(directory.join(relative)) {
        Ok(path) if path.starts_with(root) => {
            load(&path).map_or(Neighbour::Unread, Neighbour::Text)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Neighbour::Missing,
        _ => Neighbour::Unread,
    }
}
