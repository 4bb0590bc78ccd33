//! Versions in strings among the constants, and in the SONAME.

use std::collections::HashSet;
use std::ops::ControlFlow;

use regex::bytes::Captures;
use serde::Deserialize;

use super::values::Values;
use crate::candidate::Candidate;
use crate::error::ElfError;
use crate::pattern::Pattern;

/// Longest match that search windows do not cut, in bytes.
const OVERLAP: usize = 4096;
/// How much of a match is shown, in characters.
const SHOWN: usize = 80;

/// A string with a value in it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct StringPattern {
    /// Group 1 is the value, or the whole match without a group.
    pub pattern: Pattern,
    /// Collect these from within the match instead, separated by spaces.
    #[serde(default)]
    pub each: Option<Pattern>,
    /// Whether several different values count as none.
    #[serde(default)]
    pub unique: bool,
}

impl StringPattern {
    pub(super) fn read(&self, candidate: &Candidate) -> Result<Values, ElfError> {
        let mut values: Values = Vec::new();
        for range in candidate.object.constants() {
            let end = range.end;
            let search = |offset: u64, bytes: &[u8]| {
                let is_last = offset + bytes.len() as u64 >= end;
                let settled = match is_last {
                    true => bytes.len(),
                    false => bytes.len().saturating_sub(OVERLAP),
                };
                let pattern = self.pattern.regex().into_iter();
                for captures in pattern.flat_map(|it| it.captures_iter(bytes)) {
                    let Some(whole) = captures.get(0).filter(|it| it.start() < settled) else {
                        break;
                    };
                    let value = self.value(group(&captures));
                    if values.iter().any(|(known, _)| *known == value) {
                        continue;
                    }
                    values.push((value, shown(whole.as_bytes())));
                    if !self.unique || values.len() > 1 {
                        return ControlFlow::Break(());
                    }
                }
                ControlFlow::Continue(())
            };
            let stopped = candidate.object.windows(range, OVERLAP, search)?;
            if stopped.is_some() {
                break;
            }
        }
        if self.unique && values.len() > 1 {
            values.clear();
        }
        Ok(values)
    }

    fn value(&self, text: &[u8]) -> String {
        let Some(each) = self.each.as_ref().and_then(Pattern::regex) else {
            return String::from_utf8_lossy(text).into_owned();
        };
        let mut known = HashSet::new();
        let parts = each.captures_iter(text);
        let parts = parts.map(|captures| String::from_utf8_lossy(group(&captures)).into_owned());
        let values: Vec<String> = parts.filter(|part| known.insert(part.clone())).collect();
        values.join(" ")
    }
}

/// Group 1, or the whole match.
fn group<'t>(captures: &Captures<'t>) -> &'t [u8] {
    let group = captures.get(1).or(captures.get(0));
    group.map_or(&[], |group| group.as_bytes())
}

fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim_matches('\0');
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Group 1 of a pattern that the SONAME matches.
pub(super) fn soname(candidate: &Candidate, pattern: &Pattern) -> Values {
    let read = |soname: &str| {
        let value = pattern
            .regex()?
            .captures(soname.as_bytes())?
            .get(1)?
            .as_bytes();
        let value = String::from_utf8_lossy(value).into_owned();
        Some((value, format!("SONAME {soname}")))
    };
    candidate.soname.and_then(read).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use crate::Depth;
    use crate::object::X86_64;
    use crate::testing::Sample;

    fn values(from: &str, data: &[u8]) -> Vec<String> {
        let sample = Sample::new(X86_64).function("f", b"\xc3").data(data);
        sample.values(from, "number", Depth::Default)
    }

    #[test]
    fn the_first_group_is_the_value() {
        let from = "{string: {pattern: 'release \\d+\\.\\d+, V([\\d.]+)'}}";
        assert_eq!(
            values(from, b"x\0tools, release 12.4, V12.4.127\0"),
            ["12.4.127"]
        );
        assert!(values(from, b"tools, release twelve").is_empty());
    }

    #[test]
    fn a_match_across_two_windows_is_complete() {
        let from = "{string: {pattern: 'V(\\d+\\.\\d+)'}}";
        // The window ends at 256 KiB; the string is moved across its end.
        for gap in (256 << 10) - 400..(256 << 10) - 100 {
            if gap % 7 == 0 {
                let data = [vec![b' '; gap], b"V12.4567\0".to_vec()].concat();
                assert_eq!(values(from, &data), ["12.4567"], "{gap}");
            }
        }
    }

    #[test]
    fn unique_requires_a_single_value() {
        let from = "{string: {pattern: '\\x00(\\d\\.\\d\\.\\d)\\x00', unique: true}}";
        assert_eq!(values(from, b"a\x002.8.0\0b\x002.8.0\0"), ["2.8.0"]);
        assert!(values(from, b"a\x002.8.0\0b\x001.5.0\0").is_empty());
    }

    #[test]
    fn each_collects_parts_of_a_match() {
        let from = "{string: {pattern: '(?:code=\\w+;?)+', each: 'code=(sm_\\d+)'}}";
        assert_eq!(
            values(from, b"\0code=sm_80;code=sm_90;code=sm_80\0"),
            ["sm_80 sm_90"]
        );
    }

    #[test]
    fn soname_takes_the_first_group() {
        let from = "{soname: '^libx\\.so\\.([\\d.]+)$'}";
        let sample = Sample::new(X86_64)
            .soname("libx.so.12.8")
            .function("f", b"\xc3");
        assert_eq!(sample.values(from, "number", Depth::Default), ["12.8"]);
    }
}
