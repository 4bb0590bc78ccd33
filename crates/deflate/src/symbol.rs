//! What is decompressed to: bytes, or symbols that can be bytes of an unknown window.

/// Symbols that one step copies.
pub const CHUNK: usize = 16;

/// A byte, or in 16 bits a byte or a place in the window before the output.
pub trait Symbol: Copy + Default + PartialEq + 'static {
    /// The bytes in a number, the lowest first.
    fn unpack(bytes: u64) -> [Self; 8];

    /// A byte.
    fn from_byte(byte: u8) -> Self;
}

impl Symbol for u8 {
    #[inline(always)]
    fn unpack(bytes: u64) -> [u8; 8] {
        bytes.to_le_bytes()
    }

    #[inline(always)]
    fn from_byte(byte: u8) -> u8 {
        byte
    }
}

impl Symbol for u16 {
    #[inline(always)]
    fn unpack(bytes: u64) -> [u16; 8] {
        let [a, b, c, d, e, f, g, h] = bytes.to_le_bytes();
        [
            a.into(),
            b.into(),
            c.into(),
            d.into(),
            e.into(),
            f.into(),
            g.into(),
            h.into(),
        ]
    }

    #[inline(always)]
    fn from_byte(byte: u8) -> u16 {
        byte.into()
    }
}

/// Writes 8 symbols, for which the caller has checked that there is room.
#[inline(always)]
pub fn put<S: Symbol>(output: &mut [S], at: usize, bytes: u64) {
    if let Some(room) = output[at..].first_chunk_mut() {
        *room = S::unpack(bytes);
    }
}

/// Copies `length` symbols from `distance` before `at`. It writes up to two chunks more than that, for which the caller has checked
/// that there is room.
#[inline(always)]
pub fn repeat<S: Symbol>(output: &mut [S], at: usize, distance: usize, length: usize) {
    let end = at + length;
    let (mut from, mut to) = (at - distance, at);
    if distance < CHUNK {
        if distance == 1 {
            let symbol = output[from];
            return output[at..end].fill(symbol);
        }
        for step in 0..CHUNK {
            output[to + step] = output[from + step];
        }
        to += CHUNK;
        // A multiple of the distance, so that a whole chunk can be copied.
        from = to - CHUNK.div_ceil(distance) * distance;
        if to >= end {
            return;
        }
    }
    while let Some(chunk) = output[from..].first_chunk::<CHUNK>().copied() {
        if let Some(room) = output[to..].first_chunk_mut() {
            *room = chunk;
        }
        from += CHUNK;
        to += CHUNK;
        if to >= end {
            return;
        }
    }
}
