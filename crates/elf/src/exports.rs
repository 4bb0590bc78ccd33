//! The symbols that a file defines, as a compact set of hashes, and how it answers requests.
//!
//! A definition is a number of 64 bits: 46 of the hash of the name, 16 of the hash of the version, and 2 that say which requests it
//! answers. In this order all versions of a name are adjacent, and names are distributed evenly. A missing symbol goes unnoticed with
//! a probability of 2⁻⁴⁶ for each definition in scope, a wrong version with 2⁻¹⁶ for each version of the name.
//!
//! Serialized, a definition is 8 bytes, little-endian: hashes do not compress, there are hundreds of thousands of them, and no other
//! form is as fast. Text formats have the same bytes in base64.

use std::borrow::Cow;
use std::fmt;

use base64::prelude::{BASE64_STANDARD, Engine};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64;

/// The defined dynamic symbols of a file with their versions, as sorted hashes.
///
/// [`Exports::defines`] answers for one file, a [`SymbolRequest`] is cheaper for many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exports {
    /// Sorted definitions.
    definitions: Vec<u64>,
    /// For each value of the uppermost bits, where in `definitions` it starts; one more for the end.
    index: Vec<u32>,
    /// The number of the other bits.
    shift: u32,
}

/// Number of bits below the name: those of the version, and below them the [`Answers`].
const NAME_SHIFT: u32 = 18;
const VERSION_SHIFT: u32 = 2;
const ANSWERS_MASK: u64 = 3;
/// Average number of definitions for each entry of the index, at most.
const BUCKET: usize = 4;

/// Which requests a definition answers besides those for its own version, as in glibc's `check_match` (elf/dl-lookup.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    /// None: a hidden version.
    Version = 0,
    /// Unversioned ones, if no other version of the name answers them: a default version.
    Default = 1,
    /// Unversioned ones: the first version that the file defines, even if hidden.
    Unversioned = 2,
    /// All: no version, or the base version.
    All = 3,
}

/// A request for a symbol, hashed once for many files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SymbolRequest {
    /// Hash of the name, in the same bits as in a definition.
    name: u64,
    /// Hash of the version; 0 for none.
    version: u16,
}

impl SymbolRequest {
    /// The request of a relocation whose symbol has this name and version, or no version.
    pub fn new(name: &str, version: Option<&str>) -> Self {
        SymbolRequest {
            name: name_bits(xxh3_64(name.as_bytes())),
            version: version.map_or(0, |version| version_hash(version.as_bytes())),
        }
    }

    /// Whether one of the definitions of the name answers.
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

/// The bits of a definition that come from the hash of its name.
fn name_bits(hash: u64) -> u64 {
    hash >> NAME_SHIFT << NAME_SHIFT
}

/// The hash of the name of a version, never 0.
pub(crate) fn version_hash(version: &[u8]) -> u16 {
    (xxh3_64(version) as u16).max(1)
}

/// A definition, from the hashes of its name and version (0 without one).
pub(crate) fn definition(name: u64, version: u16, answers: Answers) -> u64 {
    name_bits(name) | u64::from(version) << VERSION_SHIFT | answers as u64
}

impl Exports {
    /// From definitions in any order.
    pub(crate) fn new(mut definitions: Vec<u64>) -> Self {
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

    /// Symbols with these names and versions, all of them default versions.
    pub fn of(symbols: &[(&str, Option<&str>)]) -> Self {
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

    /// Whether the file defines no symbols.
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// Whether glibc's loader would accept a definition of this file for a request, after `check_match` and `do_lookup_x`
    /// (elf/dl-lookup.c).
    ///
    /// Glibc aborts the process ("Inconsistency detected by ld.so") if a versioned request meets the file that DT_VERNEED names for
    /// it, and that file has no [`ElfFacts::symbol_versions`](super::ElfFacts::symbol_versions). Here the request is answered.
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

    /// Whether the file answers a request for this symbol, with or without a version.
    pub fn defines(&self, name: &str, version: Option<&str>) -> bool {
        self.answers(SymbolRequest::new(name, version))
    }
}

impl Serialize for Exports {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let definitions = self.definitions.iter();
        let bytes: Vec<u8> = definitions.flat_map(|it| it.to_le_bytes()).collect();
        match serializer.is_human_readable() {
            true => serializer.serialize_str(&BASE64_STANDARD.encode(bytes)),
            false => serializer.serialize_bytes(&bytes),
        }
    }
}

impl<'de> Deserialize<'de> for Exports {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.is_human_readable() {
            true => deserializer.deserialize_str(Bytes),
            false => deserializer.deserialize_bytes(Bytes),
        }
    }
}

impl JsonSchema for Exports {
    fn schema_name() -> Cow<'static, str> {
        "Exports".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Definitions of 8 bytes each, little-endian and in ascending order: bits 18 to 63 of the xxh3-64 of the \
                name, 16 bits of that of the version, and 2 bits that say which requests the definition answers.",
            "type": "string",
            "contentEncoding": "base64",
        })
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

    fn visit_str<E: Error>(self, text: &str) -> Result<Exports, E> {
        let bytes = BASE64_STANDARD.decode(text).map_err(E::custom)?;
        self.visit_bytes(&bytes)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn serialization_round_trips(definitions: Vec<u64>) {
            let exports = Exports::new(definitions.clone());
            let bytes = postcard::to_stdvec(&exports).unwrap();
            prop_assert_eq!(&postcard::from_bytes::<Exports>(&bytes).unwrap(), &exports);
            let text = serde_json::to_string(&exports).unwrap();
            prop_assert_eq!(serde_json::from_str::<Exports>(&text).unwrap(), exports);
        }

        #[test]
        fn exactly_the_defined_names_are_found(names in prop::collection::btree_set("[a-z]{1,3}", 0..300)) {
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
    fn an_incomplete_definition_is_an_error() {
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
    fn definitions_answer_the_same_requests_as_in_glibc() {
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
