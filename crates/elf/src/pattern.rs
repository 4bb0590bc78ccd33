//! Regular expressions over bytes, as the recipe table writes them.

use std::sync::OnceLock;

use regex::bytes::Regex;
use serde::Deserialize;

/// A regular expression over bytes, compiled when it is first used.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub(crate) struct Pattern {
    source: String,
    compiled: OnceLock<Option<Regex>>,
}

impl From<String> for Pattern {
    fn from(source: String) -> Self {
        Pattern {
            source,
            compiled: OnceLock::new(),
        }
    }
}

impl Pattern {
    /// `None` if it is invalid, which the tests exclude.
    pub fn regex(&self) -> Option<&Regex> {
        let compile = || Regex::new(&format!("(?-u){}", self.source)).ok();
        self.compiled.get_or_init(compile).as_ref()
    }

    /// Whether it matches somewhere in these bytes.
    pub fn is_match(&self, bytes: &[u8]) -> bool {
        self.regex().is_some_and(|it| it.is_match(bytes))
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
pub(crate) use bytes_pattern;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::Value;

    use super::*;

    /// The texts of all patterns of the table.
    fn patterns(value: &Value, found: &mut Vec<String>) {
        let is_pattern =
            |key: &str| ["each", "needed", "object", "pattern", "soname", "text"].contains(&key);
        for (key, field) in value.as_object().into_iter().flatten() {
            match field {
                Value::String(text) if is_pattern(key) => found.push(text.clone()),
                other => patterns(other, found),
            }
        }
        for item in value.as_array().into_iter().flatten() {
            patterns(item, found);
        }
    }

    #[test]
    fn all_patterns_of_the_table_are_valid() {
        let mut found = Vec::new();
        patterns(&imgcheck_tables::read("libraries").unwrap(), &mut found);
        assert!(found.len() > 50, "{}", found.len());
        for text in found {
            assert!(Pattern::from(text.clone()).regex().is_some(), "{text}");
        }
    }
}
