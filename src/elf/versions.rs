//! Symbol versions: what a file needs of others (DT_VERNEED) and what it defines (DT_VERDEF).
//!
//! Linux Standard Base Core, "Symbol Versioning". The tables are found through the dynamic section, never through section
//! headers, which a loader does not use either.

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

/// Nothing states how long a table is. So much is read first: those of real files have some kilobytes.
const USUAL: u64 = 64 << 10;
/// By how much more is read where that was too little.
const GROWTH: u64 = 16;
/// A version has an index of 15 bits: more cannot be told apart, and a table that has more lies.
const MOST: usize = 1 << 16;
/// The version index within DT_VERSYM; the bit above marks a version that only an explicit request finds.
const INDEX_MASK: u16 = 0x7fff;
const HIDDEN: u16 = 0x8000;
/// The first definition that is not the base version; up to it, `check_match` takes symbols for unversioned requests.
const FIRST: u16 = 2;
/// `VER_FLG_BASE`: the definition that stands for the file itself.
const BASE: u16 = 1;
/// `VER_FLG_WEAK`: a missing version is no error.
const WEAK: u16 = 2;

/// The version tables of one file.
#[derive(Default)]
pub(super) struct Versions<'a> {
    /// What each needed file must define.
    pub needs: Vec<VersionNeed>,
    /// Names of the defined versions, without the base one.
    pub definitions: Vec<String>,
    /// Whether there is a DT_VERSYM.
    pub of_symbols: bool,
    /// What the version indices stand for.
    indices: Vec<Named>,
    of_symbol: Cow<'a, [u8]>,
}

/// What a version index stands for.
#[derive(Debug, Clone, Copy, Default)]
struct Named {
    /// Index into the needed versions.
    needed: Option<u16>,
    /// Hash of the name; 0 for an index that stands for no version, as those below the first and that of the base version.
    hash: u16,
}

impl<'a> Versions<'a> {
    /// Reads the tables; `symbols` is the number of dynamic symbols.
    pub fn read(object: &'a Object, dynamic: &Dynamic<'a>, symbols: u64) -> Result<Self, ElfError> {
        let mut versions = Versions::default();
        if let Some(address) = dynamic.value(DT_VERNEED) {
            let count = dynamic.value(DT_VERNEEDNUM).unwrap_or(0);
            whole(object, address, "DT_VERNEED", |bytes| {
                versions.read_needs(bytes, count, dynamic, object)
            })?;
        }
        if let Some(address) = dynamic.value(DT_VERDEF) {
            let count = dynamic.value(DT_VERDEFNUM).unwrap_or(0);
            whole(object, address, "DT_VERDEF", |bytes| {
                versions.read_definitions(bytes, count, dynamic, object)
            })?;
        }
        if let Some(address) = dynamic.value(DT_VERSYM) {
            versions.of_symbols = true;
            versions.of_symbol = object.at_address(address, symbols.saturating_mul(2))?;
        }
        Ok(versions)
    }

    /// Index into the needed versions that an undefined symbol asks for.
    pub fn needed(&self, symbol: usize) -> Option<u16> {
        self.named(self.entry(symbol) & INDEX_MASK).needed
    }

    /// The version that a defined symbol belongs to (its hash, 0 for none), and which requests the symbol answers: as glibc's
    /// `check_match` (elf/dl-lookup.c) compares. A copy of another file's variable, in an executable, has a needed version.
    pub fn defined(&self, symbol: usize) -> (u16, Answers) {
        let entry = self.entry(symbol);
        let (index, hidden) = (entry & INDEX_MASK, entry & HIDDEN != 0);
        let hash = self.named(index).hash;
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

    fn named(&self, index: u16) -> Named {
        let named = self.indices.get(usize::from(index));
        named.copied().unwrap_or_default()
    }

    fn name(&mut self, index: u16, named: Named) {
        let index = usize::from(index & INDEX_MASK);
        if self.indices.len() <= index {
            self.indices.resize(index + 1, Named::default());
        }
        self.indices[index] = named;
    }

    /// Whether the bytes hold the whole table.
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
                self.name(version.vna_other, Named { needed, hash });
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
            if self.needs.len() >= MOST {
                return Ok(false);
            }
        }
        Ok(self.needs.len() as u64 == count)
    }

    /// Whether the bytes hold the whole table.
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
            // The first name is the version's own, the others are those it inherits from.
            let Some(own) = definition.iter().next() else {
                return Ok(false);
            };
            let name = dynamic.name(own.vda_name)?;
            if definition.vd_flags & BASE == 0 {
                self.definitions
                    .push(String::from_utf8_lossy(name).into_owned());
                let hash = version_hash(name);
                self.name(definition.vd_ndx, Named { needed: None, hash });
            }
            if number >= MOST {
                return Ok(false);
            }
        }
        Ok(number as u64 == count)
    }
}

/// Reads a table at an address: of as many bytes as are mostly enough, else of more, up to its segment's end or to
/// [`Limit::ElfTableBytes`](crate::limits::Limit::ElfTableBytes). `read` says whether it found the whole table.
fn whole(
    object: &Object,
    address: u64,
    what: &str,
    mut read: impl FnMut(&[u8]) -> Result<bool, ElfError>,
) -> Result<(), ElfError> {
    let mut length = USUAL;
    loop {
        let (bytes, hole) = object.held_at_address(address, length)?;
        if read(&bytes)? {
            return Ok(());
        }
        if let Some(hole) = hole {
            return Err(hole);
        }
        if (bytes.len() as u64) < length {
            return Err(broken(format!("{what} leads out of its segment")));
        }
        length = length.saturating_mul(GROWTH);
    }
}

/// goblin finds the tables through section headers only.
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
    use crate::elf::object::{Opened, X86_64};
    use crate::elf::testing::Sample;
    use crate::limits::{Limit, Limits};

    #[test]
    fn definitions_answer_by_index_and_hidden_bit() {
        let mut versions = Versions::default();
        let (first, later) = (version_hash(b"V1"), version_hash(b"V2"));
        let defined = |hash| Named { needed: None, hash };
        versions.name(2, defined(first));
        versions.name(3, defined(later));
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
            // Behind the end of the table.
            (0, Answers::All),
        ];
        for (symbol, expected) in expected.into_iter().enumerate() {
            assert_eq!(versions.defined(symbol), expected, "{symbol}");
        }
    }

    #[test]
    fn a_long_table_is_read_as_far_as_the_limit_goes() {
        let file = Sample::new(X86_64).data(&vec![1; 3 << 20]).build();
        let find = |length: usize, most: u64| {
            let mut limits = Limits::default();
            limits.set(Limit::ElfTableBytes, most);
            let Ok(Opened::Little(object)) = Object::open(&file, &limits) else {
                panic!("it is no ELF file");
            };
            let start = object.address_of(0).unwrap_or_default();
            whole(&object, start, "a table", |bytes| Ok(bytes.len() >= length))
        };
        for length in [100, 100_000, 2_000_000] {
            assert!(find(length, 4 << 20).is_ok(), "{length}");
        }
        assert!(matches!(find(2_000_000, 1 << 20), Err(ElfError::Limit(_))));
        assert!(matches!(find(9 << 20, 4 << 20), Err(ElfError::Broken(_))));
    }
}
