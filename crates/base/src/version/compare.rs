//! Order and comparison of versions.

use std::cmp::Ordering;
use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};

use super::debian;

/// The components of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Components<'a> {
    /// Leading letters in lower case: `ubuntu` of `ubuntu22.04`; empty for a bare version and for `v2.9`.
    name: String,
    /// The release numbers.
    release: Vec<u64>,
    /// The rest: `a0+34c6371d24.nv25.8`, `.post5`, `-1+cuda12.2`.
    tail: &'a str,
}

impl<'a> Components<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let text = match text.split_once([':', '!']) {
            Some((epoch, rest)) if is_number(epoch) => rest,
            _ => text,
        };
        let letters = text.find(|c: char| !c.is_ascii_alphabetic())?;
        let (name, numbers) = text.split_at(letters);
        let name = match name {
            "v" | "V" | "b" | "r" => String::new(),
            _ => name.to_ascii_lowercase(),
        };
        let (release, tail) = read_numbers(numbers);
        (!release.is_empty()).then_some(Components {
            name,
            release,
            tail,
        })
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The dotted numbers at the start of a text, and the rest.
fn read_numbers(text: &str) -> (Vec<u64>, &str) {
    let mut numbers = Vec::new();
    let mut rest = text;
    loop {
        let candidate = match numbers.is_empty() {
            true => rest,
            false => match rest.strip_prefix('.') {
                Some(after) => after,
                None => return (numbers, rest),
            },
        };
        let digits = candidate
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(candidate.len());
        let (number, after) = candidate.split_at(digits);
        match number.parse() {
            Ok(number) => numbers.push(number),
            Err(_) => return (numbers, rest),
        }
        rest = after;
    }
}

/// The release numbers of a version: `[2, 8, 0]` of `2.8.0+cu128`.
pub fn release(version: &str) -> Option<Vec<u64>> {
    Components::read(version).map(|components| components.release)
}

/// The first release numbers of a version as text: for two, `12.8` of `12.8.1`, and `12` of `12`.
pub fn first_numbers(version: &str, count: usize) -> Option<String> {
    release(version).map(|numbers| {
        let texts: Vec<String> = numbers.iter().take(count).map(u64::to_string).collect();
        texts.join(".")
    })
}

/// Whether a version meets a claim.
///
/// - Components are compared as far as the claim has them: `2.9` is met by `2.9.1` and `2.9.1+cu128`, not by `2.10`; `3` by
///   `3.11`; `ubuntu22.04` by `ubuntu22.04`, not by `debian12`.
/// - A component that the version lacks cannot contradict: CUDA `12.8`, read from machine code, meets `12.8.1`.
/// - A pre-release meets a claim of release numbers only: NGC's `2.8.0a0+34c6371d24.nv25.8` meets `2.8.0`, because it is of the 2.8.0
///   line and no other.
/// - A claim with a pre-release, post-release, development release or local version (`2.8.0rc1`, `0.4.6.post5`, `2.8.0+cu128`) is
///   met only by that one.
///
/// `None` if either cannot be read.
pub fn meets(version: &str, claim: &str) -> Option<bool> {
    let have = Components::read(version)?;
    let want = Components::read(claim)?;
    if have.name != want.name {
        return Some(false);
    }
    let agree = have
        .release
        .iter()
        .zip(&want.release)
        .all(|(have, want)| have == want);
    Some(agree && suffix_meets(version, &have, claim, &want))
}

/// Whether the version has what follows the release numbers of the claim.
fn suffix_meets(version: &str, have: &Components<'_>, claim: &str, want: &Components<'_>) -> bool {
    if want.tail.is_empty() {
        return true;
    }
    let (Ok(have_pep), Ok(want_pep)) = (Version::from_str(version), Version::from_str(claim))
    else {
        return have.tail.starts_with(want.tail);
    };
    let suffix = |v: &Version| (v.pre(), v.post(), v.dev());
    (suffix(&want_pep) == (None, None, None) || suffix(&have_pep) == suffix(&want_pep))
        && (want_pep.local().is_empty() || have_pep.local() == want_pep.local())
}

