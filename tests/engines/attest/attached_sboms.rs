//! SBOMs that oras and cosign attach to an image in docker-registry, which has no referrers API.

use serde_json::Value;
use testkit::{Compression, oci_layout};

use super::Tools;
use crate::program::{imgcheck, only_image, repository};
use crate::registry::real::{Storage, push};
use crate::sample_image::mislabelled;

/// The document of a build with PyTorch 2.9.0.
fn of_another_build() -> String {
    let right = std::fs::read_to_string(repository("testdata/sbom/trivy.cdx.json")).unwrap();
    right.replace("torch@2.8.0", "torch@2.9.0")
}

/// The contradictions that a check of the image finds.
fn contradictions(reference: &str) -> usize {
    let output = imgcheck()
        .args(["check", &format!("docker://{reference}"), "-f", "json"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let image = only_image(&report);
    assert_eq!(image["judged"]["complete"], true, "{}", image["judged"]);
    let findings = image["findings"].as_array().unwrap().iter();
    findings.filter(|it| it["rule"] == "claim-sbom").count()
}

#[test]
fn what_oras_and_cosign_attach_is_read() {
    let (Some(tools), Some(storage)) = (Tools::find(), Storage::new()) else {
        return;
    };
    let items = oci_layout(&[mislabelled()], Compression::Gzip, false);
    for (name, is_wrong, by_cosign) in [
        ("right", false, false),
        ("oras", true, false),
        ("cosign", true, true),
    ] {
        let layout = storage.path(name);
        testkit::write_directory(&layout, &items);
        let registry = storage.open();
        let reference = format!("{}/team/{name}:1", registry.address);
        push(&layout, &registry, &format!("team/{name}:1"));
        assert_eq!(contradictions(&reference), 0);

        let right = repository("testdata/sbom/trivy.cdx.json");
        let document = match is_wrong {
            true => of_another_build(),
            false => std::fs::read_to_string(right).unwrap(),
        };
        if by_cosign {
            let predicate = serde_json::from_str(&document).unwrap();
            tools.cosign_attests(&reference, "own", "cyclonedx", &predicate);
        } else {
            std::fs::write(tools.home.path().join("bom.json"), document).unwrap();
            let file = "bom.json:application/vnd.cyclonedx+json";
            let kind = "application/vnd.cyclonedx+json";
            tools.oras_attaches(&reference, kind, file);
        }
        assert_eq!(contradictions(&reference), usize::from(is_wrong), "{name}");
    }
}
