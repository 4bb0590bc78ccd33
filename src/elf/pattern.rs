//! Regular expressions over bytes, as the recipe table writes them.

use regex::bytes::Regex;
use serde::Deserialize;

/// A regular expression over bytes.
#[derive(Debug, Clone)]
pub(super) struct Pattern(pub Regex);

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Regex::new(&format!("(?-u){text}"))
            .map(Pattern)
            .map_err(serde::de::Error::custom)
    }
}

/// A compiled-in pattern of machine code, in which `.` is any byte.
macro_rules! bytes_pattern {
    ($pattern:expr) => {
        std::sync::LazyLock::new(|| {
            #[allow(clippy::expect_used)]
            regex::bytes::Regex::new(concat!("(?s-u)", $pattern)).expect("a fixed pattern")
        })
    };
}
pub(super) use bytes_pattern;
