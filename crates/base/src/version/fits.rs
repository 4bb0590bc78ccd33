//! Whether a version is one that a team expects.
//!
//! People write PEP 440 specifiers for versions with more numbers than anybody writes: `python==3.11`, `cuda==12.8`. So `==` and `!=`
//! compare only the components that both sides have, as [`meets`] does for a claim. Other operators are those of PEP 440, but
//! NVIDIA's builds of PyTorch count as the release that their alpha precedes.

use std::str::FromStr;

use pep440_rs::Version;

use super::compare::{meets, release, satisfies};

/// Whether a version fits specifiers such as `>=9.7,<10`, `==12.8`, `==2.8.*` or `==ubuntu22.04`. A version with numbers that PEP 440
/// cannot order does not fit specifiers that need an order. `None` if the version cannot be read.
///
/// # Errors
/// The specifiers are invalid; the message says why.
pub fn fits(version: &str, specifiers: &str) -> Result<Option<bool>, String> {
    let mut known = true;
    for specifier in specifiers.split(',').map(str::trim) {
        match fits_one(version, specifier)? {
            Some(true) => {}
            Some(false) => return check(specifiers).map(|()| Some(false)),
            None => known = false,
        }
    }
    Ok(known.then_some(true))
}

/// Checks that specifiers are valid.
///
/// # Errors
/// What is wrong.
pub fn check(specifiers: &str) -> Result<(), String> {
    specifiers
        .split(',')
        .try_for_each(|specifier| fits_one("0", specifier.trim()).map(drop))
}

/// Checks that specifiers are valid and their versions are in PEP 440, as those of all components but operating systems are.
///
/// # Errors
/// What is wrong.
pub fn check_versions(specifiers: &str) -> Result<(), String> {
    check(specifiers)?;
    let exact = specifiers.split(',').filter_map(|it| exact(it.trim()));
    for (wanted, _) in exact {
        // llama.cpp has build numbers: `b6124`.
        let number = wanted.strip_prefix(['b', 'r']).unwrap_or(wanted);
        if Version::from_str(number).is_err() {
            return Err(format!("`{wanted}` is not a version"));
        }
    }
    Ok(())
}

fn fits_one(version: &str, specifier: &str) -> Result<Option<bool>, String> {
    if specifier.is_empty() {
        return Err("a version specifier such as >=2.8 is missing".to_owned());
    }
    let Some((wanted, equal)) = exact(specifier) else {
        let met = satisfies_as_released(version, specifier)?;
        // `debian12` can be read but has no order, so it meets no bound.
        return Ok(met.or_else(|| release(version).map(|_| false)));
    };
    if release(wanted).is_none() || wanted.contains(char::is_whitespace) {
        return Err(format!("`{wanted}` is not a version"));
    }
    Ok(meets(version, wanted).map(|met| met == equal))
}

/// Whether all specifiers are `==` or `!=`, which need no order.
pub fn are_exact(specifiers: &str) -> bool {
    let mut specifiers = specifiers.split(',').map(str::trim);
    specifiers.all(|specifier| exact(specifier).is_some())
}

/// Like [`satisfies`], but one of NVIDIA's builds also counts as the release that it precedes. `2.8.0a0+34c6371d24.nv25.8` is older than
/// `2.8` in PEP 440, but NGC images have it instead of 2.8.0.
fn satisfies_as_released(version: &str, specifier: &str) -> Result<Option<bool>, String> {
    let met = satisfies(version, specifier)?;
    match release(version).filter(|_| met == Some(false) && is_built_by_nvidia(version)) {
        Some(numbers) => {
            let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
            satisfies(&numbers.join("."), specifier)
        }
        None => Ok(met),
    }
}

