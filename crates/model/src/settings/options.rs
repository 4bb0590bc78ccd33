//! Lists of options: `max_split_size_mb:128,expandable_segments:True`.
//!
//! Source: `ConfigTokenizer` in PyTorch's c10/core/AllocatorConfig.h, and `CUDAAllocatorConfig::lexArgs` before it: white space does not
//! count, and `,`, `:`, `[` and `]` are words of their own.

use serde::Deserialize;

use super::faults::Problem;
use super::releases;
use super::wrong::{Wrong, suggested};
use imgcheck_base::spelling;

/// An option that some releases know.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Key {
    pub key: String,
    since: Option<String>,
    until: Option<String>,
    words: Vec<String>,
    integer: Option<Integer>,
    number: Option<Number>,
    /// Whether it may be a list in brackets.
    list: bool,
}

/// What `std::stoull` reads: a sign and digits, whatever follows.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Integer {
    from: Option<u64>,
    to: Option<u64>,
    powers_of_two: bool,
}

/// What `std::stod` reads.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Number {
    from: Option<f64>,
    to: Option<f64>,
    above: Option<f64>,
    below: Option<f64>,
}

impl Key {
    /// Whether a release knows it.
    pub fn is_of(&self, release: &str) -> bool {
        releases::include(self.since.as_deref(), self.until.as_deref(), release)
    }

    /// The releases at which it begins and ends.
    pub fn ends(&self) -> impl Iterator<Item = &String> {
        self.since.iter().chain(&self.until)
    }

    /// What is wrong with the words of its value.
    fn wrong(&self, value: &[&str]) -> Option<Wrong> {
        let wrong = |part: &str, fitting| {
            let wrong = Wrong::new(Problem::OptionValue, part, fitting);
            Some(Wrong {
                option: self.key.clone(),
                ..wrong
            })
        };
        let &[word] = value else {
            return match self.list && (self.integer.is_none() || are_powers_of_two(value)) {
                true => None,
                false => wrong(&value.concat(), self.fitting("")),
            };
        };
        let is_integer = |it: &Integer| integer(word).is_some_and(|number| it.has(number));
        let is_number = |it: &Number| number(word).is_some_and(|number| it.has(number));
        let is_valid = self.words.iter().any(|it| it == word)
            || self.integer.as_ref().is_some_and(is_integer)
            || self.number.as_ref().is_some_and(is_number)
            || self.takes_any();
        match is_valid {
            true => None,
            false => wrong(word, self.fitting(word)),
        }
    }

    fn takes_any(&self) -> bool {
        self.words.is_empty() && self.integer.is_none() && self.number.is_none() && !self.list
    }

    /// What the value could be.
    fn fitting(&self, word: &str) -> Vec<String> {
        if !self.words.is_empty() {
            return truth(word, &self.words).unwrap_or_else(|| suggested(word, &self.words));
        }
        let text = match (&self.integer, &self.number) {
            (Some(integer), _) => integer.to_string(),
            (_, Some(number)) => number.to_string(),
            _ => "a list in brackets".to_owned(),
        };
        vec![text]
    }
}

/// `True` for `1`, if the words are `True` and `False`.
fn truth(word: &str, words: &[String]) -> Option<Vec<String>> {
    let meant = match word.to_ascii_lowercase().as_str() {
        "1" | "yes" | "on" | "y" | "t" => "True",
        "0" | "no" | "off" | "n" | "f" => "False",
        _ => return None,
    };
    let is_known = words.iter().any(|it| it == meant);
    is_known.then(|| vec![meant.to_owned()])
}

impl Integer {
    fn has(&self, number: u64) -> bool {
        self.from.is_none_or(|from| number >= from)
            && self.to.is_none_or(|to| number <= to)
            && (!self.powers_of_two || number.is_power_of_two())
    }
}

impl std::fmt::Display for Integer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let noun = if self.powers_of_two {
            "a power of two"
        } else {
            "a number"
        };
        match (self.from, self.to) {
            (Some(from), Some(to)) => write!(formatter, "{noun} from {from} to {to}"),
            (Some(from), None) => write!(formatter, "{from} or more"),
            _ => formatter.write_str(noun),
        }
    }
}

