//! What zlib-rs compressed, in pieces of every length, and damage of every kind: the result is that of zlib-rs.
#![allow(clippy::unwrap_used)]

use std::io::{self, Read, Write};

use flate2::{Compression, Decompress, FlushDecompress, GzBuilder, Status};
use imgcheck_deflate::Gzip;
use proptest::collection::vec;
use proptest::prelude::*;

/// Gives at most so many bytes at a time.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(buffer.len());
        self.0.read(&mut buffer[..count])
    }
}

/// Everything before the end or the error, and which.
type Outcome = (Vec<u8>, Result<(), io::ErrorKind>);

fn gunzip(input: &[u8], piece: usize, room: usize) -> Outcome {
    let mut reader = Gzip::new(Pieces(input, piece));
    let (mut plain, mut buffer) = (Vec::new(), vec![0; room]);
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return (plain, Ok(())),
            Ok(count) => plain.extend_from_slice(&buffer[..count]),
            Err(error) => return (plain, Err(error.kind())),
        }
    }
}

/// What zlib-rs makes of one member, and of what follows it.
fn zlib(input: &[u8]) -> Outcome {
    let (mut plain, mut rest) = (Vec::new(), input);
    loop {
        let mut decoder = Decompress::new_gzip(15);
        loop {
            plain.reserve(1 << 16);
            let before = decoder.total_in();
            let at = plain.len();
            let status = decoder.decompress_vec(rest, &mut plain, FlushDecompress::None);
            rest = &rest[(decoder.total_in() - before) as usize..];
            match status {
                Err(_) => return (plain, Err(io::ErrorKind::InvalidData)),
                Ok(Status::StreamEnd) => break,
                Ok(_) if rest.is_empty() && plain.len() == at => {
                    return (plain, Err(io::ErrorKind::UnexpectedEof));
                }
                Ok(_) => {}
            }
        }
        if rest.first() != Some(&0x1f) {
            let only_zeros = rest.iter().all(|byte| *byte == 0);
            let result = if only_zeros {
                Ok(())
            } else {
                Err(io::ErrorKind::InvalidData)
            };
            return (plain, result);
        }
    }
}

