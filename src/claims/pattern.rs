//! Patterns: regular expressions whose named captures are claims.

use std::ops::Range;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Deserializer, de};

use super::SUBJECTS;

/// Shapes that patterns may name.
const SHAPES: &[(&str, &str)] = &[
    (
        "{release}",
        r"[0-9]\.[0-9]{1,2}(?:\.[0-9]{1,8}){0,2}(?:[-.]?(?:rc|post|dev)\.?[0-9]+|[ab][0-9]+)*",
    ),
    ("{dotted}", r"[0-9]{1,2}(?:\.[0-9]{1,4}){0,3}"),
];

/// The capture that says which part of the match a claim points at, where that is not all of it.
const TEXT: &str = "text";

/// One pattern of a grammar file, compiled when it is first used.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub struct Pattern {
    source: String,
    compiled: OnceLock<Option<Compiled>>,
}

/// A pattern that is compiled, and refused, while it is read.
#[derive(Debug)]
pub struct Checked;

#[derive(Debug)]
struct Compiled {
    regex: Regex,
    subjects: Vec<Subject>,
}

/// What one pattern says of one subject.
#[derive(Debug)]
struct Subject {
    name: String,
    /// The capture of the word or the whole version.
    word: Option<usize>,
    /// The captures of single components.
    components: Vec<usize>,
}

/// A place where a pattern matches.
pub struct Match {
    /// The bytes between the two boundaries.
    pub span: Range<usize>,
    /// Subject, version, and the bytes it was read from.
    pub claims: Vec<(String, String, Range<usize>)>,
}

impl From<String> for Pattern {
    fn from(source: String) -> Self {
        Pattern {
            source,
            compiled: OnceLock::new(),
        }
    }
}

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = String::deserialize(deserializer)?;
        Compiled::new(&source).map_err(de::Error::custom)?;
        Ok(Checked)
    }
}

impl Pattern {
    /// The first match that begins at or after `from`.
    pub fn find(&self, text: &str, from: usize) -> Option<Match> {
        self.compiled
            .get_or_init(|| Compiled::new(&self.source).ok())
            .as_ref()?
            .find(text, from)
    }
}

impl Compiled {
    fn new(source: &str) -> Result<Compiled, String> {
        let mut expanded = source.to_owned();
        for (name, shape) in SHAPES {
            expanded = expanded.replace(name, &format!("(?:{shape})"));
        }
        let regex = RegexBuilder::new(&format!("(?:^|[-_.])({expanded})(?:[-_.]|$)"))
            .case_insensitive(true)
            .build()
            .map_err(|error| format!("the pattern `{source}` is not valid: {error}"))?;
        let mut subjects: Vec<Subject> = Vec::new();
        for (index, name) in regex.capture_names().enumerate() {
            let Some(name) = name.filter(|name| *name != TEXT) else {
                continue;
            };
            let (name, component) = match name.split_once('.') {
                Some((name, _)) => (name, true),
                None => (name, false),
            };
            let name = name.replace('_', "-");
            if !SUBJECTS.contains(&name.as_str()) {
                return Err(format!("`{name}` in `{source}` is no subject of a claim"));
            }
            let known = subjects.iter().position(|subject| subject.name == name);
            let position = known.unwrap_or_else(|| {
                subjects.push(Subject {
                    name,
                    word: None,
                    components: Vec::new(),
                });
                subjects.len() - 1
            });
            match component {
                true => subjects[position].components.push(index),
                false => subjects[position].word = Some(index),
            }
        }
        Ok(Compiled { regex, subjects })
    }

    fn find(&self, text: &str, from: usize) -> Option<Match> {
        let captures = self.regex.captures_at(text, from)?;
        let span = captures.get(1)?.range();
        let pointed = captures.name(TEXT).map(|text| text.range());
        let mut claims = Vec::new();
        for subject in &self.subjects {
            let components: Vec<_> = subject
                .components
                .iter()
                .filter_map(|&index| captures.get(index))
                .collect();
            let word = subject.word.and_then(|index| captures.get(index));
            let pieces = || word.iter().chain(&components);
            let start = pieces().map(|piece| piece.start()).min();
            let end = pieces().map(|piece| piece.end()).max();
            let Some((start, end)) = start.zip(end) else {
                continue;
            };
            let numbers: Vec<_> = components.iter().map(|piece| piece.as_str()).collect();
            let version = word.map_or("", |word| word.as_str()).to_owned() + &numbers.join(".");
            claims.push((
                subject.name.clone(),
                version.to_ascii_lowercase(),
                start..end,
            ));
        }
        if let [(_, _, place)] = claims.as_mut_slice() {
            *place = pointed.unwrap_or_else(|| span.clone());
        }
        Some(Match { span, claims })
    }
}
