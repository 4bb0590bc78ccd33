//! Texts of users that say nothing: what is wrong with them, and what a misspelt word was probably meant to be.

use std::fmt;

/// A text that names nothing, or no value of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misread {
    /// What is wrong.
    pub problem: String,
    /// What to write in its place.
    pub help: String,
}

impl fmt::Display for Misread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.problem, self.help)
    }
}

impl std::error::Error for Misread {}

/// The known word that a misspelt one probably means: the nearest by edits, at most one edit for three letters.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let most = (length / 3).max(1);
    known
        .into_iter()
        // Each edit changes the length by one at most: a word of a megabyte need not be compared.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= most)
        .map(|candidate| (edits(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edit distance, where swapping two neighbours counts as one edit (optimal string alignment).
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1)
                .min(row[j - 1] + 1)
                .min(rows[i - 1][j - 1] + changed);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_but_not_any_word() {
        let known = ["severity", "message", "fail", "at"];
        assert_eq!(nearest("severty", known), Some("severity"));
        assert_eq!(nearest("mesasge", known), Some("message"));
        assert_eq!(nearest("fial", known), Some("fail"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest(&"m".repeat(10 << 20), known), None);
    }
}
