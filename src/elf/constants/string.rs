//! A version in a string of the constants, or in the SONAME.

use std::collections::HashSet;
use std::ops::ControlFlow;

use serde::Deserialize;

use super::Found;
use crate::elf::error::ElfError;
use crate::elf::identify::Subject;
use crate::elf::recipes::Pattern;

/// The longest match that windows of a search do not cut.
const OVERLAP: usize = 4096;
/// What is shown of a long match.
const SHOWN: usize = 80;

/// A string whose pattern captures the value.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct StringMatch {
    /// Group 1 is the value, or the whole match without a group.
    pub pattern: Pattern,
    /// What to collect from within the match, separated by spaces, instead.
    #[serde(default)]
    pub each: Option<Pattern>,
    /// Counts only if the file has one such value.
    #[serde(default)]
    pub unique: bool,
}

impl StringMatch {
    pub fn read(&self, subject: &Subject) -> Result<Found, ElfError> {
        let mut found: Found = Vec::new();
        for range in subject.object.constants() {
            let end = range.end;
            let stopped = subject.object.windows(range, OVERLAP, |offset, bytes| {
                let last = offset + bytes.len() as u64 >= end;
                let settled = if last {
                    bytes.len()
                } else {
                    bytes.len().saturating_sub(OVERLAP)
                };
                for captures in self.pattern.0.captures_iter(bytes) {
                    let Some(whole) = captures.get(0).filter(|it| it.start() < settled) else {
                        break;
                    };
                    let value = captures.get(1).unwrap_or(whole);
                    let value = self.value(value.as_bytes());
                    if found.iter().any(|(it, _)| *it == value) {
                        continue;
                    }
                    found.push((value, shown(whole.as_bytes())));
                    if !self.unique || found.len() > 1 {
                        return ControlFlow::Break(());
                    }
                }
                ControlFlow::Continue(())
            })?;
            if stopped.is_some() {
                break;
            }
        }
        if self.unique && found.len() > 1 {
            found.clear();
        }
        Ok(found)
    }

    fn value(&self, text: &[u8]) -> String {
        let Some(each) = &self.each else {
            return String::from_utf8_lossy(text).into_owned();
        };
        let mut known = HashSet::new();
        let mut values: Vec<String> = Vec::new();
        for captures in each.0.captures_iter(text) {
            let Some(value) = captures.get(1).or(captures.get(0)) else {
                continue;
            };
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            if known.insert(value.clone()) {
                values.push(value);
            }
        }
        values.join(" ")
    }
}

fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim_matches('\0');
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A SONAME whose pattern captures the value.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct SonameMatch {
    /// Group 1 is the value.
    pub pattern: Pattern,
}

impl SonameMatch {
    pub fn read(&self, subject: &Subject) -> Found {
        let Some(soname) = subject.soname else {
            return Vec::new();
        };
        let captures = self.pattern.0.captures(soname.as_bytes());
        captures
            .and_then(|captures| captures.get(1))
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .map(|value| (value, format!("SONAME {soname}")))
            .into_iter()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::elf::Depth;
    use crate::elf::object::X86_64;
    use crate::elf::testing::Sample;

    fn values(from: &str, data: &[u8]) -> Vec<String> {
        let sample = Sample::new(X86_64).function("f", b"\xc3").data(data);
        sample.values(from, "number", Depth::Default)
    }

    #[test]
    fn the_group_is_the_value() {
        let from = "{string: {pattern: 'release \\d+\\.\\d+, V([\\d.]+)'}}";
        assert_eq!(
            values(from, b"x\0tools, release 12.4, V12.4.127\0"),
            ["12.4.127"]
        );
        assert!(values(from, b"tools, release twelve").is_empty());
    }

    #[test]
    fn a_match_across_two_windows_is_whole() {
        let from = "{string: {pattern: 'V(\\d+\\.\\d+)'}}";
        // The window ends at 256 KiB; the string is moved over that place.
        for gap in (256 << 10) - 400..(256 << 10) - 100 {
            if gap % 7 == 0 {
                let data = [vec![b' '; gap], b"V12.4567\0".to_vec()].concat();
                assert_eq!(values(from, &data), ["12.4567"], "{gap}");
            }
        }
    }

    #[test]
    fn unique_means_one_value() {
        let from = "{string: {pattern: '\\x00(\\d\\.\\d\\.\\d)\\x00', unique: true}}";
        assert_eq!(values(from, b"a\x002.8.0\0b\x002.8.0\0"), ["2.8.0"]);
        assert!(values(from, b"a\x002.8.0\0b\x001.5.0\0").is_empty());
    }

    #[test]
    fn parts_of_a_match_are_collected() {
        let from = "{string: {pattern: '(?:code=\\w+;?)+', each: 'code=(sm_\\d+)'}}";
        assert_eq!(
            values(from, b"\0code=sm_80;code=sm_90;code=sm_80\0"),
            ["sm_80 sm_90"]
        );
    }

    #[test]
    fn the_soname_is_read() {
        let from = "{soname: {pattern: '^libx\\.so\\.([\\d.]+)$'}}";
        let sample = Sample::new(X86_64)
            .soname("libx.so.12.8")
            .function("f", b"\xc3");
        assert_eq!(sample.values(from, "number", Depth::Default), ["12.8"]);
    }
}
