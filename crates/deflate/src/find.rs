//! Finds where blocks can begin, by trial, as in rapidgzip (Knespel and Brunst, "Rapidgzip: Parallel Decompression and Seeking in Gzip
//! Files Using Cache Prefetching", 2023).
//!
//! Only blocks with codes of their own are found, and not the last one of a member: nearly all blocks that take time are of this kind, and
//! hardly any other place looks like one.

use std::sync::OnceLock;

use crate::bits::{low, peek};

/// Bits at the beginning of a block that say its type and how many code lengths it has.
const START: usize = 13;
/// Behind them: how many lengths the code for code lengths has.
const COUNT: u32 = 4;
/// Places that are looked at together: whole bytes.
const STEP: usize = 48;

/// The first bit from `from` on, and before `to`, where the header of a block may begin.
pub fn block(input: &[u8], from: usize, to: usize) -> Option<usize> {
    let spaces = spaces();
    let mut bit = from / 8 * 8;
    let mut seen = from - bit;
    while bit < to {
        let places = low(beginnings(peek(input, bit)), STEP as u32);
        let mut places = places >> seen << seen;
        while places != 0 {
            let place = bit + places.trailing_zeros() as usize;
            if is_complete(spaces, input, place) {
                return (place < to).then_some(place);
            }
            places &= places - 1;
        }
        seen = 0;
        bit += STEP;
    }
    None
}

/// For each bit whether a block can begin there: with 0, 0, 1 for one that is not the last and has codes of its own, and with no more
/// lengths of either kind than there are symbols, 29 above the least. The last bits have too few others behind them.
fn beginnings(bits: u64) -> u64 {
    let [too_many_literals, too_many_distances] = [4, 9]
        .map(|at| (bits >> at) & (bits >> (at + 1)) & (bits >> (at + 2)) & (bits >> (at + 3)));
    !bits & !(bits >> 1) & (bits >> 2) & !too_many_literals & !too_many_distances
}

/// How much of the code space, in 128ths, four lengths take.
type Spaces = [u8; 1 << 12];

fn spaces() -> &'static Spaces {
    static SPACES: OnceLock<Spaces> = OnceLock::new();
    SPACES.get_or_init(|| {
        std::array::from_fn(|lengths| {
            let lengths = [0, 3, 6, 9].map(|at| lengths >> at & 7);
            let spaces = lengths
                .into_iter()
                .filter(|it| *it > 0)
                .map(|it| 128_u8 >> it);
            // Anything above 128 is too much.
            spaces.fold(0, u8::saturating_add)
        })
    })
}

/// Whether the code for code lengths of the header at this bit is complete, as it must be. No header is found at the very end.
fn is_complete(spaces: &Spaces, input: &[u8], bit: usize) -> bool {
    let rest = input.get(bit / 8..).unwrap_or_default();
    let Some(bytes) = rest.first_chunk::<16>() else {
        return false;
    };
    let bits = u128::from_le_bytes(*bytes) >> (bit % 8 + START);
    let count = low(bits as u64, COUNT) as u32 + 4;
    let lengths = low((bits >> COUNT) as u64, 3 * count);
    let parts = [0, 12, 24, 36, 48].map(|at| u32::from(spaces[(lengths >> at & 0xfff) as usize]));
    parts.iter().sum::<u32>() == 128
}
