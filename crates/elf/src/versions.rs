//! Symbol versions: those that a file needs of others (DT_VERNEED) and those that it defines (DT_VERDEF).
//!
//! [Linux Standard Base Core, "Symbol Versioning"](https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html).
//! The tables are found through the dynamic section, as by a loader, never through section headers.

use std::borrow::Cow;

use goblin::elf::SectionHeader;
use goblin::elf::dynamic::{DT_VERDEF, DT_VERDEFNUM, DT_VERNEED, DT_VERNEEDNUM, DT_VERSYM};
use goblin::elf::section_header::{SHT_GNU_VERDEF, SHT_GNU_VERNEED};
use goblin::elf::symver::{VerdefSection, VerneedSection};

use super::dynamic::Dynamic;
use super::error::{ElfError, broken};
use super::exports::{Answers, version_hash};
use super::facts::VersionNeed;
use super::object::Object;

/// How much of a table is read first, in bytes, because nothing says how long it is. Real ones have some kilobytes.
const FIRST_READ: u64 = 64 << 10;
/// How many times as much is read next if that was not enough.
const GROWTH: u64 = 16;
/// A version index has 15 bits, so a longer table is invalid.
const MAX_ENTRIES: usize = 1 << 16;
/// The version index in an entry of DT_VERSYM. The bit above marks a version that only an explicit request finds.
const INDEX_MASK: u16 = 0x7fff;
const HIDDEN: u16 = 0x8000;
/// Index of the first definition after the base version. Up to it, `check_match` accepts symbols for unversioned requests.
const FIRST: u16 = 2;
/// `VER_FLG_BASE`: the definition of the file itself.
const BASE: u16 = 1;
/// `VER_FLG_WEAK`: a missing version is not an error.
const WEAK: u16 = 2;

/// The version tables of one file.
#[derive(Default)]
pub(crate) struct Versions<'a> {
    /// What each needed file must define.
    pub needs: Vec<VersionNeed>,
    /// Names of the defined versions, without the base one.
    pub definitions: Vec<String>,
    /// Whether there is a DT_VERSYM.
    pub of_symbols: bool,
    /// The versions by their index.
    indices: Vec<Version>,
    /// DT_VERSYM.
    of_symbol: Cow<'a, [u8]>,
}

/// The version with an index.
#[derive(Debug, Clone, Copy, Default)]
struct Version {
    /// Index into the needed versions.
    needed: Option<u16>,
    /// Hash of the name; 0 for an index without a version, such as those below the first and that of the base version.
    hash: u16,
}

impl<'a> Versions<'a> {
    /// Reads the tables; `symbols` is the number of dynamic symbols.
    pub fn read(object: &'a Object, dynamic: &Dynamic<'a>, symbols: u64) -> Result<Self, ElfError> {
        let mut versions = Versions::default();
        if let Some(address) = dynamic.value(DT_VERNEED) {
            let count = dynamic.value(DT_VERNEEDNUM).unwrap_or(0);
            read_growing(object, address, "DT_VERNEED", |bytes| {
                versions.read_needs(bytes, count, dynamic, object)
            })?;
        }
        if let Some(address) = dynamic.value(DT_VERDEF) {
            let count = dynamic.value(DT_VERDEFNUM).unwrap_or(0);
            read_growing(object, address, "DT_VERDEF", |bytes| {
                versions.read_definitions(bytes, count, dynamic, object)
            })?;
        }
        if let Some(address) = dynamic.value(DT_VERSYM) {
            versions.of_symbols = true;
            versions.of_symbol = object.at_address(address, symbols.saturating_mul(2))?;
        }
        Ok(versions)
    }

    /// The version that an undefined symbol requests, as an index into the needed versions.
    pub fn needed(&self, symbol: usize) -> Option<u16> {
        self.version(self.entry(symbol) & INDEX_MASK).needed
    }

    /// The version of a defined symbol (its hash, 0 for none), and which requests the symbol answers, after glibc's `check_match`
    /// (elf/dl-lookup.c). In an executable, the copy of a variable of another file has a needed version.
    pub fn defined(&self, symbol: usize) -> (u16, Answers) {
        let entry = self.entry(symbol);
        let (index, hidden) = (entry & INDEX_MASK, entry & HIDDEN != 0);
        let hash = self.version(index).hash;
        let answers = match index {
            _ if hash == 0 && !hidden => Answers::All,
            ..=FIRST => Answers::Unversioned,
            _ if hidden => Answers::Version,
            _ => Answers::Default,
        };
        (hash, answers)
    }

