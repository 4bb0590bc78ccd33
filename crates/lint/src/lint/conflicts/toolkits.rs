//! Conda builds made for a different CUDA than the toolkit installed with them, by their build strings.

use crate::lint::facts::{Pin, Stage};
use crate::lint::faults::PinConflict;
use crate::lint::pin_knowledge::PinKnowledge;
use crate::lint::pin_tables::major;
use imgcheck_base::version::{first_numbers, newer};
use imgcheck_model::finding::Severity;

/// From this release on, a build works with every toolkit of its major.
const COMPATIBLE_FROM: &str = "11";

/// Builds for a CUDA that the toolkit of the same command is not.
pub fn of_other_cudas(stages: &[Stage], knowledge: &PinKnowledge) -> Vec<PinConflict> {
    let of_stage = |stage: &Stage| {
        let pins = stage.pins.iter();
        let certain = pins.filter(|pin| pin.manager == "conda" && !pin.conditional);
        let (toolkits, others): (Vec<&Pin>, Vec<&Pin>) =
            certain.partition(|pin| knowledge.partners.cuda_packages.contains(&pin.name));
        let conflict = |pin: &Pin| {
            let cuda = pin.cuda.as_deref().filter(|it| it.contains('.'))?;
            let together =
                |it: &&&Pin| (it.command, &it.environment) == (pin.command, &pin.environment);
            let mut beside = toolkits.iter().filter(together);
            let other = beside.find(|it| is_other(cuda, it.version.as_deref()))?;
            Some(PinConflict {
                built_for: cuda.to_owned(),
                ..PinConflict::new("toolkit", Severity::Error, pin, other)
            })
        };
        let found = others.into_iter().filter_map(conflict);
        found.collect::<Vec<_>>()
    };
    stages.iter().flat_map(of_stage).collect()
}

/// Whether a build for one CUDA does not work with a toolkit.
fn is_other(cuda: &str, toolkit: Option<&str>) -> bool {
    let Some(toolkit) = toolkit.filter(|it| it.starts_with(|c: char| c.is_ascii_digit())) else {
        return false;
    };
    let is_old = newer(COMPATIBLE_FROM, cuda) == Some(true);
    let numbers = |version: &str| first_numbers(version, 2).filter(|it| it.contains('.'));
    let is_other_minor = match (numbers(cuda), numbers(toolkit)) {
        (Some(own), Some(other)) => own != other,
        _ => false,
    };
    major(cuda) != major(toolkit) || (is_old && is_other_minor)
}
