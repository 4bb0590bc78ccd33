//! The Python sources of a layer.
//!
//! Which of them matter, only the merged image tells. A layer that can be read again is read again where it is asked for; of a stream,
//! every source is parsed while it passes.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memchr::memmem;

use super::cache::ParsedModules;
use imgcheck_archive::archive::{FileRange, Member};
use imgcheck_archive::squashfs::{Extent, Squashfs};
use imgcheck_base::beneath::{self, Links};
use imgcheck_base::error::{Error, Result};
use imgcheck_elf::ReadAt;
use imgcheck_image::{Entry, EntryKind, LayerFacts};
use imgcheck_python::{ModuleFacts, Unread};

/// The ending of a source.
const ENDING: &[u8] = b".py";

/// Directories whose sources no program imports at its start. Those that are imported nevertheless are unknown.
const PASSED_OVER: [&str; 4] = ["/test/", "/tests/", "/idlelib/", "/lib2to3/"];

/// Maximum memory for the facts of the sources of a stream, in bytes; those of the largest published images take a tenth.
const MOST_MEMORY: u64 = 256 << 20;

/// Offsets of files in an archive, with the index of their entry.
pub(crate) type Offsets = Vec<(usize, u64)>;

/// Directories of what is installed for a Python that accepts it: pip checks that. In the sources of programs, functions are read, too.
const INSTALLED: [&str; 3] = ["site-packages/", "dist-packages/", "lib/python3"];

/// Where the sources of a layer are.
#[derive(Debug, Clone, Default)]
pub(crate) enum Modules {
    /// They cannot be read.
    #[default]
    None,
    /// The facts of all.
    Parsed(Arc<ParsedModules>),
    /// An archive, with the offsets of the sources by the index of their entry, in ascending order.
    Archive(FileRange, Arc<Offsets>),
    /// A SquashFS image, with the sources by the index of their entry.
    Squashfs(Arc<Squashfs>, Arc<BTreeMap<usize, Extent>>),
    /// A directory on this machine.
    Directory(Arc<PathBuf>),
}

impl Modules {
    /// What the source of an entry says, which has this index. `None` if the layer has no such source.
    ///
    /// # Errors
    /// The source cannot be read any more.
    pub fn get(&self, entry: &Entry, at: usize) -> Result<Option<ModuleFacts>> {
        let path = entry.path.as_bytes();
        if !is_source(path, entry.size) {
            let why = match is_parsed(path) {
                true => Unread::TooLong,
                false => Unread::PassedOver,
            };
            let is_module = path.ends_with(ENDING);
            return Ok(is_module.then(|| ModuleFacts::unread(why)));
        }
        let key = u32::try_from(at).ok();
        match self {
            Modules::None => Ok(None),
            Modules::Parsed(modules) => Ok(key.and_then(|it| modules.get(&it)).cloned()),
            _ => {
                let source = self.source(entry, at);
                let source = source.map(|it| it.as_deref().map(|it| of_bytes(path, it)));
                let parsed = source.and_then(Option::transpose);
                parsed.map_err(|error| Error::io(entry.path.to_string(), error))
            }
        }
    }

    /// The bytes of a source that is read where the layer is.
    fn source(&self, entry: &Entry, at: usize) -> io::Result<Option<Vec<u8>>> {
        let read = |bytes: &dyn ReadAt| whole(bytes, entry.size).map(Some);
        match self {
            Modules::None | Modules::Parsed(_) => Ok(None),
            Modules::Archive(range, offsets) => {
                let Ok(found) = offsets.binary_search_by_key(&at, |(entry, _)| *entry) else {
                    return Ok(None);
                };
                read(&range.slice(offsets[found].1, entry.size))
            }
            Modules::Squashfs(image, extents) => match extents.get(&at) {
                Some(extent) => read(&image.file(extent)?),
                None => Ok(None),
            },
            Modules::Directory(root) => {
                let root = beneath::root(root)?;
                let file = beneath::file(&root, entry.path.as_ref(), Links::Refused)?;
                read(&FileRange::new(Arc::new(file), 0, entry.size))
            }
        }
    }
}

