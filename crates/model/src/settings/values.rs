//! The values of a variable, and what is wrong with others.

use std::collections::{BTreeMap, HashSet};

use regex::Regex;
use serde::{Deserialize, Deserializer};

use super::faults::Problem;
use super::options::{self, Key};
use super::wrong::{Wrong, suggested};

/// Some values of a variable.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(super) struct Values {
    pub words: Vec<String>,
    any_case: bool,
    #[serde(deserialize_with = "whole")]
    pattern: Option<Regex>,
    distinct: bool,
    pub options: Option<String>,
}

impl Values {
    /// Whether a value is one of these, for a release that reads options by this table.
    pub fn wrong(
        &self,
        value: &str,
        release: &str,
        tables: &BTreeMap<String, Vec<Key>>,
    ) -> Option<Wrong> {
        if let Some(table) = self.options.as_ref().and_then(|name| tables.get(name)) {
            return options::wrong(value, release, table);
        }
        if self.distinct {
            let twice = repeated_device(value)?;
            return Some(Wrong::new(Problem::Twice, twice, Vec::new()));
        }
        let is_word = |word: &String| match self.any_case {
            true => word.eq_ignore_ascii_case(value),
            false => word == value,
        };
        let is_match = |pattern: &Regex| pattern.is_match(value);
        let is_valid =
            self.words.iter().any(is_word) || self.pattern.as_ref().is_some_and(is_match);
        (!is_valid).then(|| Wrong::new(Problem::Value, value, suggested(value, &self.words)))
    }
}

/// The device that a list such as `0,1,0` has twice. CUDA reads a list up to the first element that is no device.
fn repeated_device(list: &str) -> Option<&str> {
    let mut seen = HashSet::new();
    let devices = list.split(',').map(str::trim);
    let is_number = |it: &&str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    let mut devices = devices.take_while(is_number);
    devices.find(|device| !seen.insert(*device))
}

/// A regular expression of a whole value.
fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Regex>, D::Error> {
    let pattern = Option::<String>::deserialize(deserializer)?;
    let whole = |pattern: String| Regex::new(&format!("^(?s:{pattern})$"));
    pattern
        .map(whole)
        .transpose()
        .map_err(serde::de::Error::custom)
}
