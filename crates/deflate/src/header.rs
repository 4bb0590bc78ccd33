//! The header of a gzip member (RFC 1952, "Member format").

use crc32fast::Hasher;

use crate::error::Invalid;

const START: [u8; 3] = [0x1f, 0x8b, 8];
const HEADER_CHECKSUM: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// Reads a header, in pieces of any length.
pub struct Header {
    field: Field,
    flags: u8,
    /// The bytes of a field of fixed length so far.
    bytes: Vec<u8>,
    checksum: Hasher,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Fixed,
    ExtraLength,
    Extra { left: usize },
    Name,
    Comment,
    Checksum,
    End,
}

impl Header {
    /// Begins with the first byte.
    pub fn new() -> Self {
        Header {
            field: Field::Fixed,
            flags: 0,
            bytes: Vec::new(),
            checksum: Hasher::new(),
        }
    }

    /// Reads from the front of the input, and returns how many bytes belong to the header, and whether it is complete.
    ///
    /// # Errors
    /// It is invalid.
    pub fn read(&mut self, input: &[u8]) -> Result<(usize, bool), Invalid> {
        let mut rest = input;
        while self.field != Field::End {
            let (count, is_over) = match self.field {
                Field::Fixed => self.collect(rest, 10),
                Field::ExtraLength | Field::Checksum => self.collect(rest, 2),
                Field::Extra { left } => (left.min(rest.len()), left <= rest.len()),
                Field::Name | Field::Comment => match rest.iter().position(|byte| *byte == 0) {
                    Some(at) => (at + 1, true),
                    None => (rest.len(), false),
                },
                Field::End => (0, true),
            };
            let (used, behind) = rest.split_at(count);
            rest = behind;
            if self.field != Field::Checksum {
                self.checksum.update(used);
            }
            if self.field == Field::Fixed {
                self.check()?;
            }
            if !is_over {
                if let Field::Extra { left } = &mut self.field {
                    *left -= count;
                }
                break;
            }
            self.next_field()?;
            self.bytes.clear();
        }
        Ok((input.len() - rest.len(), self.field == Field::End))
    }

    fn collect(&mut self, input: &[u8], length: usize) -> (usize, bool) {
        let count = input.len().min(length - self.bytes.len());
        self.bytes.extend_from_slice(&input[..count]);
        (count, self.bytes.len() == length)
    }

    /// Checks the first bytes, as far as they are known.
    fn check(&self) -> Result<(), Invalid> {
        let mut known = self.bytes.iter().zip(START);
        let flags = self.bytes.get(3).copied().unwrap_or_default();
        match known.all(|(byte, expected)| *byte == expected) && flags & RESERVED == 0 {
            true => Ok(()),
            false => Err(Invalid::Header),
        }
    }

    /// Goes on to the next field that the flags announce.
    fn next_field(&mut self) -> Result<(), Invalid> {
        let number = match self.bytes[..] {
            [low, high] => u16::from_le_bytes([low, high]),
            _ => 0,
        };
        if self.field == Field::Fixed {
            self.flags = self.bytes[3];
        }
        if self.field == Field::Checksum && number != self.checksum.clone().finalize() as u16 {
            return Err(Invalid::Header);
        }
        let left = usize::from(number);
        let has = |flag| self.flags & flag != 0;
        self.field = match self.field {
            Field::Fixed if has(EXTRA) => Field::ExtraLength,
            Field::ExtraLength => Field::Extra { left },
            Field::Fixed | Field::Extra { .. } if has(NAME) => Field::Name,
            Field::Fixed | Field::Extra { .. } | Field::Name if has(COMMENT) => Field::Comment,
            Field::Checksum | Field::End => Field::End,
            _ if has(HEADER_CHECKSUM) => Field::Checksum,
            _ => Field::End,
        };
        Ok(())
    }
}
