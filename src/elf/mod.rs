//! What an ELF file says of itself, read by random access: headers, dynamic section, symbol versions, symbols,
//! fat binaries and version constants. Which library answers to which export is data (a [`Recipes`] table), not code:
//! nothing here knows what PyTorch is.

mod constants;
mod decode;
mod dynamic;
pub mod error;
mod exports;
pub mod facts;
mod fat_binary;
mod identify;
mod notes;
mod object;
mod ranges;
pub mod read_at;
mod recipes;
mod refusal;
mod relocations;
pub mod retain;
mod sparse;
mod symbols;
#[cfg(test)]
mod testing;
mod versions;

pub use error::ElfError;
pub use exports::SymbolRequest;
pub use facts::ElfFacts;
pub use read_at::{MissingBytes, ReadAt};
pub use recipes::Recipes;
pub use refusal::{Refusal, refusal};
pub use retain::Retainer;
pub use sparse::{ChunkPool, SparseFile};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::Limits;

use dynamic::Dynamic;
use identify::Subject;
use object::{Object, Opened};
use symbols::Symbols;
use versions::Versions;

/// How much of a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// Of the many containers of GPU code in a file, only some are looked at: their headers are spread over all of it.
    Sampled,
    /// What an address leads to: headers, tables, bodies of named exports, named fat-binary sections.
    #[default]
    Default,
    /// Also whole-section searches.
    Deep,
}

/// Reads the facts of one ELF file, within the limits that hold unless a user says otherwise. As [`read_within`].
///
/// # Errors
/// As [`read_within`].
pub fn read(source: &dyn ReadAt, recipes: &Recipes, depth: Depth) -> Result<ElfFacts, ElfError> {
    read_within(source, recipes, depth, &Limits::default())
}

/// Reads the facts of one ELF file.
///
/// Only little-endian files are read whole: of one of the other byte order class, machine and type are given.
///
/// # Errors
/// [`ElfError::Broken`] for bytes that no loader could use (no ELF file, truncated, tables outside the file),
/// [`ElfError::Missing`] if `source` does not hold a range that is needed, [`ElfError::Limit`] for a table that is there and passes
/// a limit, [`ElfError::Io`] if it cannot be read.
pub fn read_within(
    source: &dyn ReadAt,
    recipes: &Recipes,
    depth: Depth,
    limits: &Limits,
) -> Result<ElfFacts, ElfError> {
    let object = match Object::open(source, limits)? {
        Opened::Little(object) => object,
        Opened::Big(foreign) => {
            return Ok(ElfFacts {
                class: foreign.class,
                machine: foreign.machine,
                object_type: foreign.object_type,
                refusal: refusal(source)?,
                ..ElfFacts::default()
            });
        }
    };
    let mut facts = ElfFacts {
        class: object.class,
        machine: object.machine,
        object_type: object.object_type,
        refusal: refusal(source)?,
        interpreter: notes::interpreter(&object)?,
        build_id: notes::build_id(&object)?,
        executable_stack: notes::executable_stack(&object),
        ..ElfFacts::default()
    };
    let mut exports = Vec::new();
    if let Some(dynamic) = Dynamic::read(&object)? {
        let count = symbols::count(&object, &dynamic)?;
        let versions = Versions::read(&object, &dynamic, count)?;
        let symbols = Symbols::read(&object, &dynamic, &versions, count, recipes)?;
        facts.soname = dynamic.soname()?;
        facts.needed = dynamic.needed()?;
        facts.rpath = dynamic.rpath()?;
        facts.runpath = dynamic.runpath()?;
        (facts.flags, facts.flags_1) = dynamic.flags();
        facts.version_needs = versions.needs;
        facts.version_definitions = versions.definitions;
        facts.symbol_versions = versions.of_symbols;
        facts.exports = symbols.exports;
        facts.imports = symbols.imports;
        exports = symbols.asked;
    }
    let subject = Subject {
        object: &object,
        exports: &exports,
        soname: facts.soname.as_deref(),
        needed: &facts.needed,
        depth,
    };
    facts.identity = identify::identify(&subject, recipes)?;
    facts.gpu = fat_binary::read(&object, depth)?;
    Ok(facts)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::testing::Sample;
    use super::*;
    use crate::limits::Limit;

    fn within(file: &dyn ReadAt, limit: Limit, value: u64) -> Result<ElfFacts, ElfError> {
        let mut limits = Limits::default();
        limits.set(limit, value);
        let recipes = Recipes::parse("test", "libraries: []").unwrap();
        read_within(file, &recipes, Depth::Default, &limits)
    }

    fn passed(found: Result<ElfFacts, ElfError>) -> (Limit, u64) {
        match found {
            Err(ElfError::Limit(passed)) => (passed.limit, passed.met),
            other => panic!("{other:?}"),
        }
    }

    fn replace(file: &mut [u8], old: &[u8], new: &[u8]) {
        let at = file.windows(old.len()).position(|bytes| bytes == old);
        let at = at.unwrap();
        file[at..at + new.len()].copy_from_slice(new);
    }

    #[test]
    fn what_is_there_and_too_long_passes_a_limit_and_what_lies_is_broken() {
        let sample = ["x", "y", "z"]
            .into_iter()
            .fold(Sample::new(62), |sample, name| {
                sample.function(name, b"\xc3")
            });
        let mut file = sample.build();
        assert_eq!(within(&file, Limit::Symbols, 4).unwrap().exports.len(), 3);
        assert_eq!(
            passed(within(&file, Limit::Symbols, 3)),
            (Limit::Symbols, 4)
        );
        assert!(within(&file, Limit::ElfTableBytes, 120).is_ok());
        let table = passed(within(&file, Limit::ElfTableBytes, 90));
        assert_eq!(table.0, Limit::ElfTableBytes);
        // DT_HASH: no bucket, four symbols.
        let (honest, lie) = ([0, 0, 0, 0, 4, 0, 0, 0], [0, 0, 0, 0, 255, 255, 255, 255]);
        replace(&mut file, &honest, &lie);
        let lying = within(&file, Limit::Symbols, 1);
        assert!(matches!(lying, Err(ElfError::Broken(_))), "{lying:?}");
    }

    #[test]
    fn names_that_share_their_bytes_count_each() {
        let long = "a_name_of_64_bytes_to_be_shared_by_both_symbols_of_the_test_file";
        let mut file = Sample::new(62)
            .function(long, b"\xc3")
            .function("b", b"\xc3")
            .build();
        assert!(within(&file, Limit::ElfTableBytes, 120).is_ok());
        let second = long.len() as u8 + 2;
        replace(&mut file, &[second, 0, 0, 0, 0x12], &[1, 0, 0, 0]);
        assert_eq!(
            passed(within(&file, Limit::ElfTableBytes, 120)),
            (Limit::ElfTableBytes, 128)
        );
    }
}
