//! Layers in every form: the same facts from each, and one clear error for each kind of damage.

mod damaged;
mod formats;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::layers::layer_blob;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::Limit;
use imgcheck_base::progress::Progress;
use imgcheck_elf::Depth;
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};
use imgcheck_layer::ReadContext;
use imgcheck_source::source::{LayerBlob, LayerData};
use proptest::prelude::*;
use testkit::tools::{run, tool};
use testkit::{Compression, Item, compress, directory, file, hard_link, symlink, tar};

fn context<'a>() -> ReadContext<'a> {
    imgcheck_model::knowledge::read_context(Depth::Default).unwrap()
}

fn scan(blob: &LayerBlob) -> Result<LayerFacts> {
    let layer = context().read_layer(blob)?;
    Ok(std::sync::Arc::unwrap_or_clone(layer.facts))
}

fn scan_tar(bytes: &[u8]) -> Result<LayerFacts> {
    scan(&layer_blob(bytes, bytes))
}

/// The same entries; where they differ, the first that does is told, and no more.
fn same(found: &[Entry], expected: &[Entry], context: &str) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.path, expected.path, "{context}");
        if found != expected {
            let short = |entry: &Entry| format!("{entry:?}").chars().take(400).collect::<String>();
            panic!("{context}: {}\nexpected {}", short(found), short(expected));
        }
    }
    assert_eq!(found.len(), expected.len(), "{context}");
}

/// What is wrong with a layer.
fn problem(result: Result<LayerFacts>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.exit_code(), 3);
    match error {
        Error::Layer(failure) => failure.problem,
        other => panic!("{other:?}"),
    }
}

/// A program of this machine: an ELF file.
fn program() -> Vec<u8> {
    fs::read("/bin/sh").unwrap()
}

fn sample() -> Vec<Item> {
    let long = format!("{}/{}", "directory".repeat(12), "file".repeat(30));
    vec![
        directory("etc"),
        file("etc/os-release", "ID=debian\n"),
        file("etc/ld.so.cache", b"cache\0\xff"),
        file("bin/sh", program()),
        file("bin/broken", b"\x7fELF but no more"),
        file("bin/short", b"\x7fEL"),
        file("empty", b""),
        file(&long, "long"),
        symlink("lib", "usr/lib"),
        symlink(&format!("{long}-link"), &long),
        hard_link("bin/dash", "bin/sh"),
        file("data", vec![b'x'; 70_000]),
    ]
}

/// A file with `content` at its beginning, then a hole, then more, and a hole at the end.
fn sparse_file(path: &Path, content: &[u8], hole: u64) {
    use std::os::unix::fs::FileExt;
    let file = fs::File::create(path).unwrap();
    file.write_all_at(content, 0).unwrap();
    for at in 1..12 {
        file.write_all_at(b"data between holes", content.len() as u64 + at * hole / 12)
            .unwrap();
    }
    file.set_len(content.len() as u64 + hole).unwrap();
}
