//! One ELF file, opened: its header, program headers and section headers, and bytes by offset or address.
//!
//! Structures after the System V ABI, edition 4.1 and its gABI successors ("Object Files", "Program Loading").

mod bytes;
mod headers;

use std::ops::Range;

use goblin::container::{Container, Ctx, Endian};
use goblin::elf::ProgramHeader;
use goblin::elf::program_header::{PF_X, PT_DYNAMIC, PT_LOAD};

use super::read_at::ReadAt;
use crate::limits::Limits;
pub(super) use bytes::{WINDOW, fill};

/// `e_machine` of x86-64.
pub(super) const X86_64: u16 = 62;
/// `e_machine` of AArch64.
pub(super) const AARCH64: u16 = 183;

/// A section that has bytes in the file.
#[derive(Debug)]
pub(super) struct Section {
    pub name: String,
    pub file: Range<u64>,
    pub address: u64,
    pub allocated: bool,
    pub executable: bool,
}

/// An opened ELF file.
pub(super) struct Object<'a> {
    source: &'a dyn ReadAt,
    pub limits: &'a Limits,
    size: u64,
    head: Vec<u8>,
    pub class: u8,
    pub machine: u16,
    pub object_type: u16,
    pub segments: Vec<ProgramHeader>,
    pub sections: Vec<Section>,
    /// Whether the file only holds debugging information of another one: its dynamic section has no bytes.
    pub debug_only: bool,
}

/// A header of the other byte order is understood no further than this.
pub(super) struct Foreign {
    pub class: u8,
    pub machine: u16,
    pub object_type: u16,
}

/// A file of this byte order, or the little that is said of one of the other.
pub(super) enum Opened<'a> {
    Little(Object<'a>),
    Big(Foreign),
}

impl Object<'_> {
    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How goblin is to read the structures.
    pub fn context(&self) -> Ctx {
        let container = if self.class == 64 {
            Container::Big
        } else {
            Container::Little
        };
        Ctx::new(container, Endian::Little)
    }

    /// The PT_LOAD program headers.
    pub fn loads(&self) -> impl Iterator<Item = &ProgramHeader> {
        self.segments
            .iter()
            .filter(|segment| segment.p_type == PT_LOAD)
    }

    /// The PT_DYNAMIC program header, unless the file only holds debugging information.
    pub fn dynamic_segment(&self) -> Option<&ProgramHeader> {
        self.segments
            .iter()
            .find(|segment| segment.p_type == PT_DYNAMIC && !self.debug_only)
    }

    /// Where an address is in the file, and how many bytes the file has from there to the end of the segment.
    pub fn locate(&self, address: u64) -> Option<(u64, u64)> {
        self.loads().find_map(|segment| {
            let inside = address.checked_sub(segment.p_vaddr)?;
            let left = segment.p_filesz.checked_sub(inside)?;
            (left > 0).then_some((segment.p_offset + inside, left))
        })
    }

    /// The address of a file offset.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        self.loads().find_map(|segment| {
            let inside = offset.checked_sub(segment.p_offset)?;
            (inside < segment.p_filesz).then(|| segment.p_vaddr.wrapping_add(inside))
        })
    }

    /// Whether an address lies in an executable segment.
    pub fn is_executable(&self, address: u64) -> bool {
        self.loads().any(|segment| {
            segment.p_flags & PF_X != 0
                && address
                    .checked_sub(segment.p_vaddr)
                    .is_some_and(|inside| inside < segment.p_filesz)
        })
    }

    /// The file ranges of machine code: the executable sections, or the executable segments when no section says where it is.
    pub fn code(&self) -> Vec<Range<u64>> {
        let sections = self.sections.iter();
        let sections = sections.filter(|section| section.allocated && section.executable);
        let found: Vec<_> = sections.map(|section| section.file.clone()).collect();
        if !found.is_empty() {
            return found;
        }
        self.loads()
            .filter(|segment| segment.p_flags & PF_X != 0)
            .map(file_range)
            .collect()
    }

    /// The file ranges of constants and strings: `.rodata` and `.lrodata`, or all segments when no section says where they are.
    pub fn constants(&self) -> Vec<Range<u64>> {
        let sections = self.sections.iter();
        let sections = sections.filter(|it| matches!(it.name.as_str(), ".rodata" | ".lrodata"));
        let found: Vec<_> = sections.map(|section| section.file.clone()).collect();
        if !found.is_empty() {
            return found;
        }
        self.loads().map(file_range).collect()
    }
}

fn file_range(segment: &ProgramHeader) -> Range<u64> {
    segment.p_offset..segment.p_offset.saturating_add(segment.p_filesz)
}

/// The NUL-terminated string at `index` of a string table; empty if there is none.
pub(super) fn string_at(table: &[u8], index: usize) -> &[u8] {
    let rest = table.get(index..).unwrap_or_default();
    &rest[..memchr::memchr(0, rest).unwrap_or(rest.len())]
}
