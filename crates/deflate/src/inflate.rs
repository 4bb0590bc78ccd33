//! The blocks of a deflate stream (RFC 1951).

use crate::bits::{Bits, peek};
use crate::code::Entry;
use crate::codes::{Codes, Distances, Literals};
use crate::error::Invalid;
use crate::symbol::{CHUNK, Symbol, put, repeat};

/// The furthest that a copy reaches back.
pub const WINDOW: usize = 32 << 10;
/// The longest copy.
const LONGEST: usize = 258;
/// Room in the output for which no step of the fast loop needs a check.
const SLACK: usize = LONGEST + 2 * CHUNK;
/// Symbols of a block after which the codes are packed.
const SHORT: usize = 4 << 10;

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

/// Where the blocks are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Header,
    Stored { left: usize },
    Fixed,
    Dynamic,
    Ended,
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

/// Reads blocks, in pieces of any length.
pub struct Inflate {
    codes: Box<Codes>,
    place: Place,
    is_last: bool,
    /// Length and distance of a copy that the output had no room for.
    pending: Option<(usize, usize)>,
}

impl Inflate {
    /// Begins with the first block.
    pub fn new() -> Self {
        Inflate {
            codes: Box::new(Codes::new()),
            place: Place::Header,
            is_last: false,
            pending: None,
        }
    }

    /// Begins again with a first block.
    pub fn restart(&mut self) {
        self.place = Place::Header;
        self.is_last = false;
        self.pending = None;
    }

    /// Reads to the end of a block, or as far as input and output allow.
    ///
    /// # Errors
    /// The data is invalid.
    pub fn block<S: Symbol>(
        &mut self,
        input: &mut Input<'_>,
        output: &mut Output<'_, S>,
    ) -> Result<Stop, Invalid> {
        loop {
            let stop = match self.place {
                Place::Header => self.header(input)?,
                Place::Stored { left } => self.stored(input, output, left),
                Place::Fixed => coded(Codes::fixed(), &mut self.pending, input, output)?,
                Place::Dynamic => self.dynamic(input, output)?,
                Place::Ended => Some(Stop::End),
            };
            if let Some(stop) = stop {
                if stop == Stop::Block {
                    self.place = if self.is_last { Place::Ended } else { Place::Header };
                }
                return Ok(if stop == Stop::Block && self.is_last { Stop::End } else { stop });
            }
        }
    }

    /// Reads the header of a block, unless more input is needed for it.
    fn header(&mut self, input: &mut Input<'_>) -> Result<Option<Stop>, Invalid> {
        let mut bits = Bits::new(input.bytes, input.bit);
        let is_last = bits.take(1) == 1;
        let place = match bits.take(2) {
            0 => stored_length(&mut bits).map(|left| Place::Stored { left }),
            1 => Ok(Place::Fixed),
            2 => self.codes.read(&mut bits).map(|()| Place::Dynamic),
            _ => Err(Invalid::BlockType),
        };
        if bits.is_beyond_end() {
            return Ok(Some(Stop::Input));
        }
        self.place = place?;
        self.is_last = is_last;
        input.bit = bits.position();
        Ok(None)
    }

    fn stored<S: Symbol>(
        &mut self,
        input: &mut Input<'_>,
        output: &mut Output<'_, S>,
        left: usize,
    ) -> Option<Stop> {
        let from = input.bytes.get(input.bit / 8..).unwrap_or_default();
        let room = &mut output.symbols[output.at..];
        let count = left.min(from.len()).min(room.len());
        for (to, byte) in room.iter_mut().zip(&from[..count]) {
            *to = S::from_byte(*byte);
        }
        input.bit += count * 8;
        output.at += count;
        self.place = Place::Stored { left: left - count };
        match left - count {
            0 => Some(Stop::Block),
            _ if output.at == output.symbols.len() => Some(Stop::Output),
            _ => Some(Stop::Input),
        }
    }

