//! What is wrong with a value, and what to write instead.

use super::faults::Problem;
use imgcheck_base::spelling;

/// Why a value is not among some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub problem: Problem,
    /// The wrong part of the value.
    pub part: String,
    /// The option that has the part as its value.
    pub option: String,
    pub fitting: Vec<String>,
}

impl Wrong {
    pub fn new(problem: Problem, part: &str, fitting: Vec<String>) -> Self {
        Wrong {
            problem,
            part: part.to_owned(),
            option: String::new(),
            fitting,
        }
    }
}

/// What to write instead of a misspelled word: the word that it resembles, or all.
pub(super) fn suggested(value: &str, words: &[String]) -> Vec<String> {
    let meant = value.trim();
    let same = words.iter().find(|word| word.eq_ignore_ascii_case(meant));
    let near = || spelling::nearest(meant, words.iter().map(String::as_str));
    match same.map(String::as_str).or_else(near) {
        Some(word) => vec![word.to_owned()],
        None => words.to_vec(),
    }
}
