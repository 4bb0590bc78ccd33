//! Layers with a table of contents: zstd:chunked as containers/storage writes it, eStargz as the stargz snapshotter does.

use std::io::Read;

use serde_json::{Value, json};

use crate::{Item, file, gzip, sha256, tar, zstd};

/// The format of a layer with a table of contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// zstd frames, and the table in a skippable frame.
    ZstdChunked,
    /// gzip members, and the table in an archive of its own.
    Estargz,
    /// eStargz with several files in one member.
    EstargzJoined,
}

/// The stored bytes of a layer, and what the manifest says about them.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The blob.
    pub bytes: Vec<u8>,
    /// Digest of the uncompressed archive.
    pub diff_id: String,
    /// Annotations that lead to the table.
    pub annotations: Vec<(String, String)>,
}

/// A layer with a table of contents.
#[derive(Debug, Clone)]
pub struct Lazy {
    /// The layer with its own table.
    pub stored: Stored,
    /// The table of contents.
    pub table: Value,
    format: Format,
    /// The archive up to the table, and its stored form.
    plain: Vec<u8>,
    front: Vec<u8>,
}

/// A layer of these items, in chunks of at most `chunk` bytes.
///
/// # Panics
/// A name is not UTF-8.
#[must_use]
pub fn lazy(items: &[Item], format: Format, chunk: usize) -> Lazy {
    let mut plain = tar(items);
    plain.truncate(plain.len() - 1024);
    let mut stored = Vec::new();
    let mut rows: Vec<Value> = Vec::new();
    // How much of the archive is stored, and where the current member starts in the blob and in the archive.
    let (mut done, mut member) = (0, (0, 0));
    let mut archive = ::tar::Archive::new(&plain[..]);
    for (number, entry) in archive.entries().unwrap().enumerate() {
        let mut entry = entry.unwrap();
        let start = entry.raw_file_position() as usize;
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        let header = entry.header();
        let mut row = json!({
            "type": match header.entry_type() {
                ::tar::EntryType::Directory => "dir",
                ::tar::EntryType::Symlink => "symlink",
                ::tar::EntryType::Link => "hardlink",
                ::tar::EntryType::Fifo => "fifo",
                _ => "reg",
            },
            "name": entry.path().unwrap().to_str().unwrap(),
            "mode": header.mode().unwrap(),
            "size": content.len(),
            "digest": sha256(&content),
            "xattrs": {},
        });
        if let Some(link) = entry.link_name().unwrap() {
            row["linkName"] = link.to_str().unwrap().into();
        }
        if format == Format::EstargzJoined
            && number % 3 != 0
            && content.len() < chunk
            && member.0 > 0
        {
            row["offset"] = member.0.into();
            row["innerOffset"] = (start - member.1).into();
            row["chunkDigest"] = sha256(&content).into();
            rows.push(row);
            continue;
        }
        let chunks = content.chunks(chunk).count();
        for (at, part) in content.chunks(chunk).enumerate() {
            let place = start + at * chunk;
            stored.extend(compressed(format, &plain[done..place]));
            done = place;
            member = (stored.len(), place);
            if at > 0 {
                row = json!({"type": "chunk", "name": row["name"], "chunkOffset": at * chunk});
            }
            row["offset"] = stored.len().into();
            row["chunkDigest"] = sha256(part).into();
            if chunks > 1 {
                row["chunkSize"] = part.len().into();
            }
            if format == Format::ZstdChunked {
                stored.extend(compressed(format, part));
                done += part.len();
                if part.iter().all(|byte| *byte == 0) {
                    row["chunkType"] = "zeros".into();
                }
            }
            rows.push(row.clone());
        }
        if content.is_empty() {
            rows.push(row);
        } else if format == Format::ZstdChunked {
            let first = rows.len() - chunks;
            rows[first]["endOffset"] = stored.len().into();
        }
    }
    if format == Format::ZstdChunked {
        plain.extend([0; 1024]);
    }
    stored.extend(compressed(format, &plain[done..]));
    let table = json!({"version": 1, "entries": rows});
    Lazy {
        stored: with_table(format, &plain, &stored, table.to_string().as_bytes()),
        table,
        format,
        plain,
        front: stored,
    }
}

impl Lazy {
    /// The same layer with a different table.
    #[must_use]
    pub fn with_table(&self, table: &Value) -> Stored {
        with_table(
            self.format,
            &self.plain,
            &self.front,
            table.to_string().as_bytes(),
        )
    }
}

/// A member or a frame of its own.
#[must_use]
pub fn compressed(format: Format, bytes: &[u8]) -> Vec<u8> {
    match format {
        Format::ZstdChunked => zstd(bytes),
        Format::Estargz | Format::EstargzJoined => gzip(bytes),
    }
}

/// Appends a table to the stored part of a layer whose archive is `plain`. The table need not be valid.
#[must_use]
pub fn with_table(format: Format, plain: &[u8], stored: &[u8], table: &[u8]) -> Stored {
    match format {
        Format::ZstdChunked => with_frame(plain, stored, table),
        Format::Estargz | Format::EstargzJoined => with_member(plain, stored, table),
    }
}

fn with_frame(plain: &[u8], stored: &[u8], table: &[u8]) -> Stored {
    let mut bytes = stored.to_vec();
    let frame = zstd(table);
    let prefix = "io.github.containers.zstd-chunked";
    let position = format!("{}:{}:{}:1", bytes.len() + 8, frame.len(), table.len());
    bytes.extend([0x50, 0x2a, 0x4d, 0x18]);
    bytes.extend((frame.len() as u32).to_le_bytes());
    bytes.extend(&frame);
    Stored {
        bytes,
        diff_id: sha256(plain),
        annotations: vec![
            (format!("{prefix}.manifest-position"), position),
            (format!("{prefix}.manifest-checksum"), sha256(&frame)),
        ],
    }
}

fn with_member(plain: &[u8], stored: &[u8], table: &[u8]) -> Stored {
    let index = tar(&[file("stargz.index.json", table)]);
    let offset = stored.len();
    let mut bytes = [stored, &gzip(&index)].concat();
    bytes.extend([
        0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 26, 0, b'S', b'G', 22, 0,
    ]);
    bytes.extend(format!("{offset:016x}STARGZ").bytes());
    bytes.extend([1, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
    let digest = "containerd.io/snapshot/stargz/toc.digest".to_owned();
    Stored {
        bytes,
        diff_id: sha256(&[plain, &index].concat()),
        annotations: vec![(digest, sha256(table))],
    }
}
