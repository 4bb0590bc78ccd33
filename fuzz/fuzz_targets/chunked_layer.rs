//! A lazily read layer whose table of contents is correct except for the chosen lies. Without lies, files have their real contents.

use arbitrary::Arbitrary;
use imgcheck_base::digest::sha256;
use imgcheck_fuzz::chunked::Lazy;
use imgcheck_fuzz::layers::scan;
use imgcheck_image::{Content, EntryKind};
use imgcheck_layer::ReadMethod;
use serde_json::{Value, json};
use testkit::chunked::Format;

#[derive(Debug, Arbitrary)]
pub struct Layer {
    estargz: bool,
    files: Vec<File>,
}

#[derive(Debug, Arbitrary)]
struct File {
    place: Place,
    parts: Vec<Vec<u8>>,
    lies: Vec<Lie>,
}

/// Where a file lies, which decides what is read of it.
#[derive(Debug, Arbitrary)]
enum Place {
    Text,
    Bytes,
    Elf,
    Other,
}

/// One value of one row of a file that is replaced by another.
#[derive(Debug, Arbitrary)]
struct Lie {
    row: u8,
    field: Field,
    value: Number,
}

#[derive(Debug, Arbitrary)]
enum Field {
    Size,
    Offset,
    EndOffset,
    InnerOffset,
    ChunkSize,
    ChunkOffset,
    Zeros,
    NoDigest,
}

#[derive(Debug, Arbitrary)]
enum Number {
    Small(u8),
    Near(u16),
    Any(u64),
}

impl Place {
    fn path(&self, at: usize) -> String {
        match self {
            Place::Text => format!("usr/lib/{at}/site-packages/torch-{at}.dist-info/METADATA"),
            Place::Bytes => "etc/ld.so.cache".to_owned(),
            Place::Elf => format!("usr/lib/lib{at}.so"),
            Place::Other => format!("usr/share/{at}.py"),
        }
    }
}

pub fn fuzz(layer: Layer) {
    let format = match layer.estargz {
        true => Format::Estargz,
        false => Format::ZstdChunked,
    };
    let mut lazy = Lazy::new(format);
    let mut rows = Vec::new();
    for (at, file) in layer.files.iter().enumerate() {
        rows.extend(rows_of(&mut lazy, at, file));
    }
    let table = json!({"version": 1, "entries": rows}).to_string();
    let scanned = scan(&lazy.with_table(table.as_bytes()));
    let honest = layer.files.iter().all(|file| file.lies.is_empty());
    let Ok(scanned) = scanned else {
        return;
    };
    if honest && scanned.method == ReadMethod::Chunks {
        for (entry, file) in scanned.facts.entries.iter().zip(&layer.files) {
            if let EntryKind::File(Content::Text(text)) = &entry.kind {
                assert_eq!(*text, String::from_utf8_lossy(&file.parts.concat()));
            }
        }
    }
}

/// Stores the parts of a file that are not empty, and gives its rows.
fn rows_of(lazy: &mut Lazy, at: usize, file: &File) -> Vec<Value> {
    let path = file.place.path(at);
    let content = content(file);
    let mut rows = vec![json!({
        "type": "reg",
        "name": path,
        "mode": 0o755,
        "size": content.iter().map(Vec::len).sum::<usize>(),
        "digest": sha256(&content.concat()),
    })];
    let mut start = 0;
    for part in content.iter().filter(|part| !part.is_empty()) {
        if start > 0 {
            rows.push(json!({"type": "chunk", "name": path, "chunkOffset": start}));
        }
        if let Some(row) = rows.last_mut() {
            row["offset"] = lazy.store(part).into();
            row["chunkSize"] = part.len().into();
            row["chunkDigest"] = sha256(part).into();
        }
        start += part.len();
    }
    for lie in &file.lies {
        let row = usize::from(lie.row) % rows.len();
        tell(lie, &mut rows[row]);
    }
    rows
}

fn content(file: &File) -> Vec<Vec<u8>> {
    let magic = matches!(file.place, Place::Elf).then(|| b"\x7fELF\x02\x01\x01".to_vec());
    magic
        .into_iter()
        .chain(file.parts.iter().cloned())
        .collect()
}

fn tell(lie: &Lie, row: &mut Value) {
    let field = match lie.field {
        Field::Size => "size",
        Field::Offset => "offset",
        Field::EndOffset => "endOffset",
        Field::InnerOffset => "innerOffset",
        Field::ChunkSize => "chunkSize",
        Field::ChunkOffset => "chunkOffset",
        Field::Zeros => return row["chunkType"] = "zeros".into(),
        Field::NoDigest => return row["chunkDigest"] = "".into(),
    };
    let value = match lie.value {
        Number::Small(value) => u64::from(value),
        Number::Near(value) => row[field]
            .as_u64()
            .unwrap_or_default()
            .wrapping_add(u64::from(value)),
        Number::Any(value) => value,
    };
    row[field] = value.into();
}
