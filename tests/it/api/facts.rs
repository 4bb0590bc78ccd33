//! Facts depend on bytes only.

use std::fs;

use imgcheck::{ImageFacts, ImageRequest, Subject};
use testkit::registry::Content;
use testkit::{Compression, docker_archive, oci_layout, write_archive, write_directory};

use super::{DAY, SAMPLE, checker, day, image, request, sample};
use crate::program::repository;

#[test]
fn an_archive_a_layout_and_a_registry_have_equal_facts() {
    let scratch = tempfile::tempdir().unwrap();
    let archive = scratch.path().join("image.tar");
    write_archive(&archive, &docker_archive(&[image()]));
    let plain = scratch.path().join("plain");
    write_directory(&plain, &oci_layout(&[image()], Compression::Plain, false));
    let gzip = scratch.path().join("gzip");
    write_directory(&gzip, &oci_layout(&[image()], Compression::Gzip, false));
    let server = Content::of("1", &[image()], false).serve();
    let remote = ImageRequest::new(server.reference("1"));
    let requests = [request(&archive), request(&plain), request(&gzip), remote];
    let encoded = requests.each_ref().map(|request| {
        // A new checker has seen nothing yet.
        let facts = checker().facts(request).unwrap();
        facts.encode().unwrap()
    });
    for other in &encoded[1..] {
        assert!(*other == encoded[0]);
    }
    let again = checker().facts(&requests[0]).unwrap().encode().unwrap();
    assert!(again == encoded[0]);
}

#[test]
fn facts_survive_encoding() {
    let checker = checker();
    let facts = sample(&checker);
    let decoded = ImageFacts::decode(&facts.encode().unwrap()).unwrap();
    assert_eq!(decoded, facts);
    let subject = Subject::new("pytorch-cuda:v2.9", day(DAY));
    assert_eq!(
        checker.judge(&decoded, &subject).unwrap(),
        checker.judge(&facts, &subject).unwrap()
    );
}

#[test]
fn a_facts_file_is_an_image() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("image.facts");
    let checker = checker();
    fs::write(&path, sample(&checker).encode().unwrap()).unwrap();
    // A fingerprint names the repository that the user typed, never the one that an archive records.
    let reports = [repository(SAMPLE), path].map(|image| {
        let request = request(&image).compare_with("pytorch-cuda:v2.9");
        checker.check(&[request]).images.remove(0)
    });
    assert_eq!(reports[0].findings, reports[1].findings);
    assert_eq!(reports[0].facts.stack, reports[1].facts.stack);
}

#[test]
fn damaged_facts_are_an_error() {
    let encoded = sample(&checker()).encode().unwrap();
    for end in (0..encoded.len()).step_by(61) {
        assert!(ImageFacts::decode(&encoded[..end]).is_err());
    }
    for at in (0..encoded.len()).step_by(61) {
        let mut damaged = encoded.clone();
        damaged[at] ^= 0x55;
        // A bit that is never read may change.
        let _ = ImageFacts::decode(&damaged);
    }
}

/// Whoever keeps facts may be given facts that no layer has.
#[test]
fn facts_that_no_layer_has_are_judged_or_an_error() {
    let checker = checker();
    let facts = serde_json::to_value(sample(&checker)).unwrap();
    let paths = [
        "",
        "/",
        "..",
        "../../etc/passwd",
        "a//b",
        "./a",
        "a/../..",
        "\u{0}",
        "usr",
    ];
    for path in paths {
        let mut hostile = facts.clone();
        for layer in hostile["layers"].as_array_mut().unwrap() {
            let entries = layer["facts"]["entries"].as_array_mut().unwrap();
            for entry in entries.iter_mut().step_by(3) {
                entry["path"] = path.into();
            }
        }
        let hostile: ImageFacts = serde_json::from_value(hostile).unwrap();
        let _ = checker.judge(&hostile, &Subject::new("example:1", day(DAY)));
    }
}
