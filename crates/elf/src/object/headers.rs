//! Opens a file: its header (gABI, "ELF Header"), program headers ("Program Header") and section headers ("Sections").

use goblin::elf::header::{EI_CLASS, EI_DATA, ELFDATA2LSB, SIZEOF_IDENT};
use goblin::elf::section_header::{SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS};
use goblin::elf::{Elf, ProgramHeader, SectionHeader};

use super::{BigEndianHeader, Object, Opened, Section, string_at};
use crate::error::{ElfError, broken};
use imgcheck_base::bounds::Bounds;
use imgcheck_base::read_at::{ReadAt, fill};

/// What is read first when a file is opened, in bytes: header, program headers and, in most files, every table.
const HEAD: usize = 16 << 10;

/// Longest section name that is read, in bytes. Names that matter are shorter, and many names may share their bytes.
const MAX_NAME: usize = 256;

impl<'a> Object<'a> {
    /// Reads the headers.
    pub fn open(source: &'a dyn ReadAt, bounds: &'a Bounds) -> Result<Opened<'a>, ElfError> {
        let size = source.size();
        let mut head = vec![0; usize::try_from(size).map_or(HEAD, |size| size.min(HEAD))];
        let held = fill(source, 0, &mut head)?;
        head.truncate(held);
        if !head.starts_with(b"\x7fELF") {
            return Err(broken("not an ELF file: no ELF magic at the start"));
        }
        if head.len() < SIZEOF_IDENT + 4 {
            return Err(broken(format!(
                "truncated: the file ends within the ELF header ({} bytes)",
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
                return Ok(Opened::Big(BigEndianHeader {
                    class,
                    machine: u16::from_be_bytes(half(SIZEOF_IDENT + 2)),
                    object_type: u16::from_be_bytes(half(SIZEOF_IDENT)),
                }));
            }
            other => return Err(broken(format!("unknown ELF byte order {other}"))),
        }
        let header = Elf::parse_header(&head)
            .map_err(|error| broken(format!("invalid ELF header: {error}")))?;
        let mut object = Object {
            source,
            bounds,
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
        // A file with missing or invalid section headers still loads: they only add names.
        object.read_sections(&header)?;
        object.check_segments()?;
        Ok(Opened::Little(object))
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
                "program headers have {} bytes each instead of {entry}",
                header.e_phentsize
            )));
        }
        let bytes = self.table("program headers", header.e_phoff, count * entry)?;
        ProgramHeader::parse(&bytes, 0, usize::from(header.e_phnum), self.context())
            .map_err(|error| broken(format!("invalid program headers: {error}")))
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
        // gABI, "Section Header": with 0xff00 sections or more, the first header has the count and the index of the name table.
        let escape = parsed.first();
        let count = match (header.e_shnum, escape) {
            (0, Some(null)) => null.sh_size,
            (count, _) => u64::from(count),
        };
        let names = match (header.e_shstrndx, escape) {
            (0xffff, Some(null)) => null.sh_link as usize,
            (index, _) => usize::from(index),
        };
        let Some(length) = count.checked_mul(entry).filter(|length| *length > 0) else {
            return Ok(());
        };
        let Some(bytes) = self.optional(header.e_shoff, length)? else {
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
            .any(|section| name(&names, section.sh_name) == b".dynamic");
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
            name: String::from_utf8_lossy(name(names, header.sh_name)).into_owned(),
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
                return Err(broken("a segment ends past the end of the address space"));
            }
        }
        Ok(())
    }
}

fn name(names: &[u8], index: usize) -> &[u8] {
    let end = names.len().min(index.saturating_add(MAX_NAME));
    string_at(&names[..end], index)
}