fn gzip(plain: &[u8], level: u32, builder: GzBuilder) -> Vec<u8> {
    let mut encoder = builder.write(Vec::new(), Compression::new(level));
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn every_field() -> GzBuilder {
    let builder = GzBuilder::new().filename("a name").comment("a comment");
    builder.extra(vec![7; 300])
}

/// Repeats and literals, so that all kinds of blocks are written.
fn plain() -> impl Strategy<Value = Vec<u8>> {
    let part = (vec(any::<u8>(), 0..300), 1..200_usize);
    vec(part, 0..8).prop_map(|parts| {
        let repeated = parts.iter().map(|(bytes, times)| bytes.repeat(*times));
        repeated.collect::<Vec<_>>().concat()
    })
}

/// Damage near the end of the input can look like a cut: zlib compares the checksum before it has the length behind it, and reads on
/// after a header without any code for code lengths.
fn same(
    found: Result<(), io::ErrorKind>,
    expected: Result<(), io::ErrorKind>,
) -> Result<(), TestCaseError> {
    let is_damaged = |it| {
        matches!(
            it,
            Err(io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
        )
    };
    if !is_damaged(found) || !is_damaged(expected) {
        prop_assert_eq!(found, expected);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_split_gives_the_same(
        plain in plain(), level in 0..=9_u32, piece in 1..70_000_usize, room in 1..70_000_usize, fields in any::<bool>(), zeros in 0..20_usize,
    ) {
        let builder = if fields { every_field() } else { GzBuilder::new() };
        let members = [gzip(&plain, level, builder), gzip(b"more", 6, GzBuilder::new()), vec![0; zeros]].concat();
        let expected = [&plain[..], b"more"].concat();
        prop_assert_eq!(gunzip(&members, piece, room), (expected, Ok(())));
    }

    #[test]
    fn damage_is_found_as_by_zlib(
        plain in plain(), at in any::<prop::sample::Index>(), bits in 1..=255_u8, level in 1..=9_u32, piece in 1..10_000_usize,
    ) {
        let mut member = gzip(&plain, level, GzBuilder::new());
        let at = at.index(member.len());
        member[at] ^= bits;
        let (found, result) = gunzip(&member, piece, 4096);
        let (expected, expected_result) = zlib(&member);
        same(result, expected_result)?;
        if result.is_ok() {
            prop_assert!(found == expected);
        }
        // Before an error, decoders hold back more or less.
        let common = found.len().min(expected.len());
        prop_assert!(found[..common] == expected[..common]);
    }

    #[test]
    fn any_bytes_give_what_zlib_gives(bytes in vec(any::<u8>(), 0..600), piece in 1..100_usize) {
        let stream = [&b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..], &bytes].concat();
        let (found, result) = gunzip(&stream, piece, 100);
        let (expected, expected_result) = zlib(&stream);
        same(result, expected_result)?;
        let common = found.len().min(expected.len());
        prop_assert!(found[..common] == expected[..common]);
        let _ = gunzip(&bytes, piece, 100);
    }
}

#[test]
fn what_is_cut_off_has_no_end() {
    for member in [
        gzip(&[1, 2, 3].repeat(100_000), 6, every_field()),
        gzip(
            b"some text that is long enough, some text",
            9,
            GzBuilder::new(),
        ),
        gzip(&(0..=255).collect::<Vec<u8>>(), 0, GzBuilder::new()),
    ] {
        let (whole, _) = gunzip(&member, 1 << 20, 1 << 20);
        for length in 0..member.len() {
            let (plain, result) = gunzip(&member[..length], 50, 1 << 20);
            assert_eq!(result, Err(io::ErrorKind::UnexpectedEof), "{length}");
            assert_eq!(plain, whole[..plain.len()]);
        }
    }
}

#[test]
fn all_checksums_lengths_and_flags_are_checked() {
    let member = gzip(b"some text", 6, every_field());
    for at in member.len() - 8..member.len() {
        let mut wrong = member.clone();
        wrong[at] ^= 1;
        assert_eq!(gunzip(&wrong, 100, 100).1, Err(io::ErrorKind::InvalidData));
    }
    for (at, bit) in [(0, 0), (1, 0), (2, 0), (3, 5), (3, 6), (3, 7)] {
        let mut wrong = member.clone();
        wrong[at] ^= 1 << bit;
        assert_eq!(
            gunzip(&wrong, 100, 100).1,
            Err(io::ErrorKind::InvalidData),
            "{at} {bit}"
        );
    }
}

/// RFC 1952, "Member header and trailer": FHCRC has the two lowest bytes of the CRC-32 of the header.
#[test]
fn a_header_may_have_a_checksum() {
    let mut member = gzip(b"some text", 6, GzBuilder::new());
    member[3] |= 2;
    let mut crc = flate2::Crc::new();
    crc.update(&member[..10]);
    let sum = (crc.sum() as u16).to_le_bytes();
    member.splice(10..10, sum);
    for piece in 1..20 {
        assert_eq!(gunzip(&member, piece, 100), (b"some text".to_vec(), Ok(())));
    }
    member[10] ^= 1;
    assert_eq!(gunzip(&member, 100, 100).1, Err(io::ErrorKind::InvalidData));
}

#[test]
fn what_follows_must_be_zeros_or_a_member() {
    let member = gzip(b"some text", 6, GzBuilder::new());
    for behind in [&b"garbage"[..], &[0, 0, 1], &[0x1f], &[0x1f, 0x8b, 8]] {
        let (plain, result) = gunzip(&[&member[..], behind].concat(), 3, 100);
        assert_eq!(plain, b"some text");
        let is_begun = behind[0] == 0x1f;
        let kind = if is_begun {
            io::ErrorKind::UnexpectedEof
        } else {
            io::ErrorKind::InvalidData
        };
        assert_eq!(result, Err(kind), "{behind:?}");
    }
}
