//! Decompresses gzip members (RFC 1952) with Intel's ISA-L, the fastest decoder of one stream that there is.
//!
//! The crate exists so that the program itself needs no `unsafe`: all calls of the C library are in this file.

use std::fmt;
use std::mem::MaybeUninit;
use std::ptr;

use isal_sys::igzip_lib as isa_l;

/// One gzip member that is being decompressed, in pieces of any length.
pub struct Member {
    state: Box<isa_l::inflate_state>,
    header: isa_l::isal_gzip_header,
}

/// What one call of [`Member::inflate`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Bytes of the input that were used.
    pub consumed: usize,
    /// Bytes of the output that were written.
    pub produced: usize,
    /// Whether the member is complete and its checksum and length are right. The input goes on behind it.
    pub end: bool,
}

/// What is wrong with a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    /// It does not begin as a gzip member does, or has reserved flags or a wrong header checksum.
    Header,
    /// The compressed data cannot have been written by any compressor.
    Data,
    /// The data has another checksum or length than the end of the member says.
    Checksum,
}

impl fmt::Display for Invalid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Invalid::Header => "invalid gzip header",
            Invalid::Data => "invalid deflate data",
            Invalid::Checksum => "the gzip checksum does not match",
        })
    }
}

impl std::error::Error for Invalid {}

impl fmt::Debug for Member {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Member").finish_non_exhaustive()
    }
}

impl Default for Member {
    fn default() -> Self {
        let mut state = Box::<isa_l::inflate_state>::new_uninit();
        let mut header = MaybeUninit::<isa_l::isal_gzip_header>::zeroed();
        // SAFETY: both are plain C structures of integers, arrays of them and pointers, for which zeros are valid, and the
        // functions of the library only write to them.
        let (mut state, header) = unsafe {
            ptr::write_bytes(state.as_mut_ptr(), 0, 1);
            isa_l::isal_inflate_init(state.as_mut_ptr());
            isa_l::isal_gzip_header_init(header.as_mut_ptr());
            (state.assume_init(), header.assume_init())
        };
        // The header is read by `read_header`, which can go on in the middle of it; the end is verified by the library.
        state.crc_flag = isa_l::ISAL_GZIP_NO_HDR_VER;
        Member { state, header }
    }
}

impl Member {
    /// Decompresses from the front of `input` to the front of `output`, until one of them is used up or the member ends. When
    /// there is room in the output, all of the input is used; an empty input then tells whether output was held back.
    ///
    /// # Errors
    /// The member is damaged. Nothing can be decompressed after that.
    pub fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, Invalid> {
        let (given, room) = (clamp(input.len()), clamp(output.len()));
        // The library takes a mutable pointer and never writes through it.
        self.state.next_in = input.as_ptr().cast_mut();
        self.state.avail_in = given;
        self.state.next_out = output.as_mut_ptr();
        self.state.avail_out = room;
        if self.state.wrapper_flag != 0 || self.read_header()? {
            // SAFETY: `state` was initialised; its pointers and lengths are those of slices that live until the call returns,
            // and the library stays within them.
            check(unsafe { isa_l::isal_inflate(&mut *self.state) })?;
        }
        let step = Step {
            consumed: (given - self.state.avail_in) as usize,
            produced: (room - self.state.avail_out) as usize,
            end: self.state.block_state == isa_l::isal_block_state_ISAL_BLOCK_FINISH,
        };
        let stuck = step.consumed == 0 && step.produced == 0 && given > 0 && room > 0;
        if stuck && !step.end {
            return Err(Invalid::Data);
        }
        Ok(step)
    }

    /// Whether the header is complete.
    fn read_header(&mut self) -> Result<bool, Invalid> {
        // SAFETY: as for `isal_inflate`; the header has no buffers, so that its texts are passed over.
        let code = unsafe { isa_l::isal_read_gzip_header(&mut *self.state, &mut self.header) };
        match code {
            END_INPUT => Ok(false),
            // RFC 1952 forbids to read such a member, and the library reads it.
            OK if self.header.flags & RESERVED_FLAGS != 0 => Err(Invalid::Header),
            OK => Ok(true),
            _ => Err(Invalid::Header),
        }
    }
}

const OK: i32 = isa_l::ISAL_DECOMP_OK as i32;
const RESERVED_FLAGS: u32 = 0b1110_0000;
const END_INPUT: i32 = isa_l::ISAL_END_INPUT as i32;

fn check(code: i32) -> Result<(), Invalid> {
    match code {
        // Positive numbers ask for more input or output.
        OK.. => Ok(()),
        isa_l::ISAL_INCORRECT_CHECKSUM => Err(Invalid::Checksum),
        _ => Err(Invalid::Data),
    }
}

fn clamp(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
