//! How an archive is compressed, by its first bytes: media types and file names can be wrong.

use std::io::{self, BufRead, Read};

use super::super::pipe::{Writer, fill};
use super::gzip::Gzip;
use super::zstd::Zstd;
use crate::archive::{BLOCK, begins_archive};
use imgcheck_base::bounds::Bounds;
use imgcheck_base::limits::{Limit, LimitExceeded, Limits};

/// [`Limit::Ratio`] applies above this many bytes: an honest layer may contain a large file of zeros, which gzip compresses by a factor
/// of 1000. Larger layers come near the default only if they contain nothing else: programs compress by 3, texts by 10, weights of
/// models hardly at all.
const RATIO_FLOOR: u64 = 4 << 30;

/// Checks the decompressed length `plain` of a layer of `stored` bytes.
pub fn check_length(limits: &Limits, stored: u64, plain: u64) -> Result<(), LimitExceeded> {
    limits.check(Limit::LayerBytes, plain)?;
    match plain > RATIO_FLOOR {
        true => limits.check(Limit::Ratio, plain.div_ceil(stored.max(1))),
        false => Ok(()),
    }
}

/// How an archive is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// With gzip.
    Gzip,
    /// With zstd.
    Zstd,
}

impl Compression {
    /// Decompresses the input; the window of zstd is bounded.
    ///
    /// # Errors
    /// There is no memory for the decoder.
    fn decoder<'a>(
        self,
        input: impl BufRead + 'a,
        limits: &Limits,
    ) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Compression::None => Box::new(input),
            Compression::Gzip => Box::new(Gzip::new(input)),
            Compression::Zstd => Box::new(Zstd::new(input, *limits)?),
        })
    }

    /// Decompresses the input into a pipe until one of them ends. `stored` is the number of compressed bytes, as far as it is known
    /// after each step.
    ///
    /// # Errors
    /// The input is damaged or truncated, a limit is exceeded ([`check_length`]), or the request was cancelled.
    pub fn decompress(
        self,
        input: impl BufRead,
        output: &Writer,
        stored: impl Fn() -> u64,
        bounds: &Bounds,
    ) -> io::Result<()> {
        let mut decoder = self.decoder(input, &bounds.limits)?;
        let mut total = 0;
        loop {
            bounds.cancellation.check()?;
            let count = output.write(|buffer| fill(&mut *decoder, buffer))?;
            total += count as u64;
            if count == 0 {
                return Ok(());
            }
            check_length(&bounds.limits, stored(), total).map_err(io::Error::other)?;
        }
    }
}

/// How many of the first bytes [`sniff`] needs.
pub const SNIFFED: usize = BLOCK as usize;

/// Recognizes the compression by the first bytes of a layer. The error says what was found instead.
pub fn sniff(start: &[u8]) -> Result<Compression, String> {
    let start = &start[..start.len().min(SNIFFED)];
    match start {
        [0x1f, 0x8b, ..] => Ok(Compression::Gzip),
        // RFC 8878: a frame, or a skippable one in front of it.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Ok(Compression::Zstd),
        // Before the archive: its first member may have such a name, and container engines look at these bytes first.
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Err(unknown("xz")),
        [b'B', b'Z', b'h', ..] => Err(unknown("bzip2")),
        [0x04, 0x22, 0x4d, 0x18, ..] => Err(unknown("lz4")),
        _ if begins_archive(start) => Ok(Compression::None),
        _ => Err(format!(
            "unknown compression: not a tar archive, gzip or zstd, but starts with {:02x?}; the layer may be damaged or encrypted",
            &start[..start.len().min(8)]
        )),
    }
}

fn unknown(name: &str) -> String {
    format!("unsupported compression: {name} (layers can be plain, gzip or zstd)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_that_is_also_compressed_by_its_magic_is_refused() {
        let archive = |name: &[u8]| {
            let mut header = tar::Header::new_gnu();
            header.as_old_mut().name[..name.len()].copy_from_slice(name);
            header.set_size(0);
            header.set_cksum();
            header.as_bytes().to_vec()
        };
        for name in [&b"\xfd7zXZ\0"[..], b"BZhello", b"\x04\x22\x4d\x18"] {
            assert!(sniff(&archive(name)).is_err(), "{name:?}");
        }
        assert_eq!(sniff(&archive(b"bin")), Ok(Compression::None));
    }

    #[test]
    fn the_ratio_applies_above_its_floor() {
        let limits = Limits::default();
        let exceeded = |stored, plain| {
            check_length(&limits, stored, plain)
                .err()
                .map(|it| it.limit)
        };
        assert_eq!(exceeded(0, RATIO_FLOOR), None);
        assert_eq!(exceeded(0, RATIO_FLOOR + 1), Some(Limit::Ratio));
        assert_eq!(exceeded(1 << 30, 250 << 30), None);
        assert_eq!(exceeded(1 << 30, (250 << 30) + 1), Some(Limit::Ratio));
        assert_eq!(exceeded(1 << 40, 1 << 40), Some(Limit::LayerBytes));
    }
}