    /// The entry of DT_VERSYM.
    fn entry(&self, symbol: usize) -> u16 {
        symbol
            .checked_mul(2)
            .and_then(|start| self.of_symbol.get(start..start + 2))
            .map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    fn version(&self, index: u16) -> Version {
        let version = self.indices.get(usize::from(index));
        version.copied().unwrap_or_default()
    }

    fn set_version(&mut self, index: u16, version: Version) {
        let index = usize::from(index & INDEX_MASK);
        if self.indices.len() <= index {
            self.indices.resize(index + 1, Version::default());
        }
        self.indices[index] = version;
    }

    /// Reads DT_VERNEED and returns whether the bytes have all of it.
    fn read_needs(
        &mut self,
        bytes: &[u8],
        count: u64,
        dynamic: &Dynamic,
        object: &Object,
    ) -> Result<bool, ElfError> {
        self.needs.clear();
        let header = synthetic(SHT_GNU_VERNEED, bytes, count);
        let Ok(Some(table)) = VerneedSection::parse(bytes, &[header], object.context()) else {
            return Ok(false);
        };
        let mut number: u16 = 0;
        for need in table.iter() {
            let mut versions = Vec::new();
            for version in need.iter() {
                let name = dynamic.name(version.vna_name)?;
                let hash = version_hash(name);
                let name = String::from_utf8_lossy(name).into_owned();
                versions.push((name, version.vna_flags & WEAK != 0));
                let needed = Some(number);
                self.set_version(version.vna_other, Version { needed, hash });
                let Some(next) = number.checked_add(1) else {
                    return Ok(false);
                };
                number = next;
            }
            if versions.len() != usize::from(need.vn_cnt) {
                return Ok(false);
            }
            self.needs.push(VersionNeed {
                file: dynamic.text(need.vn_file)?,
                versions,
            });
            if self.needs.len() >= MAX_ENTRIES {
                return Ok(false);
            }
        }
        Ok(self.needs.len() as u64 == count)
    }

    /// Reads DT_VERDEF and returns whether the bytes have all of it.
    fn read_definitions(
        &mut self,
        bytes: &[u8],
        count: u64,
        dynamic: &Dynamic,
        object: &Object,
    ) -> Result<bool, ElfError> {
        self.definitions.clear();
        let header = synthetic(SHT_GNU_VERDEF, bytes, count);
        let Ok(Some(table)) = VerdefSection::parse(bytes, &[header], object.context()) else {
            return Ok(false);
        };
        let mut number = 0_usize;
        for definition in table.iter() {
            number += 1;
            // The first name is that of the version, the others are those that it inherits from.
            let Some(own) = definition.iter().next() else {
                return Ok(false);
            };
            let name = dynamic.name(own.vda_name)?;
            if definition.vd_flags & BASE == 0 {
                self.definitions
                    .push(String::from_utf8_lossy(name).into_owned());
                let hash = version_hash(name);
                let needed = None;
                self.set_version(definition.vd_ndx, Version { needed, hash });
            }
            if number >= MAX_ENTRIES {
                return Ok(false);
            }
        }
        Ok(number as u64 == count)
    }
}

/// Reads a table at an address with more and more bytes, up to the end of its segment or
/// [`Limit::ElfTableBytes`](imgcheck_base::limits::Limit::ElfTableBytes), until `read` returns that it had the whole table.
fn read_growing(
    object: &Object,
    address: u64,
    what: &str,
    mut read: impl FnMut(&[u8]) -> Result<bool, ElfError>,
) -> Result<(), ElfError> {
    let mut length = FIRST_READ;
    loop {
        let (bytes, hole) = object.held_at_address(address, length)?;
        if read(&bytes)? {
            return Ok(());
        }
        if let Some(hole) = hole {
            return Err(hole);
        }
        if (bytes.len() as u64) < length {
            return Err(broken(format!("{what} extends past its segment")));
        }
        length = length.saturating_mul(GROWTH);
    }
}

/// A section header, by which alone goblin finds a table.
fn synthetic(kind: u32, bytes: &[u8], count: u64) -> SectionHeader {
    SectionHeader {
        sh_type: kind,
        sh_offset: 0,
        sh_size: bytes.len() as u64,
        sh_info: u32::try_from(count).unwrap_or(u32::MAX),
        ..SectionHeader::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{Opened, X86_64};
    use crate::testing::Sample;
    use imgcheck_base::bounds::Bounds;
    use imgcheck_base::limits::Limit;

    #[test]
    fn definitions_answer_by_index_and_hidden_bit() {
        let mut versions = Versions::default();
        let (first, later) = (version_hash(b"V1"), version_hash(b"V2"));
        let defined = |hash| Version { needed: None, hash };
        versions.set_version(2, defined(first));
        versions.set_version(3, defined(later));
        let entries = [0_u16, 1, 2, 3, 4, 0x8001, 0x8002, 0x8003, 0x8004];
        versions.of_symbol = entries.iter().flat_map(|it| it.to_le_bytes()).collect();
        let expected = [
            (0, Answers::All),
            (0, Answers::All),
            (first, Answers::Unversioned),
            (later, Answers::Default),
            (0, Answers::All),
            (0, Answers::Unversioned),
            (first, Answers::Unversioned),
            (later, Answers::Version),
            (0, Answers::Version),
            // After the end of the table.
            (0, Answers::All),
        ];
        for (symbol, expected) in expected.into_iter().enumerate() {
            assert_eq!(versions.defined(symbol), expected, "{symbol}");
        }
    }

    #[test]
    fn a_long_table_is_read_up_to_the_limit() {
        let file = Sample::new(X86_64).data(&vec![1; 3 << 20]).build();
        let find = |length: usize, most: u64| {
            let mut bounds = Bounds::default();
            bounds.limits.set(Limit::ElfTableBytes, most);
            let Ok(Opened::Little(object)) = Object::open(&file, &bounds) else {
                panic!("not an ELF file");
            };
            let start = object.address_of(0).unwrap_or_default();
            read_growing(&object, start, "a table", |bytes| Ok(bytes.len() >= length))
        };
        for length in [100, 100_000, 2_000_000] {
            assert!(find(length, 4 << 20).is_ok(), "{length}");
        }
        assert!(matches!(find(2_000_000, 1 << 20), Err(ElfError::Limit(_))));
        assert!(matches!(find(9 << 20, 4 << 20), Err(ElfError::Broken(_))));
    }
}
