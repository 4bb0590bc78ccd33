//! What a table of contents says, in either format: both are JSON, and have most of their fields from CRFS.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::super::compression::check_length;
use super::super::entry::entry;
use super::super::facts::{Entry, EntryKind};
use crate::archive::overlay::{ATTRIBUTE as OVERLAY_ATTRIBUTE, is_attribute, is_whiteout_device};
use crate::archive::{Kind, Member};
use crate::digest::hexadecimal;
use crate::limits::{Limit, Limits};

/// The version of the formats that is known.
const VERSION: u64 = 1;

/// Bytes of a table, decompressed. That of an image of 7 GB has some 30 MB.
pub(super) const TABLE_LIMIT: u64 = 128 << 20;

/// The entries of a layer, and where the bytes of its files are.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The entries in the order of the table, which is that of the archive; all files are unread.
    pub entries: Vec<Entry>,
    /// The files that are not empty, in the same order.
    pub files: Vec<File>,
}

/// A file that is not empty.
#[derive(Debug)]
pub(super) struct File {
    /// The number of its entry.
    pub entry: usize,
    /// Its parts: they follow each other without gaps.
    pub chunks: Vec<Chunk>,
}

/// A part of a file.
#[derive(Debug)]
pub(super) struct Chunk {
    /// Where it starts in the file.
    pub start: u64,
    /// Its length in bytes.
    pub length: u64,
    /// Where its bytes are; `None` if they are zeros.
    pub stored: Option<Stored>,
}

/// Where the bytes of a chunk are in the blob.
#[derive(Debug)]
pub(super) struct Stored {
    /// First byte of the compressed frame or member.
    pub offset: u64,
    /// Where the next one starts.
    pub end: u64,
    /// Bytes in front of those of the chunk, once it is decompressed.
    pub inner: u64,
    /// Their digest.
    pub digest: String,
}

impl Contents {
    /// Reads a table. Files lie before `end` in the blob. `Err` says why the table cannot be used.
    pub fn parse(json: &[u8], end: u64, limits: &Limits) -> Result<Self, String> {
        let mut builder = Builder::new(limits);
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        TableOf(&mut builder)
            .deserialize(&mut deserializer)
            .and_then(|()| deserializer.end())
            .map_err(|error| error.to_string())?;
        builder.finish(end)
    }
}

/// One row of a table: an entry, or a further chunk of the one before.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Row<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    link_name: Cow<'a, str>,
    mode: u64,
    size: u64,
    #[serde(borrow)]
    digest: Cow<'a, str>,
    offset: u64,
    end_offset: u64,
    inner_offset: u64,
    chunk_size: u64,
    chunk_offset: u64,
    #[serde(borrow)]
    chunk_digest: Cow<'a, str>,
    #[serde(borrow)]
    chunk_type: Cow<'a, str>,
    dev_major: u64,
    dev_minor: u64,
    /// Extended attributes.
    #[serde(borrow)]
    xattrs: BTreeMap<Cow<'a, str>, IgnoredAny>,
}

/// Takes the rows one by one, so that a long table needs no memory twice.
struct Builder<'l> {
    limits: &'l Limits,
    contents: Contents,
    /// What rows of further chunks belong to.
    open: Option<Open>,
    /// Where the frames start.
    offsets: Vec<u64>,
    /// Bytes of all files.
    bytes: u64,
}

/// The regular file of the last row that was none of a further chunk.
#[derive(Clone, Copy)]
enum Open {
    /// The last of the files, its size, and where its last frame ends in the blob, or 0.
    Last { size: u64, end: u64 },
    /// It is empty, or engines pass over it.
    PassedOver,
}

impl<'l> Builder<'l> {
    fn new(limits: &'l Limits) -> Self {
        Builder {
            limits,
            contents: Contents::default(),
            open: None,
            offsets: Vec::new(),
            bytes: 0,
        }
    }

    fn add(&mut self, row: &Row) -> Result<(), String> {
        if row.offset > 0 {
            self.offsets.push(row.offset);
        }
        if row.kind == "chunk" {
            return match self.open {
                Some(Open::Last { size, .. }) => self.chunk(row, size, false),
                Some(Open::PassedOver) => Ok(()),
                None => Err("a chunk of no file".to_owned()),
            };
        }
        self.close()?;
        let size = if row.kind == "reg" { row.size } else { 0 };
        let found = entry(&self.member(row, size)?)?;
        self.open = (row.kind == "reg").then_some(Open::PassedOver);
        let Some(found) = found else {
            return Ok(());
        };
        let file = matches!(found.kind, EntryKind::File(_)) && size > 0;
        self.contents.entries.push(found);
        self.check(Limit::Entries, self.contents.entries.len())?;
        if !file {
            return Ok(());
        }
        self.bytes = self.bytes.saturating_add(size);
        self.contents.files.push(File {
            entry: self.contents.entries.len() - 1,
            chunks: Vec::new(),
        });
        self.open = Some(Open::Last {
            size,
            end: row.end_offset,
        });
        self.chunk(row, size, true)
    }

    /// The archive itself passes the same limit, and says so.
    fn check(&self, limit: Limit, met: usize) -> Result<(), String> {
        let checked = self.limits.check(limit, met as u64);
        checked.map_err(|passed| passed.to_string())
    }

