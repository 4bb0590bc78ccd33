//! Reads files of the user.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use imgcheck_base::beneath::Tree;
use imgcheck_base::error::{Error, Result};

/// Reads a text file; one of a tree only if it is in it.
///
/// # Errors
/// [`Error::Config`]: it cannot be read, is not UTF-8, or is larger than `limit` bytes.
pub(super) fn read_text(path: &Path, tree: Option<&Tree>, limit: u64) -> Result<String> {
    let refuse = |problem: String| Error::config(format!("{}: {problem}", path.display()));
    let read = || -> io::Result<String> {
        let mut text = String::new();
        // The file may be a pipe, whose length is unknown.
        let file = match tree {
            Some(tree) => tree.open(path)?,
            None => fs::File::open(path)?,
        };
        file.take(limit + 1).read_to_string(&mut text)?;
        Ok(text)
    };
    let text = read().map_err(|error| refuse(error.to_string()))?;
    match text.len() as u64 > limit {
        true => Err(refuse(format!("file is larger than {limit} bytes"))),
        false => Ok(text),
    }
}
