//! Writes layers with a table of contents, after the specifications.

use std::io::{Read, Write};
use std::sync::Arc;

use imgcheck::internals::digest::sha256;
use imgcheck::internals::source::{LayerBlob, LayerData};
use serde_json::{Value, json};

use crate::common::{Item, tar};

/// How the layer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    ZstdChunked,
    Estargz,
    /// With several files in one member.
    EstargzJoined,
}

/// A layer with a table of contents.
pub struct Lazy {
    pub blob: LayerBlob,
    pub table: Value,
    format: Format,
    /// The archive, and what is stored of it, up to the table.
    plain: Vec<u8>,
    stored: Vec<u8>,
}

/// The items as a layer, with chunks of so many bytes.
pub fn lazy(items: &[Item], format: Format, chunk: usize) -> Lazy {
    let mut plain = tar(items);
    plain.truncate(plain.len() - 1024);
    let mut stored = Vec::new();
    let mut rows: Vec<Value> = Vec::new();
    // Bytes of the archive that are stored, and where in both the present member started.
    let (mut done, mut member) = (0, (0, 0));
    let mut archive = tar::Archive::new(&plain[..]);
    for (number, entry) in archive.entries().unwrap().enumerate() {
        let mut entry = entry.unwrap();
        let start = entry.raw_file_position() as usize;
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        let header = entry.header();
        let mut row = json!({
            "type": match header.entry_type() {
                tar::EntryType::Directory => "dir",
                tar::EntryType::Symlink => "symlink",
                tar::EntryType::Link => "hardlink",
                tar::EntryType::Fifo => "fifo",
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
    let blob = finished(format, &plain, &stored, &table);
    Lazy {
        blob,
        table,
        format,
        plain,
        stored,
    }
}

impl Lazy {
    /// The same layer with another table.
    pub fn with_table(&self, table: &Value) -> LayerBlob {
        finished(self.format, &self.plain, &self.stored, table)
    }
}

fn compressed(format: Format, bytes: &[u8]) -> Vec<u8> {
    if format == Format::ZstdChunked {
        return zstd::encode_all(bytes, 1).unwrap();
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn finished(format: Format, plain: &[u8], stored: &[u8], table: &Value) -> LayerBlob {
    let (mut plain, mut stored) = (plain.to_vec(), stored.to_vec());
    let json = table.to_string();
    let annotations = if format == Format::ZstdChunked {
        let frame = zstd::encode_all(json.as_bytes(), 1).unwrap();
        let prefix = "io.github.containers.zstd-chunked";
        let position = format!("{}:{}:{}:1", stored.len() + 8, frame.len(), json.len());
        stored.extend([0x50, 0x2a, 0x4d, 0x18]);
        stored.extend((frame.len() as u32).to_le_bytes());
        stored.extend(&frame);
        [
            (format!("{prefix}.manifest-position"), position),
            (format!("{prefix}.manifest-checksum"), sha256(&frame)),
        ]
        .into()
    } else {
        let index = tar(&[Item::File(
            "stargz.index.json".into(),
            json.clone().into_bytes(),
        )]);
        let offset = stored.len();
        stored.extend(compressed(format, &index));
        plain.extend(index);
        stored.extend([
            0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 26, 0, b'S', b'G', 22, 0,
        ]);
        stored.extend(format!("{offset:016x}STARGZ").bytes());
        stored.extend([1, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
        [(
            "containerd.io/snapshot/stargz/toc.digest".to_owned(),
            sha256(json.as_bytes()),
        )]
        .into()
    };
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&stored).unwrap();
    LayerBlob {
        diff_id: sha256(&plain),
        digest: Some(sha256(&stored)),
        annotations,
        size: stored.len() as u64,
        data: LayerData::Range {
            file: Arc::new(file),
            name: "layer".into(),
            offset: 0,
            length: stored.len() as u64,
        },
    }
}
