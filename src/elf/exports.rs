//! The defined symbols of a file: how requests are answered, and how they are written compactly.
//!
//! A definition is one number of 64 bits: 46 of the name's hash, 16 of the version's, 2 that say to whom it answers. Ordered
//! by it, all versions of a name stand together, and names are spread evenly. A symbol that is missing goes unnoticed with a
//! probability of 2⁻⁴⁶ for each definition in scope, a wrong version with 2⁻¹⁶ for each version that has the name.
//!
//! Written, a definition is 11 characters of 6 bits, lowest bits first.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64;

use super::facts::Exports;

/// Characters of one hash.
const WIDTH: usize = 11;
/// The characters, in the order of RFC 4648, section 5.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// What is no digit.
const NONE: u8 = 0xff;
const VALUES: [u8; 256] = values();

const fn values() -> [u8; 256] {
    let mut values = [NONE; 256];
    let mut digit = 0;
    while digit < 64 {
        values[DIGITS[digit] as usize] = digit as u8;
        digit += 1;
    }
    values
}

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
        let mut text = String::with_capacity(self.definitions.len() * WIDTH);
        for hash in &self.definitions {
            for digit in 0..WIDTH {
                text.push(char::from(DIGITS[(hash >> (6 * digit) & 63) as usize]));
            }
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Exports {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text)
    }
}

struct Text;

impl Visitor<'_> for Text {
    type Value = Exports;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "hashes of {WIDTH} characters each")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Exports, E> {
        let (hashes, []) = text.as_bytes().as_chunks::<WIDTH>() else {
            return Err(E::invalid_length(text.len(), &self));
        };
        let hash = |digits: &[u8; WIDTH]| {
            let mut hash = 0;
            for (place, digit) in digits.iter().enumerate() {
                let value = VALUES[usize::from(*digit)];
                if value == NONE {
                    return Err(E::custom("a character that is no digit of a hash"));
                }
                hash |= u64::from(value) << (6 * place);
            }
            Ok(hash)
        };
        hashes
            .iter()
            .map(hash)
            .collect::<Result<_, E>>()
            .map(Exports::new)
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
            let text = serde_json::to_string(&exports).unwrap();
            prop_assert_eq!(text.len(), 2 + WIDTH * definitions.len());
            prop_assert_eq!(serde_json::from_str::<Exports>(&text).unwrap(), exports);
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
    fn other_text_is_refused() {
        assert!(serde_json::from_str::<Exports>("\"AAAAAAAAAA\"").is_err());
        assert!(serde_json::from_str::<Exports>("\"AAAAAAAAAA=\"").is_err());
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
        for empty in [Exports::default(), exports(&[])] {
            assert!(
                empty.is_empty() && !empty.defines("f", None) && !empty.defines("f", Some("V"))
            );
        }
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
