//! The table of contents of a lazily read layer. Both formats are JSON and share most of their fields, which come from CRFS.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::super::entry::entry;
use imgcheck_archive::archive::compression::check_length;
use imgcheck_archive::archive::overlay::{
    ATTRIBUTE as OVERLAY_ATTRIBUTE, is_attribute, is_whiteout_device,
};
use imgcheck_archive::archive::{Member, MemberKind, Owner, capabilities};
use imgcheck_base::digest::hexadecimal;
use imgcheck_base::limits::{Limit, Limits};
use imgcheck_image::{Entry, EntryKind};

/// The supported version of both formats.
const VERSION: u64 = 1;

/// Bytes of a decompressed table. That of a 7 GB image has about 30 MB.
pub(super) const TABLE_LIMIT: u64 = 128 << 20;

/// The entries of a layer, and where in the blob the bytes of its files are.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The entries in the order of the archive; all files are unread.
    pub entries: Vec<Entry>,
    /// The nonempty files, in the same order.
    pub files: Vec<File>,
}

/// A nonempty file.
#[derive(Debug)]
pub(super) struct File {
    /// Index of its entry.
    pub entry: usize,
    /// Its chunks, without gaps.
    pub chunks: Vec<Chunk>,
}

/// A piece of a file.
#[derive(Debug)]
pub(super) struct Chunk {
    /// Offset in the file.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
    /// Where its bytes are; `None` if all are zero.
    pub stored: Option<Stored>,
}

/// Where the bytes of a chunk are in the blob.
#[derive(Debug)]
pub(super) struct Stored {
    /// Offset of the compressed frame or member.
    pub offset: u64,
    /// Offset of the next one.
    pub end: u64,
    /// Decompressed bytes before those of the chunk.
    pub skipped: u64,
    /// Digest of the bytes of the chunk.
    pub digest: String,
}

impl Contents {
    /// Parses a table. Files are before `end` in the blob. The error says why the table cannot be used.
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

/// One row of a table: an entry, or another chunk of the last one.
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
    uid: u64,
    gid: u64,
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
    xattrs: BTreeMap<Cow<'a, str>, Option<Cow<'a, str>>>,
}

/// Adds rows one by one, so that a long table is not in memory twice.
struct Builder<'l> {
    limits: &'l Limits,
    contents: Contents,
    /// The file that following chunks belong to.
    open: Option<Open>,
    /// Offsets of all frames.
    offsets: Vec<u64>,
    /// Bytes of all files.
    bytes: u64,
}

/// The last regular file.
#[derive(Clone, Copy)]
enum Open {
    /// The last of [`Contents::files`]: its size, and where its last frame ends in the blob, or 0.
    Last { size: u64, end: u64 },
    /// An empty file, or one that container engines ignore.
    Ignored,
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
                Some(Open::Ignored) => Ok(()),
                None => Err("a chunk without a file".to_owned()),
            };
        }
        self.close()?;
        let size = if row.kind == "reg" { row.size } else { 0 };
        let found = entry(&self.member(row, size)?)?;
        self.open = (row.kind == "reg").then_some(Open::Ignored);
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

    /// A stream of the same layer exceeds the same limit, and reports it.
    fn check(&self, limit: Limit, met: usize) -> Result<(), String> {
        let checked = self.limits.check(limit, met as u64);
        checked.map_err(|exceeded| exceeded.to_string())
    }

    /// The row as a member of the archive that it describes.
    fn member(&self, row: &Row, size: u64) -> Result<Member, String> {
        for text in [&row.name, &row.link_name] {
            self.check(Limit::PathBytes, text.len())?;
            // Bytes that are not UTF-8 were lost when the table was written.
            if text.contains(char::REPLACEMENT_CHARACTER) {
                return Err(format!("a name that is not UTF-8: {text}"));
            }
        }
        if row.xattrs.keys().any(|name| is_attribute(name.as_bytes())) {
            return Err(OVERLAY_ATTRIBUTE.to_owned());
        }
        let capabilities = row.xattrs.get(capabilities::ATTRIBUTE);
        let capabilities = capabilities.and_then(Option::as_ref);
        let capabilities = capabilities.and_then(|value| STANDARD.decode(value.as_bytes()).ok());
        let capabilities = capabilities.map_or(0, |value| capabilities::mode_bit(&value));
        Ok(Member {
            path: row.name.as_bytes().to_vec(),
            kind: match &*row.kind {
                "reg" => MemberKind::File,
                "dir" => MemberKind::Directory,
                "symlink" => MemberKind::Symlink,
                "hardlink" => MemberKind::HardLink,
                "char" if is_whiteout_device(row.dev_major, row.dev_minor) => {
                    MemberKind::WhiteoutDevice
                }
                "char" | "block" | "fifo" => MemberKind::Special,
                other => return Err(format!("an unknown type: {other}")),
            },
            link: row.link_name.as_bytes().to_vec(),
            mode: (row.mode & 0o7777) as u32 | capabilities,
            owner: Owner::new(row.uid, row.gid),
            size,
            offset: 0,
            stored: 0,
            sparse: None,
        })
    }

    /// Adds a chunk to the last file, which has `size` bytes.
    fn chunk(&mut self, row: &Row, size: u64, first: bool) -> Result<(), String> {
        let Some(file) = self.contents.files.last_mut() else {
            return Err("a chunk without a file".to_owned());
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
        // A file with a single chunk may have only the digest of the file.
        let digest = match (&row.chunk_digest, length == size) {
            (digest, true) if digest.is_empty() => &row.digest,
            (digest, _) => digest,
        };
        let stored = match &*row.chunk_type {
            "zeros" => None,
            "" if hexadecimal(digest).is_some() => Some(Stored {
                offset: row.offset,
                end: 0,
                skipped: row.inner_offset,
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

    /// Finishes the last file.
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

    /// Sets where each frame ends: where the next one starts, at `end` at the latest.
    fn finish(mut self, end: u64) -> Result<Contents, String> {
        self.close()?;
        check_length(self.limits, end, self.bytes).map_err(|exceeded| exceeded.to_string())?;
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

/// Deserializes a table into a builder.
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
