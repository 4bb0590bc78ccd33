//! Builds that the index of a command does not have, or chooses by what the builder has: `lint.index_faults`.

use super::facts::{Pin, Stage};
use super::faults::IndexFault;
use super::kind::FileKind;
use super::pin_knowledge::PinKnowledge;
use super::pin_tables::is_number;
use imgcheck_base::version::{first_numbers, newer};
use imgcheck_model::finding::Severity;

/// What uv calls the build for the machine that it runs on (`--torch-backend`, UV_TORCH_BACKEND).
const OF_BUILDER: &str = "auto";

/// Those of all stages.
pub fn all(stages: &[Stage], kind: &str, knowledge: &PinKnowledge) -> Vec<IndexFault> {
    // A list of requirements can be installed with an index that only the command names.
    let is_command = [FileKind::Dockerfile, FileKind::Environment].map(FileKind::name);
    let is_command = is_command.contains(&kind);
    let of_stage = |stage| {
        let pins = Stage::installed_by_pip(stage);
        let faults = pins.filter_map(move |pin| {
            let unlabelled = || without_label(stage, pin, knowledge).filter(|_| is_command);
            let other = || {
                other_label(pin, knowledge)
                    .or_else(|| removed(pin, knowledge))
                    .or_else(|| absent(stage, pin, knowledge, is_command))
            };
            unlabelled()
                .or_else(other)
                .or_else(|| of_builder(pin, knowledge))
        });
        faults.collect::<Vec<_>>()
    };
    stages.iter().flat_map(of_stage).collect()
}

impl Stage {
    fn installed_by_pip(&self) -> impl Iterator<Item = &Pin> {
        let pins = self.pins.iter();
        pins.filter(|pin| pin.manager == "pip" && !pin.constraint && !pin.present)
    }
}

/// PyPI accepts no versions with a label (PEP 440, "Local version identifiers").
fn without_label(stage: &Stage, pin: &Pin, knowledge: &PinKnowledge) -> Option<IndexFault> {
    let base = stage.base.as_ref();
    // An image of somebody else may configure an index.
    let is_known = base.is_none_or(|base| knowledge.base_images(&base.repository).is_some());
    // What an earlier command installed may meet it.
    let mut earlier = stage.pins.iter().filter(|it| it.command < pin.command);
    let is_first = !earlier.any(|it| it.name == pin.name || knowledge.is_framework(it));
    let is_on_pypi = pin.local.is_some() && pin.index.is_none() && pin.specifier.starts_with("==");
    (is_known && is_first && is_on_pypi).then(|| IndexFault::new("label", Severity::Error, pin))
}

/// An index of the publisher for one CUDA, and the label of a build for another.
fn other_label(pin: &Pin, knowledge: &PinKnowledge) -> Option<IndexFault> {
    let label = pin.local.as_deref()?;
    let is_label = |it: &str| it.strip_prefix("cu").is_some_and(is_number) || it == "cpu";
    let index = pin.index.as_deref().filter(|_| pin.only_index)?;
    let name = index.trim_end_matches('/').rsplit('/').next()?;
    let is_of_publisher = index.contains(&knowledge.partners.index_address);
    let is_other = is_of_publisher && is_label(name) && is_label(label) && name != label;
    is_other.then(|| IndexFault::new("other", Severity::Error, pin))
}

/// A package of others that only an index of the publisher is asked for. A command may name another index for a list, and an image of somebody else may
/// have the package.
fn absent(
    stage: &Stage,
    pin: &Pin,
    knowledge: &PinKnowledge,
    is_command: bool,
) -> Option<IndexFault> {
    let index = pin
        .index
        .as_deref()
        .filter(|_| pin.only_index && !pin.uv && !pin.conditional)?;
    let base = stage.base.as_ref();
    let is_known = base.is_none_or(|base| knowledge.base_images(&base.repository).is_some());
    let is_of_publisher = index.contains(&knowledge.partners.index_address);
    let is_absent = knowledge.partners.not_on_index.contains(&pin.name);
    let is_named = !pin.specifier.starts_with('@');
    let severity = match is_command {
        true => Severity::Error,
        false => Severity::Warning,
    };
    (is_known && is_of_publisher && is_absent && is_named)
        .then(|| IndexFault::new("absent", severity, pin))
}

/// A nightly build of a release that two others followed: the index keeps the newest.
fn removed(pin: &Pin, knowledge: &PinKnowledge) -> Option<IndexFault> {
    let version = pin.version.as_deref().filter(|it| it.contains("dev"))?;
    let is_nightly = pin
        .index
        .as_deref()
        .is_some_and(|it| it.contains("/nightly"));
    let release = first_numbers(version, 2)?;
    let later = knowledge.releases.iter();
    let later = later.filter(|it| newer(&it.version, &release) == Some(true));
    let minors = later.filter_map(|it| first_numbers(&it.version, 2));
    let is_old = minors
        .into_iter()
        .any(|minor| newer(&minor, &release) == Some(true));
    let is_removed = knowledge.is_framework(pin) && is_nightly && is_old;
    is_removed.then(|| IndexFault::new("nightly", Severity::Error, pin))
}

/// The framework, or a package that brings one release of it.
fn of_builder(pin: &Pin, knowledge: &PinKnowledge) -> Option<IndexFault> {
    let brings = || knowledge.partner(pin).is_some_and(|it| it.requires_exactly);
    let is_of_builder = pin.index.as_deref() == Some(OF_BUILDER);
    let is_chosen = is_of_builder && (knowledge.is_framework(pin) || brings());
    is_chosen.then(|| IndexFault::new("builder", Severity::Warning, pin))
}
