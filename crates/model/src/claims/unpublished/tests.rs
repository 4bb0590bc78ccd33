//! What the facts have beside what the built-in rule shows, whose own tests are in `rules/claim/claim-impossible.yaml`.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::claims::Claim;
use crate::knowledge;

fn of(repository: &str, tag: &str, claims: &[(&str, &str)]) -> Vec<Unpublished> {
    let claim = |(subject, version): &(&str, &str)| Claim {
        subject: (*subject).to_owned(),
        version: (*version).to_owned(),
        origin: "tag".to_owned(),
        text: (*version).to_owned(),
        document: None,
    };
    let claims: Vec<Claim> = claims.iter().map(claim).collect();
    let reference = Reference {
        registry: "",
        repository,
        tag: Some(tag),
        claims: &claims,
    };
    let publications = knowledge::publications().unwrap();
    unpublished(&reference, || Ok(&publications)).unwrap()
}

#[test]
fn a_patch_release_names_those_of_its_line() {
    let found = of("nvidia/cuda", "12.4.2-base", &[("cuda", "12.4.2")]);
    let [patch] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!((patch.kind.as_str(), patch.official), ("patch", true));
    assert_eq!(patch.published, ["12.4.0", "12.4.1"]);
    assert!(patch.known > 60);
}

#[test]
fn an_unreadable_version_hides_no_other() {
    let claims = [("torch", "?"), ("cuda", "12.7"), ("cudnn", "?")];
    let found = of("team/train", "x", &claims);
    let kinds: Vec<&str> = found.iter().map(|it| it.kind.as_str()).collect();
    assert_eq!(kinds, ["toolkit"]);
}

#[test]
fn a_form_has_no_release() {
    let found = of("nvidia/cuda", "latest", &[]);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind.as_str(), &found[0].claim), ("form", &None));
    assert!(found[0].why.contains("latest"));
}

/// The subjects of the claims that a reference's only finding is about.
fn impossible(repository: &str, tag: &str, claims: &[(&str, &str)]) -> Vec<String> {
    let found = of(repository, tag, claims);
    assert_eq!(found.len(), 1, "{tag}");
    let claims = found[0].claims.iter().chain(&found[0].claim);
    claims.map(|it| it.subject.clone()).collect()
}

#[test]
fn only_the_claim_that_no_published_tag_keeps_is_impossible() {
    let cuda = |tag: &str, cuda: &str, part: (&str, &str)| {
        impossible("nvidia/cuda", tag, &[("cuda", cuda), part])
    };
    let cudnn9 = "12.4.1-cudnn9-runtime-ubuntu22.04";
    assert_eq!(cuda(cudnn9, "12.4.1", ("cudnn", "9")), ["cudnn"]);
    let young = "11.8.0-base-ubuntu24.04";
    assert_eq!(cuda(young, "11.8.0", ("os", "ubuntu24.04")), ["os"]);
    let short = "12.8-runtime-ubuntu22.04";
    assert_eq!(cuda(short, "12.8", ("os", "ubuntu22.04")), ["cuda"]);
    let torch = |tag: &str, cuda: &str, cudnn: &str| {
        let claims = [("torch", "2.5.1"), ("cuda", cuda), ("cudnn", cudnn)];
        impossible("pytorch/pytorch", tag, &claims)
    };
    assert_eq!(torch("2.5.1-cuda12.4-cudnn8-devel", "12.4", "8"), ["cudnn"]);
    assert_eq!(torch("2.5.1-cuda12.6-cudnn9-devel", "12.6", "9"), ["cuda"]);
}

#[test]
fn no_table_is_read_for_a_reference_without_claims() {
    let reference = Reference {
        registry: "",
        repository: "team/app",
        tag: None,
        claims: &[],
    };
    let read = || unreachable!("nothing is compared");
    assert_eq!(unpublished(&reference, read).unwrap(), []);
}
