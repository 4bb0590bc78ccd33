//! Patterns: regular expressions whose named captures are claims.

use std::ops::Range;
use std::sync::OnceLock;

use regex::{Captures, Regex};
use serde::{Deserialize, Deserializer, de};

use imgcheck_tables::vocabulary::CLAIM_SUBJECTS;

/// Shapes that patterns may name.
const SHAPES: &[(&str, &str)] = &[
    (
        "{release}",
        r"[0-9]\.[0-9]{1,2}(?:\.[0-9]{1,8}){0,2}(?:[-.]?(?:rc|post|dev)\.?[0-9]+|[ab][0-9]+)*",
    ),
    ("{dotted}", r"[0-9]{1,2}(?:\.[0-9]{1,4}){0,3}"),
];

/// The capture that is the text of a claim, where that is not the whole match.
const TEXT: &str = "text";

/// The number of digits of the shortest abbreviated commit, and of a date such as 240131.
const SHORTEST_COMMIT: usize = 6;

/// One pattern of a grammar file, compiled when it is first used.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub struct Pattern {
    source: String,
    compiled: OnceLock<Option<Compiled>>,
}

/// A pattern that is compiled while it is read, so that an invalid one is an error.
#[derive(Debug)]
pub struct Checked;

/// What a pattern read about one subject.
#[derive(Debug, PartialEq, Eq)]
pub struct Reading {
    /// One of [`CLAIM_SUBJECTS`].
    pub subject: &'static str,
    /// The version; empty if the text mentions the subject without a certain version.
    pub version: String,
    /// The bytes it was read from.
    pub place: Range<usize>,
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

impl Reading {
    /// The same reading of a text with so many bytes before it.
    pub fn after(mut self, bytes: usize) -> Reading {
        self.place = self.place.start + bytes..self.place.end + bytes;
        self
    }
}

impl Pattern {
    /// The first match that begins at or after `from`: the bytes between its boundaries, and their readings. A match
    /// that would cut a number short does not count.
    pub fn find(&self, text: &str, from: usize) -> Option<(Range<usize>, Vec<Reading>)> {
        self.compiled
            .get_or_init(|| Compiled::new(&self.source).ok())
            .as_ref()?
            .find(text, from)
    }
}

#[derive(Debug)]
struct Compiled {
    regex: Regex,
    subjects: Vec<Subject>,
}

/// The captures of one subject.
#[derive(Debug)]
struct Subject {
    name: &'static str,
    /// The whole version, or the word before its components.
    word: Option<usize>,
    /// Single components, in the order of the pattern.
    components: Vec<usize>,
}

impl Compiled {
    fn new(source: &str) -> Result<Compiled, String> {
        let mut expanded = source.to_owned();
        for (name, shape) in SHAPES {
            expanded = expanded.replace(name, &format!("(?:{shape})"));
        }
        let regex = Regex::new(&format!("(?:^|[-_.])({expanded})(?:[-_.]|$)"))
            .map_err(|error| format!("the pattern `{source}` is not valid: {error}"))?;
        let mut subjects: Vec<Subject> = Vec::new();
        for (index, capture) in regex.capture_names().enumerate() {
            let Some(capture) = capture.filter(|name| *name != TEXT) else {
                continue;
            };
            let (name, component) = match capture.split_once('.') {
                Some((name, _)) => (name, true),
                None => (capture, false),
            };
            let name = CLAIM_SUBJECTS
                .iter()
                .find(|subject| subject.replace('-', "_") == name)
                .ok_or_else(|| format!("`{name}` in `{source}` is not a subject of claims"))?;
            let known = subjects.iter().position(|subject| subject.name == *name);
            let position = known.unwrap_or_else(|| {
                subjects.push(Subject {
                    name,
                    word: None,
                    components: Vec::new(),
                });
                subjects.len() - 1
            });
            if component {
                subjects[position].components.push(index);
            } else {
                subjects[position].word = Some(index);
            }
        }
        Ok(Compiled { regex, subjects })
    }

