//! With support by the kernel for each path (`openat2(2)`, RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path};

use rustix::buffer::spare_capacity;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fgetxattr, fstat, openat, openat2,
    readlinkat, statat,
};
use rustix::io::Errno;

use super::types::{FileKind, Links, Metadata, leads_out, not_a_file};

/// Attempts at a path while a concurrent rename anywhere on the machine keeps the kernel from deciding whether a `..` in a link
/// stays below the directory (EAGAIN).
const ATTEMPTS: usize = 1000;
/// Longest value of an extended attribute in bytes (`xattr(7)`).
const LONGEST_ATTRIBUTE: usize = 64 << 10;

/// An open directory.
#[derive(Debug)]
pub struct Directory(OwnedFd);

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Opens the directory that the user named, following links.
///
/// # Errors
/// The directory does not exist, or access is denied.
pub fn root(path: &Path) -> io::Result<Directory> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(Directory(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Opens a directory below another one; the empty path is that directory itself.
///
/// # Errors
/// It is not a directory, does not exist, is not below the other one, or access is denied.
pub fn directory(root: &Directory, path: &Path, links: Links) -> io::Result<Directory> {
    open(root, path, OFlags::DIRECTORY, links).map(Directory)
}

/// Opens a regular file below a directory for reading. Never opens a device or FIFO, except a device where `/proc` is not mounted.
///
/// # Errors
/// Same as [`directory`]; also if it is not a regular file.
pub fn file(root: &Directory, path: &Path, links: Links) -> io::Result<File> {
    // Opening a device can have side effects, so the path is only resolved at first.
    let found = open(root, path, OFlags::PATH, links)?;
    check(&found)?;
    let own = format!("/proc/self/fd/{}", found.as_raw_fd());
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(own, flags, Mode::empty()) {
        Ok(file) => Ok(file.into()),
        // /proc is not mounted.
        Err(Errno::NOENT) => {
            let file = open(root, path, OFlags::NONBLOCK, links)?;
            check(&file)?;
            Ok(file.into())
        }
        Err(error) => Err(error.into()),
    }
}

pub(super) fn check(file: impl AsFd) -> io::Result<()> {
    match FileType::from_raw_mode(fstat(file)?.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(Errno::LOOP.into()),
        _ => Err(not_a_file()),
    }
}

fn open(root: &Directory, path: &Path, flags: OFlags, links: Links) -> io::Result<OwnedFd> {
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
        .map(|_| openat2(root, path, flags, Mode::empty(), resolve))
        .find(|opened| !matches!(opened, Err(Errno::AGAIN)))
        .unwrap_or(Err(Errno::AGAIN));
    match opened {
        // Linux before 5.6, and sandboxes that do not support the call.
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(root, path, flags),
        Err(Errno::XDEV) => Err(leads_out()),
        opened => Ok(opened?),
    }
}

/// The same without support by the kernel: no link is followed.
pub(super) fn step_by_step(root: &Directory, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
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

/// The names in a directory, in any order.
///
/// # Errors
/// It cannot be read.
pub fn names(directory: &Directory) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
    let children = Dir::read_from(directory)?;
    Ok(children.filter_map(|child| match child {
        Ok(child) => match child.file_name().to_bytes() {
            b"." | b".." => None,
            name => Some(Ok(OsStr::from_bytes(name).to_owned())),
        },
        Err(error) => Some(Err(error.into())),
    }))
}

/// The metadata of what a path below a directory names; of a link itself. The empty path is the directory itself. Links before the end of
/// the path are followed, wherever they lead.
///
/// # Errors
/// It does not exist, or access is denied.
pub fn metadata(directory: &Directory, path: &Path) -> io::Result<Metadata> {
    let stat = match path.as_os_str().is_empty() {
        true => fstat(directory)?,
        false => statat(directory, path, AtFlags::SYMLINK_NOFOLLOW)?,
    };
    Ok(stat.into())
}

/// Where a link of a directory leads, as it is written.
///
/// # Errors
/// It is not a link, or cannot be read.
pub fn link_target(directory: &Directory, name: &OsStr) -> io::Result<OsString> {
    let target = readlinkat(directory, name, Vec::new())?;
    Ok(OsString::from_vec(target.into_bytes()))
}

/// The value of an extended attribute; `None` if the file has no such attribute.
///
/// # Errors
/// It cannot be read.
pub fn attribute(file: &impl AsFd, name: &str) -> io::Result<Option<Vec<u8>>> {
    let mut value = Vec::with_capacity(LONGEST_ATTRIBUTE);
    match fgetxattr(file, name, spare_capacity(&mut value)) {
        Ok(_) => Ok(Some(value)),
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl From<Stat> for Metadata {
    fn from(stat: Stat) -> Self {
        Metadata {
            kind: match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => FileKind::File,
                FileType::Directory => FileKind::Directory,
                FileType::Symlink => FileKind::Link,
                FileType::CharacterDevice => FileKind::CharacterDevice(stat.st_rdev),
                _ => FileKind::Other,
            },
            mode: stat.st_mode & 0o7777,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            uid: stat.st_uid,
            gid: stat.st_gid,
            device: stat.st_dev,
            inode: stat.st_ino,
            is_linked: stat.st_nlink > 1,
        }
    }
}
