//! Frameworks without a version: `lint.unpinned`.

use super::facts::{Pin, Stage};
use super::faults::Unpinned;
use super::other_cudas::base_cuda;
use super::pin_knowledge::PinKnowledge;
use super::pin_tables::{Release, Variant};
use imgcheck_base::version::{fits, newer};

/// The unpinned frameworks of all stages.
pub fn all(stages: &[Stage], knowledge: &PinKnowledge) -> Vec<Unpinned> {
    let of_stage = |stage: &Stage| {
        let cuda = base_cuda(stage, knowledge).unwrap_or_default();
        let pins = stage.pins.iter().filter(|pin| is_loose(pin, knowledge));
        let pins = pins.filter(|pin| !stage.pins.iter().any(|it| decides(it, pin, knowledge)));
        let unpinned = pins.map(|pin| Unpinned {
            name: pin.name.clone(),
            pin: pin.clone(),
            builds: builds(pin, &cuda, knowledge),
            cuda: cuda.clone(),
            location: pin.location.clone(),
        });
        unpinned.collect::<Vec<_>>()
    };
    stages.iter().flat_map(of_stage).collect()
}

/// Whether the newest release is installed that an open range allows, from PyPI or a channel.
fn is_loose(pin: &Pin, knowledge: &PinKnowledge) -> bool {
    let is_range = pin.specifier.starts_with(['<', '>', '!'])
        && !pin.specifier.contains("==")
        && pin.version.is_none();
    let source = match pin.manager.as_str() {
        "pip" => pin.index.is_none(),
        manager => manager == "conda",
    };
    knowledge.is_framework(pin)
        && source
        && !(pin.constraint || pin.replaced || pin.present)
        && pin.cuda.is_none()
        && (pin.specifier.is_empty() || is_range)
}

/// Whether another package of the environment decides which framework or CUDA is installed.
fn decides(other: &Pin, pin: &Pin, knowledge: &PinKnowledge) -> bool {
    let requires = knowledge.is_framework(other) || knowledge.decides_framework(other);
    let is_versioned = other.version.is_some() && requires;
    let names_cuda = knowledge.partners.cuda_packages.contains(&other.name);
    let is_other = other.text != pin.text || other.cuda.is_some();
    other.environment == pin.environment && (names_cuda || (is_versioned && is_other))
}

/// The releases that it may be, with a build for the CUDA of the base image, or any stable one without it.
fn builds(pin: &Pin, cuda: &str, knowledge: &PinKnowledge) -> Vec<String> {
    let conda = &knowledge.partners.conda;
    let is_there = |it: &Release| {
        let is_before = newer(&conda.from, &it.version) == Some(true);
        let is_after = newer(&it.version, &conda.to) == Some(true);
        pin.manager != "conda" || !(is_before || is_after)
    };
    let is_allowed = |it: &Release| {
        pin.specifier.is_empty() || fits(&it.version, &pin.specifier) == Ok(Some(true))
    };
    let suits = |it: &Variant| match cuda {
        "" => it.status == "stable" && it.confidence != "unknown",
        cuda => it.cuda == cuda && it.status != "unknown",
    };
    let releases = knowledge.releases.iter();
    let allowed = releases.filter(|it| is_there(it) && is_allowed(it));
    let built = allowed.filter(|it| it.variants.iter().any(suits));
    built.map(|it| it.version.clone()).collect()
}
