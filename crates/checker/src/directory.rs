//! The files below a directory that a user names.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, Result};

/// The maximum number of entries in a directory and those below it.
const MAX_ENTRIES: usize = 500_000;

/// The maximum depth of directories.
const MAX_DEPTH: usize = 64;

/// Directories of tools, whose files are not the project's own. Hidden ones are left out, too.
const TOOLS: &[&str] = &["__pycache__", "node_modules", "site-packages", "venv"];

/// The files below a directory whose path `is_wanted` accepts, sorted.
///
/// # Errors
/// The directory cannot be read or has too many entries, or the request was cancelled.
pub fn files_below(
    directory: &Path,
    is_wanted: impl Fn(&Path) -> bool,
    cancellation: &Cancellation,
) -> Result<Vec<PathBuf>> {
    let named = directory.display();
    let mut pending = vec![(directory.to_owned(), 0)];
    let mut entries = 0;
    let mut found = Vec::new();
    while let Some((directory, depth)) = pending.pop() {
        cancellation.check()?;
        let read = match std::fs::read_dir(&directory) {
            // A directory that the user did not name may be closed to them.
            Err(_) if depth > 0 => continue,
            read => read.map_err(|error| Error::io(named.to_string(), error))?,
        };
        for entry in read.flatten() {
            entries += 1;
            if entries > MAX_ENTRIES {
                let problem = format!("{named}: more than {MAX_ENTRIES} files in the directory");
                return Err(Error::usage(problem).with_help("name the files"));
            }
            let path = entry.path();
            // Links to directories may lead in circles.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && (depth >= MAX_DEPTH || is_of_tool(&entry)) => {}
                Ok(kind) if kind.is_dir() => pending.push((path, depth + 1)),
                Ok(_) if is_wanted(&path) && path.is_file() => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_of_tool(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    let is_hidden = name.starts_with('.') && name != ".devcontainer";
    is_hidden || TOOLS.contains(&name.as_ref())
}
