//! Huffman codes as lookup tables (RFC 1951, "Use of Huffman coding in the deflate format").
//!
//! The low bits of the input are the index. An entry is a number:
//!
//! | bits | literal | length or distance | escape |
//! |---|---|---|---|
//! | 0–5 | bits of the input that it stands for | the same, with the extra bits | bits of the index or of the code |
//! | 6 | 1 | 0 | 0 |
//! | 8–12 | the literal | bits without the extra bits | 0 |
//! | 13–15 | the literal | 0 | 1 for a second lookup, 2 for the end, 4 for no meaning |
//! | 16–31 | 0 | smallest value | where the second table begins |
//!
//! Lengths with their extra bits are a method of libdeflate.

use crate::bits::low;
use crate::error::Invalid;

/// Bits of the longest code.
pub const LONGEST: u32 = 15;

const LITERAL: u32 = 1 << 6;
const LONGER: u32 = 1 << 13;
const END: u32 = 2 << 13;
const INVALID: u32 = 4 << 13;
const ESCAPE: u32 = LONGER | END | INVALID;

/// One entry of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry(u32);

impl Entry {
    /// The end of a block.
    pub const END: Entry = Entry(END);
    /// A code that has no meaning.
    pub const INVALID: Entry = Entry(INVALID);

    /// A literal byte.
    pub const fn literal(byte: u8) -> Self {
        Entry((byte as u32) << 8 | LITERAL)
    }

    /// A length or a distance: `base`, and what the next `extra` bits add.
    pub const fn range(base: u16, extra: u32) -> Self {
        Entry((base as u32) << 16 | extra)
    }

    /// The entry of a symbol that has a code of so many bits.
    fn with_code(self, length: u32) -> Self {
        match self.is_literal() || self.is_escape() {
            true => Entry(self.0 + length),
            false => Entry(self.0 + length + (length << 8)),
        }
    }

    /// All of it, with [`Entry::bits`] in the lowest 6 bits.
    #[inline(always)]
    pub fn number(self) -> u32 {
        self.0
    }

    /// Bits of the input that it stands for.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.0 & 63
    }

    /// Whether it is a literal.
    #[inline(always)]
    pub fn is_literal(self) -> bool {
        self.0 & LITERAL != 0
    }

    /// The literal.
    #[inline(always)]
    pub fn byte(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// Whether it is neither a literal nor a value.
    #[inline(always)]
    pub fn is_escape(self) -> bool {
        self.0 & ESCAPE != 0 && !self.is_literal()
    }

    /// Whether a second lookup follows.
    #[inline(always)]
    pub fn is_longer(self) -> bool {
        self.0 & (LITERAL | LONGER) == LONGER
    }

    /// Whether it is the end of a block.
    pub fn is_end(self) -> bool {
        self.0 & (LITERAL | END) == END
    }

    /// A length or a distance; `bits` is what the entry was looked up with.
    #[inline(always)]
    pub fn value(self, bits: u64) -> usize {
        let extra = low(bits, self.bits()) >> (self.0 >> 8 & 31);
        (self.0 >> 16) as usize + extra as usize
    }
}

/// A table of `SIZE` entries. A code of up to `BITS` bits is found by the first lookup; longer ones need a second.
#[derive(Clone)]
pub struct Table<const BITS: u32, const SIZE: usize>([Entry; SIZE]);

impl<const BITS: u32, const SIZE: usize> Table<BITS, SIZE> {
    const FIRST: usize = 1 << BITS;
    /// Entries of each second table.
    const SECOND: usize = 1 << (LONGEST - BITS);

    /// A table without codes.
    pub fn new() -> Self {
        const { assert!(SIZE.is_power_of_two() && SIZE > Self::FIRST) };
        Table([Entry::INVALID; SIZE])
    }

    /// The entry that the next bits select. An escape that is neither the end nor invalid stands for a longer code.
    #[inline(always)]
    pub fn first(&self, bits: u64) -> Entry {
        self.0[low(bits, BITS) as usize]
    }

