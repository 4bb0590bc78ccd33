//! A table that finds up to two literals and the length behind them at once: a method of Intel's ISA-L.
//!
//! | bits | |
//! |---|---|
//! | 0–5 | bits of the input that the entry stands for |
//! | 6–7 | how many literals, 0 to 2 |
//! | 8–23 | the literals |
//! | 24–31 | the length less 2; 0 for none |
//!
//! An entry of 0 stands for what needs the table of single codes.

use crate::code::{Entry, Table};

/// Bits of the index.
pub const BITS: u32 = 11;
const LENGTH: u32 = 24;
/// The first literal.
const BYTE: u32 = 0xff00;
/// The longest length that fits.
const LONGEST: usize = 257;

/// One entry.
#[derive(Clone, Copy)]
pub struct Symbols(u32);

impl Symbols {
    /// Whether it has literals, and no length.
    #[inline(always)]
    pub fn is_only_literals(self) -> bool {
        self.0.wrapping_sub(1) < (1 << LENGTH) - 1
    }

    /// All of it, with the bits of the input in the lowest 6 bits.
    #[inline(always)]
    pub fn number(self) -> u32 {
        self.0
    }

    /// Bits of the input that it stands for.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.0 & 63
    }

    /// How many literals it has.
    #[inline(always)]
    pub fn literals(self) -> usize {
        (self.0 >> 6 & 3) as usize
    }

    /// The literals, the first in the lowest bits. Anything follows.
    #[inline(always)]
    pub fn bytes(self) -> u32 {
        self.0 >> 8
    }

    /// Whether a length follows the literals.
    #[inline(always)]
    pub fn has_length(self) -> bool {
        self.0 >> LENGTH != 0
    }

    /// The length.
    #[inline(always)]
    pub fn length(self) -> usize {
        (self.0 >> LENGTH) as usize + 2
    }
}

/// The table.
#[derive(Clone)]
pub struct Packed([Symbols; 1 << BITS]);

impl Packed {
    /// A table without symbols.
    pub fn new() -> Self {
        Packed([Symbols(0); 1 << BITS])
    }

    /// What the next bits select.
    #[inline(always)]
    pub fn find(&self, bits: u64) -> Symbols {
        self.0[bits as usize & ((1 << BITS) - 1)]
    }

    /// Fills the table from that of single codes.
    pub fn pack<const SIZE: usize>(&mut self, codes: &Table<BITS, SIZE>) {
        let mut single = [Symbols(0); 1 << BITS];
        for (at, symbols) in (0..).zip(&mut single) {
            *symbols = Symbols::of_code(codes.first(at), at);
        }
        for (at, symbols) in self.0.iter_mut().enumerate() {
            *symbols = joined(at, &single);
        }
    }
}

impl Symbols {
    /// A literal, or a length whose bits are all in the index.
    fn of_code(entry: Entry, index: u64) -> Self {
        if entry.is_literal() {
            return Symbols(entry.number());
        }
        let length = entry.value(index);
        match entry.is_escape() || entry.bits() > BITS || length > LONGEST {
            true => Symbols(0),
            false => Symbols(((length - 2) as u32) << LENGTH | entry.bits()),
        }
    }
}

/// As many symbols as there are bits for in an index.
fn joined(index: usize, single: &[Symbols; 1 << BITS]) -> Symbols {
    let first = single[index];
    if first.literals() == 0 {
        return first;
    }
    let second = single[index >> first.bits()];
    let bits = first.bits() + second.bits();
    if bits > BITS {
        return first;
    }
    let behind = (second.0 & !BYTE) + ((second.0 & BYTE) << 8);
    let both = Symbols(first.0 + behind);
    let third = single[index >> bits];
    match second.literals() > 0 && third.has_length() && bits + third.bits() <= BITS {
        true => Symbols(both.0 + third.0),
        false => both,
    }
}