/// Whether a version satisfies a PEP 440 specifier set such as `>=2.8,<3` or `==2.8.*`.
///
/// As for an installed version in `pip check`: pre-releases count, unlike in the choice of what to install, but `2.8.0a0` does not
/// satisfy `>=2.8`. `None` if the version cannot be read.
///
/// # Errors
/// The specifiers are invalid; the message says why.
pub fn satisfies(version: &str, specifiers: &str) -> Result<Option<bool>, String> {
    let specifiers = parse_specifiers(specifiers)?;
    Ok(pep440(version).map(|version| specifiers.contains(&version)))
}

/// Parses PEP 440 specifiers.
///
/// # Errors
/// The first line of the parser's message.
pub(super) fn parse_specifiers(specifiers: &str) -> Result<VersionSpecifiers, String> {
    VersionSpecifiers::from_str(specifiers).map_err(|error| {
        let message = error.to_string();
        message.lines().next().unwrap_or_default().to_owned()
    })
}

/// A version in PEP 440; of others, such as Debian's, the release numbers.
fn pep440(version: &str) -> Option<Version> {
    Version::from_str(version).ok().or_else(|| {
        let numbers = Components::read(version)?;
        numbers
            .name
            .is_empty()
            .then(|| Version::new(numbers.release))
    })
}

/// Orders two versions without their local version labels (`+cu128`). `None` if either cannot be read.
pub fn compare(a: &str, b: &str) -> Option<Ordering> {
    if let (Ok(a), Ok(b)) = (Version::from_str(a), Version::from_str(b)) {
        return Some(a.without_local().cmp(&b.without_local()));
    }
    let (first, second) = (Components::read(a)?, Components::read(b)?);
    (first.name == second.name).then(|| match first.name.is_empty() {
        true => debian::compare(a, b),
        false => first.release.cmp(&second.release),
    })
}

/// Whether a version is a release or newer. If either cannot be read, it is not.
pub fn is_since(version: &str, release: &str) -> bool {
    compare(version, release).is_some_and(Ordering::is_ge)
}

/// Whether a version is not after a release: 13.6.1 is not after `13.6`. If either cannot be read, it is.
pub fn is_until(version: &str, release: &str) -> bool {
    compare(version, release).is_some_and(Ordering::is_le) || meets(version, release) == Some(true)
}

