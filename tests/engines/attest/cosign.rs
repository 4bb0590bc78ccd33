//! What is right is accepted by everybody.

use serde_json::Value;

use super::{FACTS, SUMMARY, Tools, VERDICT, run};
use crate::registry::real::Storage;

const OLD: &[&str] = &["--new-bundle-format=false"];

#[test]
fn cosign_accepts_both_forms_and_oras_lists_them() {
    let (Some(tools), Some(storage)) = (Tools::find(), Storage::new()) else {
        return;
    };
    storage.fill();
    let registry = storage.open();
    let reference = format!("{}/team/image:1", registry.address);
    assert!(!tools.cosign_verifies(&reference, "own", VERDICT, &[]));
    let (code, text) = run("attest", &reference, &tools.key("own", "pem"), &[]);
    assert_eq!(code, 0, "{text}");
    for kind in [FACTS, VERDICT, SUMMARY] {
        assert!(
            tools.cosign_verifies(&reference, "own", kind, &[]),
            "{kind}"
        );
        assert!(
            tools.cosign_verifies(&reference, "own", kind, OLD),
            "{kind}"
        );
        assert!(!tools.cosign_verifies(&reference, "other", kind, &[]));
        assert!(!tools.cosign_verifies(&reference, "other", kind, OLD));
    }
    let listed = tools.run(
        "oras",
        &["discover", "--plain-http", "--format", "json", &reference],
    );
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let kinds: Vec<_> = listed["referrers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["artifactType"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds
            .iter()
            .filter(|it| it.contains("sigstore.bundle"))
            .count(),
        3
    );
    assert!(
        kinds.contains(&"application/vnd.imgcheck.facts.v1"),
        "{kinds:?}"
    );
    let (code, text) = run("verify", &reference, &tools.key("own", "pub"), &[]);
    assert_eq!(code, 0, "{text}");
}

#[test]
fn what_cosign_signed_is_verified() {
    let (Some(tools), Some(storage)) = (Tools::find(), Storage::new()) else {
        return;
    };
    storage.fill();
    let registry = storage.open();
    let reference = format!("{}/team/image:1", registry.address);
    let (code, text) = run("attest", &reference, &tools.key("own", "pem"), &[]);
    assert_eq!(code, 0, "{text}");
    let (code, _) = run("verify", &reference, &tools.key("other", "pub"), &[]);
    assert_eq!(code, 1, "the other key has signed nothing yet");
    for kind in [FACTS, VERDICT] {
        let said = tools.cosign_prints(&reference, "own", kind);
        tools.cosign_attests(&reference, "other", kind, &said["predicate"]);
    }
    let (code, text) = run(
        "verify",
        &reference,
        &tools.key("other", "pub"),
        &["--max-age", "1"],
    );
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("VERIFIED"), "{text}");
}
