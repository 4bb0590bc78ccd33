//! Ranges of the releases of a package.

use std::cmp::Ordering;

use serde::Deserialize;

use imgcheck_base::version;

/// From one release to another, both included. The end `2.9` includes 2.9.1.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Releases {
    pub since: Option<String>,
    pub until: Option<String>,
}

impl Releases {
    /// Whether a version is among them; a version that cannot be read is not.
    pub fn include(&self, version: &str) -> bool {
        let is_since = |since: &str| version::compare(version, since).is_some_and(Ordering::is_ge);
        let since = self.since.as_deref();
        let until = self.until.as_deref();
        since.is_none_or(is_since) && until.is_none_or(|until| is_until(version, until))
    }

    /// The ends.
    pub fn ends(&self) -> impl Iterator<Item = &str> {
        self.since.iter().chain(&self.until).map(String::as_str)
    }
}

/// Whether a version is not after a release: 2.9.1 is not after `2.9`.
pub(super) fn is_until(version: &str, release: &str) -> bool {
    version::compare(version, release).is_some_and(Ordering::is_le)
        || version::meets(version, release) == Some(true)
}

/// Whether a version comes before the release of its numbers: `2.9.0a0`.
pub(super) fn is_before_release(version: &str) -> bool {
    let numbers = version::first_numbers(version, usize::MAX);
    numbers.is_some_and(|it| version::compare(version, &it) == Some(Ordering::Less))
}
