//! Judgement is pure.

use std::fs;
use std::sync::Arc;

use imgcheck::{Checker, ErrorCode, ImageReport, Limit, Limits, Overlay, Subject};
use testkit::{Compression, Image, oci_layout, write_directory};

use super::{DAY, checker, day, image, request, sample};

#[test]
fn judgement_depends_on_its_arguments_only() {
    let scratch = tempfile::tempdir().unwrap();
    let configuration = scratch.path().join("imgcheck.yaml");
    let ignore = "ignore: [{rule: claim-torch-version, reason: renamed, expires: 2026-11-22}]";
    fs::write(&configuration, ignore).unwrap();
    let checker = Checker::builder().configuration(configuration).build();
    let checker = checker.unwrap();
    let facts = sample(&checker);
    let subject = Subject::new("pytorch-cuda:v2.9", day(DAY));
    let rules = |subject: &Subject| -> Vec<String> {
        let findings = checker.judge(&facts, subject).unwrap();
        findings.into_iter().map(|finding| finding.rule).collect()
    };
    let claim = "claim-torch-version".to_owned();
    assert_eq!(rules(&subject), rules(&subject));
    assert!(!rules(&subject).contains(&claim));
    // The ignore has expired.
    assert!(rules(&subject.clone().on(day((2026, 11, 23)))).contains(&claim));
    let honest = subject
        .with_reference("pytorch-cuda:v2.8")
        .on(day((2027, 1, 1)));
    assert!(!rules(&honest).contains(&claim));
}

#[test]
fn tags_of_one_image_share_what_is_known_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let tagged = |tag: &str| Image {
        reference: Some(tag.to_owned()),
        ..image()
    };
    let images = [tagged("example:1"), tagged("torch:2.8.0-cuda12.8")];
    let layout = oci_layout(&images, Compression::Gzip, false);
    write_directory(directory.path(), &layout);
    let report = checker().check(&[request(directory.path())]);
    let [one, two] = &report.images[..] else {
        panic!("{} images, {:?}", report.images.len(), report.errors)
    };
    assert!(Arc::ptr_eq(&one.facts.stack, &two.facts.stack));
    let loaders = [one, two].map(|it| it.facts.loader.as_ref().unwrap());
    assert!(Arc::ptr_eq(loaders[0], loaders[1]));
    let origins = |image: &ImageReport| -> Vec<String> {
        let claims = image.facts.claims.iter();
        claims.map(|claim| claim.origin.clone()).collect()
    };
    assert!(!origins(one).contains(&"tag".to_owned()));
    assert!(origins(two).contains(&"tag".to_owned()));
}

#[test]
fn the_loader_is_replayed_from_facts() {
    let checker = checker();
    let facts = sample(&checker);
    let process = |overlay: Overlay| {
        let subject = Subject::new("pytorch-cuda:v2.9", day(DAY)).launched_with(overlay);
        let report = checker.report(&facts, &subject).unwrap();
        report.facts.loader.unwrap().processes[0].clone()
    };
    let own = process(Overlay::default());
    let mut pod = Overlay::default();
    pod.env
        .insert("LD_LIBRARY_PATH".to_owned(), "/opt/lib".to_owned());
    let overlaid = process(pod);
    assert_ne!(own.library_path_from, overlaid.library_path_from);
    assert_eq!(overlaid.library_path_from, "overlay");
}

#[test]
fn the_limits_of_a_request_apply_to_reading_and_judging() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("image.facts");
    let checker = checker();
    let facts = sample(&checker);
    fs::write(&path, facts.encode().unwrap()).unwrap();
    let limits = |limit: Limit| {
        let mut limits = Limits::default();
        limits.set(limit, 1);
        limits
    };
    for limit in [Limit::FactsBytes, Limit::Layers, Limit::Entries] {
        let within = request(&path).limits(limits(limit));
        let report = checker.check(&[within]);
        assert_eq!(report.errors.len(), 1, "{limit:?}");
        assert_eq!(report.errors[0].error.code(), ErrorCode::Limit, "{limit:?}");
    }
    let subject = Subject::new("pytorch-cuda:v2.9", day(DAY));
    assert!(checker.judge(&facts, &subject).is_ok());
    for limit in [Limit::LoaderObjects, Limit::RuleItems] {
        let error = checker.judge(&facts, &subject.clone().limits(limits(limit)));
        assert_eq!(error.unwrap_err().code(), ErrorCode::Limit, "{limit:?}");
    }
}
