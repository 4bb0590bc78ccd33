//! A requirement on a Python package: `torch[opt] >=2.8,<3; python_version < "3.13"`
//! ([dependency specifiers](https://packaging.python.org/specifications/dependency-specifiers/), PEP 508).
//!
//! Requirements with an address instead of versions (`torch @ https://…`) are not supported.

use pep440_rs::VersionSpecifiers;

use super::compare::parse_specifiers;

/// Longest requirement that is parsed, in bytes.
pub const MAX_REQUIREMENT: usize = 4096;

/// The parts of a requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement<'t> {
    /// The name as written.
    pub name: &'t str,
    /// The extras as written.
    pub extras: Vec<&'t str>,
    /// The version specifiers (PEP 440) as written, without parentheses; empty for any version.
    pub written: &'t str,
    /// The parsed version specifiers.
    pub specifiers: VersionSpecifiers,
    /// When it applies, for [`marker::holds`](super::marker::holds).
    pub marker: Option<&'t str>,
}

impl<'t> Requirement<'t> {
    /// Parses a requirement without its marker.
    ///
    /// # Errors
    /// The requirement is invalid; the message says why.
    pub fn parse(text: &'t str) -> Result<Self, String> {
        if text.len() > MAX_REQUIREMENT {
            return Err("requirement is too long".to_owned());
        }
        let (text, marker) = match text.split_once(';') {
            Some((text, marker)) => (text.trim(), Some(marker)),
            None => (text.trim(), None),
        };
        let end = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        if !is_name(name) {
            let shown = text.split_whitespace().next().unwrap_or_default();
            return Err(format!("`{shown}` is not a package name"));
        }
        let (extras, rest) = extras(rest.trim_start())?;
        let written = written(rest.trim())?;
        let specifiers = parse_specifiers(written)?;
        Ok(Requirement {
            name,
            extras,
            written,
            specifiers,
            marker,
        })
    }
}

/// A [normalized](https://packaging.python.org/specifications/name-normalization/) name (PEP 503): in lower case, with `-` in place of
/// runs of `-`, `_` and `.`.
pub fn normalized(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    for c in name.trim().chars() {
        match c {
            '-' | '_' | '.' if normal.ends_with('-') => {}
            '-' | '_' | '.' => normal.push('-'),
            c => normal.push(c.to_ascii_lowercase()),
        }
    }
    normal
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn is_name(name: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    name.starts_with(alphanumeric) && name.ends_with(alphanumeric) && name.chars().all(is_of_name)
}

/// Splits off the extras at the start of a text.
fn extras(text: &str) -> Result<(Vec<&str>, &str), String> {
    let Some(inner) = text.strip_prefix('[') else {
        return Ok((Vec::new(), text));
    };
    let (inner, rest) = inner.split_once(']').ok_or("a `]` is missing")?;
    let extras = inner.split(',').map(str::trim);
    let extras: Vec<&str> = extras.filter(|extra| !extra.is_empty()).collect();
    match extras.iter().find(|extra| !is_name(extra)) {
        Some(wrong) => Err(format!("`{wrong}` is not the name of an extra")),
        None => Ok((extras, rest)),
    }
}

/// The version specifiers, without their optional parentheses.
fn written(text: &str) -> Result<&str, String> {
    let text = match text.strip_prefix('(') {
        Some(inner) => inner.strip_suffix(')').ok_or("a `)` is missing")?.trim(),
        None => text,
    };
    let is_single = |it: &str| {
        let rest = it.trim().strip_prefix('=');
        rest.is_some_and(|it| !it.starts_with('='))
    };
    if text.split(',').any(is_single) {
        return Err("a version is pinned with `==`, not with `=`".to_owned());
    }
    match text.chars().next().filter(|c| !"=<>!~".contains(*c)) {
        Some(wrong) => Err(format!(
            "expected a comparison such as `==` after the name, found `{wrong}`"
        )),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requirements_are_parsed() {
        for (text, name, extras, written, marker) in [
            ("torch", "torch", vec![], "", None),
            ("torch (>=1.10,<2)", "torch", vec![], ">=1.10,<2", None),
            (
                "jax[cuda12, k8s] ~=0.4 ; os_name == 'posix'",
                "jax",
                vec!["cuda12", "k8s"],
                "~=0.4",
                Some(" os_name == 'posix'"),
            ),
        ] {
            let requirement = Requirement::parse(text).unwrap();
            let found = (requirement.name, requirement.extras, requirement.written);
            assert_eq!(found, (name, extras, written), "{text}");
            assert_eq!(requirement.marker, marker, "{text}");
        }
    }

    #[test]
    fn invalid_requirements_are_errors() {
        for text in [
            "",
            "9.",
            "-torch",
            "torch==",
            "torch=2",
            "torch (>=2",
            "torch[a",
            "torch[é]",
            "torch @ https://example.org/torch.whl",
            &"t".repeat(5000),
        ] {
            assert!(Requirement::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_normalized() {
        assert_eq!(normalized("nvidia_cudnn_cu12"), "nvidia-cudnn-cu12");
        assert_eq!(normalized("Foo-._Bar"), "foo-bar");
    }

    proptest! {
        #[test]
        fn no_text_panics(
            text in ".{0,60}",
            near in r"[a-z9.]{0,4}(\[[a-z,é]{0,5}\])? ?\(?([=<>!~]{1,3} ?[0-9.*a-z+!-]{0,8},? ?){0,3}\)?( ?;.{0,20})?",
        ) {
            let _ = Requirement::parse(&text);
            let _ = Requirement::parse(&near);
        }
    }
}
