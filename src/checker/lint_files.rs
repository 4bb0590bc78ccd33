//! Which files `imgcheck lint` reads: those that are named, and those below named directories.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use crate::cancellation::Cancellation;
use crate::error::{Error, Result};
use crate::lint::FileKind;

/// The maximum number of entries in a directory and those below it.
const MAX_ENTRIES: usize = 500_000;

/// The maximum depth of directories.
const MAX_DEPTH: usize = 64;

/// Directories of tools, whose files are not the project's own. Hidden ones are left out, too.
const TOOLS: &[&str] = &["__pycache__", "node_modules", "site-packages", "venv"];

/// A file to check.
pub struct LintFile {
    pub path: PathBuf,
    /// Whether the user named it, and not a directory above it.
    pub is_named: bool,
}

/// The files themselves, and for a directory the files below it that have a known name.
///
/// # Errors
/// A directory cannot be read or has no such file, or the request was cancelled.
pub fn files_of(paths: &[PathBuf], cancellation: &Cancellation) -> Result<Vec<LintFile>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(LintFile {
                path: path.clone(),
                is_named: true,
            });
            continue;
        }
        let mut found = below(path, cancellation)?;
        if found.is_empty() {
            return Err(Error::usage(format!(
                "{}: no Dockerfile, requirements.txt, environment.yml or pyproject.toml in this directory or below it",
                path.display()
            )));
        }
        found.sort();
        files.extend(found.into_iter().map(|path| LintFile {
            path,
            is_named: false,
        }));
    }
    Ok(files)
}

fn below(directory: &Path, cancellation: &Cancellation) -> Result<Vec<PathBuf>> {
    let mut pending = vec![(directory.to_owned(), 0)];
    let mut entries = 0;
    let mut found = Vec::new();
    while let Some((directory, depth)) = pending.pop() {
        cancellation.check()?;
        let name = directory.display().to_string();
        let read = match std::fs::read_dir(&directory) {
            // A directory that the user did not name may be closed to them.
            Err(_) if depth > 0 => continue,
            read => read.map_err(|error| Error::io(name.clone(), error))?,
        };
        for entry in read.flatten() {
            entries += 1;
            if entries > MAX_ENTRIES {
                let problem = format!("{name}: more than {MAX_ENTRIES} files in the directory");
                return Err(Error::usage(problem).with_help("name the files"));
            }
            let path = entry.path();
            // Links to directories may lead in circles.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && (depth >= MAX_DEPTH || is_of_tool(&entry)) => {}
                Ok(kind) if kind.is_dir() => pending.push((path, depth + 1)),
                Ok(_)
                    if FileKind::of_name(&path.display().to_string()).is_some()
                        && path.is_file() =>
                {
                    found.push(path);
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

fn is_of_tool(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    name.starts_with('.') || TOOLS.contains(&name.as_ref())
}
