//! Gzip of any number of members (RFC 1952), with zeros allowed after the last one, as gzip itself reads it.

use std::io::{self, BufRead, Read};

/// The first byte of a member.
const GZIP_MAGIC: u8 = 0x1f;

/// Decompresses all members. Reading ends with an error unless the last one is whole and its checksum right.
#[derive(Debug)]
pub struct Gzip<R, M = Member> {
    input: R,
    /// `None` after the last one.
    member: Option<M>,
}

/// Decompresses one member. ISA-L takes three quarters of the time of zlib-rs, which is pure Rust.
#[cfg(feature = "isa-l")]
pub type Member = imgcheck_isal::Member;
/// Decompresses one member.
#[cfg(not(feature = "isa-l"))]
pub type Member = zlib_rs::Member;

/// Decompresses one member, in pieces.
pub trait Inflate: Default {
    /// Decompresses from the input to the output until one of them ends. An empty input is the end of the blob.
    fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<Step>;
}

/// What one step of decompression did.
pub struct Step {
    /// Bytes of input used.
    consumed: usize,
    /// Bytes of output written.
    produced: usize,
    /// Whether the member is complete and its checksum right.
    end: bool,
}

impl<R: BufRead> Gzip<R> {
    /// Decompresses a gzip blob, member after member.
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

    /// The next member, if there is one.
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
    pub struct Member(Decompress);

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

    use proptest::collection::vec;
    use proptest::prelude::any;
    use proptest::sample::Index;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// What the decoder of this build and the one in Rust make of it, in pieces of several lengths.
    fn gunzip(bytes: &[u8]) -> Vec<io::Result<Vec<u8>>> {
        let pieces = [1, 7, 1 << 16].into_iter();
        let results = pieces.flat_map(|piece| {
            let input = || BufReader::with_capacity(piece, bytes);
            let rust = Gzip::<_, zlib_rs::Member>::with_members(input());
            [read(Gzip::new(input())), read(rust)]
        });
        results.collect()
    }

    fn gives(bytes: &[u8], expected: &[u8]) -> bool {
        let mut results = gunzip(bytes).into_iter();
        results.all(|result| result.is_ok_and(|plain| plain == expected))
    }

    fn fails(bytes: &[u8], kind: io::ErrorKind) -> bool {
        let mut results = gunzip(bytes).into_iter();
        results.all(|result| result.is_err_and(|error| error.kind() == kind))
    }

    fn read(mut input: impl Read) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        input.read_to_end(&mut plain)?;
        Ok(plain)
    }

    #[test]
    fn members_and_padding() {
        let two = [gzip(b"one "), gzip(b""), gzip(b"two")].concat();
        assert!(gives(&two, b"one two"));
        assert!(gives(&[two, vec![0; 1000]].concat(), b"one two"));
    }

    #[test]
    fn damage_is_an_error() {
        let whole = gzip(b"some text that is long enough");
        for length in 0..whole.len() {
            let cut = &whole[..length];
            assert!(fails(cut, io::ErrorKind::UnexpectedEof), "{length}");
        }
        for behind in [&b"garbage"[..], &[0, 0, 1]] {
            let blob = [&whole[..], behind].concat();
            assert!(fails(&blob, io::ErrorKind::InvalidData), "{behind:?}");
        }
        for from_end in 1..=8 {
            let mut wrong = whole.clone();
            let at = wrong.len() - from_end;
            wrong[at] ^= 1;
            assert!(fails(&wrong, io::ErrorKind::InvalidData), "{from_end}");
        }
    }

    proptest::proptest! {
        #[test]
        fn damage_never_gives_other_bytes(
            plain in vec(any::<u8>(), 0..3000), repeats in 1..40_usize, at in any::<Index>(), bits in any::<u8>(),
        ) {
            let expected = [plain.repeat(repeats), b"and more".to_vec()].concat();
            let mut blob = gzip(&plain.repeat(repeats));
            let at = at.index(blob.len());
            blob[at] ^= bits;
            for found in gunzip(&[blob, gzip(b"and more")].concat()) {
                match found {
                    Ok(found) => proptest::prop_assert!(found == expected),
                    Err(error) => proptest::prop_assert!(bits != 0, "{}", error),
                }
            }
        }
    }
}
