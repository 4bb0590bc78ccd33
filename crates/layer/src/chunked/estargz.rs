//! eStargz, as containerd's stargz snapshotter writes it (docs/estargz.md): gzip members, one for each chunk of a file or for
//! several small files, followed by the table in an archive of its own. The last bytes of the blob point to the table; an annotation
//! of the layer has its digest. Tables of the older stargz format have no digest, cannot be verified, and are not used.

use std::ops::Range;

use super::super::entry::entry;
use super::contents::{Contents, TABLE_LIMIT};
use super::error::LazyError;
use super::fetch::{Compression, Fetcher};
use imgcheck_archive::archive::Walk;
use imgcheck_base::digest::sha256;
use imgcheck_base::limits::Limits;
use imgcheck_source::source::LayerBlob;

/// The annotation with the digest of the table.
const DIGEST: &str = "containerd.io/snapshot/stargz/toc.digest";
/// The name of the table in its archive.
const TABLE: &[u8] = b"stargz.index.json";
/// Length of the footer: an empty gzip member whose extra field has the offset of the table in 16 hexadecimal digits.
const FOOTER: usize = 51;
/// Its first bytes, before the modification time, the level and the operating system, which may have any value (RFC 1952).
const GZIP_WITH_EXTRA: [u8; 4] = [0x1f, 0x8b, 8, 4];
/// The lengths of the extra field and of its only subfield, `SG`.
const EXTRA: [u8; 6] = [26, 0, b'S', b'G', 22, 0];
/// Follows the offset.
const MAGIC: &[u8] = b"STARGZ";
/// Bytes of the table's archive besides the table: headers, padding, end marker.
const ARCHIVE: u64 = 1 << 20;

/// The contents of a layer; `None` if it is not eStargz.
pub(super) fn contents(
    blob: &LayerBlob,
    fetcher: &Fetcher,
    limits: &Limits,
) -> Result<Option<Contents>, LazyError> {
    let Some(digest) = blob.annotations.get(DIGEST) else {
        return Ok(None);
    };
    let footer = blob
        .size
        .checked_sub(FOOTER as u64)
        .ok_or(LazyError::UseStream)?;
    let table = table(&fetcher.fetch(footer..blob.size)?, footer).ok_or(LazyError::UseStream)?;
    let compressed = fetcher.fetch(table.clone())?;
    let archive = Compression::Gzip
        .decompress(&compressed, 0, TABLE_LIMIT + ARCHIVE, limits)
        .map_err(|_| LazyError::UseStream)?;
    let mut walk = Walk::new(&archive[..], *limits);
    let member = walk.advance().ok().flatten();
    let member = member
        .filter(|it| it.path == TABLE)
        .ok_or(LazyError::UseStream)?;
    let json = usize::try_from(member.offset)
        .ok()
        .zip(usize::try_from(member.size).ok())
        .and_then(|(offset, size)| archive.get(offset..offset.checked_add(size)?))
        .ok_or(LazyError::UseStream)?;
    let found = sha256(json);
    if found != *digest {
        return Err(fetcher.failed(format!(
            "damaged: the digest of its table of contents is {found}, expected {digest}"
        )));
    }
    let mut contents =
        Contents::parse(json, table.start, limits).map_err(|_| LazyError::UseStream)?;
    // In a stream of the layer, the table is the last file.
    contents.entries.extend(entry(&member).ok().flatten());
    Ok(Some(contents))
}

/// Where the table is. `end` is the offset of the footer.
fn table(footer: &[u8], end: u64) -> Option<Range<u64>> {
    let rest = footer.strip_prefix(&GZIP_WITH_EXTRA)?.get(6..)?;
    let (offset, rest) = rest.strip_prefix(&EXTRA)?.split_at_checked(16)?;
    if !rest.starts_with(MAGIC) {
        return None;
    }
    let offset = u64::from_str_radix(str::from_utf8(offset).ok()?, 16).ok()?;
    (offset < end).then_some(offset..end)
}
