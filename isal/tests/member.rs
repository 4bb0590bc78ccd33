//! What another program compressed, in pieces of every length, and damage of every kind.
#![allow(clippy::unwrap_used)]

use std::io::Write;

use flate2::{Compression, GzBuilder};
use imgcheck_isal::{Invalid, Member};
use proptest::prelude::*;

/// What is in the first member, and how many bytes it has. `None` where it does not end.
fn inflate(
    mut input: &[u8],
    piece: usize,
    room: usize,
) -> Result<Option<(Vec<u8>, usize)>, Invalid> {
    let (mut member, mut plain, whole) = (Member::default(), Vec::new(), input.len());
    let mut output = vec![0; room];
    loop {
        let step = member.inflate(&input[..piece.min(input.len())], &mut output)?;
        plain.extend_from_slice(&output[..step.produced]);
        input = &input[step.consumed..];
        if step.end {
            return Ok(Some((plain, whole - input.len())));
        }
        if input.is_empty() && step.produced == 0 {
            return Ok(None);
        }
    }
}

fn gzip(plain: &[u8], level: u32, builder: GzBuilder) -> Vec<u8> {
    let mut encoder = builder.write(Vec::new(), Compression::new(level));
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn every_field() -> GzBuilder {
    GzBuilder::new()
        .filename("a name")
        .comment("a comment")
        .extra(vec![7; 300])
}

/// Repeats and literals, so that all kinds of blocks are written.
fn plain() -> impl Strategy<Value = Vec<u8>> {
    let part = (proptest::collection::vec(any::<u8>(), 0..300), 1..200_usize);
    proptest::collection::vec(part, 0..8).prop_map(|parts| {
        let repeated = parts.iter().map(|(bytes, times)| bytes.repeat(*times));
        repeated.collect::<Vec<_>>().concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_split_gives_the_same(
        plain in plain(), level in 0..=9_u32, piece in 1..70_000_usize, room in 1..70_000_usize,
        fields in any::<bool>(), behind in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let builder = if fields { every_field() } else { GzBuilder::new() };
        let member = gzip(&plain, level, builder);
        let input = [member.clone(), behind].concat();
        prop_assert_eq!(inflate(&input, piece, room), Ok(Some((plain, member.len()))));
    }

    #[test]
    fn damage_never_gives_other_bytes(
        plain in plain(), at in any::<prop::sample::Index>(), bits in 1..=255_u8, piece in 1..10_000_usize,
    ) {
        let mut member = gzip(&plain, 6, GzBuilder::new());
        let at = at.index(member.len());
        member[at] ^= bits;
        // Some bits mean nothing: times, the name of the system, what fills the last byte.
        if let Ok(Some((found, _))) = inflate(&member, piece, 4096) {
            prop_assert_eq!(found, plain);
        }
    }

    #[test]
    fn no_bytes_make_it_hang(input in proptest::collection::vec(any::<u8>(), 0..2000), piece in 1..100_usize) {
        let _ = inflate(&input, piece, 100);
        let _ = inflate(&[&b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..], &input].concat(), piece, 100);
    }
}

#[test]
fn a_header_may_be_split_anywhere() {
    let member = gzip(b"plain", 6, every_field());
    for piece in 1..member.len() {
        let found = inflate(&member, piece, 100).unwrap();
        assert_eq!(found, Some((b"plain".to_vec(), member.len())), "{piece}");
    }
}

#[test]
fn what_is_cut_off_has_no_end() {
    let member = gzip(&[1, 2, 3].repeat(100_000), 6, GzBuilder::new());
    for length in 0..member.len() {
        assert_eq!(
            inflate(&member[..length], 50, 1 << 20),
            Ok(None),
            "{length}"
        );
    }
}

#[test]
fn a_wrong_checksum_or_length_is_an_error() {
    let member = gzip(b"some text", 6, GzBuilder::new());
    for from_end in 1..=8 {
        let mut wrong = member.clone();
        let at = wrong.len() - from_end;
        wrong[at] ^= 1;
        assert_eq!(inflate(&wrong, 100, 100), Err(Invalid::Checksum));
    }
}

#[test]
fn reserved_flags_are_an_error() {
    let mut member = gzip(b"some text", 6, GzBuilder::new());
    for bit in 5..8 {
        member[3] = 1 << bit;
        assert_eq!(inflate(&member, 100, 100), Err(Invalid::Header), "{bit}");
    }
}
