//! An opened ELF file: its header, program headers and section headers, and its bytes by offset or address.
//!
//! [System V ABI](https://www.sco.com/developers/gabi/latest/contents.html), "Object Files" and "Program Loading".

mod bytes;
mod headers;

use std::ops::Range;

use goblin::container::{Container, Ctx, Endian};
use goblin::elf::ProgramHeader;
use goblin::elf::program_header::{PF_X, PT_DYNAMIC, PT_LOAD};

use super::ranges::disjoint;
use imgcheck_base::bounds::Bounds;
use imgcheck_base::read_at::ReadAt;

/// Length of one window of a search, in bytes.
pub(crate) const WINDOW: usize = 256 << 10;

/// `e_machine` of x86-64.
pub(crate) const X86_64: u16 = 62;
/// `e_machine` of AArch64.
pub(crate) const AARCH64: u16 = 183;

/// A section that has bytes in the file.
#[derive(Debug)]
pub(crate) struct Section {
    pub name: String,
    pub file: Range<u64>,
    pub address: u64,
    pub allocated: bool,
    pub executable: bool,
}

/// An opened ELF file.
pub(crate) struct Object<'a> {
    source: &'a dyn ReadAt,
    pub bounds: &'a Bounds,
    size: u64,
    head: Vec<u8>,
    pub class: u8,
    pub machine: u16,
    pub object_type: u16,
    pub segments: Vec<ProgramHeader>,
    pub sections: Vec<Section>,
    /// Whether the file only has the debugging information of another one: its dynamic section has no bytes.
    pub debug_only: bool,
}

/// What is read of the header of a big-endian file.
pub(crate) struct BigEndianHeader {
    pub class: u8,
    pub machine: u16,
    pub object_type: u16,
}

/// An opened file, by its byte order.
pub(crate) enum Opened<'a> {
    Little(Object<'a>),
    Big(BigEndianHeader),
}

impl Object<'_> {
    /// Length of the file in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How goblin reads the structures.
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

    /// The file offset of an address, and how many bytes of its segment follow in the file.
    pub fn locate(&self, address: u64) -> Option<(u64, u64)> {
        self.loads().find_map(|segment| {
            let inside = address.checked_sub(segment.p_vaddr)?;
            let left = segment.p_filesz.checked_sub(inside)?;
            // The segments of a file with only debugging information may point anywhere.
            let offset = segment.p_offset.checked_add(inside)?;
            (left > 0).then_some((offset, left))
        })
    }

    /// The address of a file offset.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        self.loads().find_map(|segment| {
            let inside = offset.checked_sub(segment.p_offset)?;
            (inside < segment.p_filesz).then(|| segment.p_vaddr.wrapping_add(inside))
        })
    }

    /// Whether an address is in an executable segment.
    pub fn is_executable(&self, address: u64) -> bool {
        self.loads().any(|segment| {
            segment.p_flags & PF_X != 0
                && address
                    .checked_sub(segment.p_vaddr)
                    .is_some_and(|inside| inside < segment.p_filesz)
        })
    }

    /// The file ranges of machine code, without overlaps: the executable sections, or the executable segments of a file without
    /// such sections.
    pub fn code(&self) -> Vec<Range<u64>> {
        self.sections_or_segments(
            |section| section.allocated && section.executable,
            |segment| segment.p_flags & PF_X != 0,
        )
    }

    /// Length of all machine code, in bytes.
    pub fn code_bytes(&self) -> u64 {
        let ranges = self.code().into_iter();
        ranges.map(|range| range.end - range.start).sum()
    }

    /// The file ranges of constants and strings, without overlaps: `.rodata` and `.lrodata`, or all segments of a file without
    /// these sections.
    pub fn constants(&self) -> Vec<Range<u64>> {
        self.sections_or_segments(
            |section| matches!(section.name.as_str(), ".rodata" | ".lrodata"),
            |_| true,
        )
    }

    fn sections_or_segments(
        &self,
        section: impl Fn(&&Section) -> bool,
        segment: impl Fn(&&ProgramHeader) -> bool,
    ) -> Vec<Range<u64>> {
        let sections = self.sections.iter().filter(section);
        let found: Vec<_> = sections.map(|section| section.file.clone()).collect();
        disjoint(match found.is_empty() {
            false => found,
            true => self.loads().filter(segment).map(file_range).collect(),
        })
    }
}

/// The file range of a segment.
pub(crate) fn file_range(segment: &ProgramHeader) -> Range<u64> {
    segment.p_offset..segment.p_offset.saturating_add(segment.p_filesz)
}

/// The NUL-terminated string at `index` of a string table; empty past its end.
pub(crate) fn string_at(table: &[u8], index: usize) -> &[u8] {
    let rest = table.get(index..).unwrap_or_default();
    &rest[..memchr::memchr(0, rest).unwrap_or(rest.len())]
}
