//! The defined symbols of a file: how requests are answered, and how they are written compactly.
//!
//! A definition is one number of 64 bits: 46 of the name's hash, 16 of the version's, 2 that say to whom it answers. Ordered
//! by it, all versions of a name stand together, and names are spread evenly. A symbol that is missing goes unnoticed with a
//! probability of 2⁻⁴⁶ for each definition in scope, a wrong version with 2⁻¹⁶ for each version that has the name.
//!
//! Written, a definition is its 8 bytes, lowest first: hashes do not compress, and there are hundreds of thousands of them, so
//! nothing is as fast.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64;

use super::facts::Exports;

/// Bits below the name: the version, and above all the [`Answers`].
const NAME_SHIFT: u32 = 18;
const VERSION_SHIFT: u32 = 2;
const ANSWERS_MASK: u64 = 3;
/// Definitions for each entry of the index, at most and on average.
const BUCKET: usize = 4;

/// Which requests a definition answers, as in glibc's `check_match` (elf/dl-lookup.c). All answer the request for their own
/// version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// No others: a hidden version.
    Version = 0,
    /// Also unversioned ones, if no other version of the name does so: a default version.
    Default = 1,
    /// Also unversioned ones: of the first version that the file defines, even if hidden.
    Unversioned = 2,
    /// All: without a version, or of the base version.
    All = 3,
}

/// A request for a symbol, hashed once to be asked of many files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SymbolRequest {
    /// Hash of the name, in the bits that a definition has it in.
    name: u64,
    /// Hash of the version; 0 for none.
    version: u16,
}

impl SymbolRequest {
    /// Asks for `name` as a relocation does whose symbol has this version, or none.
    pub fn new(name: &str, version: Option<&str>) -> Self {
        SymbolRequest {
            name: name_bits(xxh3_64(name.as_bytes())),
            version: version.map_or(0, |version| version_hash(version.as_bytes())),
        }
    }

    /// Whether any of the definitions of the name answers.
    fn is_answered(self, definitions: &[u64]) -> bool {
        let answers = |definition: &u64| definition & ANSWERS_MASK;
        if self.version != 0 {
            return definitions.iter().any(|definition| {
                answers(definition) == Answers::All as u64
                    || (definition >> VERSION_SHIFT) as u16 == self.version
            });
        }
        let mut defaults = 0;
        definitions.iter().any(|definition| {
            defaults += usize::from(answers(definition) == Answers::Default as u64);
            answers(definition) >= Answers::Unversioned as u64
        }) || defaults == 1
    }
}

/// The bits of a definition that come from its name's hash.
fn name_bits(hash: u64) -> u64 {
    hash >> NAME_SHIFT << NAME_SHIFT
}

/// The hash of a version's name, never 0.
pub(super) fn version_hash(version: &[u8]) -> u16 {
    (xxh3_64(version) as u16).max(1)
}

/// The number of a definition, from the hash of its name and that of its version (0 for none).
pub(super) fn definition(name: u64, version: u16, answers: Answers) -> u64 {
    name_bits(name) | u64::from(version) << VERSION_SHIFT | answers as u64
}

impl Exports {
    /// From definitions in any order.
    pub(super) fn new(mut definitions: Vec<u64>) -> Self {
        definitions.sort_unstable();
        Exports::sorted(definitions)
    }

