//! The members of a gzip file in order (RFC 1952), with zeros allowed after the last one, as gzip itself reads it.

use std::io;

use crate::error::Invalid;
use crate::header::Header;
use crate::inflate::Inflate;
use crate::stream::{Input, Output, Stop, WINDOW};

/// The first byte of a member.
const MAGIC: u8 = 0x1f;

/// Reads members, in pieces of any length.
pub struct Members {
    place: Place,
    inflate: Inflate,
    /// What was written last of this member, at most a window.
    window: Vec<u8>,
}

enum Place {
    Header(Box<Header>),
    Blocks,
    Trailer,
    /// Behind a member.
    Behind,
    Padding,
}

/// Why [`Members::read`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// More input is needed.
    Input,
    /// The output is full.
    Output,
    /// A block ended at or behind the bit that was asked for.
    Block,
    /// A member ended, with this checksum and length.
    Member([u8; 8]),
    /// Everything was read.
    End,
}

impl Members {
    /// Begins with the first member.
    pub fn new() -> Self {
        Members {
            place: Place::Header(Box::new(Header::new())),
            inflate: Inflate::new(),
            window: Vec::with_capacity(WINDOW),
        }
    }

    /// Reads until input or output are used up, or to the first end of a block at bit `until` or behind it, and returns how much was
    /// written. `is_last` says that nothing follows the input.
    ///
    /// # Errors
    /// The data is invalid or, where nothing follows the input, truncated.
    pub fn read(
        &mut self,
        input: &mut Input<'_>,
        is_last: bool,
        until: usize,
        plain: &mut [u8],
    ) -> io::Result<(usize, Reason)> {
        let mut written = 0;
        let reason = loop {
            let rest = input.bytes.get(input.bit.div_ceil(8)..);
            let rest = rest.unwrap_or_default();
            match &mut self.place {
                Place::Header(header) => {
                    let (count, is_complete) = header.read(rest)?;
                    input.bit += count * 8;
                    if !is_complete {
                        break Reason::Input;
                    }
                    self.begin();
                }
                Place::Blocks => {
                    let (count, stop) = self.blocks(input, until, &mut plain[written..])?;
                    written += count;
                    match stop {
                        Stop::Input => break Reason::Input,
                        Stop::Output => break Reason::Output,
                        Stop::Block => break Reason::Block,
                        Stop::End => self.place = Place::Trailer,
                    }
                }
                Place::Trailer => match rest.first_chunk::<8>() {
                    None => break Reason::Input,
                    Some(trailer) => {
                        input.bit = input.bit.next_multiple_of(8) + 64;
                        self.place = Place::Behind;
                        break Reason::Member(*trailer);
                    }
                },
                Place::Behind => match rest.first() {
                    None => break if is_last { Reason::End } else { Reason::Input },
                    Some(&MAGIC) => self.place = Place::Header(Box::new(Header::new())),
                    Some(_) => self.place = Place::Padding,
                },
                Place::Padding => {
                    if rest.iter().any(|byte| *byte != 0) {
                        return Err(Invalid::Trailing.into());
                    }
                    input.bit = input.bytes.len() * 8;
                    break if is_last { Reason::End } else { Reason::Input };
                }
            }
        };
        match reason == Reason::Input && is_last {
            true if written == 0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok((written, reason)),
        }
    }

    /// Begins with the blocks of a member.
    fn begin(&mut self) {
        self.place = Place::Blocks;
        self.inflate.restart();
        self.window.clear();
    }

    /// What was written last of this member: a copy reaches no further back.
    pub fn window(&self) -> &[u8] {
        &self.window
    }

    /// Passes over blocks that were read elsewhere: `plain` is the end of what they have, and `is_end` whether the last one is among
    /// them.
    pub fn pass_over(&mut self, plain: &[u8], is_end: bool) {
        slide(&mut self.window, plain);
        if is_end {
            self.place = Place::Trailer;
        }
    }

    /// Reads blocks as [`Members::read`] does.
    fn blocks(
        &mut self,
        input: &mut Input<'_>,
        until: usize,
        plain: &mut [u8],
    ) -> Result<(usize, Stop), Invalid> {
        let mut output = Output {
            symbols: plain,
            at: 0,
            history: &self.window,
        };
        let stop = loop {
            let stop = self.inflate.block(input, &mut output)?;
            if stop != Stop::Block || input.bit >= until {
                break stop;
            }
        };
        let written = output.at;
        slide(&mut self.window, &plain[..written]);
        Ok((written, stop))
    }
}

/// Adds bytes to a window, which keeps the last ones.
fn slide(window: &mut Vec<u8>, bytes: &[u8]) {
    let bytes = &bytes[bytes.len().saturating_sub(WINDOW)..];
    let kept = window.len().min(WINDOW - bytes.len());
    window.drain(..window.len() - kept);
    window.extend_from_slice(bytes);
}
