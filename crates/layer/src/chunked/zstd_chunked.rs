//! zstd:chunked, as containers/storage writes it (`pkg/chunked`, and containers-storage-zstd-chunked(5)): zstd frames, one for each
//! chunk of a file, followed by the table in a skippable frame. Annotations of the layer have its position and digest; the footer of
//! the blob only repeats the position.

use std::ops::Range;

use super::contents::{Contents, TABLE_LIMIT};
use super::error::LazyError;
use super::fetch::{Compression, Fetcher};
use imgcheck_base::digest::sha256;
use imgcheck_base::limits::Limits;
use imgcheck_source::source::LayerBlob;

/// Prefixes of the annotations; the second one was used by older versions (skopeo 1.9.3).
const PREFIXES: [&str; 2] = [
    "io.github.containers.zstd-chunked.",
    "io.containers.zstd-chunked.",
];
/// `ManifestTypeCRFS`, the only kind of table.
const CRFS: u64 = 1;

/// Where the table is.
struct Position {
    range: Range<u64>,
    /// Decompressed length in bytes.
    length: u64,
}

/// The contents of a layer; `None` if it is not zstd:chunked.
pub(super) fn contents(
    blob: &LayerBlob,
    fetcher: &Fetcher,
    limits: &Limits,
) -> Result<Option<Contents>, LazyError> {
    let annotation = |name: &str| {
        let mut prefixes = PREFIXES.iter();
        prefixes.find_map(|prefix| blob.annotations.get(&format!("{prefix}{name}")))
    };
    let (Some(position), Some(digest)) = (
        annotation("manifest-position"),
        annotation("manifest-checksum"),
    ) else {
        return Ok(None);
    };
    let position = parse(position)
        .filter(|it| it.range.end <= blob.size && it.length <= TABLE_LIMIT)
        .ok_or(LazyError::UseStream)?;
    let compressed = fetcher.fetch(position.range.clone())?;
    let found = sha256(&compressed);
    if found != *digest {
        return Err(fetcher.failed(format!(
            "damaged: the digest of its table of contents is {found}, expected {digest}"
        )));
    }
    let json = Compression::Zstd
        .decompress(&compressed, 0, position.length, limits)
        .map_err(|_| LazyError::UseStream)?;
    Contents::parse(&json, position.range.start, limits)
        .map(Some)
        .map_err(|_| LazyError::UseStream)
}

/// Parses `OFFSET:LENGTH:DECOMPRESSED-LENGTH:KIND`.
fn parse(text: &str) -> Option<Position> {
    let numbers: Vec<u64> = text
        .split(':')
        .map(|number| number.parse().ok())
        .collect::<Option<_>>()?;
    match numbers[..] {
        [offset, compressed, length, CRFS] => Some(Position {
            range: offset..offset.checked_add(compressed)?,
            length,
        }),
        _ => None,
    }
}
