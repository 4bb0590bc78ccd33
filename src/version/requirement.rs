//! A requirement on a Python package, as PEP 508 writes it: `torch[opt] >=2.8,<3; python_version < "3.13"`.
//!
//! Requirements that name an address in place of versions (`torch @ https://…`) are not read.

use std::str::FromStr;

use pep440_rs::VersionSpecifiers;

/// The longest requirement that is read, in bytes.
pub const LONGEST: usize = 4096;

/// A requirement, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement<'t> {
    /// The name as written.
    pub name: &'t str,
    /// The extras as written.
    pub extras: Vec<&'t str>,
    /// The versions (PEP 440) as written, without parentheses; empty if any will do.
    pub written: &'t str,
    /// The versions, read.
    pub specifiers: VersionSpecifiers,
    /// When it applies, for [`marker::holds`](super::marker::holds).
    pub marker: Option<&'t str>,
}

impl<'t> Requirement<'t> {
    /// Takes a requirement apart; of the marker nothing is read yet.
    ///
    /// # Errors
    ///
    /// It is none; what is wrong with it.
    pub fn parse(text: &'t str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err("this requirement is too long".to_owned());
        }
        let (text, marker) = match text.split_once(';') {
            Some((text, marker)) => (text.trim(), Some(marker)),
            None => (text.trim(), None),
        };
        let end = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        if !is_name(name) {
            let shown = text.split_whitespace().next().unwrap_or_default();
            return Err(format!("`{shown}` is no name of a package"));
        }
        let (extras, rest) = extras(rest.trim_start())?;
        let written = written(rest.trim())?;
        let specifiers = VersionSpecifiers::from_str(written).map_err(|error| {
            let message = error.to_string();
            message.lines().next().unwrap_or_default().to_owned()
        })?;
        Ok(Requirement {
            name,
            extras,
            written,
            specifiers,
            marker,
        })
    }
}

/// A name as PEP 503 normalises it: lower case, with runs of `-`, `_` and `.` as one `-`.
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

/// The extras at the start of a text, and the rest.
fn extras(text: &str) -> Result<(Vec<&str>, &str), String> {
    let Some(inner) = text.strip_prefix('[') else {
        return Ok((Vec::new(), text));
    };
    let (inner, rest) = inner.split_once(']').ok_or("a `]` is missing")?;
    let extras = inner.split(',').map(str::trim);
    let extras: Vec<&str> = extras.filter(|extra| !extra.is_empty()).collect();
    match extras.iter().find(|extra| !is_name(extra)) {
        Some(wrong) => Err(format!("`{wrong}` is no name of an extra")),
        None => Ok((extras, rest)),
    }
}

/// The version specifiers, which may stand in parentheses.
fn written(text: &str) -> Result<&str, String> {
    let text = match text.strip_prefix('(') {
        Some(inner) => inner.strip_suffix(')').ok_or("a `)` is missing")?.trim(),
        None => text,
    };
    match text.chars().next().filter(|c| !"=<>!~".contains(*c)) {
        Some(wrong) => Err(format!(
            "after the name comes a comparison such as `==`, no `{wrong}`"
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
    fn requirements_are_taken_apart() {
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
    fn what_is_no_requirement_is_an_error() {
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
