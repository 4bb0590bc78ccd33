//! Packages whose wheels require different versions of one NVIDIA package, or a different one than is pinned.

use crate::lint::facts::Pin;
use crate::lint::faults::PinConflict;
use crate::lint::pin_knowledge::PinKnowledge;
use imgcheck_base::version::satisfies;
use imgcheck_model::finding::Severity;

/// Packages of others that the table `required_pins` has requirements on.
const REQUIRED: &[&str] = &["jaxlib"];

/// What a package asks for.
struct Requirement<'p> {
    pin: &'p Pin,
    package: &'p str,
    specifier: &'p str,
    source: &'p str,
}

/// The first contradiction of each two packages of one environment.
pub fn conflicts(installed: &[Vec<&Pin>], knowledge: &PinKnowledge) -> Vec<PinConflict> {
    let of_stage = |pins: &Vec<&Pin>| {
        let kept = pins.iter().copied();
        // Builds with a label, and those of other indexes, require other versions. What a pin itself requests is the same everywhere.
        let is_on_pypi =
            |pin: &&Pin| is_requested(pin) || (pin.index.is_none() && pin.local.is_none());
        let kept = kept.filter(|pin| pin.manager == "pip" && !pin.replaced && is_on_pypi(pin));
        let all: Vec<Requirement<'_>> = kept.flat_map(|pin| requirements(pin, knowledge)).collect();
        let mut found: Vec<PinConflict> = Vec::new();
        for (at, one) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                let conflict = conflict(one, other, knowledge);
                let is_new = |it: &PinConflict| {
                    let same = |has: &PinConflict| (&has.pin, &has.other) == (&it.pin, &it.other);
                    !found.iter().any(same)
                };
                found.extend(conflict.filter(is_new));
            }
        }
        found
    };
    installed.iter().flat_map(of_stage).collect()
}

/// Whether a package is one that others require, and not one that requires others.
fn is_requested(pin: &Pin) -> bool {
    pin.name.starts_with("nvidia-") || REQUIRED.contains(&pin.name.as_str())
}

fn requirements<'p>(pin: &'p Pin, knowledge: &'p PinKnowledge) -> Vec<Requirement<'p>> {
    let Some(version) = pin
        .version
        .as_deref()
        .filter(|_| pin.specifier.starts_with("=="))
    else {
        return Vec::new();
    };
    if is_requested(pin) {
        return vec![Requirement {
            pin,
            package: &pin.name,
            specifier: &pin.specifier,
            source: "",
        }];
    }
    let rows = knowledge.nvidia_pins(pin);
    let rows = rows.filter(|row| row.version == version);
    let required = rows.flat_map(|row| {
        let pins = row.pins.iter();
        pins.map(|required| Requirement {
            pin,
            package: &required.package,
            specifier: &required.specifier,
            source: &row.source,
        })
    });
    required.collect()
}

fn conflict(
    one: &Requirement<'_>,
    other: &Requirement<'_>,
    knowledge: &PinKnowledge,
) -> Option<PinConflict> {
    let is_pair = one.package == other.package
        && one.pin.name != other.pin.name
        && one.pin.environment == other.pin.environment;
    if !is_pair || !(excludes(one, other) || excludes(other, one)) {
        return None;
    }
    // A table explains rather than the pin that a user wrote.
    let (one, other) = match one.source.is_empty() {
        true => (other, one),
        false => (one, other),
    };
    let is_told = knowledge.is_framework(one.pin) && knowledge.is_required_library(other.pin);
    let severity = match one.pin.command == other.pin.command {
        true => Severity::Error,
        false => Severity::Warning,
    };
    let required = other.specifier.to_owned();
    (!is_told).then(|| PinConflict {
        built_for: format!("{} {}", one.package, one.specifier),
        fitting: (!other.source.is_empty())
            .then_some(required)
            .into_iter()
            .collect(),
        source: one.source.to_owned(),
        ..PinConflict::new("wheels", severity, one.pin, other.pin)
    })
}

/// Whether the only version that one accepts is not accepted by the other.
fn excludes(one: &Requirement<'_>, other: &Requirement<'_>) -> bool {
    let exact = one.specifier.strip_prefix("==").map(str::trim);
    let exact = exact.filter(|it| !it.contains(['*', ',']));
    exact.is_some_and(|version| satisfies(version, other.specifier) == Ok(Some(false)))
}