/// Whether `a` is newer than `b`. `None` if either cannot be read.
pub fn newer(a: &str, b: &str) -> Option<bool> {
    compare(a, b).map(Ordering::is_gt)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_claim_is_met_by_its_own_components() {
        for (version, claim, expected) in [
            ("2.9.1", "2.9", true),
            ("2.9.1+cu128", "2.9", true),
            ("2.10.0", "2.9", false),
            ("2.10.0", "2.1", false),
            ("2.8.0", "2.9", false),
            ("3.11.9", "3", true),
            ("2.8.0+cu128", "2.8.0", true),
            ("2.8.1", "2.8.0", false),
            ("2.8.0", "v2.8", true),
            ("12.8", "12.8.1", true),
            ("12.8.1", "12.8", true),
            ("12.4", "12.8.1", false),
            ("13.0.2.006", "13.0.2", true),
            ("8.9.7.29-1+cuda12.2", "8.9.7", true),
            ("1:8.9.7.29-1", "8.9", true),
            ("ubuntu22.04", "ubuntu22.04", true),
            ("ubuntu24.04", "ubuntu22.04", false),
            ("debian12", "ubuntu22.04", false),
            ("rocky9.4", "rocky9", true),
            ("b6124", "b6124", true),
        ] {
            assert_eq!(
                meets(version, claim),
                Some(expected),
                "{version} meets {claim}"
            );
        }
    }

    #[test]
    fn a_pre_release_meets_its_own_release_only() {
        assert_eq!(meets("2.8.0a0+34c6371d24.nv25.8", "2.8.0"), Some(true));
        assert_eq!(meets("2.8.0a0+34c6371d24.nv25.8", "2.8"), Some(true));
        assert_eq!(meets("2.8.0.dev20250601+cu128", "2.8.0"), Some(true));
        assert_eq!(meets("2.8.0a0+34c6371d24.nv25.8", "2.7"), Some(false));
    }

    #[test]
    fn a_claim_with_a_suffix_is_met_by_that_suffix_only() {
        assert_eq!(meets("2.8.0rc1", "2.8.0rc1"), Some(true));
        assert_eq!(meets("2.8.0rc1", "2.8.0-rc.1"), Some(true));
        assert_eq!(meets("2.8.0", "2.8.0rc1"), Some(false));
        assert_eq!(meets("0.4.6.post5", "0.4.6.post5"), Some(true));
        assert_eq!(meets("0.4.6.post5", "0.4.6.post4"), Some(false));
        assert_eq!(meets("0.4.6.post5", "0.4.6"), Some(true));
        assert_eq!(meets("2.8.0+cu128", "2.8.0+cu126"), Some(false));
        assert_eq!(meets("2.8.0+cu128", "2.8.0+cu128"), Some(true));
    }

    #[test]
    fn unreadable_versions_give_none() {
        assert_eq!(meets("unknown", "2.8"), None);
        assert_eq!(meets("", "2.8"), None);
        assert_eq!(meets("2.8", "latest"), None);
        assert_eq!(newer("unknown", "1"), None);
        assert_eq!(satisfies("unknown", ">=1"), Ok(None));
        assert!(satisfies("1.0", "at least 1").is_err());
    }

    #[test]
    fn specifiers_apply_to_installed_versions() {
        for (version, specifiers, expected) in [
            ("2.8.0+cu128", "==2.8.*", true),
            ("2.8.0+cu128", "==2.8.0", true),
            ("2.8.0a0+34c6371d24.nv25.8", ">=2.8", false),
            ("2.9.1", ">=2.8,<3", true),
            ("9.10.2.21-1", ">=9.9", true),
            ("570.26", ">=525.60.13", true),
            ("450.80.02", ">=525.60.13", false),
        ] {
            assert_eq!(
                satisfies(version, specifiers),
                Ok(Some(expected)),
                "{version} {specifiers}"
            );
        }
    }

    #[test]
    fn order_is_numeric_and_ignores_local_labels() {
        assert_eq!(newer("2.10.0", "2.9.1"), Some(true));
        assert_eq!(compare("2.8.0+cu128", "2.8.0"), Some(Ordering::Equal));
        assert_eq!(newer("2.8.0", "2.8.0a0+git"), Some(true));
        assert_eq!(newer("570.133.20", "570.86.10"), Some(true));
        assert_eq!(newer("1:8.9.7.29-1", "8.9.7.29-2"), Some(true));
        assert_eq!(
            compare("ubuntu24.04", "ubuntu22.04"),
            Some(Ordering::Greater)
        );
        assert_eq!(compare("ubuntu24.04", "debian12"), None);
    }

    proptest! {
        #[test]
        fn a_version_meets_every_prefix_of_itself(numbers in prop::collection::vec(0u64..1000, 1..5), keep in 1usize..5) {
            let join = |n: &[u64]| n.iter().map(u64::to_string).collect::<Vec<_>>().join(".");
            let claim = join(&numbers[..keep.min(numbers.len())]);
            prop_assert_eq!(meets(&join(&numbers), &claim), Some(true));
        }

        #[test]
        fn no_text_panics(a in ".{0,24}", b in ".{0,24}") {
            let _ = meets(&a, &b);
            let _ = satisfies(&a, &b);
            prop_assert_eq!(compare(&a, &b), compare(&b, &a).map(Ordering::reverse));
        }
    }
}
