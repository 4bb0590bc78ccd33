//! Images around forged ELF files.

use std::path::Path;

pub use testkit::elf::raw::{RawElf as Elf, *};
use testkit::{Compression, Image, Item, docker_archive, oci_layout, write_archive};

/// A docker archive of one layer, and the arguments to show it.
pub fn archive(scratch: &Path, items: &[Item]) -> Vec<String> {
    shown(
        scratch,
        &docker_archive(&[Image::new("hostile:1", &[items])]),
    )
}

/// An OCI layout with a gzip layer.
pub fn layout(scratch: &Path, items: &[Item]) -> Vec<String> {
    let image = Image::new("hostile:1", &[items]);
    shown(scratch, &oci_layout(&[image], Compression::Gzip, false))
}

/// A docker archive with one file of `size` bytes, of which only the first are stored (the old GNU format of sparse files).
pub fn sparse_archive(scratch: &Path, path: &str, stored: &[u8], size: u64) -> Vec<String> {
    let mut header = tar::Header::new_gnu();
    header.set_path(path).unwrap();
    header.set_mode(0o755);
    header.set_size(stored.len() as u64);
    header.set_entry_type(tar::EntryType::GNUSparse);
    let gnu = header.as_gnu_mut().unwrap();
    gnu.set_real_size(size);
    let octal = |number: usize| format!("{number:011o}\0").into_bytes().try_into().unwrap();
    gnu.sparse[0].offset = octal(0);
    gnu.sparse[0].numbytes = octal(stored.len());
    header.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append(&header, stored).unwrap();
    let mut image = Image::new("hostile:1", &[]);
    image.layers.push(builder.into_inner().unwrap());
    shown(scratch, &docker_archive(&[image]))
}

/// Writes an archive, and gives the arguments to show it.
pub fn shown(scratch: &Path, archive: &[Item]) -> Vec<String> {
    write_archive(&scratch.join("image.tar"), archive);
    ["check", "image.tar", "--format", "json"]
        .map(str::to_owned)
        .into()
}
