//! Why glibc's loader refuses a file, in glibc's own words.
//!
//! The checks and their order are those of `open_verify` and `_dl_map_object_from_fd` (elf/dl-load.c of glibc 2.36) in a
//! 64-bit little-endian process. Whether the machine matches depends on the process and is not checked here.

use goblin::container::{Container, Ctx, Endian};
use goblin::elf::ProgramHeader;
use goblin::elf::header::{ET_DYN, ET_EXEC};
use goblin::elf::program_header::{PT_DYNAMIC, PT_LOAD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ElfError;
use imgcheck_base::read_at::{ReadAt, fill};

/// Bytes of the ELF header and of a program header.
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
/// The smallest page of the supported machines.
const PAGE: u64 = 4096;
/// `ELFOSABI_GNU`, and its first ABI version that glibc 2.36 does not know (`LIBC_ABI_MAX`).
const GNU: u8 = 3;
const GNU_ABI_END: u8 = 4;

/// Why glibc's loader refuses a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// The file is shorter than an ELF header.
    TooShort,
    /// No ELF magic.
    NoElf,
    /// Not a 64-bit file: skipped in a search, refused by path.
    Class,
    /// Not little-endian.
    ByteOrder,
    /// EI_VERSION is not 1.
    IdentVersion,
    /// EI_OSABI is neither System V nor GNU.
    OsAbi,
    /// EI_ABIVERSION is unknown for the OS ABI.
    AbiVersion,
    /// The rest of `e_ident` is not zero.
    Padding,
    /// `e_version` is not 1.
    Version,
    /// `e_type` is neither ET_DYN nor ET_EXEC.
    Type,
    /// `e_phentsize` is not 56.
    ProgramHeaderSize,
    /// The program headers are not in the file.
    ProgramHeaders,
    /// Address and offset of a PT_LOAD do not agree within a page.
    Alignment,
    /// No PT_LOAD.
    NoSegments,
    /// An ET_EXEC, loaded as a library.
    Executable,
    /// A page or more of a PT_LOAD is past the end of the file.
    Truncated,
    /// No PT_DYNAMIC with bytes in a shared object.
    NoDynamic,
    /// DF_1_PIE, loaded as a library.
    PositionIndependentExecutable,
    /// DF_1_NOOPEN, loaded with `dlopen`.
    NoOpen,
}

impl Refusal {
    /// What glibc prints after the name of the file and a colon. `None` if it prints nothing: it maps a truncated file, and the
    /// process dies from SIGBUS ("Bus error") when it first touches the missing part.
    pub fn message(self) -> Option<&'static str> {
        Some(match self {
            Refusal::TooShort => "file too short",
            Refusal::NoElf => "invalid ELF header",
            Refusal::Class => "wrong ELF class: ELFCLASS32",
            Refusal::ByteOrder => "ELF file data encoding not little-endian",
            Refusal::IdentVersion => "ELF file version ident does not match current one",
            Refusal::OsAbi => "ELF file OS ABI invalid",
            Refusal::AbiVersion => "ELF file ABI version invalid",
            Refusal::Padding => "nonzero padding in e_ident",
            Refusal::Version => "ELF file version does not match current one",
            Refusal::Type => "only ET_DYN and ET_EXEC can be loaded",
            Refusal::ProgramHeaderSize => "ELF file's phentsize not the expected size",
            Refusal::ProgramHeaders => "cannot read file data",
            Refusal::Alignment => "ELF load command address/offset not page-aligned",
            Refusal::NoSegments => "object file has no loadable segments",
            Refusal::Executable => "cannot dynamically load executable",
            Refusal::NoDynamic => "object file has no dynamic section",
            Refusal::PositionIndependentExecutable => {
                "cannot dynamically load position-independent executable"
            }
            Refusal::NoOpen => "shared object cannot be dlopen()ed",
            Refusal::Truncated => return None,
        })
    }

    /// The refusal of a file of `size` bytes that does not start with the ELF magic.
    pub fn of_other_file(size: u64) -> Self {
        if size < HEADER as u64 {
            Refusal::TooShort
        } else {
            Refusal::NoElf
        }
    }
}

/// Why glibc's loader refuses a file because of its headers; `None` if it does not.
///
/// # Errors
/// Same as [`read`](super::read), except [`ElfError::Broken`].
pub fn refusal(source: &dyn ReadAt) -> Result<Option<Refusal>, ElfError> {
    let mut header = [0; HEADER];
    if fill(source, 0, &mut header)? < HEADER {
        return Ok(Some(Refusal::TooShort));
    }
    if let Some(refusal) = header_refusal(&header) {
        return Ok(Some(refusal));
    }
    let count = usize::from(u16::from_le_bytes([header[56], header[57]]));
    let start = u64::from_le_bytes(*header[32..].first_chunk().unwrap_or(&[0; 8]));
    let mut table = vec![0; count * PROGRAM_HEADER];
    let held = start.checked_add(table.len() as u64);
    if held.is_none_or(|end| end > source.size()) || fill(source, start, &mut table)? < table.len()
    {
        return Ok(Some(Refusal::ProgramHeaders));
    }
    let context = Ctx::new(Container::Big, Endian::Little);
    let is_shared = u16::from_le_bytes([header[16], header[17]]) == ET_DYN;
    match ProgramHeader::parse(&table, 0, count, context) {
        Ok(segments) => Ok(segment_refusal(&segments, is_shared, source.size())),
        Err(_) => Ok(Some(Refusal::ProgramHeaders)),
    }
}

fn header_refusal(header: &[u8; HEADER]) -> Option<Refusal> {
    let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let (abi, abi_version) = (header[7], header[8]);
    let checks = [
        (header.starts_with(b"\x7fELF"), Refusal::NoElf),
        (header[4] == 2, Refusal::Class),
        (header[5] == 1, Refusal::ByteOrder),
        (header[6] == 1, Refusal::IdentVersion),
        (abi == 0 || abi == GNU, Refusal::OsAbi),
        (
            abi_version == 0 || abi == GNU && abi_version < GNU_ABI_END,
            Refusal::AbiVersion,
        ),
        (header[9..16] == [0; 7], Refusal::Padding),
        (header[20..24] == [1, 0, 0, 0], Refusal::Version),
        (matches!(half(16), ET_DYN | ET_EXEC), Refusal::Type),
        (
            usize::from(half(54)) == PROGRAM_HEADER,
            Refusal::ProgramHeaderSize,
        ),
    ];
    first_failed(&checks)
}

fn segment_refusal(segments: &[ProgramHeader], is_shared: bool, size: u64) -> Option<Refusal> {
    let loads = || segments.iter().filter(|segment| segment.p_type == PT_LOAD);
    let aligned = |it: &ProgramHeader| it.p_vaddr.wrapping_sub(it.p_offset).is_multiple_of(PAGE);
    let mapped = size.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX);
    let inside = |it: &ProgramHeader| it.p_offset.saturating_add(it.p_filesz) <= mapped;
    let dynamic = |it: &ProgramHeader| it.p_type == PT_DYNAMIC && it.p_filesz > 0;
    first_failed(&[
        (loads().all(aligned), Refusal::Alignment),
        (loads().next().is_some(), Refusal::NoSegments),
        (loads().all(inside), Refusal::Truncated),
        (
            !is_shared || segments.iter().any(dynamic),
            Refusal::NoDynamic,
        ),
    ])
}

fn first_failed(checks: &[(bool, Refusal)]) -> Option<Refusal> {
    checks
        .iter()
        .find(|(passed, _)| !passed)
        .map(|(_, refusal)| *refusal)
}
