//! The codes of a block: the fixed ones (RFC 1951, "Compression with fixed Huffman codes"), and those that the header of a block
//! describes ("Compression with dynamic Huffman codes").

use std::sync::OnceLock;

use crate::bits::Bits;
use crate::code::{Entry, Table};
use crate::error::Invalid;
use crate::packed::{self, Packed};

/// The two codes of a block.
#[derive(Clone)]
pub struct Codes {
    /// Literals, the end of the block, and lengths.
    pub literals: Literals,
    /// The same, with several symbols in an entry.
    pub packed: Packed,
    /// Distances.
    pub distances: Distances,
}

/// The code of literals, the end of the block, and lengths.
pub type Literals = Table<LITERAL_BITS, 8192>;
/// The code of distances.
pub type Distances = Table<DISTANCE_BITS, 2048>;

const LITERAL_BITS: u32 = packed::BITS;
const DISTANCE_BITS: u32 = 9;

/// Most lengths that a header has.
const MOST_LITERALS: usize = 286;
const MOST_DISTANCES: usize = 30;

impl Codes {
    /// Codes that nothing can be read with.
    pub fn new() -> Self {
        Codes {
            literals: Table::new(),
            packed: Packed::new(),
            distances: Table::new(),
        }
    }

    /// The codes of all blocks of type 1.
    pub fn fixed() -> &'static Codes {
        static FIXED: OnceLock<Box<Codes>> = OnceLock::new();
        FIXED.get_or_init(|| {
            let length = |symbol| match symbol {
                0..144 => 8,
                144..256 => 9,
                256..280 => 7,
                _ => 8,
            };
            let lengths: [u8; 288] = std::array::from_fn(length);
            let mut codes = Box::new(Codes::new());
            // Both are complete.
            let _ = codes.build(&lengths, &[5; 32]);
            codes
        })
    }

    /// Reads the codes of a block of type 2, behind its type.
    ///
    /// # Errors
    /// They are invalid; if bits behind the end of the input were read, they may be valid.
    pub fn read(&mut self, bits: &mut Bits<'_>) -> Result<(), Invalid> {
        let mut lengths = [0; 320];
        let (literals, distances) = code_lengths(bits, &mut lengths)?;
        let (literals, distances) = lengths[..literals + distances].split_at(literals);
        // Without it the block has no end.
        if literals[256] == 0 {
            return Err(Invalid::CodeLengths);
        }
        self.build(literals, distances)
    }

    fn build(&mut self, literals: &[u8], distances: &[u8]) -> Result<(), Invalid> {
        self.literals.build(literals, &LITERALS)?;
        self.packed.pack(&self.literals);
        self.distances.build(distances, &DISTANCES)
    }
}

/// The order in which the lengths of the code for code lengths are stored.
const ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// The code for code lengths.
type LengthCode = Table<7, 256>;

/// Reads the code lengths of a block, and returns how many are those of literals and lengths, and of distances.
fn code_lengths(bits: &mut Bits<'_>, lengths: &mut [u8; 320]) -> Result<(usize, usize), Invalid> {
    let literals = bits.take(5) as usize + 257;
    let distances = bits.take(5) as usize + 1;
    let count = bits.take(4) as usize + 4;
    if literals > MOST_LITERALS || distances > MOST_DISTANCES {
        return Err(Invalid::CodeLengths);
    }
    let mut short = [0; 19];
    for at in &ORDER[..count] {
        short[*at] = bits.take(3) as u8;
    }
    let code = length_code(&short)?;
    let total = literals + distances;
    let mut at = 0;
    while at < total {
        let next = bits.peek();
        let entry = code.first(next);
        bits.skip(entry.bits());
        let symbol = entry.byte();
        let (value, times) = match symbol {
            16 => (
                at.checked_sub(1).map(|it| lengths[it]),
                3 + bits.take(2) as usize,
            ),
            17 => (Some(0), 3 + bits.take(3) as usize),
            18 => (Some(0), 11 + bits.take(7) as usize),
            length => (Some(length), 1),
        };
        let (Some(value), true) = (value, at + times <= total) else {
            return Err(Invalid::CodeLengths);
        };
        lengths[at..at + times].fill(value);
        at += times;
    }
    Ok((literals, distances))
}

/// The code for code lengths, which must be complete.
fn length_code(lengths: &[u8; 19]) -> Result<LengthCode, Invalid> {
    let room: u32 = lengths
        .iter()
        .filter(|it| **it > 0)
        .map(|it| 128 >> it)
        .sum();
    if room != 128 {
        return Err(Invalid::CodeLengths);
    }
    const SYMBOLS: [Entry; 19] = {
        let mut symbols = [Entry::INVALID; 19];
        let mut at = 0;
        while at < 19 {
            symbols[at] = Entry::literal(at as u8);
            at += 1;
        }
        symbols
    };
    let mut code = LengthCode::new();
    code.build(lengths, &SYMBOLS)?;
    Ok(code)
}

/// Literals, the end of the block, and lengths. Symbols 286 and 287 have codes, but never occur.
static LITERALS: [Entry; 288] = {
    let mut symbols = [Entry::INVALID; 288];
    let mut at = 0;
    while at < 256 {
        symbols[at] = Entry::literal(at as u8);
        at += 1;
    }
    symbols[256] = Entry::END;
    let (mut at, mut base) = (257, 3);
    while at < 285 {
        let extra = if at < 265 { 0 } else { (at - 261) as u32 / 4 };
        symbols[at] = Entry::range(base, extra);
        base += 1 << extra;
        at += 1;
    }
    symbols[285] = Entry::range(258, 0);
    symbols
};

/// Distances. Symbols 30 and 31 have codes, but never occur.
static DISTANCES: [Entry; 32] = {
    let mut symbols = [Entry::INVALID; 32];
    let (mut at, mut base) = (0, 1_u16);
    while at < 30 {
        let extra = if at < 4 { 0 } else { (at - 2) as u32 / 2 };
        symbols[at] = Entry::range(base, extra);
        base = base.wrapping_add(1 << extra);
        at += 1;
    }
    symbols
};
