//! Invalid input from users, with suggestions for misspelled words.

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
/// letters is one edit.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let most = (length / 3).max(1);
    known
        .into_iter()
        // Each edit changes the length by at most one, so a word of a megabyte is never compared.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= most)
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, candidate)| candidate)
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
        assert_eq!(nearest(&"m".repeat(10 << 20), known), None);
    }
}
