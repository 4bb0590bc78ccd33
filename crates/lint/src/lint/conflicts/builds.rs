//! Packages that choose a library by the CUDA of the framework, and have none for it.

use super::framework::frameworks;
use super::wheels::cuda_of;
use crate::lint::facts::{Pin, Stage};
use crate::lint::faults::PinConflict;
use crate::lint::pin_knowledge::PinKnowledge;
use crate::lint::pin_tables::{CudaBuilds, is_in};
use imgcheck_model::finding::Severity;

/// Packages without a library for the CUDA of the framework beside them.
pub fn missing(
    stages: &[Stage],
    installed: &[Vec<&Pin>],
    knowledge: &PinKnowledge,
) -> Vec<PinConflict> {
    let mut conflicts = Vec::new();
    for (stage, pins) in stages.iter().zip(installed) {
        let choosing: Vec<(&Pin, &CudaBuilds)> = choosing(stage, knowledge).collect();
        if choosing.is_empty() {
            continue;
        }
        let frameworks = frameworks(stage, pins, knowledge);
        let kept = frameworks.iter().filter(|it| it.is_kept_by_pip());
        for framework in kept.filter(|it| it.pin.version.is_some()) {
            let Some(cuda) = cuda_of(&framework.pin, knowledge) else {
                continue;
            };
            let beside = choosing.iter().filter(|(pin, builds)| {
                pin.environment == framework.pin.environment && !builds.has(cuda)
            });
            conflicts.extend(beside.map(|(pin, builds)| PinConflict {
                built_for: cuda.to_owned(),
                fitting: knowledge.builds_for(&builds.package, cuda),
                source: builds.source.clone(),
                ..PinConflict::new("build", Severity::Warning, pin, &framework.pin)
            }));
        }
    }
    conflicts
}

/// The packages of a stage that are known to choose a library by the CUDA, unless a variable names it.
fn choosing<'s>(
    stage: &'s Stage,
    knowledge: &'s PinKnowledge,
) -> impl Iterator<Item = (&'s Pin, &'s CudaBuilds)> {
    let pins = stage.pins.iter().filter(|pin| {
        let is_kept = !pin.conditional && !pin.constraint && !pin.replaced;
        pin.manager == "pip" && is_kept && pin.specifier.starts_with("==")
    });
    let choosing = pins.filter_map(|pin| {
        let version = pin.version.as_deref()?;
        let mut rows = knowledge.cuda_builds.iter();
        let row = rows.find(|it| it.package == pin.name && is_in(version, &it.releases))?;
        Some((pin, row))
    });
    choosing.filter(|(_, row)| stage.env.iter().all(|it| it.name != row.unless))
}