    fn find(&self, text: &str, mut from: usize) -> Option<(Range<usize>, Vec<Reading>)> {
        let (captures, span) = loop {
            let captures = self.regex.captures_at(text, from)?;
            let span = captures.get(1)?.range();
            if span.is_empty() || !is_cut_short(&text[..span.end], &text[span.end..]) {
                break (captures, span);
            }
            from = span.end;
        };
        let mut readings: Vec<Reading> = self
            .subjects
            .iter()
            .filter_map(|subject| subject.read(&captures))
            .collect();
        let mut claims = readings
            .iter_mut()
            .filter(|reading| !reading.version.is_empty());
        if let (Some(only), None) = (claims.next(), claims.next()) {
            let pointed = captures.name(TEXT).map(|text| text.range());
            only.place = pointed.unwrap_or_else(|| span.clone());
        }
        Some((span, readings))
    }
}

/// Whether a number continues after its end, as 11 does in `11.0rc`. A commit or a date is not part of it: `2.46.0.0e19ea`.
fn is_cut_short(number: &str, rest: &str) -> bool {
    let next = rest.strip_prefix('.').unwrap_or_default();
    let next = next.split(['-', '_', '.']).next().unwrap_or_default();
    let commit = next.len() >= SHORTEST_COMMIT && next.bytes().all(|byte| byte.is_ascii_hexdigit());
    let begins_or_ends = |edge: Option<&u8>| edge.is_some_and(u8::is_ascii_digit);
    begins_or_ends(number.as_bytes().last()) && begins_or_ends(next.as_bytes().first()) && !commit
}

impl Subject {
    fn read(&self, captures: &Captures<'_>) -> Option<Reading> {
        let word = self.word.and_then(|index| captures.get(index));
        let components: Vec<_> = self
            .components
            .iter()
            .filter_map(|&index| captures.get(index))
            .collect();
        let start = word
            .iter()
            .chain(&components)
            .map(|piece| piece.start())
            .min()?;
        let end = word
            .iter()
            .chain(&components)
            .map(|piece| piece.end())
            .max()?;
        let components: Vec<_> = components.iter().map(|piece| piece.as_str()).collect();
        Some(Reading {
            subject: self.name,
            version: word.map_or("", |word| word.as_str()).to_owned() + &components.join("."),
            place: start..end,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pattern: &str, text: &str) -> Vec<(&'static str, String, String)> {
        let pattern = Pattern::from(pattern.to_owned());
        pattern
            .find(text, 0)
            .map_or_else(Vec::new, |(_, readings)| {
                readings
                    .into_iter()
                    .map(|reading| {
                        (
                            reading.subject,
                            reading.version,
                            text[reading.place].to_owned(),
                        )
                    })
                    .collect()
            })
    }

    fn one(
        subject: &'static str,
        version: &str,
        text: &str,
    ) -> Vec<(&'static str, String, String)> {
        vec![(subject, version.to_owned(), text.to_owned())]
    }

    #[test]
    fn a_capture_is_a_claim_and_the_match_its_text() {
        assert_eq!(
            read("cuda-?(?<cuda>{dotted})", "a-cuda-12.4.1-b"),
            one("cuda", "12.4.1", "cuda-12.4.1")
        );
        assert_eq!(
            read("(?<triton_server>{release})", "2.45.0"),
            one("triton-server", "2.45.0", "2.45.0")
        );
    }

    #[test]
    fn components_are_joined_by_dots_after_the_word() {
        let digits = "cu(?<cuda.1>1[0-9])(?<cuda.2>[0-9])(?<cuda.3>[0-9])?";
        assert_eq!(read(digits, "cu118"), one("cuda", "11.8", "cu118"));
        assert_eq!(read(digits, "cu1241"), one("cuda", "12.4.1", "cu1241"));
        let system = r"(?<os>ubuntu)-?(?<os.1>[0-9]{2})\.?(?<os.2>[0-9]{2})";
        assert_eq!(
            read(system, "ubuntu-2204"),
            one("os", "ubuntu22.04", "ubuntu-2204")
        );
    }

    #[test]
    fn a_match_ends_at_boundaries() {
        for text in ["accu118", "cu118af3", "xcu118-1", "cu1.18"] {
            assert_eq!(
                read("cu(?<cuda.1>1[0-9])(?<cuda.2>[0-9])", text),
                [],
                "{text}"
            );
        }
    }

    #[test]
    fn a_number_is_never_cut_short() {
        let cuda = "cuda(?<cuda>1[0-9](?:\\.[0-9]{1,2})?)";
        for text in ["cuda11.0rc", "cuda11.8x", "cuda12.4.1", "cuda12.123"] {
            assert_eq!(read(cuda, text), [], "{text}");
        }
        assert_eq!(
            read(cuda, "cuda12.4.0e19ea"),
            one("cuda", "12.4", "cuda12.4")
        );
        assert_eq!(read(cuda, "cuda12.x"), one("cuda", "12", "cuda12"));
        assert_eq!(read("(?<device>gpu)", "gpu.2"), one("device", "gpu", "gpu"));
    }

    #[test]
    fn claims_of_one_match_have_each_their_own_text() {
        let pair = "(?<device>gpu|cpu)\\.(?<torch.1>[0-9])-(?<torch.2>[0-9]+)";
        assert_eq!(
            read(pair, "gpu.1-13"),
            [one("device", "gpu", "gpu"), one("torch", "1.13", "1-13")].concat()
        );
        assert_eq!(
            read("(?<text>v(?<torch>{release}))-gpu", "v2.8.0-gpu"),
            one("torch", "2.8.0", "v2.8.0")
        );
    }

    #[test]
    fn an_empty_capture_mentions_a_subject_without_a_version() {
        assert_eq!(
            read("torch(?<torch>)[0-9]+", "torch210"),
            one("torch", "", "")
        );
    }

    #[test]
    fn a_release_is_never_a_year_and_month() {
        let pattern = "^v?(?<torch>{release})";
        for version in [
            "2.8.0",
            "0.4.6.post5",
            "2.8.0rc0",
            "2.3.0.dev20240301",
            "3.0.0b1",
            "1.9.0-rc2",
        ] {
            assert_eq!(read(pattern, version), one("torch", version, version));
        }
        for other in ["24.05", "20240301", "2", "v2", "2x.1"] {
            assert_eq!(read(pattern, other), [], "{other}");
        }
    }
}
