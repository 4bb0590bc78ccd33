//! The dynamic section and its strings.
//!
//! [gABI, "Dynamic Section"](https://www.sco.com/developers/gabi/latest/ch5.dynamic.html#dynamic_section). Of a repeated tag the last
//! value counts, as in glibc's `elf_get_dynamic_info` (elf/get-dynamic-info.h).

use std::borrow::Cow;
use std::cell::Cell;

use goblin::elf::ProgramHeader;
use goblin::elf::dynamic::{
    DT_FLAGS, DT_FLAGS_1, DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME, DT_STRSZ, DT_STRTAB, Dyn,
    Dynamic as Parsed,
};
use goblin::elf::program_header::PT_DYNAMIC;

use super::error::{ElfError, broken};
use super::object::{Object, string_at};
use imgcheck_base::limits::{Limit, Limits};

/// A dynamic section with its string table.
pub(crate) struct Dynamic<'a> {
    entries: Vec<Dyn>,
    strings: Cow<'a, [u8]>,
    limits: &'a Limits,
    /// Length of all names that were read, in bytes.
    read: Cell<u64>,
}

impl<'a> Dynamic<'a> {
    /// Reads PT_DYNAMIC and DT_STRTAB; `None` for a file without a dynamic section.
    pub fn read(object: &'a Object) -> Result<Option<Self>, ElfError> {
        let Some(segment) = object.dynamic_segment() else {
            return Ok(None);
        };
        let bytes = object.table("the dynamic section", segment.p_offset, segment.p_filesz)?;
        let alone = ProgramHeader {
            p_type: PT_DYNAMIC,
            p_offset: 0,
            p_filesz: segment.p_filesz,
            ..ProgramHeader::new()
        };
        let parsed = Parsed::parse(&bytes, &[alone], object.context())
            .map_err(|error| broken(format!("invalid dynamic section: {error}")))?;
        let Some(parsed) = parsed else {
            return Ok(None);
        };
        let mut dynamic = Dynamic {
            entries: parsed.dyns,
            strings: Cow::Borrowed(&[]),
            limits: &object.bounds.limits,
            read: Cell::new(0),
        };
        if let Some(address) = dynamic.value(DT_STRTAB) {
            let length = dynamic.value(DT_STRSZ).unwrap_or(0);
            let (offset, left) = object
                .locate(address)
                .ok_or_else(|| broken("the string table is not in a segment"))?;
            if length > left {
                return Err(broken("the string table is longer than its segment"));
            }
            dynamic.strings = object.table("the string table", offset, length)?;
        }
        Ok(Some(dynamic))
    }

    /// The last value of a tag.
    pub fn value(&self, tag: u64) -> Option<u64> {
        self.entries
            .iter()
            .rev()
            .find(|entry| entry.d_tag == tag)
            .map(|entry| entry.d_val)
    }

    /// The values of all tags.
    pub fn values(&self) -> impl Iterator<Item = u64> {
        self.entries.iter().map(|entry| entry.d_val)
    }

    /// The string table.
    pub fn strings(&self) -> &[u8] {
        &self.strings
    }

    /// A name in the string table.
    ///
    /// # Errors
    /// [`ElfError::Limit`] if all names that were read are together longer than [`Limit::ElfTableBytes`]: they may share bytes.
    pub fn name(&self, index: usize) -> Result<&[u8], ElfError> {
        let name = string_at(&self.strings, index);
        self.read.set(self.read.get() + name.len() as u64);
        self.limits.check(Limit::ElfTableBytes, self.read.get())?;
        Ok(name)
    }

    /// A name in the string table as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self, index: usize) -> Result<String, ElfError> {
        Ok(String::from_utf8_lossy(self.name(index)?).into_owned())
    }

    fn string(&self, index: u64) -> Result<String, ElfError> {
        self.text(usize::try_from(index).unwrap_or(usize::MAX))
    }

    fn named(&self, tag: u64) -> Result<Option<String>, ElfError> {
        self.value(tag).map(|index| self.string(index)).transpose()
    }

    /// DT_SONAME.
    pub fn soname(&self) -> Result<Option<String>, ElfError> {
        self.named(DT_SONAME)
    }

    /// DT_NEEDED, in order.
    pub fn needed(&self) -> Result<Vec<String>, ElfError> {
        self.entries
            .iter()
            .filter(|entry| entry.d_tag == DT_NEEDED)
            .map(|entry| self.string(entry.d_val))
            .collect()
    }

    /// DT_RPATH.
    pub fn rpath(&self) -> Result<Option<String>, ElfError> {
        self.named(DT_RPATH)
    }

    /// DT_RUNPATH.
    pub fn runpath(&self) -> Result<Option<String>, ElfError> {
        self.named(DT_RUNPATH)
    }

    /// DT_FLAGS and DT_FLAGS_1.
    pub fn flags(&self) -> (u64, u64) {
        (
            self.value(DT_FLAGS).unwrap_or(0),
            self.value(DT_FLAGS_1).unwrap_or(0),
        )
    }
}
