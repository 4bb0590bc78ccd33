//! Findings on facts.

use super::*;
use imgcheck_base::bounds::Bounds;

#[test]
fn an_image_under_a_wrong_tag_is_found() {
    let set = RuleSet::builtin().unwrap();
    let findings = set
        .evaluate(
            &image("2.8.0+cu128", vec![claim("torch", "2.9")]),
            &Bounds::default(),
        )
        .unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].rule, "claim-torch-version");
    assert_eq!(findings[0].severity, Severity::Error);
    assert!(findings[0].docs.ends_with("/claim-torch-version.md"));
}

#[test]
fn without_facts_every_rule_is_silent() {
    let set = RuleSet::builtin().unwrap();
    assert_eq!(
        set.evaluate(&Facts::default(), &Bounds::default()).unwrap(),
        []
    );
    let empty = Facts::of_image(ImageFacts::default(), vec![], &StackFacts::default());
    assert_eq!(set.evaluate(&empty, &Bounds::default()).unwrap(), []);
    let subjects = [
        "torch", "cudnn", "python", "os", "ngc", "tgi", "device", "flavour", "nccl", "rocm",
    ];
    let claims = subjects.iter().map(|subject| claim(subject, "2")).collect();
    let reference = Facts::of_reference(named("team/image", "2"), claims);
    assert_eq!(set.evaluate(&reference, &Bounds::default()).unwrap(), []);
}

#[test]
fn a_fingerprint_survives_a_rebuild_and_is_another_for_another_claim() {
    let set = RuleSet::builtin().unwrap();
    let fingerprint = |torch: &str, claims| {
        set.evaluate(&image(torch, claims), &Bounds::default())
            .unwrap()[0]
            .fingerprint
            .clone()
    };
    let first = fingerprint("2.8.0", vec![claim("torch", "2.9")]);
    assert_eq!(first, fingerprint("2.8.1", vec![claim("torch", "2.9")]));
    assert_ne!(first, fingerprint("2.8.0", vec![claim("torch", "2.10")]));
    let two = set
        .evaluate(
            &image("2.8.0", vec![claim("torch", "2.9"), claim("torch", "2.10")]),
            &Bounds::default(),
        )
        .unwrap();
    assert_ne!(two[0].fingerprint, two[1].fingerprint);
}

#[test]
fn findings_come_worst_first() {
    let set = RuleSet::builtin().unwrap();
    let facts = Facts {
        claims: vec![claim("torch", "2.9"), claim("os", "ubuntu22.04")],
        ..image("2.8.0", vec![])
    };
    let mut image = facts.image.clone();
    image.tag = Some("latest".to_owned());
    let findings = set
        .evaluate(&Facts { image, ..facts }, &Bounds::default())
        .unwrap();
    let severities: Vec<Severity> = findings.iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::Error, Severity::Note]);
}
