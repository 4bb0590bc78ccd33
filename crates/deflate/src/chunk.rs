//! A part of the input that is decompressed before what comes before it is known, as in pugz (Kerbiriou and Chikhi, "Parallel decompression
//! of gzip-compressed files and random access to DNA sequences", 2019): bytes that are copied from the unknown window are written as their
//! places in it, until the last 32 KiB have none.

use crate::checksum::Checksum;
use crate::error::Invalid;
use crate::find;
use crate::inflate::Inflate;
use crate::stream::{Input, Output, Stop, WINDOW};

/// How much is read, and decompressed, at a time.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Bytes of input of a chunk.
    pub input: usize,
    /// Bytes behind a chunk that it is read with, to the end of the block at its end. At least 1024, and at most as many as a chunk has.
    pub overlap: usize,
    /// Most bytes of output of a chunk. What is longer is decompressed in order, and not slowly: most of it is copies.
    pub output: usize,
    /// How many of them may be symbols, which take three times as much memory. Rarely do copies from the window go on for longer.
    pub symbols: usize,
}

/// At most 7.4 MB a chunk. Shorter chunks take more processor time: each begins with a search for a block, and with symbols.
impl Default for Sizes {
    fn default() -> Self {
        Sizes {
            input: 1 << 20,
            overlap: 192 << 10,
            output: 3 << 20,
            symbols: 3 << 19,
        }
    }
}

/// Symbols that are decompressed in about the time that the header of a block takes.
const TRIAL: usize = 256;

/// The symbols of an unknown window: numbers that no byte is.
static UNKNOWN: [u16; WINDOW] = {
    let mut symbols = [0; WINDOW];
    let mut at = 0;
    while at < WINDOW {
        symbols[at] = 256 + at as u16;
        at += 1;
    }
    symbols
};

/// A chunk, and buffers that are used again for another.
pub struct Chunk {
    /// Its input, with the overlap.
    pub input: Vec<u8>,
    /// The first byte of the input, in all of it.
    pub offset: u64,
    /// Whether nothing follows the input.
    pub is_last: bool,
    /// What was decompressed, if a block was found.
    pub found: Option<Found>,
    /// The output. Of the part that is in symbols, only the last 32 KiB are in `plain`, too, before [`Chunk::resolve`].
    symbols: Vec<u16>,
    plain: Vec<u8>,
    /// The byte of every symbol.
    bytes: Vec<u8>,
}

/// Blocks that follow each other.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// The bits of the input where they begin and end.
    pub start: usize,
    pub end: usize,
    /// Whether the last block is the last one of a member.
    pub is_end: bool,
    /// How many bytes were written as symbols, and in all.
    marked: usize,
    length: usize,
}

impl Chunk {
    /// Buffers for a chunk.
    pub fn new(sizes: Sizes) -> Self {
        Chunk {
            input: Vec::new(),
            offset: 0,
            is_last: false,
            found: None,
            symbols: vec![0; sizes.symbols.min(sizes.output)],
            plain: vec![0; sizes.output],
            bytes: vec![0; 1 << 16],
        }
    }

    /// Decompresses from the first block on to the first end of a block behind the chunk, or as far as there is room.
    pub fn decompress(&mut self, inflate: &mut Inflate, sizes: Sizes) {
        let until = sizes.input.min(self.input.len()) * 8;
        let (mut from, mut left) = (0, sizes.output);
        self.found = None;
        while let Some(start) = find::block(&self.input, from, until) {
            let mut written = 0;
            self.found = self
                .blocks(inflate, start, until, &mut written)
                .ok()
                .flatten();
            // The trials, too, take only so much time, whatever the input makes of them.
            left = left.saturating_sub(written + TRIAL);
            if self.found.is_some() || left == 0 {
                return;
            }
            from = start + 1;
        }
    }

    /// Decompresses from this bit on. `None` if there was no room for one block; what was written is counted.
    fn blocks(
        &mut self,
        inflate: &mut Inflate,
        start: usize,
        until: usize,
        written: &mut usize,
    ) -> Result<Option<Found>, Invalid> {
        inflate.restart();
        let mut input = Input {
            bytes: &self.input,
            bit: start,
        };
        let mut found = None;
        let mut ended = |input: &Input<'_>, stop, marked, length| {
            let is_last = stop == Stop::End;
            if stop == Stop::Block || is_last {
                found = Some(Found {
                    start,
                    end: input.bit,
                    is_end: is_last,
                    marked,
                    length,
                });
            }
            is_last || stop == Stop::Input || input.bit >= until
        };
        let most = self.symbols.len();
        let (mut room, mut at) = (WINDOW.min(most), 0);
        let marked = loop {
            let mut output = Output {
                symbols: &mut self.symbols[..room],
                at,
                history: &UNKNOWN,
            };
            let stop = inflate.block(&mut input, &mut output);
            (at, *written) = (output.at, output.at);
            let stop = stop?;
            if ended(&input, stop, at, at) {
                return Ok(found);
            }
            if stop != Stop::Output {
                continue;
            }
            if let Some(window) = last_window(&self.symbols[..at]) {
                let places = self.plain[at - WINDOW..at].iter_mut();
                places
                    .zip(window)
                    .for_each(|(to, symbol)| *to = *symbol as u8);
                break at;
            }
            if room == most {
                return Ok(found);
            }
            room = most.min(room + WINDOW);
        };
        let mut plain = Output {
            symbols: &mut self.plain,
            at: marked,
            history: &[],
        };
        loop {
            let stop = inflate.block(&mut input, &mut plain);
            *written = plain.at;
            let stop = stop?;
            if ended(&input, stop, marked, plain.at) || stop == Stop::Output {
                return Ok(found);
            }
        }
    }

    /// Says what was in the window before the chunk, and returns the end of its output, as much as a window has.
    pub fn know(&mut self, found: &Found, window: &[u8]) -> Vec<u8> {
        self.bytes.clear();
        self.bytes.extend(0..=u8::MAX);
        self.bytes.extend_from_slice(window);
        self.bytes.resize(1 << 16, 0);
        let start = found.length.saturating_sub(WINDOW);
        let marked = self.symbols[start.min(found.marked)..found.marked].iter();
        let mut end: Vec<u8> = marked.map(|it| self.bytes[usize::from(*it)]).collect();
        end.extend_from_slice(&self.plain[start.max(found.marked)..found.length]);
        end
    }

    /// Puts bytes in the place of symbols, and returns the checksum of the output.
    pub fn resolve(&mut self) -> Checksum {
        let marked = self.found.map_or(0, |found| found.marked);
        if let Some(bytes) = self.bytes.first_chunk::<{ 1 << 16 }>() {
            let places = self.plain[..marked].iter_mut().zip(&self.symbols);
            places.for_each(|(to, symbol)| *to = bytes[usize::from(*symbol)]);
        }
        let mut checksum = Checksum::default();
        checksum.update(self.output());
        checksum
    }

    /// The output.
    pub fn output(&self) -> &[u8] {
        &self.plain[..self.found.map_or(0, |found| found.length)]
    }
}

/// The last symbols, as many as a window has, if all of them are bytes.
fn last_window(symbols: &[u16]) -> Option<&[u16]> {
    let window = symbols.last_chunk::<WINDOW>()?;
    (window.iter().fold(0, |all, symbol| all | symbol) < 256).then_some(window)
}
