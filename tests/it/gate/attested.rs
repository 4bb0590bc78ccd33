//! An image that was attested is judged without reading its layers.

use serde_json::{Value, json};
use testkit::writable::Writable;

use super::images::{ENFORCE, TAG, content};
use super::server::{Home, Server};
use crate::attest::{make_keys, text};
use crate::program::imgcheck;

#[test]
fn the_facts_of_keys_that_the_configuration_names_are_used() {
    let image = content();
    let layers: Vec<String> = {
        let manifest = image.manifest(TAG);
        let layers = manifest["layers"].as_array().unwrap().iter();
        layers
            .map(|it| it["digest"].as_str().unwrap().to_owned())
            .collect()
    };
    let registry = Writable::new(image, true).serve();
    let reference = format!("{}/team/image:{}", registry.address, TAG);
    let keys = Home::new(ENFORCE);
    for name in ["own", "other"] {
        make_keys(keys.path("").as_path(), name);
    }
    let attested = imgcheck()
        .args(["attest", &reference, "--key"])
        .arg(keys.path("own.pem"))
        .output()
        .unwrap();
    assert!(attested.status.success(), "{}", text(&attested.stderr));
    let read = || {
        let seen = registry.seen();
        let is_layer = |it: &&testkit::registry::Seen| {
            it.method == "GET" && layers.iter().any(|layer| it.is_blob(layer))
        };
        seen.iter().filter(is_layer).count()
    };
    for (key, is_read) in [("own", false), ("other", true)] {
        let before = read();
        let public = keys.path(&format!("{key}.pub")).display().to_string();
        let server = Server::new(&format!("facts-keys: [{public}]\n{ENFORCE}"));
        let question = json!({"reference": reference});
        assert_eq!(server.post("/v1/check", &question).status, 202);
        server.wait_for("a verdict", |server| {
            server.post("/v1/check", &question).status == 200
        });
        let report: Value = server.post("/v1/check", &question).json();
        assert_eq!(report["images"][0]["verdict"], "pass");
        assert_eq!(read() > before, is_read, "{key}");
    }
}

#[test]
fn another_tag_of_an_attested_digest_is_judged_by_its_own_promises() {
    let registry = Writable::new(content(), true);
    let manifest = registry.blob(&registry.digest(TAG));
    assert_eq!(registry.put("torch2.9.0", manifest), registry.digest(TAG));
    let server = registry.serve();
    let reference = |tag: &str| format!("{}/team/image:{tag}", server.address);
    let keys = Home::new(ENFORCE);
    make_keys(keys.path("").as_path(), "own");
    let attested = imgcheck()
        .args(["attest", &reference(TAG), "--key"])
        .arg(keys.path("own.pem"))
        .output()
        .unwrap();
    assert!(attested.status.success(), "{}", text(&attested.stderr));
    let public = keys.path("own.pub").display().to_string();
    let gate = Server::new(&format!("facts-keys: [{public}]\n{ENFORCE}"));
    for (tag, verdict) in [(TAG, "pass"), ("torch2.9.0", "fail")] {
        let question = json!({"reference": reference(tag)});
        gate.wait_for("a verdict", |gate| {
            gate.post("/v1/check", &question).status == 200
        });
        let report: Value = gate.post("/v1/check", &question).json();
        assert_eq!(report["images"][0]["verdict"], verdict, "{report}");
    }
}