    /// The row as a member of the archive that it describes.
    fn member(&self, row: &Row, size: u64) -> Result<Member, String> {
        for text in [&row.name, &row.link_name] {
            self.check(Limit::PathBytes, text.len())?;
            // What is not UTF-8 was lost when the table was written.
            if text.contains(char::REPLACEMENT_CHARACTER) {
                return Err(format!("a name that is not UTF-8: {text}"));
            }
        }
        if row.xattrs.keys().any(|name| is_attribute(name.as_bytes())) {
            return Err(OVERLAY_ATTRIBUTE.to_owned());
        }
        Ok(Member {
            path: row.name.as_bytes().to_vec(),
            kind: match &*row.kind {
                "reg" => Kind::File,
                "dir" => Kind::Directory,
                "symlink" => Kind::Symlink,
                "hardlink" => Kind::HardLink,
                "char" if is_whiteout_device(row.dev_major, row.dev_minor) => Kind::WhiteoutDevice,
                "char" | "block" | "fifo" => Kind::Special,
                other => return Err(format!("an unknown type: {other}")),
            },
            link: row.link_name.as_bytes().to_vec(),
            mode: (row.mode & 0o7777) as u32,
            size,
            offset: 0,
            stored: 0,
            sparse: None,
        })
    }

    /// Adds a chunk to the last file, which has `size` bytes.
    fn chunk(&mut self, row: &Row, size: u64, first: bool) -> Result<(), String> {
        let Some(file) = self.contents.files.last_mut() else {
            return Err("a chunk of no file".to_owned());
        };
        let start = if first { 0 } else { row.chunk_offset };
        let expected = file
            .chunks
            .last()
            .map_or(0, |last| last.start + last.length);
        let length = match row.chunk_size {
            0 => size.saturating_sub(start),
            length => length,
        };
        let end = start.checked_add(length).filter(|end| *end <= size);
        if start != expected || length == 0 || end.is_none() {
            return Err("the chunks of a file do not follow each other".to_owned());
        }
        // A file of a single chunk may have only the digest of the file.
        let digest = match (&row.chunk_digest, length == size) {
            (digest, true) if digest.is_empty() => &row.digest,
            (digest, _) => digest,
        };
        let stored = match &*row.chunk_type {
            "zeros" => None,
            "" if hexadecimal(digest).is_some() => Some(Stored {
                offset: row.offset,
                end: 0,
                inner: row.inner_offset,
                digest: digest.to_string(),
            }),
            "" => return Err("a chunk without a digest".to_owned()),
            other => return Err(format!("an unknown type of chunk: {other}")),
        };
        file.chunks.push(Chunk {
            start,
            length,
            stored,
        });
        Ok(())
    }

    /// Ends the last file.
    fn close(&mut self) -> Result<(), String> {
        let Some(Open::Last { size, end }) = self.open.take() else {
            return Ok(());
        };
        let last = self.contents.files.last_mut();
        let Some(chunk) = last.and_then(|file| file.chunks.last_mut()) else {
            return Ok(());
        };
        if chunk.start + chunk.length != size {
            return Err("a file with missing chunks".to_owned());
        }
        if let Some(stored) = &mut chunk.stored {
            stored.end = end;
        }
        Ok(())
    }

    /// Finds out where each frame ends: where the next one starts, and all of them before `end`.
    fn finish(mut self, end: u64) -> Result<Contents, String> {
        self.close()?;
        check_length(self.limits, end, self.bytes).map_err(|passed| passed.to_string())?;
        self.offsets.push(end);
        self.offsets.sort_unstable();
        let chunks = self.contents.files.iter_mut().flat_map(|it| &mut it.chunks);
        for stored in chunks.filter_map(|chunk| chunk.stored.as_mut()) {
            let next = self.offsets.partition_point(|it| *it <= stored.offset);
            let next = self.offsets.get(next).copied().unwrap_or(end);
            if stored.end == 0 || stored.end > next {
                stored.end = next;
            }
            if stored.offset >= stored.end || stored.end > end {
                return Err("a chunk outside the blob".to_owned());
            }
        }
        Ok(self.contents)
    }
}

/// Reads the table object into a builder.
struct TableOf<'b, 'l>(&'b mut Builder<'l>);

impl<'de> DeserializeSeed<'de> for TableOf<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for TableOf<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a table of contents")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut version, mut entries) = (None, false);
        while let Some(key) = map.next_key::<Cow<str>>()? {
            match &*key {
                "version" => version = Some(map.next_value::<u64>()?),
                "entries" if !entries => {
                    map.next_value_seed(RowsOf(self.0))?;
                    entries = true;
                }
                "entries" => return Err(A::Error::duplicate_field("entries")),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        match version {
            Some(VERSION) if entries => Ok(()),
            Some(VERSION) => Err(A::Error::missing_field("entries")),
            _ => Err(A::Error::custom("an unknown version")),
        }
    }
}

struct RowsOf<'b, 'l>(&'b mut Builder<'l>);

impl<'de> DeserializeSeed<'de> for RowsOf<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for RowsOf<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("the entries of a table of contents")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        while let Some(row) = rows.next_element::<Row>()? {
            self.0.add(&row).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}
