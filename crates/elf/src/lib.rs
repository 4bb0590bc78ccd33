//! What an ELF file says about itself, read by random access: headers, dynamic section, symbol versions, symbols, fat binaries
//! and library versions.
//!
//! Which library is known by which exports, and which reader knows its version, is data (a [`Recipes`] table).
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # if cfg!(not(target_os = "linux")) { return Ok(()); }
//! use imgcheck_elf::{Depth, Recipes};
//!
//! let recipes = Recipes::parse("no libraries", "libraries: []")?;
//! let program = std::fs::read(std::env::current_exe()?)?;
//! let facts = imgcheck_elf::read(&program, &recipes, Depth::Default)?;
//! assert!(facts.needed.iter().any(|it| it.starts_with("libc.so")));
//! # Ok(())
//! # }
//! ```
//!
//! Nothing is mapped or executed, every count and offset is checked before it is used, and no bytes make it panic. What it reads of a
//! file of gigabytes is kilobytes: headers, tables, and the few bytes that an address leads to.

mod aarch64;
mod candidate;
mod depth;
mod dynamic;
pub mod error;
mod exports;
pub mod facts;
mod fat_binary;
mod identify;
mod imports;
mod notes;
mod number_format;
mod object;
mod pattern;
mod ranges;
mod readers;
mod recipes;
mod refusal;
mod relocations;
pub mod retain;
mod sparse;
mod symbols;
#[cfg(test)]
mod testing;
mod versions;

pub use depth::Depth;
pub use error::ElfError;
pub use exports::SymbolRequest;
pub use facts::ElfFacts;
pub use imgcheck_base::read_at::{MissingBytes, ReadAt};
pub use recipes::Recipes;
pub use refusal::{Refusal, refusal};
pub use retain::Retainer;
pub use sparse::{ChunkPool, SparseFile};

use imgcheck_base::bounds::Bounds;

use candidate::Candidate;
use dynamic::Dynamic;
use object::{Object, Opened};
use symbols::Symbols;
use versions::Versions;

/// Machine code that is searched in the default reading, in bytes. The CUDA runtime itself has half a megabyte.
const SMALL_CODE: u64 = 8 << 20;

/// How ELF files are read.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions<'a> {
    /// The libraries to identify.
    pub recipes: &'a Recipes,
    /// How much of a file is read.
    pub depth: Depth,
    /// Limits on tables, symbols and GPU code, and what ends reading early.
    pub bounds: &'a Bounds,
}

/// Reads the facts of one ELF file with default limits.
///
/// # Errors
/// Same as [`read_with`].
pub fn read(source: &dyn ReadAt, recipes: &Recipes, depth: Depth) -> Result<ElfFacts, ElfError> {
    let options = ReadOptions {
        recipes,
        depth,
        bounds: &Bounds::default(),
    };
    read_with(source, &options)
}

/// Reads the facts of one ELF file. Of a big-endian file, only class, machine and type.
///
/// # Errors
/// [`ElfError::Broken`] if no loader could use the file (no ELF file, truncated, tables outside the file), [`ElfError::Missing`] if
/// `source` does not have a range that is needed, [`ElfError::Limit`] if a table exceeds a limit, [`ElfError::Cancelled`], and
/// [`ElfError::Io`] if `source` cannot be read.
pub fn read_with(source: &dyn ReadAt, options: &ReadOptions) -> Result<ElfFacts, ElfError> {
    let object = match Object::open(source, options.bounds)? {
        Opened::Little(object) => object,
        Opened::Big(header) => {
            return Ok(ElfFacts {
                class: header.class,
                machine: header.machine,
                object_type: header.object_type,
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
        let symbols = Symbols::read(&object, &dynamic, &versions, count, options.recipes)?;
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
    facts.gpu = fat_binary::read(&object, options.depth)?;
    let candidate = Candidate {
        object: &object,
        exports: &exports,
        soname: facts.soname.as_deref(),
        needed: &facts.needed,
        depth: options.depth,
        is_small_gpu_file: facts.gpu.is_some() && object.code_bytes() <= SMALL_CODE,
    };
    facts.identity = identify::identify(&candidate, options.recipes)?;
    Ok(facts)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::testing::Sample;
    use super::*;
    use imgcheck_base::limits::Limit;

    fn within(file: &dyn ReadAt, limit: Limit, value: u64) -> Result<ElfFacts, ElfError> {
        let mut bounds = Bounds::default();
        bounds.limits.set(limit, value);
        let options = ReadOptions {
            recipes: &Recipes::parse("test", "libraries: []").unwrap(),
            depth: Depth::Default,
            bounds: &bounds,
        };
        read_with(file, &options)
    }

    fn exceeded(result: Result<ElfFacts, ElfError>) -> (Limit, u64) {
        match result {
            Err(ElfError::Limit(exceeded)) => (exceeded.limit, exceeded.found),
            other => panic!("{other:?}"),
        }
    }

    fn replace(file: &mut [u8], old: &[u8], new: &[u8]) {
        let at = file.windows(old.len()).position(|bytes| bytes == old);
        let at = at.unwrap();
        file[at..at + new.len()].copy_from_slice(new);
    }

    #[test]
    fn a_long_table_exceeds_a_limit_and_a_false_count_is_an_error() {
        let sample = ["x", "y", "z"]
            .into_iter()
            .fold(Sample::new(62), |sample, name| {
                sample.function(name, b"\xc3")
            });
        let mut file = sample.build();
        assert_eq!(within(&file, Limit::Symbols, 4).unwrap().exports.len(), 3);
        assert_eq!(
            exceeded(within(&file, Limit::Symbols, 3)),
            (Limit::Symbols, 4)
        );
        assert!(within(&file, Limit::ElfTableBytes, 120).is_ok());
        let table = exceeded(within(&file, Limit::ElfTableBytes, 90));
        assert_eq!(table.0, Limit::ElfTableBytes);
        // DT_HASH: no bucket, four symbols.
        let (true_count, false_count) =
            ([0, 0, 0, 0, 4, 0, 0, 0], [0, 0, 0, 0, 255, 255, 255, 255]);
        replace(&mut file, &true_count, &false_count);
        let result = within(&file, Limit::Symbols, 1);
        assert!(matches!(result, Err(ElfError::Broken(_))), "{result:?}");
    }

    #[test]
    fn a_cancelled_read_ends() {
        let bounds = Bounds::default();
        bounds.cancellation.cancel();
        let options = ReadOptions {
            recipes: &Recipes::parse("test", "libraries: []").unwrap(),
            depth: Depth::Default,
            bounds: &bounds,
        };
        let file = Sample::new(62).function("f", b"\xc3").build();
        let result = read_with(&file, &options);
        assert!(matches!(result, Err(ElfError::Cancelled(_))), "{result:?}");
    }

    #[test]
    fn names_that_share_bytes_all_count() {
        let long = "a_name_of_64_bytes_to_be_shared_by_both_symbols_of_the_test_file";
        let mut file = Sample::new(62)
            .function(long, b"\xc3")
            .function("b", b"\xc3")
            .build();
        assert!(within(&file, Limit::ElfTableBytes, 120).is_ok());
        let second = long.len() as u8 + 2;
        replace(&mut file, &[second, 0, 0, 0, 0x12], &[1, 0, 0, 0]);
        assert_eq!(
            exceeded(within(&file, Limit::ElfTableBytes, 120)),
            (Limit::ElfTableBytes, 128)
        );
    }
}
