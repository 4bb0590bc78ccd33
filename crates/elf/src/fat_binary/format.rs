//! The headers of a fat binary, as written by `fatbinary` of the CUDA toolkit. The format is undocumented; its fields were established
//! with the tools of CUDA 13.5 (testdata/fatbin).
//!
//! ```text
//! container  +0 u32 BA55ED50  +4 u16 version 1  +6 u16 header size  +8 u64 bytes of entries
//! entry      +0 u16 kind  +2 u16 version 0x0101  +4 u32 header size  +8 u64 payload size
//!            +16 u32 compressed size  +20 u32 offset of further header data  +24 u16 minor  +26 u16 major  +28 u32 SM
//!            +40 u64 flags  +56 u64 uncompressed size
//! ```

use std::fmt;

/// The sections with nothing but containers.
pub(super) const SECTIONS: [&str; 2] = [".nv_fatbin", "__nv_relfatbin"];
/// The first bytes of a container.
pub(crate) const MAGIC: [u8; 4] = [0x50, 0xed, 0x55, 0xba];
/// Containers start at multiples of this.
pub(crate) const ALIGNMENT: u64 = 8;
/// How many bytes of a container header are used.
pub(crate) const CONTAINER_HEADER: usize = 16;
/// How many bytes of an entry header all entries have.
pub(crate) const ENTRY_HEADER: usize = 48;
/// Longest headers that are plausible, in bytes.
const MAX_CONTAINER_HEADER: u64 = 256;
const MAX_ENTRY_HEADER: u64 = 4096;
/// The version of an entry.
const ENTRY_VERSION: u16 = 0x0101;
/// Size of the headers within a concatenated entry.
const SUB_HEADER: usize = 64;
/// Flags that make an architecture specific (`sm_90a`) or of a family (`sm_100f`).
const FLAG_SPECIFIC: u64 = 0x10_0000;
const FLAG_FAMILY: u64 = 0x20_0000;

/// The type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EntryKind {
    /// PTX.
    Ptx,
    /// A cubin: SASS.
    Cubin,
    /// LTO-IR.
    LtoIr,
    /// `fatbinary --concat`: several entries compressed together.
    Concatenated,
    /// Another type.
    Other(u16),
}

impl EntryKind {
    fn new(code: u16) -> Self {
        match code {
            1 => EntryKind::Ptx,
            2 => EntryKind::Cubin,
            8 => EntryKind::LtoIr,
            0x100 => EntryKind::Concatenated,
            other => EntryKind::Other(other),
        }
    }

    /// The name of code for an architecture: `sm_90a`; `None` for a kind without one.
    pub fn name_of(self, architecture: Architecture) -> Option<String> {
        match self {
            EntryKind::Cubin => Some(format!("sm_{architecture}")),
            EntryKind::Ptx => Some(format!("compute_{architecture}")),
            EntryKind::LtoIr => Some(format!("lto_{architecture}")),
            EntryKind::Concatenated | EntryKind::Other(_) => None,
        }
    }
}

/// An architecture, as in `90a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Architecture {
    number: u32,
    suffix: Option<char>,
}

impl Architecture {
    /// Reads the architecture in the header of an entry.
    fn parse(header: &[u8]) -> Option<Self> {
        let flags = double(header, 40)?;
        Some(Architecture {
            number: word(header, 28)?,
            suffix: match flags {
                flags if flags & FLAG_SPECIFIC != 0 => Some('a'),
                flags if flags & FLAG_FAMILY != 0 => Some('f'),
                _ => None,
            },
        })
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.number)?;
        self.suffix
            .map_or(Ok(()), |suffix| write!(formatter, "{suffix}"))
    }
}

/// One piece of GPU code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Code {
    pub kind: EntryKind,
    pub architecture: Architecture,
    /// Version of the PTX instruction set, `(8, 7)`; `None` for other entries and for those of a concatenated entry.
    pub isa: Option<(u16, u16)>,
}

impl Code {
    /// As [`EntryKind::name_of`].
    pub fn name(&self) -> Option<String> {
        self.kind.name_of(self.architecture)
    }
}

/// A container header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Container {
    /// Length of the header in bytes.
    pub header: u64,
    /// Length of the entries after it in bytes.
    pub length: u64,
}

impl Container {
    /// Reads a header; `None` if it is invalid.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let container = Container {
            header: u64::from(half(bytes, 6)?),
            length: double(bytes, 8)?,
        };
        let is_valid = bytes.starts_with(&MAGIC)
            && half(bytes, 4)? == 1
            && (CONTAINER_HEADER as u64..=MAX_CONTAINER_HEADER).contains(&container.header);
        is_valid.then_some(container)
    }

    /// Length of header and entries in bytes.
    pub fn size(&self) -> u64 {
        self.header.saturating_add(self.length)
    }
}

/// An entry header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub code: Code,
    /// Length of the header in bytes.
    pub header: u64,
    /// Length of the payload after it in bytes.
    pub payload: u64,
    /// Offset of further data in the header.
    further: u32,
}

impl Entry {
    /// Reads the header of an entry from its first [`ENTRY_HEADER`] bytes, with `left` bytes to the end of the container; `None` if it
    /// is invalid.
    pub fn parse(bytes: &[u8], left: u64) -> Option<Self> {
        let kind = EntryKind::new(half(bytes, 0)?);
        let version = (half(bytes, 26)?, half(bytes, 24)?);
        let entry = Entry {
            code: Code {
                kind,
                architecture: Architecture::parse(bytes)?,
                isa: (kind == EntryKind::Ptx && version.0 > 0).then_some(version),
            },
            header: u64::from(word(bytes, 4)?),
            payload: double(bytes, 8)?,
            further: word(bytes, 20)?,
        };
        let is_valid = half(bytes, 2)? == ENTRY_VERSION
            && (ENTRY_HEADER as u64..=MAX_ENTRY_HEADER).contains(&entry.header)
            && entry.header.checked_add(entry.payload)? <= left;
        is_valid.then_some(entry)
    }

    /// Bytes of header and payload.
    pub fn size(&self) -> u64 {
        self.header.saturating_add(self.payload)
    }

    /// The entries in a concatenated one, from its whole header; `None` if there are fewer than it claims.
    pub fn concatenated(&self, header: &[u8]) -> Option<Vec<Code>> {
        let start = (self.further as usize).max(SUB_HEADER);
        let count = word(header, start)? as usize;
        let mut found = Vec::new();
        let mut at = start + 8;
        while found.len() < count {
            let sub = header.get(at..at.checked_add(SUB_HEADER)?)?;
            let kind = EntryKind::new(half(sub, 0)?);
            let known = matches!(
                kind,
                EntryKind::Ptx
                    | EntryKind::Cubin
                    | EntryKind::LtoIr
                    | EntryKind::Other(4 | 16 | 32 | 64)
            );
            if known && half(sub, 2)? == ENTRY_VERSION {
                // A sub-header has an offset instead of its size; kind, architecture and flags are as in an entry.
                found.push(Code {
                    kind,
                    architecture: Architecture::parse(sub)?,
                    isa: None,
                });
                at += SUB_HEADER;
            } else {
                at += ALIGNMENT as usize;
            }
        }
        Some(found)
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn double(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
