//! Invalid input from users, with suggestions for misspelled words.

use std::cmp::Reverse;
use std::fmt;

/// Input that names nothing known, or gives a known name an invalid value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidInput {
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub help: String,
}

impl fmt::Display for InvalidInput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.problem, self.help)
    }
}

impl std::error::Error for InvalidInput {}

/// The known word closest to a misspelled one, at most one edit away for every three letters. Swapping two neighboring
/// letters is one edit. Of equally close words, the one with more of the same letters in the same order counts.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let most = (length / 3).max(1);
    known
        .into_iter()
        // Each edit changes the length by at most one, so a word of a megabyte is never compared.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= most)
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= most)
        .map(|(distance, candidate)| (distance, Reverse(likeness(word, candidate)), candidate))
        .min()
        .map(|(_, _, candidate)| candidate)
}

/// How many thousandths of two words are alike, by the similarity of Jaro and Winkler: swapped letters count as the same, and the beginning counts more.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn likeness(one: &str, other: &str) -> u32 {
    (strsim::jaro_winkler(one, other) * 1000.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_suggests_only_similar_words() {
        let known = ["severity", "message", "fail", "at"];
        assert_eq!(nearest("severty", known), Some("severity"));
        assert_eq!(nearest("mesasge", known), Some("message"));
        assert_eq!(nearest("fial", known), Some("fail"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("pyhton", ["proton", "python3"]), Some("python3"));
        assert_eq!(nearest("pyhton", ["python", "python3"]), Some("python"));
        assert_eq!(nearest(&"m".repeat(10 << 20), known), None);
    }
}
