//! The policies for Kyverno and policy-controller in the book fit what `attest` writes. How these programs read a statement was taken from their
//! source: `pkg/cosign/cosign.go` of Kyverno (`decodeStatement`), and `attestationToPayloadJSON` of policy-controller. Both take the layers of
//! the tag `sha256-….att`, decode `payload` of each envelope with the standard alphabet of base64, choose statements by `predicateType`, and give the
//! statement (policy-controller) or its predicate (Kyverno) to the conditions.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Place;
use crate::program::repository;

const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";

/// The YAML blocks of the page that are of this kind.
fn policy(kind: &str) -> Value {
    let page = fs::read_to_string(repository("docs/src/attest.md")).unwrap();
    let blocks = page.split("```yaml\n").skip(1);
    let mut blocks = blocks.map(|it| it.split("```").next().unwrap());
    let block = blocks.find(|it| it.contains(&format!("kind: {kind}\n")));
    serde_saphyr::from_str(block.unwrap()).unwrap()
}

/// The statements about a digest, as both programs read them.
fn statements(place: &Place, digest: &str) -> Vec<Value> {
    let tag = format!("{}.att", digest.replace(':', "-"));
    let manifest = place.registry.blob(&place.registry.digest(&tag));
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let layers = manifest["layers"].as_array().unwrap().iter();
    layers
        .map(|layer| {
            assert_eq!(layer["mediaType"], ENVELOPE);
            // Absent, cosign's library refuses the layer.
            assert!(layer["annotations"]["dev.cosignproject.cosign/signature"].is_string());
            let envelope = place.registry.blob(layer["digest"].as_str().unwrap());
            let envelope: Value = serde_json::from_slice(&envelope).unwrap();
            assert_eq!(envelope["payloadType"], "application/vnd.in-toto+json");
            let payload = STANDARD
                .decode(envelope["payload"].as_str().unwrap())
                .unwrap();
            let statement: Value = serde_json::from_slice(&payload).unwrap();
            assert_eq!(
                layer["annotations"]["predicateType"],
                statement["predicateType"]
            );
            statement
        })
        .collect()
}

fn of_type<'s>(statements: &'s [Value], kind: &Value) -> &'s Value {
    let mut found = statements.iter().filter(|it| it["predicateType"] == *kind);
    let statement = found.next().unwrap();
    assert_eq!(found.next(), None);
    statement
}

#[test]
fn the_conditions_for_kyverno_hold() {
    let place = Place::of(&[super::image("amd64"), super::image("arm64")], false);
    place.attest("own", &[]);
    let policy = policy("ClusterPolicy");
    let verified = &policy["spec"]["rules"][0]["verifyImages"][0];
    let attestation = &verified["attestations"][0];
    let entry = &attestation["attestors"][0]["entries"][0]["keys"];
    assert_eq!(
        entry["rekor"]["ignoreTlog"], true,
        "imgcheck writes to no log"
    );
    // Kyverno looks at the digest that the tag has, which is that of the index.
    let statements = statements(&place, &place.digest());
    let statement = of_type(&statements, &attestation["type"]);
    let conditions = attestation["conditions"][0]["all"].as_array().unwrap();
    assert!(!conditions.is_empty());
    for condition in conditions {
        let key = condition["key"].as_str().unwrap();
        let path = key.trim_matches(['{', '}', ' ']);
        let value = path
            .split('.')
            .fold(&statement["predicate"], |it, key| &it[key]);
        // Kyverno adds the image of the Pod to the context before the predicate (`pkg/engine/internal/imageverifier.go`).
        let expected = match condition["value"].as_str().unwrap() {
            "{{ image.referenceWithTag }}" => json!(place.reference()),
            text => json!(text),
        };
        match condition["operator"].as_str().unwrap() {
            "Equals" => assert_eq!(*value, expected, "{key}"),
            operator => panic!("{operator}"),
        }
    }
}

#[test]
fn the_policy_for_policy_controller_holds() {
    let place = Place::new(false);
    place.attest("own", &[]);
    let policy = policy("ClusterImagePolicy");
    let authority = &policy["spec"]["authorities"][0];
    assert!(authority["key"]["data"].is_string());
    let attestation = &authority["attestations"][0];
    let statements = statements(&place, &place.digest());
    let statement = of_type(&statements, &attestation["predicateType"]);
    assert!(statement["subject"][0]["digest"]["sha256"].is_string());
    // The language is CUE: a struct of which the statement is an instance.
    assert_eq!(attestation["policy"]["type"], "cue");
    let cue = attestation["policy"]["data"].as_str().unwrap();
    let cue = cue
        .trim()
        .strip_prefix("predicate: verificationResult: ")
        .unwrap();
    let expected: Value = serde_json::from_str(cue).unwrap();
    assert_eq!(statement["predicate"]["verificationResult"], expected);
}
