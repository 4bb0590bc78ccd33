//! Several versions of one package in one command.

use crate::lint::facts::{Pin, Stage};
use crate::lint::faults::PinConflict;
use imgcheck_base::version::{meets, newer};
use imgcheck_model::finding::Severity;

/// The newer ones, each with the first that contradicts it.
pub fn all(stages: &[Stage]) -> Vec<PinConflict> {
    let of_stage = |stage: &Stage| {
        let pins = stage
            .pins
            .iter()
            .filter(|pin| !pin.component.is_empty() && pin.version.is_some() && !pin.conditional);
        let pins: Vec<&Pin> = pins.collect();
        let conflict = |pin: &&Pin| {
            let other = pins.iter().find(|other| is_older(other, pin))?;
            Some(PinConflict::new("twice", Severity::Error, pin, other))
        };
        pins.iter().filter_map(conflict).collect::<Vec<_>>()
    };
    stages.iter().flat_map(of_stage).collect()
}

/// Whether one command requests a package in an older version, too, and neither version is part of the other.
fn is_older(other: &Pin, pin: &Pin) -> bool {
    let same = |key: fn(&Pin) -> &str| key(other) == key(pin);
    let (Some(version), Some(older)) = (&pin.version, &other.version) else {
        return false;
    };
    pin.command == other.command
        && same(|pin| &pin.name)
        && same(|pin| &pin.manager)
        && same(|pin| &pin.environment)
        && newer(version, older) == Some(true)
        && meets(version, older) == Some(false)
        && meets(older, version) == Some(false)
}
