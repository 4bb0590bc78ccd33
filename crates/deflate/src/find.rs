//! Finds where blocks can begin, by trial, as in rapidgzip (Knespel and Brunst, "Rapidgzip: Parallel Decompression and Seeking in Gzip
//! Files Using Cache Prefetching", 2023).
//!
//! Only blocks with codes of their own are found, and not the last one of a member: nearly all blocks that take time are of this kind, and
//! hardly any other place looks like one.

use std::sync::OnceLock;

use crate::bits::{low, peek};

/// Bits at the beginning of a block that say whether it is such a block, and how many code lengths it has.
const START: u32 = 13;
/// Behind them: how many lengths the code for code lengths has.
const COUNT: u32 = 4;

/// The first bit from `from` on, and before `to`, where the header of a block may begin.
pub fn block(input: &[u8], from: usize, to: usize) -> Option<usize> {
    let tables = Tables::get();
    let mut bit = from;
    while bit < to {
        let bits = peek(input, bit);
        match tables.skip[low(bits, START) as usize] {
            0 if tables.is_complete(bits >> START, peek(input, bit + (START + COUNT) as usize)) => {
                return Some(bit);
            }
            0 => bit += 1,
            skip => bit += usize::from(skip),
        }
    }
    None
}

struct Tables {
    /// How many bits on the next block may begin, by the next bits.
    skip: [u8; 1 << START],
    /// How much of the code space, in 128ths, three code lengths take.
    space: [u8; 1 << 9],
}

impl Tables {
    fn get() -> &'static Tables {
        static TABLES: OnceLock<Tables> = OnceLock::new();
        TABLES.get_or_init(|| Tables {
            skip: std::array::from_fn(|bits| {
                let may_begin = |skip: &u32| may_begin(bits >> skip, START - skip);
                (0..START).find(may_begin).unwrap_or(START) as u8
            }),
            space: std::array::from_fn(|lengths| {
                let lengths = [lengths & 7, lengths >> 3 & 7, lengths >> 6 & 7];
                lengths.into_iter().filter(|it| *it > 0).map(|it| 128_u8 >> it).sum()
            }),
        })
    }

    /// Whether the code for code lengths is complete: `count` begins with its number of lengths, `lengths` with these.
    fn is_complete(&self, count: u64, lengths: u64) -> bool {
        let count = low(count, COUNT) as u32 + 4;
        let mut lengths = low(lengths, 3 * count);
        let mut space = 0;
        for _ in 0..7 {
            space += u32::from(self.space[(lengths & 0x1ff) as usize]);
            lengths >>= 9;
        }
        space == 128
    }
}

/// Whether so many bits can be the beginning of a block: not the last one, with codes of its own, and no more code lengths than there
/// are.
fn may_begin(bits: usize, count: u32) -> bool {
    let field = |at: u32, length: u32| bits >> at & ((1 << length) - 1);
    (count < 1 || field(0, 1) == 0)
        && (count < 2 || field(1, 1) == 0)
        && (count < 3 || field(2, 1) == 1)
        && (count < 8 || field(3, 5) < 30)
        && (count < 13 || field(8, 5) < 30)
}
