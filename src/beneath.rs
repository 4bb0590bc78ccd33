//! Files below an untrusted directory. Nothing outside the directory is opened, and no device or FIFO (except a device where
//! `/proc` is not mounted), even if the tree changes meanwhile: the kernel enforces it for each path (`openat2(2)`,
//! RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS).

#[cfg(test)]
mod tests;
mod tree;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;
pub use tree::Tree;

/// Attempts at a path while a concurrent rename anywhere on the machine keeps the kernel from deciding whether a `..` in a link
/// stays below the directory (EAGAIN).
const ATTEMPTS: usize = 1000;

/// How symbolic links are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Links are an error: ELOOP.
    Refused,
    /// Links are followed as long as they stay below the directory, and not at all if the kernel cannot enforce that.
    Beneath,
}

/// Opens the directory that the user named, following links.
///
/// # Errors
/// The directory does not exist, or access is denied.
pub fn root(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Opens a directory below another one; the empty path is that directory itself.
///
/// # Errors
/// It is not a directory, does not exist, is not below the other one, or access is denied.
pub fn directory(root: impl AsFd, path: &Path, links: Links) -> io::Result<OwnedFd> {
    open(root, path, OFlags::DIRECTORY, links)
}

/// Opens a regular file below a directory for reading.
///
/// # Errors
/// As [`directory`]; also if it is not a regular file.
pub fn file(root: impl AsFd, path: &Path, links: Links) -> io::Result<File> {
    // Opening a device can have side effects, so the path is only resolved at first.
    let found = open(&root, path, OFlags::PATH, links)?;
    check(&found)?;
    let own = format!("/proc/self/fd/{}", found.as_raw_fd());
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(own, flags, Mode::empty()) {
        Ok(file) => Ok(file.into()),
        // /proc is not mounted.
        Err(Errno::NOENT) => {
            let file = open(&root, path, OFlags::NONBLOCK, links)?;
            check(&file)?;
            Ok(file.into())
        }
        Err(error) => Err(error.into()),
    }
}

fn check(file: impl AsFd) -> io::Result<()> {
    match FileType::from_raw_mode(fstat(file)?.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(Errno::LOOP.into()),
        _ => Err(io::Error::other("not a regular file")),
    }
}

fn open(root: impl AsFd, path: &Path, flags: OFlags, links: Links) -> io::Result<OwnedFd> {
    let path = match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    };
    let flags = flags | OFlags::CLOEXEC;
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    if links == Links::Refused {
        resolve |= ResolveFlags::NO_SYMLINKS;
    }
    let opened = (0..ATTEMPTS)
        .map(|_| openat2(&root, path, flags, Mode::empty(), resolve))
        .find(|opened| !matches!(opened, Err(Errno::AGAIN)))
        .unwrap_or(Err(Errno::AGAIN));
    match opened {
        // Linux before 5.6, and sandboxes that do not support the call.
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(root, path, flags),
        Err(Errno::XDEV) => Err(leads_out()),
        opened => Ok(opened?),
    }
}

fn leads_out() -> io::Error {
    io::Error::new(
        io::ErrorKind::CrossesDevices,
        "the path leads out of the directory",
    )
}

/// The same without support by the kernel: no link is followed.
fn step_by_step(root: impl AsFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut opened = root.as_fd().try_clone_to_owned()?;
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        let name = match component {
            Component::Normal(name) => name,
            Component::CurDir => ".".as_ref(),
            _ => return Err(leads_out()),
        };
        let flags = match components.peek() {
            Some(_) => OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            None => flags,
        };
        opened = openat(&opened, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(opened)
}
