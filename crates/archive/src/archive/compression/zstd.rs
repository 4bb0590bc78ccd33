//! Zstd of any number of frames (RFC 8878).

use std::io::{self, BufRead, Read};

use zstd::Decoder;

use imgcheck_base::limits::{Limit, LimitExceeded, Limits};

/// The magic number of a frame that is not skippable.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The window sizes that libzstd can be configured to accept, as powers of two.
const WINDOW_LOG: std::ops::RangeInclusive<u32> = 10..=31;

/// Decompresses all frames. A frame that needs a larger window than [`Limit::ZstdWindow`], rounded up to a power of two, is an error
/// that contains a [`LimitExceeded`].
pub struct Zstd<R: BufRead> {
    decoder: Decoder<'static, R>,
    limits: Limits,
}

impl<R: BufRead> Zstd<R> {
    /// Decompresses frame after frame.
    ///
    /// # Errors
    /// libzstd has no memory.
    pub fn new(input: R, limits: Limits) -> io::Result<Self> {
        let mut decoder = Decoder::with_buffer(input)?;
        decoder.window_log_max(window_log(limits.of(Limit::ZstdWindow)))?;
        Ok(Zstd { decoder, limits })
    }

    /// The limit that the window of the current frame exceeds: libzstd has not consumed its header then.
    fn exceeded(&mut self) -> Option<LimitExceeded> {
        let header = self.decoder.get_mut().fill_buf().ok()?;
        let window = window(header)?;
        self.limits.check(Limit::ZstdWindow, window).err()
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder
            .read(buffer)
            .map_err(|error| match self.exceeded() {
                Some(exceeded) => io::Error::other(exceeded),
                None => error,
            })
    }
}

/// Logarithm of the least power of two that is enough.
fn window_log(bytes: u64) -> u32 {
    let log = bytes
        .checked_next_power_of_two()
        .map_or(u64::BITS, u64::ilog2);
    log.clamp(*WINDOW_LOG.start(), *WINDOW_LOG.end())
}

/// The window in bytes that the header of a frame declares (RFC 8878, "Window Descriptor"), or the length of a single-segment frame.
/// `None` if this is not a complete header.
fn window(header: &[u8]) -> Option<u64> {
    let (&descriptor, rest) = header.strip_prefix(&MAGIC)?.split_first()?;
    if descriptor & 0x20 == 0 {
        let window = *rest.first()?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let length = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let field = rest.get(dictionary..dictionary + length)?;
    let value = field
        .iter()
        .rev()
        .fold(0, |all, byte| all << 8 | u64::from(*byte));
    Some(if length == 2 { value + 256 } else { value })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;

    fn frame(window_log: u32, plain: &[u8]) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(window_log).unwrap();
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn unpacked(bytes: &[u8], window: u64) -> io::Result<Vec<u8>> {
        let mut limits = Limits::default();
        limits.set(Limit::ZstdWindow, window);
        let mut plain = Vec::new();
        Zstd::new(bytes, limits)?.read_to_end(&mut plain)?;
        Ok(plain)
    }

    #[test]
    fn the_window_of_any_frame_is_bounded() {
        let (small, large) = (frame(12, b"one "), frame(20, &[7; 1 << 20]));
        let both = [&small[..], &large[..]].concat();
        assert_eq!(unpacked(&both, 1 << 20).unwrap().len(), 4 + (1 << 20));
        for allowed in [1 << 14, 1 << 19] {
            let error = unpacked(&both, allowed).unwrap_err();
            let exceeded = *error
                .get_ref()
                .unwrap()
                .downcast_ref::<LimitExceeded>()
                .unwrap();
            assert_eq!((exceeded.found, exceeded.allowed), (1 << 20, allowed));
        }
    }

    #[test]
    fn windows_of_headers() {
        assert_eq!(window(&frame(27, b"x")), Some(1 << 27));
        assert_eq!(
            window(&zstd::bulk::compress(&[1; 1000], 1).unwrap()),
            Some(1000)
        );
        assert_eq!(window(&MAGIC), None);
        assert_eq!(window(b"no frame at all"), None);
        assert_eq!(
            [1, 1 << 20, (1 << 20) + 1, u64::MAX].map(window_log),
            [10, 20, 21, 31]
        );
    }
}
