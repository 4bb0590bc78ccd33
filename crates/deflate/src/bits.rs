//! Bits of a byte slice, the least significant bit of a byte first (RFC 1951, "Packing into bytes").

/// The bits from position `bit` on: at least 57 of them, with zeros behind the end of the input.
#[inline]
pub fn peek(input: &[u8], bit: usize) -> u64 {
    let rest = input.get(bit / 8..).unwrap_or_default();
    let word = match rest.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(word)
        }
    };
    word >> (bit % 8)
}

/// The lowest `count` bits, at most 63.
#[inline(always)]
pub fn low(bits: u64, count: u32) -> u64 {
    bits & ((1 << (count & 63)) - 1)
}

/// Reads bits one field after the other. Behind the end of the input there are zeros; the caller compares [`Bits::position`] with the
/// length of the input.
#[derive(Clone, Copy)]
pub struct Bits<'a> {
    input: &'a [u8],
    position: usize,
}

impl<'a> Bits<'a> {
    /// Reads from the bit `position` on.
    pub fn new(input: &'a [u8], position: usize) -> Self {
        Bits { input, position }
    }

    /// The next `count` bits, at most 57, as a number.
    pub fn take(&mut self, count: u32) -> u64 {
        let field = low(peek(self.input, self.position), count);
        self.position += count as usize;
        field
    }

    /// At least 57 of the next bits, which are not yet read.
    pub fn peek(&self) -> u64 {
        peek(self.input, self.position)
    }

    /// Passes over bits.
    pub fn skip(&mut self, count: u32) {
        self.position += count as usize;
    }

    /// The position of the next bit.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Whether bits behind the end of the input were read.
    pub fn is_beyond_end(&self) -> bool {
        self.position > self.input.len() * 8
    }
}