fn whole(bytes: &dyn ReadAt, size: u64) -> io::Result<Vec<u8>> {
    let mut source = vec![0; usize::try_from(size).map_err(io::Error::other)?];
    match bytes.read_at(0, &mut source)? == source.len() {
        true => Ok(source),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// The facts of a source. If it is not UTF-8, one of its first two lines must name the encoding (PEP 263).
fn of_bytes(path: &[u8], source: &[u8]) -> io::Result<ModuleFacts> {
    let is_installed = INSTALLED.iter().any(|it| contains(path, it));
    let facts = |source: &str| match is_installed {
        true => ModuleFacts::of(source),
        false => ModuleFacts::of_whole(source),
    };
    if let Ok(source) = str::from_utf8(source) {
        return facts(source);
    }
    let mut lines = source.split(|it| *it == b'\n').take(2);
    if !lines.any(|it| memmem::find(it, b"coding").is_some()) {
        return Ok(ModuleFacts::unread(Unread::Syntax));
    }
    let facts = facts(&String::from_utf8_lossy(source))?;
    Ok(match facts.unread {
        Some(Unread::Syntax) => ModuleFacts::unread(Unread::Encoding),
        _ => facts,
    })
}

/// Whether a layer has sources that may be parsed.
pub(crate) fn has_sources(facts: &LayerFacts) -> bool {
    let mut files = facts
        .entries
        .iter()
        .filter(|it| matches!(it.kind, EntryKind::File(_)));
    files.any(|it| is_source(it.path.as_bytes(), it.size))
}

/// Whether a file of this length is a source that may be parsed, and that is not too long.
pub(crate) fn is_source(path: &[u8], size: u64) -> bool {
    size <= ModuleFacts::MOST_BYTES && is_parsed(path)
}

/// Whether a file is a source that may be parsed.
pub(crate) fn is_parsed(path: &[u8]) -> bool {
    path.ends_with(ENDING) && !PASSED_OVER.iter().any(|it| contains(path, it))
}

fn contains(path: &[u8], part: &str) -> bool {
    memmem::find(path, part.as_bytes()).is_some()
}

/// Notes where an archive has its sources.
pub(crate) fn note(offsets: &mut Offsets, entry: usize, member: &Member) {
    if member.sparse.is_none() && is_parsed(&member.path) {
        offsets.push((entry, member.offset));
    }
}

/// A source of a stream.
pub(crate) struct Source {
    /// The index of its entry.
    pub entry: u32,
    pub path: Vec<u8>,
    pub bytes: Vec<u8>,
}

/// Parses the sources of a stream while it passes.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// Bytes of sources that wait.
    waiting: AtomicU64,
    /// Bytes of memory of all facts.
    memory: AtomicU64,
}

impl Parser {
    /// Sources that wait for a thread; one more is parsed by the thread that reads.
    const MOST_WAITING: u64 = 16 << 20;

    /// Whether a source may wait.
    pub fn has_room(&self, source: &Source) -> bool {
        let more = source.bytes.len() as u64;
        let before = self.waiting.fetch_add(more, Ordering::Relaxed);
        before + more <= Self::MOST_WAITING
    }

    /// The facts of a source with the index of its entry, unless there is no memory for them.
    pub fn parse(&self, source: &Source) -> io::Result<Option<(u32, ModuleFacts)>> {
        self.waiting
            .fetch_sub(source.bytes.len() as u64, Ordering::Relaxed);
        if self.memory.load(Ordering::Relaxed) > MOST_MEMORY {
            return Ok(None);
        }
        let facts = of_bytes(&source.path, &source.bytes)?;
        self.memory.fetch_add(facts.memory(), Ordering::Relaxed);
        Ok(Some((source.entry, facts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoding_must_be_named() {
        let unread = |source: &[u8]| of_bytes(b"a.py", source).map(|it| it.unread).ok().flatten();
        assert_eq!(unread("# caf\u{e9}\n".as_bytes()), None);
        assert_eq!(unread(b"# caf\xe9\n"), Some(Unread::Syntax));
        assert_eq!(
            unread(b"#!/bin/x\n# -*- coding: latin-1 -*-\n# caf\xe9\n"),
            None
        );
        assert_eq!(
            unread(b"# coding: latin-1\ncaf\xe9 = 1\n"),
            Some(Unread::Encoding)
        );
        assert_eq!(unread(b"\xff\xfei\0m\0"), Some(Unread::Syntax));
    }
}
