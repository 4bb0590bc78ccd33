//! With the standard library alone: what a path leads to is found first and opened then, so whoever can change the tree meanwhile can
//! still lead out of it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::types::{FileKind, Links, Metadata, leads_out, not_a_file};

/// The canonical path of a directory.
#[derive(Debug)]
pub struct Directory(PathBuf);

/// Finds the directory that the user named, following links.
///
/// # Errors
/// The directory does not exist, or access is denied.
pub fn root(path: &Path) -> io::Result<Directory> {
    let path = fs::canonicalize(path)?;
    match path.metadata()?.is_dir() {
        true => Ok(Directory(path)),
        false => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// Finds a directory below another one; the empty path is that directory itself.
///
/// # Errors
/// It is not a directory, does not exist, is not below the other one, or access is denied.
pub fn directory(root: &Directory, path: &Path, links: Links) -> io::Result<Directory> {
    self::root(&resolve(root, path, links)?)
}

/// Opens a regular file below a directory for reading.
///
/// # Errors
/// Same as [`directory`]; also if it is not a regular file.
pub fn file(root: &Directory, path: &Path, links: Links) -> io::Result<File> {
    let path = resolve(root, path, links)?;
    match path.symlink_metadata()?.is_file() {
        true => File::open(path),
        false => Err(not_a_file()),
    }
}

/// The canonical path of what a path below a directory leads to.
fn resolve(root: &Directory, path: &Path, links: Links) -> io::Result<PathBuf> {
    let mut whole = root.0.clone();
    for component in path.components() {
        match component {
            Component::Normal(name) => whole.push(plain(name)?),
            Component::CurDir => {}
            _ => return Err(leads_out()),
        }
        if links == Links::Refused && whole.symlink_metadata()?.is_symlink() {
            return Err(io::Error::other("a symbolic link, which is not followed"));
        }
    }
    let found = fs::canonicalize(whole)?;
    match found.starts_with(&root.0) {
        true => Ok(found),
        false => Err(leads_out()),
    }
}

/// A name that only names something in a directory: on Windows `C:x` is a drive, and `x:y` a stream of the file `x`.
fn plain(name: &OsStr) -> io::Result<&OsStr> {
    match cfg!(windows) && name.as_encoded_bytes().contains(&b':') {
        true => Err(io::ErrorKind::NotFound.into()),
        false => Ok(name),
    }
}

/// The names in a directory, in any order.
///
/// # Errors
/// It cannot be read.
pub fn names(directory: &Directory) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
    let children = fs::read_dir(&directory.0)?;
    Ok(children.map(|child| Ok(child?.file_name())))
}

/// The metadata of what a path below a directory names; of a link itself. The empty path is the directory itself.
///
/// # Errors
/// It does not exist, or access is denied.
pub fn metadata(directory: &Directory, path: &Path) -> io::Result<Metadata> {
    let path = match path.as_os_str().is_empty() {
        true => directory.0.clone(),
        false => directory.0.join(path),
    };
    Ok(converted(&path.symlink_metadata()?))
}

/// Where a link of a directory leads, as it is written, with slashes.
///
/// # Errors
/// It is not a link, or cannot be read.
pub fn link_target(directory: &Directory, name: &OsStr) -> io::Result<OsString> {
    let target = fs::read_link(directory.0.join(name))?;
    Ok(match cfg!(windows) {
        true => target.to_string_lossy().replace('\\', "/").into(),
        false => target.into(),
    })
}

/// Extended attributes have a meaning only on Linux.
///
/// # Errors
/// None.
pub fn attribute<T>(_: &T, _: &str) -> io::Result<Option<Vec<u8>>> {
    Ok(None)
}

fn kind(metadata: &fs::Metadata) -> FileKind {
    match metadata.file_type() {
        kind if kind.is_file() => FileKind::File,
        kind if kind.is_dir() => FileKind::Directory,
        kind if kind.is_symlink() => FileKind::Link,
        _ => FileKind::Other,
    }
}

#[cfg(unix)]
fn converted(metadata: &fs::Metadata) -> Metadata {
    use std::os::unix::fs::MetadataExt;
    Metadata {
        kind: kind(metadata),
        mode: metadata.mode() & 0o7777,
        size: metadata.len(),
        uid: metadata.uid(),
        gid: metadata.gid(),
        device: metadata.dev(),
        inode: metadata.ino(),
        is_linked: metadata.nlink() > 1,
    }
}

/// Windows has none of Unix's permissions: everybody may read and execute all files, which belong to root.
#[cfg(not(unix))]
fn converted(metadata: &fs::Metadata) -> Metadata {
    Metadata {
        kind: kind(metadata),
        mode: 0o755,
        size: metadata.len(),
        uid: 0,
        gid: 0,
        device: 0,
        inode: 0,
        is_linked: false,
    }
}
