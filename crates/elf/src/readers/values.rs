//! What the readers have in common.

use regex::bytes::{Match, Regex};

use crate::number_format::NumberFormat;

/// Values, each with where it was found.
pub(crate) type Values = Vec<(String, String)>;

/// The one version that all numbers decode to; empty if they disagree, because then some of them are not versions.
pub(super) fn unanimous(
    numbers: impl IntoIterator<Item = u32>,
    format: NumberFormat,
    detail: impl Into<String>,
) -> Values {
    let numbers = numbers.into_iter();
    only(numbers.filter_map(|number| format.decode(number)), detail)
}

/// The one value that occurs; empty if there are several.
pub(super) fn only(values: impl Iterator<Item = String>, detail: impl Into<String>) -> Values {
    let mut values: Vec<String> = values.collect();
    values.sort_unstable();
    values.dedup();
    match <[String; 1]>::try_from(values) {
        Ok([value]) => vec![(value, detail.into())],
        Err(_) => Vec::new(),
    }
}

/// The 32-bit immediate that a pattern captured.
pub(super) fn immediate(capture: Option<Match>) -> Option<u32> {
    let bytes: [u8; 4] = capture?.as_bytes().try_into().ok()?;
    Some(u32::from_le_bytes(bytes))
}

/// The immediates that group 1 of a pattern captures in some code.
pub(super) fn immediates(pattern: &Regex, code: &[u8]) -> Vec<u32> {
    let matches = pattern.captures_iter(code);
    matches.filter_map(|it| immediate(it.get(1))).collect()
}
