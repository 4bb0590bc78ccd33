//! Reads files of the user.

use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path};

use super::context::Neighbour;
use super::kind::FileKind;
use imgcheck_base::beneath::Tree;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::spelling::nearest;

/// The largest file of `imgcheck lint`, in bytes.
pub const MAX_FILE: u64 = 1024 * 1024;

/// The maximum number of names of a directory that a missing file is compared with.
const MAX_NAMES: usize = 1000;

/// The bytes of a file that tell what it is.
const BEGINNING: u64 = 4096;

/// The text of at most `limit` bytes that the user names; `-` is standard input.
///
/// # Errors
/// Same as [`load`].
pub fn text_of(path: &Path, limit: u64) -> Result<String> {
    if path.as_os_str() != "-" {
        return load(path, limit);
    }
    const NAME: &str = "standard input";
    let bytes = read(io::stdin(), limit).map_err(|error| Error::io(NAME, error))?;
    decode(NAME, bytes, limit)
}

/// Reads a file of the user of at most `limit` bytes. No link leads out of the working directory, or out of the file's own directory if
/// it is elsewhere.
///
/// # Errors
/// [`Error::Usage`]: it does not exist, is not a regular file, is too large, or is not UTF-8. [`Error::Source`]: it cannot be read.
pub fn load(path: &Path, limit: u64) -> Result<String> {
    let name = path.display().to_string();
    let usage = |problem: String| Error::Usage {
        problem,
        help: None,
    };
    let file = Tree::of(path)
        .open(path)
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                let error = usage(format!("{name}: file not found"));
                match similar(path) {
                    Some(similar) => error.with_help(format!("did you mean `{similar}`?")),
                    None => error,
                }
            }
            ErrorKind::CrossesDevices => {
                usage(format!("{name}: a link leads out of the directory"))
                    .with_help("name the file that the link leads to")
            }
            ErrorKind::Other => usage(format!("{name}: {error}")),
            _ => Error::io(name.clone(), error),
        })?;
    let bytes = read(file, limit).map_err(|error| Error::io(name.clone(), error))?;
    decode(&name, bytes, limit)
}

/// The first bytes of a file, as far as they are text; `None` if [`load`] could not read it, either.
pub fn beginning(path: &Path) -> Option<String> {
    let file = Tree::of(path).open(path).ok()?;
    let bytes = read(file, BEGINNING).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The file in the directory of a path whose name is most like its.
fn similar(path: &Path) -> Option<String> {
    let directory = path.parent()?;
    let is_here = directory.as_os_str().is_empty();
    let entries = std::fs::read_dir(if is_here { Path::new(".") } else { directory }).ok()?;
    let names = entries
        .take(MAX_NAMES)
        .filter_map(|it| it.ok()?.file_name().into_string().ok());
    let names: Vec<String> = names.collect();
    let name = nearest(
        path.file_name()?.to_str()?,
        names.iter().map(String::as_str),
    )?;
    Some(directory.join(name).display().to_string())
}

/// Whether a directory is below another one, by their names.
fn is_inside(directory: &Path, top: &Path) -> bool {
    let below = directory.strip_prefix(top);
    below.is_ok_and(|below| {
        let mut parts = below.components();
        parts.next().is_some() && parts.all(|it| matches!(it, Component::Normal(_)))
    })
}

fn read(input: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Decodes the contents of a file.
///
/// # Errors
/// [`Error::Usage`]: it is too large, or not UTF-8.
fn decode(name: &str, bytes: Vec<u8>, limit: u64) -> Result<String> {
    if bytes.len() as u64 > limit {
        return Err(Error::Usage {
            problem: format!("{name}: file is larger than {} MiB", limit >> 20),
            help: None,
        });
    }
    if let Some(text) =
        utf_16(&bytes).filter(|_| FileKind::of_name(name) == Some(FileKind::Requirements))
    {
        return Ok(text);
    }
    let bytes = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(text) => text.to_vec(),
        None => bytes,
    };
    String::from_utf8(bytes).map_err(|error| Error::Usage {
        problem: format!(
            "{name}: byte {} is not valid UTF-8",
            error.utf8_error().valid_up_to() + 1
        ),
        help: Some("save the file as UTF-8".to_owned()),
    })
}

/// A text in UTF-16 that says so at its start, as PowerShell writes it. pip reads it (`auto_decode` in `pip/_internal/utils/encoding.py`).
fn utf_16(bytes: &[u8]) -> Option<String> {
    let (unit, rest): (fn([u8; 2]) -> u16, _) = match bytes.split_first_chunk::<2>()? {
        ([0xff, 0xfe], rest) => (u16::from_le_bytes, rest),
        ([0xfe, 0xff], rest) => (u16::from_be_bytes, rest),
        _ => return None,
    };
    let (pairs, _) = rest.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|it| unit(*it)).collect();
    String::from_utf16(&units).ok()
}

/// The file at a relative path in the directory of a file. Each `../` in front leads to the directory above, but not above the working
/// directory, or above `top` for a file below it. Links may not lead out of the directory.
pub fn neighbour(file: &Path, relative: &str, top: Option<&Path>) -> Neighbour {
    let mut relative = relative.trim_start_matches("./");
    let mut directory = file.parent().unwrap_or(Path::new(""));
    while let Some(rest) = relative.strip_prefix("../") {
        let here = directory.strip_prefix(".").unwrap_or(directory);
        let is_here = file.is_relative() && is_inside(here, Path::new(""));
        let is_below = is_here || top.is_some_and(|top| is_inside(directory, top));
        match directory.parent().filter(|_| is_below) {
            Some(above) => directory = above,
            None => return Neighbour::Unread,
        }
        relative = rest;
    }
    let outside = |part: &str| part == ".." || part.contains(['\\', '\0', ':']);
    if relative.is_empty() || relative.starts_with('/') || relative.split('/').any(outside) {
        return Neighbour::Unread;
    }
    let tree = Tree::working(file).unwrap_or_else(|| Tree::within(top.unwrap_or(directory)));
    let text = match tree.open_in(directory, Path::new(relative)) {
        Ok(file) => {
            let bytes = read(file, MAX_FILE).ok();
            bytes.and_then(|it| decode(relative, it, MAX_FILE).ok())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Neighbour::Missing,
        Err(_) => None,
    };
    text.map_or(Neighbour::Unread, Neighbour::Text)
}