    fn dynamic<S: Symbol>(
        &mut self,
        input: &mut Input<'_>,
        output: &mut Output<'_, S>,
    ) -> Result<Option<Stop>, Invalid> {
        if self.codes.is_packed || output.symbols.len() - output.at <= SHORT {
            return coded(&self.codes, &mut self.pending, input, output);
        }
        let mut short = Output {
            symbols: &mut output.symbols[..output.at + SHORT],
            ..*output
        };
        let stop = coded(&self.codes, &mut self.pending, input, &mut short);
        output.at = short.at;
        if stop == Ok(Some(Stop::Output)) {
            self.codes.pack();
            return Ok(None);
        }
        stop
    }
}

/// The length of a stored block, which begins at the next byte.
fn stored_length(bits: &mut Bits<'_>) -> Result<usize, Invalid> {
    bits.skip((8 - bits.position() as u32 % 8) % 8);
    let (length, complement) = (bits.take(16), bits.take(16));
    match length == complement ^ 0xffff {
        true => Ok(length as usize),
        false => Err(Invalid::StoredLength),
    }
}

/// Reads symbols to the end of the block, or as far as input and output allow.
fn coded<S: Symbol>(
    codes: &Codes,
    pending: &mut Option<(usize, usize)>,
    input: &mut Input<'_>,
    output: &mut Output<'_, S>,
) -> Result<Option<Stop>, Invalid> {
    if let Some((length, distance)) = pending.take() {
        *pending = output.copy(length, distance);
    }
    while pending.is_none() {
        fast(codes.fastest(), &codes.distances, input, output)?;
        match careful(codes, input, output)? {
            Step::Copy(length, distance) => *pending = output.copy(length, distance),
            Step::Literal => {}
            Step::Stop(stop) => return Ok(Some(stop)),
        }
    }
    Ok(Some(Stop::Output))
}

/// What one code says.
enum Step {
    Literal,
    Copy(usize, usize),
    Stop(Stop),
}

/// Reads one code, and the distance if it is a length. Nothing is consumed at a stop for more input or output.
fn careful<S: Symbol>(
    codes: &Codes,
    input: &mut Input<'_>,
    output: &mut Output<'_, S>,
) -> Result<Step, Invalid> {
    let bits = peek(input.bytes, input.bit);
    let left = (input.bytes.len() * 8).saturating_sub(input.bit);
    let (entry, mut used) = codes.literals.find(bits);
    let value = entry.value(bits >> used);
    used += entry.bits();
    if used as usize > left {
        return Ok(Step::Stop(Stop::Input));
    }
    if entry.is_end() {
        input.bit += used as usize;
        return Ok(Step::Stop(Stop::Block));
    }
    if entry.is_escape() {
        return Err(Invalid::Symbol);
    }
    let Some(room) = output.symbols.get_mut(output.at) else {
        return Ok(Step::Stop(Stop::Output));
    };
    if entry.is_literal() {
        *room = S::from_byte(entry.bytes() as u8);
        output.at += 1;
        input.bit += used as usize;
        return Ok(Step::Literal);
    }
    let (entry, before) = codes.distances.find(bits >> used);
    used += before;
    let distance = entry.value(bits >> used);
    used += entry.bits();
    if used as usize > left {
        return Ok(Step::Stop(Stop::Input));
    }
    if entry.is_escape() {
        return Err(Invalid::Symbol);
    }
    if distance > output.at + output.history.len() {
        return Err(Invalid::Distance);
    }
    input.bit += used as usize;
    Ok(Step::Copy(value, distance))
}

