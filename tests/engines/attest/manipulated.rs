//! What is manipulated is refused by cosign and by imgcheck alike.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::registry::Content;
use testkit::writable::Writable;

use super::{Tools, VERDICT, run, statement};
use crate::registry::run::{image, image_of};

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// A bundle that was signed for another image, or by another key, or was changed afterwards.
type Manipulation = (&'static str, Vec<u8>);

#[test]
fn ten_manipulations_are_refused() {
    let Some(tools) = Tools::find() else {
        return;
    };
    let own = signed(&tools, "own", &image());
    let stranger = signed(&tools, "other", &image());
    let replayed = signed(&tools, "own", &image_of(1000));
    let change = |work: &dyn Fn(&mut Value)| {
        let mut bundle = own.clone();
        work(&mut bundle["dsseEnvelope"]);
        bundle.to_string().into_bytes()
    };
    let payload = |work: &dyn Fn(&mut Value)| {
        let mut said = statement(&own);
        work(&mut said);
        change(&|it| it["payload"] = json!(STANDARD.encode(said.to_string())))
    };
    let whole = own.to_string().into_bytes();
    let manipulations: [Manipulation; 10] = [
        ("signed by another key", stranger.to_string().into_bytes()),
        (
            "a statement about another image",
            replayed.to_string().into_bytes(),
        ),
        (
            "another verdict",
            payload(&|it| it["predicate"]["verdict"] = json!("fail")),
        ),
        (
            "another digest",
            payload(&|it| {
                it["subject"][0]["digest"]["sha256"] = json!("0".repeat(64));
            }),
        ),
        ("no subject", payload(&|it| it["subject"] = json!([]))),
        (
            "another signature",
            change(&|it| {
                it["signatures"] = stranger["dsseEnvelope"]["signatures"].clone();
            }),
        ),
        (
            "a signature of zeros",
            change(&|it| {
                it["signatures"][0]["sig"] = json!(STANDARD.encode([0; 70]));
            }),
        ),
        ("no signature", change(&|it| it["signatures"] = json!([]))),
        (
            "another type of payload",
            change(&|it| it["payloadType"] = json!("text/plain")),
        ),
        ("cut", whole[..whole.len() / 2].to_vec()),
    ];
    for (name, bundle) in manipulations {
        let registry = Writable::new(Content::of("1", &[image()], false), true);
        let server = registry.serve();
        let reference = format!("{}/team/image:1", server.address);
        push_bundle(&registry, &bundle);
        assert!(
            !tools.cosign_verifies(&reference, "own", VERDICT, &[]),
            "{name}"
        );
        let (code, text) = run("verify", &reference, &tools.key("own", "pub"), &[]);
        assert_eq!(code, 1, "{name}: {text}");
        assert!(text.starts_with("NOT VERIFIED"), "{name}: {text}");
    }
    let registry = Writable::new(Content::of("1", &[image()], false), true);
    let server = registry.serve();
    let reference = format!("{}/team/image:1", server.address);
    push_bundle(&registry, &whole);
    let is_accepted = tools.cosign_verifies(&reference, "own", VERDICT, &[]);
    assert!(is_accepted, "what is not manipulated is accepted");
}

/// The bundle with the verdict on an image, signed by a key.
fn signed(tools: &Tools, key: &str, image: &testkit::Image) -> Value {
    let registry = Writable::new(Content::of("1", std::slice::from_ref(image), false), true);
    let server = registry.serve();
    let reference = format!("{}/team/image:1", server.address);
    let bundles = tools.key("manipulated", "jsonl");
    let arguments = ["--output", &*bundles];
    let (code, text) = run("attest", &reference, &tools.key(key, "pem"), &arguments);
    assert_eq!(code, 0, "{text}");
    let bundles = std::fs::read_to_string(bundles).unwrap();
    let bundles = bundles
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let is_verdict = |it: &Value| statement(it)["predicateType"] == VERDICT;
    bundles.into_iter().find(is_verdict).unwrap()
}

/// Lets a bundle refer to the image.
fn push_bundle(registry: &Writable, bundle: &[u8]) {
    let blob = registry.put_blob(bundle);
    let config = registry.put_blob(b"{}");
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": BUNDLE,
        "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": config, "size": 2},
        "layers": [{"mediaType": BUNDLE, "digest": blob, "size": bundle.len()}],
        "subject": {"mediaType": MANIFEST, "digest": registry.digest("1"), "size": 1},
        "annotations": {
            "dev.sigstore.bundle.content": "dsse-envelope",
            "dev.sigstore.bundle.predicateType": VERDICT,
        },
    });
    registry.put("pushed", manifest.to_string());
}
