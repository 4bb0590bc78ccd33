//! ISA-L against zlib-rs on any bytes, in pieces of any length: what one takes for a whole member, the other does, too, and it holds
//! the same. ISA-L is C and assembler, which no tool of Rust looks into; so its output lies between bytes that must stay as they are.
//!
//! ```sh
//! RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir isal/fuzz --sanitizer none member -- -max_total_time=600
//! ```

#![no_main]

use flate2::{Decompress, FlushDecompress, Status};
use imgcheck_isal::Member;
use libfuzzer_sys::fuzz_target;

/// Bytes on both sides of the output.
const GUARD: usize = 4096;
const UNTOUCHED: u8 = 0xa5;
/// More than this is a bomb, and both would only go on.
const ENOUGH: usize = 1 << 20;

/// What a decoder makes of a member.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// What is in it, and how many bytes it has.
    Whole(Vec<u8>, usize),
    /// It is damaged, or does not end.
    None,
    Bomb,
}

fn isa_l(input: &[u8], piece: usize, room: usize) -> Outcome {
    let mut member = Member::default();
    let mut guarded = vec![UNTOUCHED; GUARD + room + GUARD];
    let (mut plain, mut consumed) = (Vec::new(), 0);
    loop {
        let rest = &input[consumed..];
        let given = &rest[..piece.min(rest.len())];
        let Ok(step) = member.inflate(given, &mut guarded[GUARD..][..room]) else {
            return Outcome::None;
        };
        plain.extend_from_slice(&guarded[GUARD..][..step.produced]);
        consumed += step.consumed;
        let (before, after) = (&guarded[..GUARD], &guarded[GUARD + room..]);
        assert!(before.iter().chain(after).all(|byte| *byte == UNTOUCHED));
        if step.end {
            return Outcome::Whole(plain, consumed);
        }
        if plain.len() > ENOUGH {
            return Outcome::Bomb;
        }
        if given.is_empty() && step.produced == 0 {
            return Outcome::None;
        }
    }
}

fn zlib_rs(input: &[u8]) -> Outcome {
    let mut member = Decompress::new_gzip(15);
    let mut plain = Vec::with_capacity(ENOUGH + (1 << 16));
    let status = member.decompress_vec(input, &mut plain, FlushDecompress::None);
    match status {
        Ok(Status::StreamEnd) if plain.len() <= ENOUGH => {
            Outcome::Whole(plain, member.total_in() as usize)
        }
        Ok(_) if plain.len() > ENOUGH => Outcome::Bomb,
        _ => Outcome::None,
    }
}

fuzz_target!(|data: &[u8]| {
    let [piece, room, input @ ..] = data else {
        return;
    };
    // From one byte to more than any unit has.
    let length = |byte: u8| 1 + usize::from(byte) * usize::from(byte);
    let expected = zlib_rs(input);
    let found = isa_l(input, length(*piece), length(*room));
    if expected != Outcome::Bomb && found != Outcome::Bomb {
        assert_eq!(found, expected);
    }
});