/// Reads codes as long as there are many bytes of input and output. It leaves the end of a block, and what is invalid, to [`careful`].
fn fast<S: Symbol>(
    literals: &Literals,
    distances: &Distances,
    input: &mut Input<'_>,
    output: &mut Output<'_, S>,
) -> Result<(), Invalid> {
    let (Some(last), Some(limit)) = (
        input.bytes.len().checked_sub(16),
        output.symbols.len().checked_sub(SLACK),
    ) else {
        return Ok(());
    };
    if input.bit / 8 > last {
        return Ok(());
    }
    let (symbols, history) = (&mut *output.symbols, output.history);
    let mut at = output.at;
    let mut reader = Reader::new(input);
    let (end, result) = loop {
        if at > limit || reader.next > last {
            break (reader.position(), Ok(()));
        }
        reader.refill();
        let mut entry = literals.first(reader.bits);
        if entry.is_literal() {
            put(symbols, at, u64::from(entry.bytes()));
            at += entry.literals();
            reader.consume(entry);
            entry = literals.first(reader.bits);
            if entry.is_literal() {
                put(symbols, at, u64::from(entry.bytes()));
                at += entry.literals();
                reader.consume(entry);
                entry = literals.first(reader.bits);
                if entry.is_literal() {
                    put(symbols, at, u64::from(entry.bytes()));
                    at += entry.literals();
                    reader.consume(entry);
                    continue;
                }
            }
        }
        let before = reader.position();
        if entry.is_escape() {
            if entry.is_longer() {
                reader.consume(entry);
                entry = literals.second(entry, reader.bits);
            }
            if entry.is_literal() {
                put(symbols, at, u64::from(entry.bytes()));
                at += 1;
                reader.consume(entry);
                continue;
            }
            if entry.is_escape() {
                break (before, Ok(()));
            }
        }
        let length = entry.value(reader.bits);
        reader.consume(entry);
        reader.refill();
        let mut entry = distances.first(reader.bits);
        if entry.is_escape() {
            if entry.is_longer() {
                reader.consume(entry);
                entry = distances.second(entry, reader.bits);
            }
            if entry.is_escape() {
                break (before, Ok(()));
            }
        }
        let distance = entry.value(reader.bits);
        reader.consume(entry);
        if distance <= at {
            repeat(symbols, at, distance, length);
        } else if distance - at <= history.len() {
            repeat_history(symbols, at, distance, length, history);
        } else {
            break (before, Err(Invalid::Distance));
        }
        at += length;
    };
    (input.bit, output.at) = (end, at);
    result
}

/// The bits that the fast loop reads.
struct Reader<'a> {
    bytes: &'a [u8],
    /// The byte that is loaded next.
    next: usize,
    bits: u64,
    /// How many of them are valid, in the lowest 6 bits. More may be loaded, and will be again.
    count: u32,
}

impl<'a> Reader<'a> {
    #[inline(always)]
    fn new(input: &Input<'a>) -> Self {
        let mut reader = Reader {
            bytes: input.bytes,
            next: input.bit / 8,
            bits: 0,
            count: 0,
        };
        reader.refill();
        let skipped = (input.bit % 8) as u32;
        reader.bits >>= skipped;
        reader.count = reader.count.saturating_sub(skipped);
        reader
    }

    /// Loads bytes until there are at least 56 bits, or nothing at the end of the input.
    #[inline(always)]
    fn refill(&mut self) {
        let rest = self.bytes.get(self.next..).unwrap_or_default();
        if let Some(word) = rest.first_chunk::<8>() {
            self.bits |= u64::from_le_bytes(*word) << (self.count & 63);
            self.next += 7 - (self.count as usize >> 3 & 7);
            self.count |= 56;
        }
    }

    #[inline(always)]
    fn consume(&mut self, entry: Entry) {
        self.bits >>= entry.bits();
        // The higher bits do not matter.
        self.count = self.count.wrapping_sub(entry.number());
    }

    #[inline(always)]
    fn position(&self) -> usize {
        self.next * 8 - (self.count & 63) as usize
    }
}

impl<S: Symbol> Output<'_, S> {
    /// Copies as much as there is room for, and returns what is left of it. The distance is within the history.
    fn copy(&mut self, length: usize, distance: usize) -> Option<(usize, usize)> {
        let count = length.min(self.symbols.len() - self.at);
        repeat_history(self.symbols, self.at, distance, count, self.history);
        self.at += count;
        (count < length).then_some((length - count, distance))
    }
}

/// Copies `length` symbols from `distance` before `at`, where that can be before the output.
#[inline(never)]
fn repeat_history<S: Symbol>(
    output: &mut [S],
    at: usize,
    distance: usize,
    length: usize,
    history: &[S],
) {
    let before = distance.saturating_sub(at);
    let from = history.len() - before;
    let count = before.min(length);
    output[at..at + count].copy_from_slice(&history[from..from + count]);
    for at in at + count..at + length {
        output[at] = output[at - distance];
    }
}
