//! The codes of a block (RFC 1951, "Compressed blocks"): a fast loop, and a careful one where input or output end.

use crate::bits::peek;
use crate::codes::Codes;
use crate::error::Invalid;
use crate::packed::{Packed, Symbols};
use crate::stream::{Input, Output, Stop};
use crate::symbol::{CHUNK, Symbol, put, repeat};

/// The longest copy.
const LONGEST: usize = 258;
/// Room in the output for which no step of the fast loop needs a check.
const SLACK: usize = LONGEST + 2 * CHUNK;

/// Reads symbols to the end of the block, or as far as input and output allow.
pub fn coded<S: Symbol>(
    codes: &Codes,
    pending: &mut Option<(usize, usize)>,
    input: &mut Input<'_>,
    output: &mut Output<'_, S>,
) -> Result<Option<Stop>, Invalid> {
    if let Some((length, distance)) = pending.take() {
        *pending = output.copy(length, distance);
    }
    while pending.is_none() {
        fast(codes, input, output)?;
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
        *room = S::from_byte(entry.byte());
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
    codes: &Codes,
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
    let (literals, distances) = (&codes.literals, &codes.distances);
    let (symbols, history) = (&mut *output.symbols, output.history);
    let mut at = output.at;
    let mut reader = Reader::new(input);
    let (end, result) = loop {
        if at > limit || reader.next > last {
            break (reader.position(), Ok(()));
        }
        reader.refill();
        let mut found = reader.literals(&codes.packed, symbols, &mut at);
        if found.is_only_literals() {
            found = reader.literals(&codes.packed, symbols, &mut at);
            if found.is_only_literals() {
                found = reader.literals(&codes.packed, symbols, &mut at);
                if found.is_only_literals() {
                    continue;
                }
            }
        }
        let (length, mut used) = if found.has_length() {
            (found.length(), found.bits())
        } else {
            let mut used = 0;
            let mut entry = literals.first(reader.bits);
            if entry.is_escape() {
                if entry.is_longer() {
                    used = entry.bits();
                    reader.consume(entry.number());
                    entry = literals.second(entry, reader.bits);
                }
                if entry.is_escape() {
                    break (reader.position() - used as usize, Ok(()));
                }
            }
            if entry.is_literal() {
                put(symbols, at, u64::from(entry.byte()));
                at += 1;
                reader.consume(entry.number());
                continue;
            }
            let length = entry.value(reader.bits);
            reader.consume(entry.number());
            (length, used + entry.bits())
        };
        reader.refill();
        let mut entry = distances.first(reader.bits);
        if entry.is_escape() {
            if entry.is_longer() {
                used += entry.bits();
                reader.consume(entry.number());
                entry = distances.second(entry, reader.bits);
            }
            if entry.is_escape() {
                at -= found.literals();
                break (reader.position() - used as usize, Ok(()));
            }
        }
        let distance = entry.value(reader.bits);
        reader.consume(entry.number());
        if distance <= at {
            repeat(symbols, at, distance, length);
        } else if distance - at <= history.len() {
            repeat_history(symbols, at, distance, length, history);
        } else {
            break (reader.position(), Err(Invalid::Distance));
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

    /// Reads up to two literals, which it writes, and the length behind them.
    #[inline(always)]
    fn literals<S: Symbol>(
        &mut self,
        packed: &Packed,
        symbols: &mut [S],
        at: &mut usize,
    ) -> Symbols {
        let found = packed.find(self.bits);
        put(symbols, *at, u64::from(found.bytes()));
        *at += found.literals();
        self.consume(found.number());
        found
    }

    #[inline(always)]
    fn consume(&mut self, entry: u32) {
        self.bits >>= entry & 63;
        // The higher bits do not matter.
        self.count = self.count.wrapping_sub(entry);
    }

    #[inline(always)]
    fn position(&self) -> usize {
        self.next * 8 - (self.count & 63) as usize
    }
}

impl<S: Symbol> Output<'_, S> {
    /// Copies as much as fits, and returns the rest. The distance is within the history.
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
