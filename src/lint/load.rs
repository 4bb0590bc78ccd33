//! Reads files of the user.

use std::path::Path;

use super::context::Neighbour;
use crate::error::{Error, Result};

/// The largest file, in bytes.
pub const MAX_FILE: u64 = 1024 * 1024;

/// Reads a file of the user.
///
/// # Errors
/// [`Error::Usage`]: it does not exist, is not a regular file, is too large, or is not UTF-8. [`Error::Source`]: it cannot be read.
pub fn load(path: &Path) -> Result<String> {
    let name = path.display().to_string();
    let usage = |problem: String| Error::Usage {
        problem,
        help: None,
    };
    let data = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => usage(format!("{name}: file not found")),
        _ => Error::io(name.clone(), error),
    })?;
    if !data.is_file() {
        return Err(usage(format!("{name}: not a regular file")));
    }
    if data.len() > MAX_FILE {
        return Err(usage(too_large(&name)));
    }
    let bytes = std::fs::read(path).map_err(|error| Error::io(name.clone(), error))?;
    decode(&name, bytes)
}

/// Decodes the contents of a file.
///
/// # Errors
/// [`Error::Usage`]: it is too large, or not UTF-8.
pub fn decode(name: &str, bytes: Vec<u8>) -> Result<String> {
    if bytes.len() as u64 > MAX_FILE {
        return Err(Error::Usage {
            problem: too_large(name),
            help: None,
        });
    }
    String::from_utf8(bytes).map_err(|error| Error::Usage {
        problem: format!(
            "{name}: byte {} is not valid UTF-8",
            error.utf8_error().valid_up_to() + 1
        ),
        help: Some("save the file as UTF-8".to_owned()),
    })
}

fn too_large(name: &str) -> String {
    format!("{name}: file is larger than 1 MiB")
}

/// The file at a relative path in a directory. Links may not lead out of the directory.
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
