//! How an archive is compressed, by its first bytes: media types and file names can be wrong.

use std::io::{self, BufRead, Read};

use super::super::pipe::{Writer, fill};
use super::zstd::Zstd;
use crate::archive::{BLOCK, begins_archive};
use imgcheck_base::bounds::Bounds;
use imgcheck_base::limits::{Limit, LimitExceeded, Limits};
use imgcheck_base::parallel::cores;
use imgcheck_deflate::Gzip;

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
        input: impl BufRead + Send,
        output: &Writer,
        stored: impl Fn() -> u64,
        bounds: &Bounds,
    ) -> io::Result<()> {
        self.decompress_on(gzip_threads(cores()), input, output, stored, bounds)
    }

    /// Decompresses gzip on so many threads besides this one.
    fn decompress_on(
        self,
        threads: usize,
        mut input: impl BufRead + Send,
        output: &Writer,
        stored: impl Fn() -> u64,
        bounds: &Bounds,
    ) -> io::Result<()> {
        let mut output = CheckedOutput {
            output,
            stored,
            bounds,
            total: 0,
        };
        if self == Compression::Gzip && threads > 0 {
            return imgcheck_deflate::decompress(&mut input, threads, &mut |plain| {
                output.copy(plain)
            });
        }
        let mut decoder = self.decoder(input, &bounds.limits)?;
        while output.write(|buffer| fill(&mut *decoder, buffer))? > 0 {}
        Ok(())
    }
}

/// Most threads that decompress a gzip layer. More would wait for the digest of the archive, which one thread computes.
const MOST_THREADS: usize = 6;

/// How many threads decompress a gzip layer, besides those that it has anyway: to hash the blob, to hash the archive, and to read it.
/// They keep a second core busy.
fn gzip_threads(cores: usize) -> usize {
    match cores {
        0..=2 => 0,
        _ => cores.min(MOST_THREADS),
    }
}

/// A pipe for what is decompressed within limits.
struct CheckedOutput<'a, S> {
    output: &'a Writer,
    stored: S,
    bounds: &'a Bounds,
    total: u64,
}

impl<S: Fn() -> u64> CheckedOutput<'_, S> {
    /// Writes a buffer as [`Writer::write`] does.
    fn write(&mut self, fill: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<usize> {
        self.bounds.cancellation.check()?;
        let count = self.output.write(fill)?;
        self.total += count as u64;
        let checked = check_length(&self.bounds.limits, (self.stored)(), self.total);
        checked.map_err(io::Error::other)?;
        Ok(count)
    }

    /// Writes all bytes. False if the reader was dropped.
    fn copy(&mut self, mut plain: &[u8]) -> io::Result<bool> {
        while !plain.is_empty() {
            let count = self.write(|buffer| plain.read(buffer))?;
            if count == 0 {
                return Ok(false);
            }
        }
        Ok(true)
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
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;
    use std::thread;

    use crate::archive::pipe::pipe;

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

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    /// What is read through the pipe, at most so much, and how the decompression ended.
    fn decompressed(
        blob: &[u8],
        threads: usize,
        bounds: &Bounds,
        most: u64,
    ) -> (Vec<u8>, io::Result<()>) {
        let (writer, reader) = pipe(3, 64 << 10);
        thread::scope(|scope| {
            let stored = || blob.len() as u64;
            let thread = scope.spawn(move || {
                Compression::Gzip.decompress_on(threads, blob, &writer, stored, bounds)
            });
            let mut plain = Vec::new();
            reader.take(most).read_to_end(&mut plain).unwrap();
            (plain, thread.join().unwrap())
        })
    }

    #[test]
    fn any_number_of_threads_obeys_the_limits() {
        let plain: Vec<u8> = (0..8_000_000_u32)
            .flat_map(|it| (it / 7).wrapping_mul(it).to_le_bytes())
            .collect();
        let blob = gzip(&plain);
        assert!(blob.len() > 4 << 20);
        for threads in [0, 1, 4] {
            let (found, result) = decompressed(&blob, threads, &Bounds::default(), u64::MAX);
            assert!(result.is_ok() && found == plain, "{threads}");
            // The reader is dropped.
            let (found, result) = decompressed(&blob, threads, &Bounds::default(), 1000);
            assert!(result.is_ok() && found == plain[..1000], "{threads}");
            let mut bounds = Bounds::default();
            bounds.limits.set(Limit::LayerBytes, 10 << 20);
            let (found, result) = decompressed(&blob, threads, &bounds, u64::MAX);
            let error = result.unwrap_err().downcast::<LimitExceeded>().unwrap();
            assert_eq!(error.limit, Limit::LayerBytes);
            assert!(found.len() < 11 << 20, "{threads}");
            bounds.cancellation.cancel();
            let (_, result) = decompressed(&blob, threads, &bounds, u64::MAX);
            assert!(result.unwrap_err().downcast::<LimitExceeded>().is_err());
        }
    }

    #[test]
    fn few_cores_are_busy_with_digests() {
        assert_eq!([1, 2, 3, 4, 64].map(gzip_threads), [0, 0, 3, 4, 6]);
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
