//! What is read and written, as far as it is there.

/// The furthest that a copy reaches back.
pub const WINDOW: usize = 32 << 10;

/// Why the blocks are not read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// More input is needed.
    Input,
    /// The output is full.
    Output,
    /// A block ended, and another follows.
    Block,
    /// The last block ended.
    End,
}

/// The input, and what was read of it.
pub struct Input<'a> {
    /// The bytes. A stop for more input comes at most 600 bytes before their end.
    pub bytes: &'a [u8],
    /// The position of the next bit.
    pub bit: usize,
}

/// The output, what was written to it, and what is before it.
pub struct Output<'a, S> {
    /// The symbols.
    pub symbols: &'a mut [S],
    /// How many are written.
    pub at: usize,
    /// What was written before them, as far as a copy can reach.
    pub history: &'a [S],
}
