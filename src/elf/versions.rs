//! Symbol versions: what a file needs of others (DT_VERNEED) and what it defines (DT_VERDEF).
//!
//! Linux Standard Base Core, "Symbol Versioning". The tables are found through the dynamic section, never through section
//! headers, which a loader does not use either.

use std::borrow::Cow;
use std::collections::HashMap;

use goblin::elf::SectionHeader;
use goblin::elf::dynamic::{DT_VERDEF, DT_VERDEFNUM, DT_VERNEED, DT_VERNEEDNUM, DT_VERSYM};
use goblin::elf::section_header::{SHT_GNU_VERDEF, SHT_GNU_VERNEED};
use goblin::elf::symver::{VerdefSection, VerneedSection};

use super::dynamic::Dynamic;
use super::error::{ElfError, broken};
use super::facts::VersionNeed;
use super::object::{Object, string_at};

/// The tables of real files stay below some kilobytes.
const TABLE_LIMIT: u64 = 64 << 10;
/// The version index within DT_VERSYM; the bit above marks a version that only an explicit request finds.
const INDEX_MASK: u16 = 0x7fff;
const HIDDEN: u16 = 0x8000;
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
    needed: HashMap<u16, u16>,
    defined: HashMap<u16, Vec<u8>>,
    of_symbol: Cow<'a, [u8]>,
}

/// The version of one symbol.
pub(super) struct SymbolVersion<'v> {
    /// Name of the version that a defined symbol belongs to.
    pub defined: Option<&'v [u8]>,
    /// Index into the needed versions that an undefined symbol asks for.
    pub needed: Option<u16>,
    /// Found by requests for this very version only (glibc `do_lookup_unversioned`, elf/dl-lookup.c).
    pub explicit_only: bool,
}

impl<'a> Versions<'a> {
    /// Reads the tables; `symbols` is the number of dynamic symbols.
    pub fn read(object: &'a Object, dynamic: &Dynamic<'a>, symbols: u64) -> Result<Self, ElfError> {
        let mut versions = Versions::default();
        if let Some(address) = dynamic.value(DT_VERNEED) {
            let count = dynamic.value(DT_VERNEEDNUM).unwrap_or(0);
            let (bytes, hole) = object.held_at_address(address, TABLE_LIMIT)?;
            if !versions.read_needs(&bytes, count, dynamic, object) {
                return Err(hole.unwrap_or_else(|| broken("DT_VERNEED leads out of its segment")));
            }
        }
        if let Some(address) = dynamic.value(DT_VERDEF) {
            let count = dynamic.value(DT_VERDEFNUM).unwrap_or(0);
            let (bytes, hole) = object.held_at_address(address, TABLE_LIMIT)?;
            if !versions.read_definitions(&bytes, count, dynamic, object) {
                return Err(hole.unwrap_or_else(|| broken("DT_VERDEF leads out of its segment")));
            }
        }
        if let Some(address) = dynamic.value(DT_VERSYM) {
            versions.of_symbol = object.at_address(address, symbols.saturating_mul(2))?;
        }
        Ok(versions)
    }

    /// The version of the symbol with this index.
    pub fn of(&self, symbol: usize) -> SymbolVersion<'_> {
        let entry = symbol
            .checked_mul(2)
            .and_then(|start| self.of_symbol.get(start..start + 2))
            .map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
        let index = entry & INDEX_MASK;
        SymbolVersion {
            defined: self.defined.get(&index).map(Vec::as_slice),
            needed: self.needed.get(&index).copied(),
            explicit_only: entry & HIDDEN != 0 && index > 2,
        }
    }

    fn read_needs(&mut self, bytes: &[u8], count: u64, dynamic: &Dynamic, object: &Object) -> bool {
        let header = synthetic(SHT_GNU_VERNEED, bytes, count);
        let Ok(Some(table)) = VerneedSection::parse(bytes, &[header], object.context()) else {
            return false;
        };
        let mut number: u16 = 0;
        for need in table.iter() {
            let mut versions = Vec::new();
            for version in need.iter() {
                let name = String::from_utf8_lossy(string_at(&dynamic.strings, version.vna_name));
                versions.push((name.into_owned(), version.vna_flags & WEAK != 0));
                self.needed.insert(version.vna_other & INDEX_MASK, number);
                let Some(next) = number.checked_add(1) else {
                    return false;
                };
                number = next;
            }
            if versions.len() != usize::from(need.vn_cnt) {
                return false;
            }
            self.needs.push(VersionNeed {
                file: String::from_utf8_lossy(string_at(&dynamic.strings, need.vn_file))
                    .into_owned(),
                versions,
            });
            if self.needs.len() as u64 >= TABLE_LIMIT {
                return false;
            }
        }
        self.needs.len() as u64 == count
    }

    fn read_definitions(
        &mut self,
        bytes: &[u8],
        count: u64,
        dynamic: &Dynamic,
        object: &Object,
    ) -> bool {
        let header = synthetic(SHT_GNU_VERDEF, bytes, count);
        let Ok(Some(table)) = VerdefSection::parse(bytes, &[header], object.context()) else {
            return false;
        };
        let mut number = 0;
        for definition in table.iter() {
            number += 1;
            // The first name is the version's own, the others are those it inherits from.
            let Some(own) = definition.iter().next() else {
                return false;
            };
            let name = string_at(&dynamic.strings, own.vda_name);
            if definition.vd_flags & BASE == 0 {
                self.definitions
                    .push(String::from_utf8_lossy(name).into_owned());
                self.defined
                    .insert(definition.vd_ndx & INDEX_MASK, name.to_vec());
            }
            if number >= TABLE_LIMIT {
                return false;
            }
        }
        number == count
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
