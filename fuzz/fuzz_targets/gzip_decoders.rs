//! A deflate stream (RFC 1951), or a gzip file (RFC 1952) where it begins as one, read by imgcheck on one thread in pieces, and on two in
//! chunks that are shorter than its blocks, and by zlib-rs: all give the same bytes, or refuse it. The checksum of a stream is made for it,
//! so that what is behind the check is reached, and it is read behind 32 KiB of other data, too, so that its blocks are found.

use std::io::{self, Read};

use arbitrary::Arbitrary;
use flate2::{Crc, Decompress, FlushDecompress, Status};
use imgcheck_deflate::{Gzip, Sizes, decompress_in};

/// A short stream can become long: one of more bytes is not compared.
const LONGEST: usize = 1 << 20;
const GZIP_MAGIC: &[u8] = b"\x1f\x8b";
const HEADER: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03";
const WINDOW: usize = 32 << 10;
const WINDOW_BITS: u8 = 15;

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
        compare(input.bytes, members(input.bytes), &pieces);
        return;
    }
    compare_stream(Vec::new(), input.bytes, &pieces);
    compare_stream(vec![7; WINDOW], input.bytes, &pieces);
}

/// Compares what is made of a stream behind a stored block with these bytes.
fn compare_stream(before: Vec<u8>, stream: &[u8], pieces: &Pieces) {
    let length = before.len() as u16;
    let stored = [
        &[0][..],
        &length.to_le_bytes(),
        &(!length).to_le_bytes(),
        &before,
    ]
    .concat();
    let stream = [&stored, stream].concat();
    let (expected, consumed) = member(Decompress::new(false), &stream);
    let mut crc = Crc::new();
    crc.update(&expected.plain);
    let [sum, length] = [crc.sum(), crc.amount()].map(u32::to_le_bytes);
    // With a checksum even where the stream is damaged: it must not be reached.
    let file = [HEADER, &stream[..consumed], &sum, &length].concat();
    let is_cut = expected.end == End::Cut;
    compare(
        if is_cut {
            &file[..file.len() - 8]
        } else {
            &file
        },
        expected,
        pieces,
    );
}

struct Pieces {
    input: usize,
    output: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Whole,
    TooLong,
    Cut,
    Damaged,
}

#[derive(Debug)]
struct Outcome {
    plain: Vec<u8>,
    end: End,
}

fn compare(file: &[u8], expected: Outcome, pieces: &Pieces) {
    for found in [on_one_thread(file, pieces), on_two_threads(file, pieces)] {
        if [found.end, expected.end].contains(&End::TooLong) {
            continue;
        }
        // Damage near the end of the input can look like a cut.
        let is_whole = [found.end, expected.end].map(|end| end == End::Whole);
        assert_eq!(
            is_whole[0], is_whole[1],
            "{:?}, not {:?}",
            found.end, expected.end
        );
        // Before an error, decoders hold back more or less.
        let common = found.plain.len().min(expected.plain.len());
        assert_eq!(found.plain[..common], expected.plain[..common]);
        assert!(!is_whole[0] || found.plain.len() == expected.plain.len());
    }
}

/// Gives at most so many bytes at a time.
struct InPieces<'a>(&'a [u8], usize);

impl Read for InPieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(buffer.len());
        self.0.read(&mut buffer[..count])
    }
}

fn end(error: &io::Error) -> End {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => End::Cut,
        _ => End::Damaged,
    }
}

fn on_one_thread(file: &[u8], pieces: &Pieces) -> Outcome {
    let mut reader = Gzip::new(InPieces(file, pieces.input));
    let (mut plain, mut buffer) = (Vec::new(), vec![0; pieces.output]);
    let end = loop {
        match reader.read(&mut buffer) {
            Ok(0) => break End::Whole,
            Ok(count) => plain.extend_from_slice(&buffer[..count]),
            Err(error) => break end(&error),
        }
        if plain.len() > LONGEST {
            break End::TooLong;
        }
    };
    Outcome { plain, end }
}

fn on_two_threads(file: &[u8], pieces: &Pieces) -> Outcome {
    let sizes = Sizes {
        input: 1024,
        overlap: 1024,
        output: 3 * WINDOW,
        symbols: 2 * WINDOW,
    };
    let mut plain = Vec::new();
    let mut input = InPieces(file, pieces.input);
    let result = decompress_in(sizes, &mut input, 1, &mut |piece| {
        plain.extend_from_slice(piece);
        Ok(plain.len() <= LONGEST)
    });
    let end = match result {
        _ if plain.len() > LONGEST => End::TooLong,
        Ok(()) => End::Whole,
        Err(error) => end(&error),
    };
    Outcome { plain, end }
}

/// What zlib-rs makes of a gzip file.
fn members(file: &[u8]) -> Outcome {
    let (mut plain, mut rest) = (Vec::new(), file);
    let end = loop {
        let (one, consumed) = member(Decompress::new_gzip(WINDOW_BITS), rest);
        plain.extend(one.plain);
        rest = &rest[consumed..];
        if one.end != End::Whole {
            break one.end;
        }
        if plain.len() > LONGEST {
            break End::TooLong;
        }
        if rest.first() != Some(&GZIP_MAGIC[0]) {
            let is_padded = rest.iter().all(|byte| *byte == 0);
            break if is_padded { End::Whole } else { End::Damaged };
        }
    };
    Outcome { plain, end }
}

/// What zlib-rs makes of a member or of a stream, and how much of the input that is.
fn member(mut decoder: Decompress, input: &[u8]) -> (Outcome, usize) {
    let mut plain = Vec::new();
    loop {
        let (consumed, length) = (decoder.total_in() as usize, plain.len());
        plain.reserve(WINDOW);
        let status = decoder.decompress_vec(&input[consumed..], &mut plain, FlushDecompress::None);
        let consumed = decoder.total_in() as usize;
        let end = match status {
            Err(_) => End::Damaged,
            Ok(Status::StreamEnd) => End::Whole,
            Ok(_) if plain.len() > LONGEST => End::TooLong,
            Ok(_) if consumed == input.len() && plain.len() == length => End::Cut,
            Ok(_) => continue,
        };
        return (Outcome { plain, end }, consumed);
    }
}
