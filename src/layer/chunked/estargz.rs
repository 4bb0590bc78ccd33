//! eStargz, as containerd's stargz snapshotter writes it (docs/estargz.md): gzip members, one for each chunk of a file or for
//! several small files, and behind them the table, in an archive of its own, to which the last bytes of the blob point. An annotation
//! of the layer has its digest. Of the older stargz tables, which have none, nothing could be verified: they are not used.

use std::ops::Range;

use super::super::entry::entry;
use super::Halt;
use super::contents::{Contents, TABLE_LIMIT};
use super::fetch::{Compression, Fetcher};
use crate::archive::Walk;
use crate::digest::sha256;
use crate::limits::Limits;
use crate::source::LayerBlob;

/// The digest of the table.
const DIGEST: &str = "containerd.io/snapshot/stargz/toc.digest";
/// The name of the table in its archive.
const TABLE: &[u8] = b"stargz.index.json";
/// Length of the footer: an empty gzip member whose extra field has the offset of the table in 16 hexadecimal digits.
const FOOTER: usize = 51;
/// Its first bytes without the time of modification, the level and the system, which are free (RFC 1952).
const GZIP_WITH_EXTRA: [u8; 4] = [0x1f, 0x8b, 8, 4];
/// The lengths of the extra field and of its only subfield, `SG`.
const EXTRA: [u8; 6] = [26, 0, b'S', b'G', 22, 0];
/// What follows the offset.
const MAGIC: &[u8] = b"STARGZ";
/// Bytes of the archive of the table beside the table: a header, perhaps an extended one, padding, the end.
const ARCHIVE: u64 = 1 << 20;

/// The contents of an eStargz layer; `None` if it is none.
pub(super) fn contents(
    blob: &LayerBlob,
    fetcher: &Fetcher,
    limits: &Limits,
) -> Result<Option<Contents>, Halt> {
    let Some(digest) = blob.annotations.get(DIGEST) else {
        return Ok(None);
    };
    let footer = blob.size.checked_sub(FOOTER as u64).ok_or(Halt::Stream)?;
    let table = table(&fetcher.fetch(footer..blob.size)?, footer).ok_or(Halt::Stream)?;
    let compressed = fetcher.fetch(table.clone())?;
    let archive = Compression::Gzip
        .decompress(&compressed, 0, TABLE_LIMIT + ARCHIVE, limits)
        .map_err(|_| Halt::Stream)?;
    let mut walk = Walk::new(&archive[..], *limits);
    let member = walk.advance().ok().flatten();
    let member = member.filter(|it| it.path == TABLE).ok_or(Halt::Stream)?;
    let json = usize::try_from(member.offset)
        .ok()
        .zip(usize::try_from(member.size).ok())
        .and_then(|(offset, size)| archive.get(offset..offset.checked_add(size)?))
        .ok_or(Halt::Stream)?;
    let found = sha256(json);
    if found != *digest {
        return Err(fetcher.failed(format!(
            "damaged: the digest of its table of contents is {found}, it should be {digest}"
        )));
    }
    let mut contents = Contents::parse(json, table.start, limits).map_err(|_| Halt::Stream)?;
    // For who reads the stream, the table is the last file of the layer.
    contents.entries.extend(entry(&member).ok().flatten());
    Ok(Some(contents))
}

/// Where the table is, by the footer, which starts at `end`.
fn table(footer: &[u8], end: u64) -> Option<Range<u64>> {
    let rest = footer.strip_prefix(&GZIP_WITH_EXTRA)?.get(6..)?;
    let (offset, rest) = rest.strip_prefix(&EXTRA)?.split_at_checked(16)?;
    if !rest.starts_with(MAGIC) {
        return None;
    }
    let offset = u64::from_str_radix(str::from_utf8(offset).ok()?, 16).ok()?;
    (offset < end).then_some(offset..end)
}
