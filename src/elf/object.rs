//! One ELF file, opened: its header, program headers and section headers, and bytes by offset or address.
//!
//! Structures after the System V ABI, edition 4.1 and its gABI successors ("Object Files", "Program Loading").

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};

use goblin::container::{Container, Ctx, Endian};
use goblin::elf::header::{EI_CLASS, EI_DATA, ELFDATA2LSB, SIZEOF_IDENT};
use goblin::elf::program_header::{PF_X, PT_DYNAMIC, PT_LOAD};
use goblin::elf::section_header::{SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS};
use goblin::elf::{Elf, ProgramHeader, SectionHeader};

use super::error::{ElfError, broken};
use super::read_at::ReadAt;

/// `e_machine` of x86-64.
pub(super) const X86_64: u16 = 62;
/// `e_machine` of AArch64.
pub(super) const AARCH64: u16 = 183;

/// What is read in one go when a file is opened: header, program headers and, of most files, every table.
const HEAD: usize = 16 << 10;
/// Window of a search through a range.
const WINDOW: usize = 256 << 10;
/// A table (symbols, strings, hashes) larger than this is not that of a real library: the largest known is 26 MB.
const TABLE_LIMIT: u64 = 512 << 20;
/// Program headers of real files are fewer than 20, section headers fewer than some thousand.
const HEADER_LIMIT: u64 = 1 << 16;

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

impl<'a> Object<'a> {
    /// Reads the headers.
    pub fn open(source: &'a dyn ReadAt) -> Result<Opened<'a>, ElfError> {
        let size = source.size();
        let mut head = vec![0; usize::try_from(size).map_or(HEAD, |size| size.min(HEAD))];
        let held = fill(source, 0, &mut head)?;
        head.truncate(held);
        if !head.starts_with(b"\x7fELF") {
            return Err(broken("no ELF magic at the start"));
        }
        if head.len() < SIZEOF_IDENT + 4 {
            return Err(broken(format!(
                "the file ends within the ELF header ({} bytes)",
                head.len()
            )));
        }
        let class = match head[EI_CLASS] {
            1 => 32,
            2 => 64,
            other => return Err(broken(format!("unknown ELF class {other}"))),
        };
        let half = |at: usize| [head[at], head[at + 1]];
        match head[EI_DATA] {
            ELFDATA2LSB => {}
            2 => {
                return Ok(Opened::Big(Foreign {
                    class,
                    machine: u16::from_be_bytes(half(SIZEOF_IDENT + 2)),
                    object_type: u16::from_be_bytes(half(SIZEOF_IDENT)),
                }));
            }
            other => return Err(broken(format!("unknown ELF byte order {other}"))),
        }
        let header = Elf::parse_header(&head)
            .map_err(|error| broken(format!("the ELF header is wrong: {error}")))?;
        let mut object = Object {
            source,
            size,
            head,
            class,
            machine: header.e_machine,
            object_type: header.e_type,
            segments: Vec::new(),
            sections: Vec::new(),
            debug_only: false,
        };
        object.segments = object.program_headers(&header)?;
        // A file whose section headers are missing or wrong still loads: the sections only add names.
        object.read_sections(&header)?;
        object.check_segments()?;
        Ok(Opened::Little(object))
    }

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

    fn program_headers(
        &self,
        header: &goblin::elf::Header,
    ) -> Result<Vec<ProgramHeader>, ElfError> {
        let count = u64::from(header.e_phnum);
        if count == 0 {
            return Ok(Vec::new());
        }
        let entry = ProgramHeader::size(self.context()) as u64;
        if u64::from(header.e_phentsize) != entry {
            return Err(broken(format!(
                "program headers of {} bytes, not {entry}",
                header.e_phentsize
            )));
        }
        let bytes = self.table("program headers", header.e_phoff, count * entry)?;
        ProgramHeader::parse(&bytes, 0, usize::from(header.e_phnum), self.context())
            .map_err(|error| broken(format!("the program headers are wrong: {error}")))
    }

    fn read_sections(&mut self, header: &goblin::elf::Header) -> Result<(), ElfError> {
        let entry = SectionHeader::size(self.context()) as u64;
        if header.e_shoff == 0 || u64::from(header.e_shentsize) != entry {
            return Ok(());
        }
        let Some(first) = self.optional(header.e_shoff, entry)? else {
            return Ok(());
        };
        let Ok(parsed) = SectionHeader::parse_from(&first, 0, 1, self.context()) else {
            return Ok(());
        };
        // gABI, "Section Header": with 0xff00 sections or more, count and name table index stand in the first header.
        let escape = parsed.first();
        let count = match (header.e_shnum, escape) {
            (0, Some(null)) => null.sh_size,
            (count, _) => u64::from(count),
        };
        let names = match (header.e_shstrndx, escape) {
            (0xffff, Some(null)) => null.sh_link as usize,
            (index, _) => usize::from(index),
        };
        if count == 0 || count > HEADER_LIMIT {
            return Ok(());
        }
        let Some(bytes) = self.optional(header.e_shoff, count * entry)? else {
            return Ok(());
        };
        let Ok(headers) = SectionHeader::parse_from(&bytes, 0, count as usize, self.context())
        else {
            return Ok(());
        };
        let names = match headers.get(names) {
            Some(table) => self.optional(table.sh_offset, table.sh_size)?,
            None => None,
        };
        let names = names.unwrap_or_default().into_owned();
        self.debug_only = headers
            .iter()
            .filter(|section| section.sh_type == SHT_NOBITS)
            .any(|section| string_at(&names, section.sh_name) == b".dynamic");
        self.sections = headers
            .iter()
            .filter(|section| section.sh_type != SHT_NOBITS && section.sh_type != 0)
            .filter_map(|section| self.section(section, &names))
            .collect();
        Ok(())
    }

    fn section(&self, header: &SectionHeader, names: &[u8]) -> Option<Section> {
        let end = header.sh_offset.checked_add(header.sh_size)?;
        (end <= self.size).then(|| Section {
            name: String::from_utf8_lossy(string_at(names, header.sh_name)).into_owned(),
            file: header.sh_offset..end,
            address: header.sh_addr,
            allocated: header.sh_flags & u64::from(SHF_ALLOC) != 0,
            executable: header.sh_flags & u64::from(SHF_EXECINSTR) != 0,
        })
    }

    fn check_segments(&self) -> Result<(), ElfError> {
        for segment in self.loads() {
            let end = segment.p_offset.checked_add(segment.p_filesz);
            if end.is_none_or(|end| end > self.size) && !self.debug_only {
                return Err(broken(format!(
                    "truncated: a segment of {} bytes starts at {}, the file has {} bytes",
                    segment.p_filesz, segment.p_offset, self.size
                )));
            }
            if segment.p_vaddr.checked_add(segment.p_memsz).is_none() {
                return Err(broken("a segment ends behind the end of memory"));
            }
        }
        Ok(())
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

    /// A whole table; an error if the file does not have it.
    pub fn table(&self, what: &str, offset: u64, length: u64) -> Result<Cow<'_, [u8]>, ElfError> {
        if length > TABLE_LIMIT {
            return Err(broken(format!(
                "{what} of {length} bytes, more than any real file has"
            )));
        }
        self.optional(offset, length)?.ok_or_else(|| {
            broken(format!(
                "{what} at {offset}+{length} end behind the end of the file ({} bytes)",
                self.size
            ))
        })
    }

    /// All of a range, or `None` if the file ends before it does or the range is absurdly long.
    pub fn optional(&self, offset: u64, length: u64) -> Result<Option<Cow<'_, [u8]>>, ElfError> {
        let Some(end) = offset.checked_add(length) else {
            return Ok(None);
        };
        if end > self.size || length > TABLE_LIMIT {
            return Ok(None);
        }
        if end <= self.head.len() as u64 {
            return Ok(Some(Cow::Borrowed(
                &self.head[offset as usize..end as usize],
            )));
        }
        let mut bytes = vec![0; length as usize];
        let got = fill(self.source, offset, &mut bytes)?;
        if (got as u64) < length {
            return Ok(None);
        }
        Ok(Some(Cow::Owned(bytes)))
    }

