//! Patterns of images, in ignores and exemptions.

use super::{CONFIG, day, read};

#[test]
fn an_image_is_matched_as_written_and_in_full() {
    let mut ignore = read(CONFIG).unwrap().policy.ignores.remove(0);
    ignore.image = Some("docker.io/pytorch/*".to_owned());
    assert!(ignore.concerns("pytorch/pytorch:2.8.0"));
    assert!(!ignore.concerns("nvcr.io/pytorch/pytorch:2.8.0"));
    ignore.image = Some("pytorch/*".to_owned());
    assert!(ignore.concerns("pytorch/pytorch:2.8.0"));
    for repository in ["pytorch/pytorch", "docker.io/pytorch/pytorch", "*/pytorch"] {
        ignore.image = Some(repository.to_owned());
        assert!(ignore.concerns("pytorch/pytorch:2.8.0"), "{repository}");
        let digest = format!("pytorch/pytorch@sha256:{}", "0".repeat(64));
        assert!(ignore.concerns(&digest), "{repository}");
        assert!(
            !ignore.concerns("pytorch/pytorch-nightly:2.8.0"),
            "{repository}"
        );
    }
    ignore.image = Some("pytorch/pytorch:2.7.0".to_owned());
    assert!(!ignore.concerns("pytorch/pytorch:2.8.0"));
}

#[test]
fn an_exemption_without_a_tag_is_for_all_tags() {
    let gate = |image: &str| {
        let text = format!("gate: {{exemptions: [{{image: {image}, reason: vendor image}}]}}");
        read(&text).unwrap().gate
    };
    let exempts = |pattern: &str, image: &str| {
        gate(pattern)
            .exemption(image, "ml", day("2026-01-01"))
            .is_some()
    };
    for pattern in [
        "team/train",
        "docker.io/team/train",
        "team/*",
        "team/train:1",
    ] {
        assert!(exempts(pattern, "team/train:1"), "{pattern}");
    }
    for pattern in [
        "team/train:2",
        "team/trainer",
        "train",
        "registry.example/team/train",
    ] {
        assert!(!exempts(pattern, "team/train:1"), "{pattern}");
    }
}