/// Whether the local version has a release of NVIDIA's images: `nv25.8`.
fn is_built_by_nvidia(version: &str) -> bool {
    let local = version.split_once('+').map_or("", |(_, local)| local);
    local.split('.').any(|part| {
        part.strip_prefix("nv")
            .is_some_and(|year| year.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// The version after `==` or `!=` without `.*`, and whether the operator is `==`.
fn exact(specifier: &str) -> Option<(&str, bool)> {
    let (wanted, equal) = match specifier.strip_prefix("==") {
        Some(wanted) => (wanted, true),
        None => (specifier.strip_prefix("!=")?, false),
    };
    (!wanted.starts_with('=') && !wanted.ends_with('*')).then_some((wanted.trim(), equal))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equality_compares_common_components() {
        for (version, specifiers, expected) in [
            ("12.8", "==12.8", true),
            ("12.8.90", "==12.8", true),
            ("12.8", "==12.8.1", true),
            ("12.4", "==12.8", false),
            ("3.11.9", "==3.11", true),
            ("3.12.1", "==3.11", false),
            ("3.12.1", "!=3.11", true),
            ("2.8.0+cu128", "==2.8.0", true),
            ("2.8.0+cu128", "==2.8.0+cu126", false),
            ("2.8.0a0+34c6371d24.nv25.8", "==2.8.*", true),
            ("2.8.0a0+34c6371d24.nv25.8", ">=2.8", true),
            ("2.8.0a0+34c6371d24.nv25.8", "~=2.8", true),
            ("2.8.0a0+34c6371d24.nv25.8", ">=2.8,<2.9", true),
            ("2.8.0a0+34c6371d24.nv25.8", ">=2.8.1", false),
            ("2.8.0a0+34c6371d24.nv25.8", ">2.8", false),
            ("2.8.0a0+34c6371d24.nv25.8", "<2.8", false),
            ("2.8.0a0+34c6371d24.nv25.8", "!=2.8.*", false),
            ("2.1.0a0+41361538.nv23.06", ">=2.1,<2.2", true),
            ("2.8.0a0+34c6371d24", ">=2.8", false),
            ("2.8.0a0+nvidia", ">=2.8", false),
            ("2.8.0.dev20250601+cu128", ">=2.8", false),
            ("2.8.0rc1", ">=2.8", false),
            ("2.8.1", "== 2.8.*", true),
            ("2.9.0", "==2.8.*", false),
            ("9.10.2", ">=9.7,<10", true),
            ("8.9.7", ">=9.7,<10", false),
            ("2.35", ">=2.28", true),
            ("ubuntu22.04", "==ubuntu22.04", true),
            ("ubuntu24.04", "==ubuntu22.04", false),
            ("debian12", "!=ubuntu22.04", true),
        ] {
            assert_eq!(
                fits(version, specifiers),
                Ok(Some(expected)),
                "{version} {specifiers}"
            );
        }
        // A version without an order meets no bound.
        for specifiers in [">=22.04", "<99", "~=12.1", "==12.*", "==debian12,>=1"] {
            assert_eq!(
                fits("debian12", specifiers),
                Ok(Some(false)),
                "{specifiers}"
            );
        }
        assert_eq!(fits("unknown", "==2"), Ok(None));
        assert_eq!(fits("unknown", ">=2"), Ok(None));
    }

    #[test]
    fn invalid_specifiers_are_errors_for_every_version() {
        for specifiers in [
            "",
            "2.8",
            "==",
            ">=",
            "=>2.8",
            "==2.8,",
            "==9,latest",
            ">=ubuntu22.04",
            "==latest",
            "==2.9 cudnn==8",
            "!=8 or 9",
            "==2.8 *",
            ">=2.8 cudnn>=9",
        ] {
            assert!(check(specifiers).is_err(), "{specifiers:?}");
            assert!(fits("2.8.0", specifiers).is_err(), "{specifiers:?}");
        }
        assert_eq!(check(">=9.7, <10, !=9.8.0"), Ok(()));
    }

    #[test]
    fn only_operating_systems_have_versions_outside_pep_440() {
        for specifiers in [
            "==2.8garbage",
            "==12.8x",
            "!=2.9oops",
            "==ubuntu22.04",
            ">=2.8garbage",
            "==2.8.x.*",
            "==2.8,!=2.9oops",
        ] {
            assert!(check_versions(specifiers).is_err(), "{specifiers}");
        }
        for specifiers in [
            "==2.8",
            "== 2.8.*, != 2.8.1",
            "==v2.8",
            "==b6124",
            "==2.8.0a0+34c6371d24.nv25.8",
            "==2.8.0+team.3",
            "==8.9.7.29-1+cuda12.2",
            "==0.4.6.post5",
            ">=570.26",
        ] {
            assert_eq!(check_versions(specifiers), Ok(()), "{specifiers}");
        }
        assert_eq!(check("==ubuntu22.04"), Ok(()));
        assert!(check("==ubuntu 22.04").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(version in ".{0,24}", specifiers in ".{0,24}") {
            let _ = fits(&version, &specifiers);
            let _ = check_versions(&specifiers);
        }
    }
}
