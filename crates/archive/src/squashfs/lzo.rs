//! LZO1X (Linux kernel, `Documentation/staging/lzo.rst`), in which enroot compresses the tables of an image by default.

use std::io::{self, ErrorKind};

/// Decompresses one block of at most `most` bytes.
///
/// # Errors
/// The block is damaged, or longer.
pub(super) fn decompress(block: &[u8], most: usize) -> io::Result<Vec<u8>> {
    let mut decoder = Decoder {
        input: block,
        output: Vec::new(),
        most,
    };
    decoder.run().ok_or_else(|| {
        io::Error::new(
            ErrorKind::InvalidData,
            "a block compressed with LZO is damaged",
        )
    })?;
    Ok(decoder.output)
}

/// Every step returns `None` if the input or the output ends too early, or a copy begins before the output.
struct Decoder<'a> {
    input: &'a [u8],
    output: Vec<u8>,
    most: usize,
}

impl Decoder<'_> {
    fn run(&mut self) -> Option<()> {
        // How many literals followed the last instruction, up to 4: it decides what small instructions mean.
        let mut state = 0;
        if let Some(count) = self
            .input
            .first()?
            .checked_sub(17)
            .filter(|count| *count > 0)
        {
            self.byte()?;
            self.literals(usize::from(count))?;
            state = usize::from(count).min(4);
        }
        loop {
            let instruction = usize::from(self.byte()?);
            let (length, distance, next) = match instruction {
                0..16 if state == 0 => {
                    let length = self.length(instruction, 15)?.checked_add(3)?;
                    self.literals(length)?;
                    state = 4;
                    continue;
                }
                0..16 => {
                    let far = usize::from(self.byte()?) << 2 | instruction >> 2;
                    match state {
                        4 => (3, far + 2049, instruction & 3),
                        _ => (2, far + 1, instruction & 3),
                    }
                }
                16..32 => {
                    let length = self.length(instruction & 7, 7)?.checked_add(2)?;
                    let (distance, next) = self.distance()?;
                    let distance = 16_384 + ((instruction & 8) << 11) + distance;
                    if distance == 16_384 {
                        return Some(());
                    }
                    (length, distance, next)
                }
                32..64 => {
                    let length = self.length(instruction & 31, 31)?.checked_add(2)?;
                    let (distance, next) = self.distance()?;
                    (length, distance + 1, next)
                }
                _ => {
                    let far = usize::from(self.byte()?) << 3;
                    let length = match instruction {
                        64..128 => 3 + (instruction >> 5 & 1),
                        _ => 5 + (instruction >> 5 & 3),
                    };
                    (length, far + (instruction >> 2 & 7) + 1, instruction & 3)
                }
            };
            self.copy(length, distance)?;
            self.literals(next)?;
            state = next;
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.input.split_first()?;
        self.input = rest;
        Some(*first)
    }

    /// A length whose bits are `bits`; if they are zero, each further zero byte counts 255, and the last byte itself.
    fn length(&mut self, bits: usize, most: usize) -> Option<usize> {
        if bits > 0 {
            return Some(bits);
        }
        let mut length = most;
        loop {
            match self.byte()? {
                0 => length = length.checked_add(255)?,
                last => return length.checked_add(usize::from(last)),
            }
        }
    }

    /// Fourteen bits of a distance, and the literals that follow.
    fn distance(&mut self) -> Option<(usize, usize)> {
        let low = usize::from(self.byte()?);
        let value = usize::from(self.byte()?) << 8 | low;
        Some((value >> 2, value & 3))
    }

    fn literals(&mut self, count: usize) -> Option<()> {
        let (literals, rest) = self.input.split_at_checked(count)?;
        self.has_room(count)?;
        self.output.extend_from_slice(literals);
        self.input = rest;
        Some(())
    }

    fn copy(&mut self, length: usize, distance: usize) -> Option<()> {
        let start = self.output.len().checked_sub(distance)?;
        self.has_room(length)?;
        // The copy may read what it has just written.
        for at in start..start + length {
            let byte = self.output[at];
            self.output.push(byte);
        }
        Some(())
    }

    fn has_room(&self, count: usize) -> Option<()> {
        (count <= self.most - self.output.len()).then_some(())
    }
}
