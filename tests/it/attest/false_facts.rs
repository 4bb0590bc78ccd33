//! Facts that were signed with the right key, but are not those of the image: only a sample of the layers shows it.

use imgcheck_source::attest::envelope::Envelope;
use imgcheck_source::attest::key::PrivateKey;
use serde_json::{Value, json};

use super::{BUNDLE, Place, push_bundle, statement};

const FACTS: &str = "application/vnd.imgcheck.facts.v1";

/// A place where whoever has the key `own` attested facts of the image in which a file has another name.
fn place() -> Place {
    let honest = Place::new(true);
    honest.attest("own", &[]);
    let place = Place::new(true);
    assert_eq!(place.digest(), honest.digest());
    for key in ["own.pem", "own.pub"] {
        std::fs::copy(honest.key(key), place.key(key)).unwrap();
    }
    let pushed = honest.registry.pushed();
    let mut facts = pushed
        .values()
        .find(|it| it["artifactType"] == FACTS)
        .unwrap()
        .clone();
    let layers = facts["layers"].as_array_mut().unwrap();
    for layer in layers {
        let stored = honest.registry.blob(layer["digest"].as_str().unwrap());
        let text = String::from_utf8(zstd::decode_all(&stored[..]).unwrap()).unwrap();
        let changed = testkit::zstd(text.replace("notes", "votes").as_bytes());
        layer["digest"] = json!(place.registry.put_blob(&changed));
        layer["size"] = json!(changed.len());
    }
    let artifact = place.registry.put("facts", facts.to_string());

    let is_facts = |it: &&Value| {
        it["artifactType"] == BUNDLE && it["annotations"].to_string().contains("predicate/facts")
    };
    let bundle = pushed.values().find(is_facts).unwrap();
    let bundle = honest
        .registry
        .blob(bundle["layers"][0]["digest"].as_str().unwrap());
    let mut said = statement(&bundle);
    said["predicate"]["artifact"] = json!(artifact);
    let key = PrivateKey::read(place.key("own.pem").to_str().unwrap()).unwrap();
    let envelope = Envelope::sign(said.to_string().as_bytes(), |it| key.sign(it)).unwrap();
    let bundle = envelope.to_bundle(&key.public().unwrap()).unwrap();
    push_bundle(&place, &place.digest(), &bundle);
    place
}

#[test]
fn a_sample_shows_that_signed_facts_are_false() {
    let place = place();
    assert_eq!(
        place.verify("own", &[]).0,
        0,
        "a signature says who, not whether it is true"
    );
    let (code, verified, errors) = place.verify("own", &["--sample", "2"]);
    assert_eq!(code, 1, "{errors}");
    let manifest: Value = serde_json::from_slice(&place.registry.blob(&place.digest())).unwrap();
    let layer = manifest["layers"][1]["digest"].as_str().unwrap();
    let problem = format!("the layer {layer} does not have the facts that were signed");
    assert_eq!(verified["images"][0]["problems"], json!([problem]));
    let printed = place.run("verify", "own.pub", &["--sample", "2"]);
    let printed = super::text(&printed.stdout);
    assert!(
        printed.contains("NOT VERIFIED") && printed.contains(&problem),
        "{printed}"
    );
}
