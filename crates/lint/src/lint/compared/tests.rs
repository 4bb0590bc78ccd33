//! What the facts have beside what the built-in rules show, whose own tests are in `rules/lint/`.

#![allow(clippy::unwrap_used)]

use crate::lint::{Base, Pin, PinConflict, Replacement, Sources, Stage};
use imgcheck_model::claims::Claim;

/// `torch==2.8.0` of one command of pip.
fn pin(text: &str) -> Pin {
    let (name, version) = text.split_once("==").unwrap_or((text, ""));
    Pin {
        name: name.to_owned(),
        component: name.to_owned(),
        manager: "pip".to_owned(),
        specifier: text[name.len()..].to_owned(),
        version: (!version.is_empty()).then(|| version.to_owned()),
        text: text.to_owned(),
        command: 1,
        ..Pin::default()
    }
}

fn compared(base: Option<Base>, pins: Vec<Pin>) -> Sources {
    let stage = Stage {
        base,
        pins,
        ..Stage::default()
    };
    let mut sources = Sources {
        stages: vec![stage],
        ..Sources::default()
    };
    sources.compare().unwrap();
    sources
}

fn conflicts(pins: &[&str]) -> Vec<PinConflict> {
    let pins = pins.iter().map(|text| pin(text)).collect();
    compared(None, pins).pin_conflicts
}

/// The official image of PyTorch with a tag.
fn official(version: &str) -> Base {
    let claim = Claim {
        subject: "torch".to_owned(),
        version: version.to_owned(),
        origin: "tag".to_owned(),
        text: version.to_owned(),
        document: None,
    };
    Base {
        repository: "pytorch/pytorch".to_owned(),
        claims: vec![claim],
        ..Base::default()
    }
}

#[test]
fn a_conflict_names_the_source_of_its_table() {
    let found = conflicts(&["torch==2.8.0", "torchvision==0.19.0"]);
    let [conflict] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(conflict.kind, "partner");
    assert_eq!(conflict.built_for, "2.4.0");
    assert_eq!(conflict.fitting, ["0.23.0"]);
    assert_eq!(conflict.source, "PyPI torchvision 0.19.0 METADATA");
}

#[test]
fn an_unreadable_version_hides_no_other_conflict() {
    let found = conflicts(&[
        "torch==2.8.0",
        "torchvision==0.19.0",
        "torchaudio==latest",
        "triton==?",
    ]);
    let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["torchvision"]);
}

#[test]
fn the_framework_of_a_base_image_has_the_manager_base() {
    let pins = vec![pin("torchvision==0.22.0")];
    let found = compared(Some(official("2.8.0")), pins).pin_conflicts;
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|it| (it.kind.as_str(), it.other.manager.as_str()))
        .collect();
    assert_eq!(found, [("guest", "base")]);
}

#[test]
fn a_replacement_names_what_would_fit() {
    let replacements = |pins: &[&str]| {
        let pins = pins.iter().map(|text| pin(text)).collect();
        compared(Some(official("2.5.1")), pins).replacements
    };
    let found = replacements(&["torch==2.6.0"]);
    let expected = Replacement {
        installed: "2.5.1".to_owned(),
        fitting: vec!["2.6.0".to_owned()],
        ..Replacement::new("base", &pin("torch==2.6.0"), &pin("torch==2.6.0"))
    };
    assert_eq!(found, [expected]);
    assert_eq!(replacements(&["torch==2.5.1", "numpy"]), []);
}
