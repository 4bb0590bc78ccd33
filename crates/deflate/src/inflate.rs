//! The blocks of a deflate stream (RFC 1951).

use crate::bits::Bits;
use crate::coded::coded;
use crate::codes::Codes;
use crate::error::Invalid;
use crate::stream::{Input, Output, Stop};
use crate::symbol::Symbol;

/// Where the blocks are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Header,
    Stored { left: usize },
    Fixed,
    Dynamic,
    Ended,
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
                Place::Dynamic => coded(&self.codes, &mut self.pending, input, output)?,
                Place::Ended => Some(Stop::End),
            };
            if let Some(stop) = stop {
                if stop == Stop::Block {
                    self.place = if self.is_last {
                        Place::Ended
                    } else {
                        Place::Header
                    };
                }
                return Ok(if stop == Stop::Block && self.is_last {
                    Stop::End
                } else {
                    stop
                });
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
