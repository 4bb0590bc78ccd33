//! Gzip of any number of members (RFC 1952), with zeros allowed after the last one, as gzip itself reads it.

use std::io::{self, BufRead, Read};

/// The first byte of a member.
const GZIP_MAGIC: u8 = 0x1f;

/// Decompresses all members. Reading ends with an error unless the last one is whole and its checksum right.
#[derive(Debug)]
pub(super) struct Gzip<R, M = Member> {
    input: R,
    /// None after the last one.
    member: Option<M>,
}

/// What decompresses one member. ISA-L takes three quarters of the time of zlib-rs, which is all Rust.
#[cfg(feature = "isa-l")]
pub(super) type Member = imgcheck_isal::Member;
#[cfg(not(feature = "isa-l"))]
pub(super) type Member = zlib_rs::Member;

/// Decompresses one member, in pieces.
pub(super) trait Inflate: Default {
    /// From the front of the input to the front of the output, as far as both go. An empty input is the end of the blob.
    fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<Step>;
}

pub(super) struct Step {
    /// Bytes of the input that were used.
    consumed: usize,
    /// Bytes of the output that were written.
    produced: usize,
    /// Whether the member is complete and its checksum right.
    end: bool,
}

impl<R: BufRead> Gzip<R> {
    pub fn new(input: R) -> Self {
        Gzip::with_members(input)
    }
}

impl<R: BufRead, M: Inflate> Gzip<R, M> {
    fn with_members(input: R) -> Self {
        Gzip {
            input,
            member: Some(M::default()),
        }
    }

    /// Another member, if one follows.
    fn next_member(&mut self) -> io::Result<Option<M>> {
        match self.input.fill_buf()?.first() {
            None => Ok(None),
            Some(&GZIP_MAGIC) => Ok(Some(M::default())),
            Some(_) => only_zeros(&mut self.input).map(|()| None),
        }
    }
}

impl<R: BufRead, M: Inflate> Read for Gzip<R, M> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(member) = &mut self.member {
            let input = self.input.fill_buf()?;
            let no_more = input.is_empty();
            let step = member.inflate(input, buffer)?;
            self.input.consume(step.consumed);
            if step.end {
                self.member = self.next_member()?;
            }
            if step.produced > 0 {
                return Ok(step.produced);
            }
            if no_more && !step.end {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(0)
    }
}

fn only_zeros(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let rest = input.fill_buf()?;
        if rest.is_empty() {
            return Ok(());
        }
        if rest.iter().any(|byte| *byte != 0) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "bytes that are not gzip follow its end",
            ));
        }
        let count = rest.len();
        input.consume(count);
    }
}

#[cfg(feature = "isa-l")]
impl Inflate for imgcheck_isal::Member {
    fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<Step> {
        let step = self
            .inflate(input, output)
            .map_err(|invalid| io::Error::new(io::ErrorKind::InvalidData, invalid))?;
        Ok(Step {
            consumed: step.consumed,
            produced: step.produced,
            end: step.end,
        })
    }
}

#[cfg(any(test, not(feature = "isa-l")))]
mod zlib_rs {
    use std::io;

    use flate2::{Decompress, FlushDecompress, Status};

    use super::{Inflate, Step};

    /// As a power of two: the only window that deflate has (RFC 1951).
    const WINDOW_BITS: u8 = 15;

    #[derive(Debug)]
    pub(crate) struct Member(Decompress);

    impl Default for Member {
        fn default() -> Self {
            Member(Decompress::new_gzip(WINDOW_BITS))
        }
    }

    impl Inflate for Member {
        fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<Step> {
            let (consumed, produced) = (self.0.total_in(), self.0.total_out());
            let status = self
                .0
                .decompress(input, output, FlushDecompress::None)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            // Neither is longer than its slice.
            Ok(Step {
                consumed: (self.0.total_in() - consumed) as usize,
                produced: (self.0.total_out() - produced) as usize,
                end: status == Status::StreamEnd,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::{BufReader, Write};

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// What the decoder of this build and the one in Rust make of it: the same, or both an error.
    fn gunzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut results = [1, 7, 1 << 16].map(|piece| {
            let input = BufReader::with_capacity(piece, bytes);
            let built = read(Gzip::new(input));
            let input = BufReader::with_capacity(piece, bytes);
            let rust = read(Gzip::<_, zlib_rs::Member>::with_members(input));
            assert_eq!(built.as_ref().ok(), rust.as_ref().ok());
            built
        });
        std::mem::replace(&mut results[0], Ok(Vec::new()))
    }

    fn read(mut input: impl Read) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        input.read_to_end(&mut plain)?;
        Ok(plain)
    }

    #[test]
    fn members_and_padding() {
        let two = [gzip(b"one "), gzip(b""), gzip(b"two")].concat();
        assert_eq!(gunzip(&two).unwrap(), b"one two");
        assert_eq!(
            gunzip(&[two.clone(), vec![0; 1000]].concat()).unwrap(),
            b"one two"
        );
    }

    #[test]
    fn damage_is_an_error() {
        let whole = gzip(b"some text that is long enough");
        for length in 0..whole.len() {
            let error = gunzip(&whole[..length]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{length}");
        }
        assert!(gunzip(&[whole.clone(), b"garbage".to_vec()].concat()).is_err());
        assert!(gunzip(&[whole.clone(), vec![0, 0, 1]].concat()).is_err());
        let mut wrong = whole;
        let crc = wrong.len() - 6;
        wrong[crc] ^= 1;
        assert!(gunzip(&wrong).is_err());
    }

    proptest::proptest! {
        #[test]
        fn both_decoders_find_the_same(
            plain in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..3000),
            repeats in 1..40_usize, at in proptest::prelude::any::<proptest::sample::Index>(), bits in 0..=255_u8,
        ) {
            let mut blob = gzip(&plain.repeat(repeats));
            // Behind the header, whose unused fields not every decoder looks at.
            let at = 10 + at.index(blob.len() - 10);
            blob[at] ^= bits;
            let found = gunzip(&[blob, gzip(b"and more")].concat());
            proptest::prop_assert!(bits != 0 || found.is_ok());
        }
    }
}
