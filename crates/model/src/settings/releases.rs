//! Ranges of the releases of a package.

use std::cmp::Ordering;

use imgcheck_base::version::{self, is_since, is_until};

/// Whether a version is in a range of releases, the ends included; a version that cannot be read is not. The end `2.9` includes 2.9.1.
pub(super) fn include(since: Option<&str>, until: Option<&str>, version: &str) -> bool {
    since.is_none_or(|since| is_since(version, since))
        && until.is_none_or(|until| is_until(version, until))
}

/// Whether a version comes before the release of its numbers: `2.9.0a0`.
pub(super) fn is_before_release(version: &str) -> bool {
    let numbers = version::first_numbers(version, usize::MAX);
    numbers.is_some_and(|it| version::compare(version, &it) == Some(Ordering::Less))
}