    /// Up to `length` bytes from an address to the end of its segment; empty if the file has none there.
    pub fn at_address(&self, address: u64, length: u64) -> Result<Cow<'_, [u8]>, ElfError> {
        match self.locate(address) {
            Some((offset, left)) => {
                Ok(self.optional(offset, left.min(length))?.unwrap_or_default())
            }
            None => Ok(Cow::Borrowed(&[])),
        }
    }

    /// Like [`Object::at_address`], but ends early, and says so, where the source holds no more.
    pub fn held_at_address(
        &self,
        address: u64,
        length: u64,
    ) -> Result<(Cow<'_, [u8]>, Option<ElfError>), ElfError> {
        match self.at_address(address, length) {
            Err(missing @ ElfError::Missing { offset: hole, .. }) => {
                let start = self.locate(address).map_or(hole, |(offset, _)| offset);
                let held = self.at_address(address, hole.saturating_sub(start))?;
                Ok((held, Some(missing)))
            }
            other => Ok((other?, None)),
        }
    }

    /// Reads what the source gives in one go at `offset`, into `buffer`.
    pub fn read_some(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ElfError> {
        Ok(self.source.read_at(offset, buffer)?)
    }

    /// Hands a range over in windows that overlap by `overlap` bytes, each with its file offset, until told to stop. What a
    /// source does not hold is missing up to the end of the range, so that it need be fetched only once.
    pub fn windows<B>(
        &self,
        range: Range<u64>,
        overlap: usize,
        mut each: impl FnMut(u64, &[u8]) -> ControlFlow<B>,
    ) -> Result<Option<B>, ElfError> {
        let end = range.end.min(self.size);
        let mut offset = range.start;
        let mut buffer = Vec::new();
        while offset < end {
            let length = usize::try_from(end - offset).map_or(WINDOW, |left| left.min(WINDOW));
            buffer.resize(length, 0);
            let got = fill(self.source, offset, &mut buffer).map_err(|error| match error {
                ElfError::Missing { offset, .. } => ElfError::Missing {
                    offset,
                    length: end.saturating_sub(offset),
                },
                other => other,
            })?;
            if let ControlFlow::Break(value) = each(offset, &buffer[..got]) {
                return Ok(Some(value));
            }
            if got < length || offset + got as u64 >= end {
                break;
            }
            offset += got.saturating_sub(overlap).max(1) as u64;
        }
        Ok(None)
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

/// Fills a buffer from a source; fewer bytes only at the end of it.
fn fill(source: &dyn ReadAt, offset: u64, buffer: &mut [u8]) -> Result<usize, ElfError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read_at(offset + filled as u64, &mut buffer[filled..])? {
            0 => break,
            got => filled += got,
        }
    }
    Ok(filled)
}
