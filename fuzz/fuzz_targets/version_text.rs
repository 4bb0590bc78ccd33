//! Versions, specifiers, requirements and markers of any text: orders are orders, and what is invalid is so whatever it is
//! compared with.
//!
//! The lines of the input: three versions, specifiers, a marker, a requirement.

use std::cmp::Ordering;
use std::sync::LazyLock;

use imgcheck_base::version::marker::{self, Environment};
use imgcheck_base::version::requirement::{MAX_REQUIREMENT, Requirement, normalized};
use imgcheck_base::version::{compare, debian, fits, meets, newer, release, satisfies};
use imgcheck_model::targets::{Capability, DriverVersion, GpuTable};

static GPUS: LazyLock<GpuTable> =
    LazyLock::new(|| imgcheck_model::knowledge::gpus().expect("the GPUs"));

const ENVIRONMENT: Environment = Environment {
    python: "3.11",
    full_python: Some("3.11.9"),
    machine: "x86_64",
};

pub fn fuzz(text: &str) {
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    let versions = [line(), line(), line()];
    orders(versions, |a, b| Some(debian::compare(a, b)));
    of_python(versions);
    let specifiers = line();
    for version in versions {
        specified(version, specifiers);
        assert_ne!(release(version), Some(Vec::new()));
        let _ = (
            Capability::parse(version),
            DriverVersion::parse(version),
            GPUS.parse(version),
        );
    }
    marked(line());
    required(line());
}

/// A comparison is an order, where all three can be compared.
fn orders([a, b, c]: [&str; 3], compare: impl Fn(&str, &str) -> Option<Ordering>) {
    assert!(matches!(compare(a, a), None | Some(Ordering::Equal)), "{a}");
    assert_eq!(
        compare(a, b),
        compare(b, a).map(Ordering::reverse),
        "{a} {b}"
    );
    let at_most = |a, b| compare(a, b).map(Ordering::is_le);
    if at_most(a, b) == Some(true) && at_most(b, c) == Some(true) {
        assert_ne!(at_most(a, c), Some(false), "{a} <= {b} <= {c}");
    }
}

fn of_python([a, b, _]: [&str; 3]) {
    assert_eq!(
        compare(a, b),
        compare(b, a).map(Ordering::reverse),
        "{a} {b}"
    );
    assert_eq!(newer(a, b), compare(a, b).map(Ordering::is_gt));
    assert!(
        matches!(meets(a, a), None | Some(true)),
        "{a} does not meet itself"
    );
}

fn specified(version: &str, specifiers: &str) {
    let valid = fits::check(specifiers).is_ok();
    assert_eq!(
        fits(version, specifiers).is_ok(),
        valid,
        "{version} {specifiers}"
    );
    assert_eq!(
        satisfies(version, specifiers).is_ok(),
        satisfies("0", specifiers).is_ok()
    );
}

fn marked(marker: &str) {
    let answer = marker::holds(marker, &ENVIRONMENT);
    let wrapped = format!("({marker})");
    // Neither longer nor deeper than a marker may be.
    if answer.is_ok() && wrapped.len() <= 1024 && marker.matches('(').count() < 16 {
        assert_eq!(marker::holds(&wrapped, &ENVIRONMENT), answer, "{marker}");
    }
}

/// What was read is read the same once it is written again.
fn required(text: &str) {
    assert_eq!(normalized(&normalized(text)), normalized(text), "{text}");
    let Ok(read) = Requirement::parse(text) else {
        return;
    };
    if text.len() + 3 > MAX_REQUIREMENT {
        return;
    }
    let extras = read.extras.join(",");
    let marker = read
        .marker
        .map(|marker| format!(";{marker}"))
        .unwrap_or_default();
    let written = format!("{}[{extras}] {}{marker}", read.name, read.written);
    assert_eq!(Requirement::parse(&written), Ok(read), "{text}");
}
