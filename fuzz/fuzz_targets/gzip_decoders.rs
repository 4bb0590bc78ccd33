//! A deflate stream (RFC 1951), or a gzip member (RFC 1952) where it begins as one, read by ISA-L and by zlib-rs in the same pieces: both
//! give the same bytes and end at the same place, or both refuse it. The checksum of a stream is made for it, so that what is behind the
//! check is reached.

use arbitrary::Arbitrary;
use flate2::{Crc, Decompress, FlushDecompress, Status};
use imgcheck_isal::{Invalid, Member};

/// A short stream can become long: one of more bytes is not compared.
const LONGEST: usize = 1 << 20;
const GZIP_MAGIC: &[u8] = b"\x1f\x8b";
const HEADER: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03";
const WINDOW_BITS: u8 = 15;

/// What zlib-rs refuses, as zlib and gzip do, and ISA-L reads: codes that leave bits without a meaning, which no compressor writes.
const READ_BY_ISA_L: [&str; 4] = [
    "invalid code lengths set",
    "invalid literal/lengths set",
    "invalid distances set",
    "invalid code -- missing end-of-block",
];

#[derive(Arbitrary, Debug)]
pub struct Input<'a> {
    /// The lengths of the pieces of input and of output, as powers of two.
    pieces: u8,
    bytes: &'a [u8],
}

pub fn fuzz(input: Input<'_>) {
    let pieces = Pieces {
        input: 1 << (input.pieces & 15),
        output: 1 << (input.pieces >> 4),
    };
    if input.bytes.starts_with(GZIP_MAGIC) {
        member(input.bytes, &pieces);
    } else {
        stream(input.bytes, &pieces);
    }
}

fn member(member: &[u8], pieces: &Pieces) {
    let rust = zlib_rs(Decompress::new_gzip(WINDOW_BITS), member, pieces);
    match (isa_l(member, pieces), rust) {
        (Outcome::TooLong, _) | (_, Outcome::TooLong) => {}
        (_, Outcome::Damaged(reason)) if READ_BY_ISA_L.contains(&reason) => {}
        (isa_l, rust) if isa_l.is_whole() || rust.is_whole() => assert_eq!(isa_l, rust),
        _ => {}
    }
}

fn stream(stream: &[u8], pieces: &Pieces) {
    let expected = zlib_rs(Decompress::new(false), stream, pieces);
    match &expected {
        Outcome::Whole { plain, consumed } => {
            let mut crc = Crc::new();
            crc.update(plain);
            let [sum, length] = [crc.sum(), crc.amount()].map(u32::to_le_bytes);
            let member = [HEADER, &stream[..*consumed], &sum, &length].concat();
            // What follows is of somebody else.
            let found = isa_l(&[&member, &stream[*consumed..]].concat(), pieces);
            let (plain, consumed) = (plain.clone(), member.len());
            assert_eq!(found, Outcome::Whole { plain, consumed });
        }
        Outcome::TooLong => {}
        Outcome::Cut => {
            let found = isa_l(&[HEADER, stream].concat(), pieces);
            assert!(found.is_refused(), "zlib-rs wants more: {found:?}");
        }
        Outcome::Damaged(reason) if READ_BY_ISA_L.contains(reason) => {}
        Outcome::Damaged(_) | Outcome::WrongSum => {
            // With room for a checksum: a wrong one would say that the stream itself was accepted.
            let found = isa_l(&[HEADER, stream, &[0; 8]].concat(), pieces);
            assert!(found.is_refused(), "{expected:?}, and ISA-L: {found:?}");
        }
    }
}

struct Pieces {
    input: usize,
    output: usize,
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Whole { plain: Vec<u8>, consumed: usize },
    TooLong,
    Cut,
    Damaged(&'static str),
    WrongSum,
}

impl Outcome {
    fn is_whole(&self) -> bool {
        matches!(self, Outcome::Whole { .. })
    }

    fn is_refused(&self) -> bool {
        matches!(self, Outcome::Cut | Outcome::Damaged(_))
    }
}

/// The text if it is one of [`READ_BY_ISA_L`].
fn known(message: Option<&str>) -> &'static str {
    let mut texts = READ_BY_ISA_L.into_iter();
    texts.find(|text| message == Some(text)).unwrap_or_default()
}

/// What one call of a decoder used and wrote, and whether the member ended.
type Step = (usize, usize, bool);

fn isa_l(input: &[u8], pieces: &Pieces) -> Outcome {
    let mut decoder = Member::default();
    decode(input, pieces, |input, output| {
        let step = decoder
            .inflate(input, output)
            .map_err(|invalid| match invalid {
                Invalid::Header | Invalid::Data => Outcome::Damaged(""),
                Invalid::Checksum => Outcome::WrongSum,
            })?;
        Ok((step.consumed, step.produced, step.end))
    })
}

fn zlib_rs(mut decoder: Decompress, input: &[u8], pieces: &Pieces) -> Outcome {
    decode(input, pieces, |input, output| {
        let (consumed, produced) = (decoder.total_in(), decoder.total_out());
        let status = decoder
            .decompress(input, output, FlushDecompress::None)
            .map_err(|error| Outcome::Damaged(known(error.message())))?;
        Ok((
            (decoder.total_in() - consumed) as usize,
            (decoder.total_out() - produced) as usize,
            status == Status::StreamEnd,
        ))
    })
}

fn decode(
    input: &[u8],
    pieces: &Pieces,
    mut step: impl FnMut(&[u8], &mut [u8]) -> Result<Step, Outcome>,
) -> Outcome {
    let (mut plain, mut rest) = (Vec::new(), input);
    loop {
        // Vectors of exactly this length, so that Valgrind sees what is read or written behind them.
        let piece = rest[..pieces.input.min(rest.len())].to_vec();
        let mut output = vec![0; pieces.output];
        let (consumed, produced, end) = match step(&piece, &mut output) {
            Ok(step) => step,
            Err(outcome) => return outcome,
        };
        plain.extend_from_slice(&output[..produced]);
        rest = &rest[consumed..];
        if plain.len() > LONGEST {
            return Outcome::TooLong;
        }
        if end {
            let consumed = input.len() - rest.len();
            return Outcome::Whole { plain, consumed };
        }
        if rest.is_empty() && produced == 0 {
            return Outcome::Cut;
        }
    }
}
