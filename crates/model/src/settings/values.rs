//! The values of a variable, and what is wrong with others.

use std::collections::{BTreeMap, HashSet};

use regex::Regex;
use serde::{Deserialize, Deserializer};

use super::faults::Problem;
use super::installed::Installed;
use super::options::{self, Key};
use super::releases::include;
use super::words;
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
    logs: Option<String>,
    flags: Option<String>,
    directory: bool,
}

/// Names that some releases know.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Names {
    since: Option<String>,
    until: Option<String>,
    names: Vec<String>,
}

/// The tables that values refer to.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub options: BTreeMap<String, Vec<Key>>,
    pub names: BTreeMap<String, Vec<Names>>,
}

/// What a value is judged by.
pub(super) struct Reader<'r> {
    pub variable: &'r str,
    pub release: &'r str,
    pub tables: &'r Tables,
    pub installed: &'r dyn Installed,
}

impl Reader<'_> {
    /// The names of a table that the release knows.
    fn known(&self, table: &str) -> Vec<&str> {
        let groups = self.tables.names.get(table).into_iter().flatten();
        let is_of = |it: &&Names| include(it.since.as_deref(), it.until.as_deref(), self.release);
        let known = groups.filter(is_of).flat_map(|it| &it.names);
        known.map(String::as_str).collect()
    }
}

impl Values {
    /// The releases at which options or names begin and end.
    pub fn ends<'t>(&self, tables: &'t Tables) -> Vec<&'t String> {
        let keys = self.options.iter().filter_map(|it| tables.options.get(it));
        let names = [&self.logs, &self.flags].into_iter().flatten();
        let names = names.filter_map(|it| tables.names.get(it)).flatten();
        let ends = keys.flatten().flat_map(Key::ends);
        ends.chain(names.flat_map(|it| it.since.iter().chain(&it.until)))
            .collect()
    }

    /// Whether the values name directories.
    pub fn are_directories(&self) -> bool {
        self.directory
    }

    /// Whether the values name modules.
    pub fn are_modules(&self) -> bool {
        self.logs.is_some()
    }

    /// Whether a value is one of these.
    pub fn wrong(&self, value: &str, reader: &Reader<'_>) -> Option<Wrong> {
        if let Some(table) = self
            .options
            .as_ref()
            .and_then(|it| reader.tables.options.get(it))
        {
            return options::wrong(value, reader.release, table);
        }
        if let Some(table) = &self.logs {
            let may_be_module = |it: &str| reader.installed.may_be_module(reader.variable, it);
            return words::wrong_log(value, &reader.known(table), may_be_module);
        }
        if let Some(table) = &self.flags {
            return words::wrong_flag(value, &reader.known(table));
        }
        if self.directory {
            let file = reader.installed.file_in_place(reader.variable)?;
            return Some(Wrong::new(Problem::File, file, Vec::new()));
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
