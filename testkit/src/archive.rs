//! Tar archives from lists of entries.

use std::fs;
use std::path::Path;

/// One entry of a layer.
#[derive(Debug, Clone)]
pub enum Item {
    /// A regular file.
    File(String, Vec<u8>),
    /// A directory.
    Directory(String),
    /// A symbolic link and its target.
    Symlink(String, String),
    /// A hard link and its target.
    HardLink(String, String),
    /// A fifo.
    Fifo(String),
}

/// A regular file.
pub fn file(path: &str, content: impl AsRef<[u8]>) -> Item {
    Item::File(path.into(), content.as_ref().into())
}

/// A directory.
pub fn directory(path: &str) -> Item {
    Item::Directory(path.into())
}

/// A symbolic link.
pub fn symlink(path: &str, target: &str) -> Item {
    Item::Symlink(path.into(), target.into())
}

/// A hard link.
pub fn hard_link(path: &str, target: &str) -> Item {
    Item::HardLink(path.into(), target.into())
}

/// An uncompressed tar of the entries, in GNU format.
#[must_use]
pub fn tar(items: &[Item]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for item in items {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o755);
        header.set_size(0);
        match item {
            Item::File(path, content) => {
                header.set_size(content.len() as u64);
                if path.starts_with(['/', '.']) || path.contains("../") {
                    // The crate changes or refuses these names.
                    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
                    header.set_cksum();
                    builder.append(&header, &content[..]).unwrap();
                    continue;
                }
                builder
                    .append_data(&mut header, path, &content[..])
                    .unwrap();
            }
            Item::Directory(path) => {
                header.set_entry_type(tar::EntryType::Directory);
                builder.append_data(&mut header, path, &[][..]).unwrap();
            }
            Item::Symlink(path, target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                builder.append_link(&mut header, path, target).unwrap();
            }
            Item::HardLink(path, target) => {
                header.set_entry_type(tar::EntryType::Link);
                builder.append_link(&mut header, path, target).unwrap();
            }
            Item::Fifo(path) => {
                header.set_entry_type(tar::EntryType::Fifo);
                builder.append_data(&mut header, path, &[][..]).unwrap();
            }
        }
    }
    builder.into_inner().unwrap()
}

/// Writes items as a tar file.
pub fn write_archive(path: &Path, items: &[Item]) {
    fs::write(path, tar(items)).unwrap();
}

/// Writes files, directories and symbolic links below a directory.
pub fn write_directory(root: &Path, items: &[Item]) {
    for item in items {
        let (Item::File(path, _)
        | Item::Directory(path)
        | Item::Symlink(path, _)
        | Item::HardLink(path, _)
        | Item::Fifo(path)) = item;
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match item {
            Item::File(_, content) => fs::write(&path, content).unwrap(),
            Item::Directory(_) => fs::create_dir_all(&path).unwrap(),
            Item::Symlink(_, target) => std::os::unix::fs::symlink(target, &path).unwrap(),
            Item::HardLink(_, target) => fs::hard_link(root.join(target), &path).unwrap(),
            Item::Fifo(_) => assert!(
                std::process::Command::new("mkfifo")
                    .arg(&path)
                    .status()
                    .unwrap()
                    .success()
            ),
        }
    }
}

/// The block size of tar.
const BLOCK: usize = 512;
/// The checksum field of a header.
const CHECKSUM: std::ops::Range<usize> = 148..156;
/// The size field of a header.
const SIZE: std::ops::Range<usize> = 124..136;

/// Corrects the checksum of every header, following the sizes from one to the next: a fuzzer hardly ever finds a valid checksum, and would
/// never get past the first header.
#[must_use]
pub fn repair_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut archive = bytes.to_vec();
    let mut position = 0_usize;
    while let Some(header) = archive.get_mut(position..position.saturating_add(BLOCK)) {
        if header.iter().any(|byte| *byte != 0) {
            repair_checksum(header);
        }
        let size = octal(&header[SIZE]).unwrap_or_default();
        position = position.saturating_add(BLOCK + size.next_multiple_of(BLOCK));
    }
    archive
}

fn repair_checksum(header: &mut [u8]) {
    header[CHECKSUM].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// A size in octal digits; `None` if it is too large to be worth following.
fn octal(field: &[u8]) -> Option<usize> {
    let text = str::from_utf8(field).ok()?;
    let digits = text.trim_matches(['\0', ' ']);
    usize::from_str_radix(digits, 8)
        .ok()
        .filter(|size| *size < 1 << 32)
}