impl Number {
    fn has(&self, number: f64) -> bool {
        self.from.is_none_or(|from| number >= from)
            && self.to.is_none_or(|to| number <= to)
            && self.above.is_none_or(|above| number > above)
            && self.below.is_none_or(|below| number < below)
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.from, self.to, self.above, self.below) {
            (Some(from), Some(to), ..) => write!(formatter, "a number from {from} to {to}"),
            (.., Some(above), Some(below)) => {
                write!(formatter, "a number between {above} and {below}")
            }
            _ => formatter.write_str("a number"),
        }
    }
}

/// What is wrong with a list of options for a release.
pub(super) fn wrong(value: &str, release: &str, table: &[Key]) -> Option<Wrong> {
    let known = || table.iter().filter(|key| key.is_of(release));
    let words = words(value);
    let mut rest = words.as_slice();
    while let [name, after @ ..] = rest {
        let Some(key) = known().find(|key| key.key == *name) else {
            let is_option = is_mark(name) || after.first() == Some(&":");
            return Some(unknown(name, is_option, known().map(|it| it.key.as_str())));
        };
        let Some((value, after)) = value_of(after) else {
            return Some(Wrong::new(Problem::Malformed, name, Vec::new()));
        };
        if let Some(wrong) = key.wrong(value) {
            return Some(wrong);
        }
        rest = match after {
            [] | [","] => return None,
            [",", rest @ ..] => rest,
            // Some releases ignore a colon at the end.
            [":"] => return None,
            [next, ..] => return Some(Wrong::new(Problem::Malformed, next, Vec::new())),
        };
    }
    None
}

fn unknown<'k>(name: &str, is_option: bool, known: impl Iterator<Item = &'k str>) -> Wrong {
    let near = spelling::nearest(name, known);
    let fitting = near.map(str::to_owned).into_iter().collect();
    match is_option {
        true => Wrong::new(Problem::UnknownOption, name, fitting),
        false => Wrong::new(Problem::Malformed, name, Vec::new()),
    }
}

/// The words of the value after an option's name, without brackets around them, and what follows. `None` if there is no value.
fn value_of<'s, 't>(after: &'s [&'t str]) -> Option<(&'s [&'t str], &'s [&'t str])> {
    match after {
        [":", "[", rest @ ..] => {
            let end = rest.iter().position(|word| *word == "]")?;
            Some((&after[1..end + 3], &rest[end + 1..]))
        }
        [":", word, rest @ ..] if !is_mark(word) => Some((std::slice::from_ref(&after[1]), rest)),
        _ => None,
    }
}

fn is_mark(word: &str) -> bool {
    matches!(word, "," | ":" | "[" | "]")
}

/// The words and marks of a list of options.
fn words(value: &str) -> Vec<&str> {
    let pieces = value.split_inclusive([',', ':', '[', ']']);
    let words = pieces.flat_map(|piece| match piece.char_indices().next_back() {
        Some((at, ',' | ':' | '[' | ']')) => [piece[..at].trim(), &piece[at..]],
        _ => [piece.trim(), ""],
    });
    words.filter(|word| !word.is_empty()).collect()
}

/// Whether `[ 256 : 1 , > : 2 ]` has powers of two only.
fn are_powers_of_two(list: &[&str]) -> bool {
    let [_, inner @ .., _] = list else {
        return false;
    };
    let is_power = |word: &str| integer(word).is_some_and(u64::is_power_of_two);
    let is_pair = |pair: &[&str]| matches!(pair, [size, ":", divisions] if (*size == ">" || is_power(size)) && is_power(divisions));
    inner.is_empty() || inner.split(|word| *word == ",").all(is_pair)
}

/// As `std::stoull`: a negative number counts from the greatest one.
fn integer(word: &str) -> Option<u64> {
    let (is_negative, digits) = match word.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    };
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    let number: u64 = digits[..end].parse().ok()?;
    Some(if is_negative {
        number.wrapping_neg()
    } else {
        number
    })
}

/// As `std::stod`, for decimal numbers.
fn number(word: &str) -> Option<f64> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
    let end = word.find(|c| !is_part(c)).unwrap_or(word.len());
    let ends = (1..=end).rev().filter(|end| word.is_char_boundary(*end));
    ends.take(32).find_map(|end| word[..end].parse().ok())
}
