//! Looking up exports, and writing them compactly: a hash of 64 bits is 11 characters of 6 bits, lowest bits first.

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

impl Exports {
    /// Whether a symbol is defined, without or with a version.
    pub fn defines(&self, name: &str, version: Option<&str>) -> bool {
        let hash = match version {
            None => xxh3_64(name.as_bytes()),
            Some(version) => xxh3_64(format!("{name}@{version}").as_bytes()),
        };
        self.0.binary_search(&hash).is_ok()
    }
}

impl Serialize for Exports {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(self.0.len() * WIDTH);
        for hash in &self.0 {
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
            .map(Exports)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(hashes: Vec<u64>) {
            let text = serde_json::to_string(&Exports(hashes.clone())).unwrap();
            prop_assert_eq!(text.len(), 2 + WIDTH * hashes.len());
            prop_assert_eq!(serde_json::from_str::<Exports>(&text).unwrap(), Exports(hashes));
        }
    }

    #[test]
    fn other_text_is_refused() {
        assert!(serde_json::from_str::<Exports>("\"AAAAAAAAAA\"").is_err());
        assert!(serde_json::from_str::<Exports>("\"AAAAAAAAAA=\"").is_err());
    }

    #[test]
    fn symbols_are_found_with_and_without_version() {
        let mut hashes = vec![xxh3_64(b"f"), xxh3_64(b"f@V1"), xxh3_64(b"g@V1")];
        hashes.sort_unstable();
        let exports = Exports(hashes);
        assert!(exports.defines("f", None) && exports.defines("f", Some("V1")));
        assert!(!exports.defines("f", Some("V2")) && !exports.defines("g", None));
    }
}