    fn sorted(definitions: Vec<u64>) -> Self {
        if definitions.is_empty() {
            return Exports::default();
        }
        // At least one bit, so that the shift stays below 64.
        let bits = (definitions.len() / BUCKET).max(2).ilog2();
        let shift = u64::BITS - bits;
        let mut index = vec![0_u32; (1 << bits) + 1];
        for definition in &definitions {
            index[(definition >> shift) as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut index {
            sum += *start;
            *start = sum;
        }
        Exports {
            definitions,
            index,
            shift,
        }
    }

    /// Symbols of these names and versions, the latter as default versions.
    #[cfg(test)]
    pub(crate) fn of(symbols: &[(&str, Option<&str>)]) -> Self {
        let one = |(name, version): &(&str, Option<&str>)| {
            let hash = xxh3_64(name.as_bytes());
            match version {
                Some(version) => {
                    definition(hash, version_hash(version.as_bytes()), Answers::Default)
                }
                None => definition(hash, 0, Answers::All),
            }
        };
        Exports::new(symbols.iter().map(one).collect())
    }

    /// Number of definitions.
    pub fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Whether nothing is defined.
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// Whether glibc's loader would take a definition of this file for a request, as `check_match` and `do_lookup_x`
    /// (elf/dl-lookup.c) decide.
    ///
    /// glibc ends the process ("Inconsistency detected by ld.so") where a versioned request comes to the very file that
    /// DT_VERNEED names for it, and that file has no [`ElfFacts::symbol_versions`](super::ElfFacts::symbol_versions). That
    /// is not looked at here: the request is answered.
    pub fn answers(&self, request: SymbolRequest) -> bool {
        let bucket = (request.name >> self.shift) as usize;
        let (Some(&start), Some(&end)) = (self.index.get(bucket), self.index.get(bucket + 1))
        else {
            return false;
        };
        let bucket = &self.definitions[start as usize..end as usize];
        let first = bucket.partition_point(|definition| *definition < request.name);
        let named = &bucket[first..];
        let count = named
            .iter()
            .take_while(|definition| name_bits(**definition) == request.name)
            .count();
        request.is_answered(&named[..count])
    }

    /// Whether a request for this symbol, without or with a version, is answered: [`Exports::answers`] for one file.
    pub fn defines(&self, name: &str, version: Option<&str>) -> bool {
        self.answers(SymbolRequest::new(name, version))
    }
}

impl Serialize for Exports {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let definitions = self.definitions.iter();
        let bytes: Vec<u8> = definitions.flat_map(|it| it.to_le_bytes()).collect();
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for Exports {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Bytes)
    }
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Exports;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "definitions of 8 bytes each")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Exports, E> {
        let (definitions, []) = bytes.as_chunks() else {
            return Err(E::invalid_length(bytes.len(), &self));
        };
        let definitions = definitions.iter().map(|it| u64::from_le_bytes(*it));
        Ok(Exports::new(definitions.collect()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(definitions: Vec<u64>) {
            let exports = Exports::new(definitions.clone());
            let bytes = postcard::to_stdvec(&exports).unwrap();
            prop_assert_eq!(postcard::from_bytes::<Exports>(&bytes).unwrap(), exports);
        }

        #[test]
        fn all_that_is_there_is_found_and_nothing_else(names in prop::collection::btree_set("[a-z]{1,3}", 0..300)) {
            let defined = names.iter().map(|name| definition(xxh3_64(name.as_bytes()), 0, Answers::All));
            let exports = Exports::new(defined.collect());
            for name in "abcdefghijklmnopqrstuvwxyz".split("").chain(names.iter().map(String::as_str)) {
                prop_assert_eq!(exports.defines(name, None), names.contains(name), "{}", name);
            }
        }

        #[test]
        fn unevenly_spread_names_are_found(definitions in prop::collection::vec(0..1_u64 << 40, 1..200)) {
            let exports = Exports::new(definitions.clone());
            for found in definitions {
                let request = SymbolRequest { name: name_bits(found), version: 0 };
                let same: Vec<u64> =
                    exports.definitions.iter().copied().filter(|it| name_bits(*it) == request.name).collect();
                prop_assert_eq!(exports.answers(request), request.is_answered(&same));
            }
        }
    }

    #[test]
    fn a_part_of_a_definition_is_refused() {
        let bytes = postcard::to_stdvec(&[7; 7].as_slice()).unwrap();
        assert!(postcard::from_bytes::<Exports>(&bytes).is_err());
    }

    fn exports(definitions: &[(&str, Option<&str>, Answers)]) -> Exports {
        let definitions = definitions.iter().map(|(name, version, answers)| {
            let version = version.map_or(0, |version| version_hash(version.as_bytes()));
            definition(xxh3_64(name.as_bytes()), version, *answers)
        });
        Exports::new(definitions.collect())
    }

    #[test]
    fn an_empty_file_answers_nothing() {
        let empty = exports(&[]);
        assert_eq!(empty, Exports::default());
        assert!(empty.is_empty() && !empty.defines("f", None) && !empty.defines("f", Some("V")));
    }

    #[test]
    fn each_kind_of_definition_answers_what_glibc_says() {
        for (answers, own, other, none) in [
            (Answers::Version, true, false, false),
            (Answers::Default, true, false, true),
            (Answers::Unversioned, true, false, true),
            (Answers::All, true, true, true),
        ] {
            let exports = exports(&[("f", Some("V1"), answers), ("g", None, Answers::All)]);
            assert_eq!(exports.defines("f", Some("V1")), own, "{answers:?}");
            assert_eq!(exports.defines("f", Some("V2")), other, "{answers:?}");
            assert_eq!(exports.defines("f", None), none, "{answers:?}");
            assert!(!exports.defines("h", None));
        }
    }

    #[test]
    fn two_defaults_answer_no_unversioned_request_unless_the_first_version_does() {
        let two = [
            ("f", Some("V2"), Answers::Default),
            ("f", Some("V3"), Answers::Default),
        ];
        assert!(!exports(&two).defines("f", None) && exports(&two).defines("f", Some("V3")));
        let first = ("f", Some("V1"), Answers::Unversioned);
        assert!(exports(&[two[0], two[1], first]).defines("f", None));
    }
}