    /// The entry of a longer code; the bits of the first lookup have been consumed.
    #[inline(always)]
    pub fn second(&self, first: Entry, bits: u64) -> Entry {
        let at = (first.0 >> 16) as usize + low(bits, LONGEST - BITS) as usize;
        self.0[at & (SIZE - 1)]
    }

    /// Builds the table of the canonical code with these lengths; `symbols` has the entry of each symbol.
    ///
    /// # Errors
    /// There are more codes than fit, or fewer: as in zlib, only a single code of one bit may be alone.
    pub fn build(&mut self, lengths: &[u8], symbols: &[Entry]) -> Result<(), Invalid> {
        let (mut starts, is_complete) = starts(lengths)?;
        if !is_complete {
            self.0[..Self::FIRST].fill(Entry::INVALID.with_code(1));
        }
        let mut sorted = [0; 320];
        for (symbol, length) in (0_u16..).zip(lengths) {
            let at = &mut starts[usize::from(*length)];
            sorted[usize::from(*at)] = symbol;
            *at += 1;
        }
        // The first bits of the longer codes that the second table at `second` is for: they follow each other.
        let (mut prefix, mut second) = (None, Self::FIRST);
        let mut code = 0;
        // Symbols of length 0 have no code.
        for symbol in &sorted[usize::from(starts[0])..lengths.len()] {
            let symbol = usize::from(*symbol);
            let length = u32::from(lengths[symbol]);
            let entry = symbols.get(symbol).copied().unwrap_or(Entry::INVALID);
            if length <= BITS {
                self.fill(code, length, Self::FIRST, entry.with_code(length));
            } else {
                let first = code & (Self::FIRST - 1);
                if prefix != Some(first) {
                    if prefix.replace(first).is_some() {
                        second += Self::SECOND;
                    }
                    self.0[first] = Entry((second as u32) << 16 | LONGER | BITS);
                }
                let rest = length - BITS;
                let end = second + Self::SECOND;
                self.fill(second + (code >> BITS), rest, end, entry.with_code(rest));
            }
            code = following(code, length);
        }
        Ok(())
    }

    /// Sets all entries up to `end` whose index has the same `length` low bits as `from`.
    fn fill(&mut self, from: usize, length: u32, end: usize, entry: Entry) {
        let entries = self.0[from..end].iter_mut();
        entries.step_by(1 << length).for_each(|it| *it = entry);
    }

    /// The entry of the next code, and how many bits come before its own.
    pub fn find(&self, bits: u64) -> (Entry, u32) {
        let first = self.first(bits);
        match first.is_longer() {
            true => (self.second(first, bits >> BITS), BITS),
            false => (first, 0),
        }
    }
}

/// Where the symbols of each length begin among all that are sorted by length, and whether their codes leave no bits without a meaning.
fn starts(lengths: &[u8]) -> Result<([u16; 16], bool), Invalid> {
    let mut counts = [0_u16; 16];
    for length in lengths {
        counts[usize::from(length & 15)] += 1;
    }
    let (mut starts, mut sum) = ([0; 16], 0);
    let mut room = 1_i32;
    for length in 0..16 {
        starts[length] = sum;
        sum += counts[length];
        if length > 0 {
            room = room * 2 - i32::from(counts[length]);
            if room < 0 {
                return Err(Invalid::CodeLengths);
            }
        }
    }
    let is_short = counts[2..].iter().all(|count| *count == 0);
    match room == 0 || is_short {
        true => Ok((starts, room == 0)),
        false => Err(Invalid::CodeLengths),
    }
}

/// The next canonical code of this length or a longer one, its first bit lowest.
fn following(code: usize, length: u32) -> usize {
    let mut bit = 1 << (length - 1);
    while code & bit != 0 {
        bit >>= 1;
    }
    match bit {
        0 => 0,
        _ => code & (bit - 1) | bit,
    }
}
