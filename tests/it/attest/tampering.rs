//! What somebody can push who has no key: never believed, never a pass.

use serde_json::{Value, json};

use super::{BUNDLE, MANIFEST, Place, image, push_bundle, statement, text};

/// The bundles that a key made for the image of a place, by the end of their predicate's type.
fn bundles(place: &Place) -> Vec<(String, Value)> {
    let pushed = place.registry.pushed();
    let bundles = pushed.values().filter(|it| it["artifactType"] == BUNDLE);
    bundles
        .map(|it| {
            let bytes = place
                .registry
                .blob(it["layers"][0]["digest"].as_str().unwrap());
            let kind = statement(&bytes)["predicateType"]
                .as_str()
                .unwrap()
                .to_owned();
            (kind, serde_json::from_slice(&bytes).unwrap())
        })
        .collect()
}

/// A bundle of a place, changed.
fn changed(place: &Place, change: impl Fn(&mut Value)) -> Vec<u8> {
    let facts = |(kind, _): &(String, Value)| kind.ends_with("predicate/facts/v1");
    let (_, mut bundle) = bundles(place).into_iter().find(facts).unwrap();
    change(&mut bundle);
    bundle.to_string().into_bytes()
}

#[test]
fn statements_that_are_changed_are_refused() {
    let signed = Place::new(true);
    signed.attest("own", &[]);
    let keys = ["own.pem", "own.pub"];
    let other_payload = {
        use base64::Engine;
        let mut statement = statement(&changed(&signed, |_| {}));
        statement["predicate"]["artifact"] = json!(signed.digest());
        base64::engine::general_purpose::STANDARD.encode(statement.to_string())
    };
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        (
            "another payload under the same signature",
            changed(&signed, |it| {
                it["dsseEnvelope"]["payload"] = json!(other_payload)
            }),
            "its signature was not made with the key",
        ),
        (
            "no signature",
            changed(&signed, |it| it["dsseEnvelope"]["signatures"] = json!([])),
            "its signature was not made with the key",
        ),
        (
            "a signature of zeros",
            changed(&signed, |it| {
                it["dsseEnvelope"]["signatures"][0]["sig"] = json!("AAAA")
            }),
            "its signature was not made with the key",
        ),
        (
            "another type of payload",
            changed(&signed, |it| {
                it["dsseEnvelope"]["payloadType"] = json!("text/plain")
            }),
            "its payload is text/plain, not an in-toto statement",
        ),
        (
            "a megabyte of signatures",
            changed(&signed, |it| {
                let junk = json!({"sig": "AAAA"});
                it["dsseEnvelope"]["signatures"] = json!(vec![junk; 70_000]);
            }),
            "its signature was not made with the key",
        ),
        (
            "no JSON",
            b"\x00\xff".to_vec(),
            "neither a DSSE envelope nor a Sigstore bundle",
        ),
        (
            "an empty object",
            b"{}".to_vec(),
            "neither a DSSE envelope nor a Sigstore bundle",
        ),
        (
            "deep",
            [vec![b'['; 100_000], vec![b']'; 100_000]].concat(),
            "neither a DSSE envelope",
        ),
    ];
    for (name, bundle, problem) in cases {
        let place = Place::new(true);
        for key in keys {
            std::fs::copy(signed.key(key), place.key(key)).unwrap();
        }
        assert_eq!(place.digest(), signed.digest());
        push_bundle(&place, &place.digest(), &bundle);
        let (code, verified, errors) = place.verify("own", &[]);
        assert_eq!(code, 1, "{name}: {errors}");
        let problems = verified["images"][0]["problems"].to_string();
        assert!(problems.contains(problem), "{name}: {problems}");
    }
}

#[test]
fn a_statement_about_another_image_is_refused() {
    let signed = Place::of(&[image("arm64")], true);
    signed.attest("own", &["--platform", "linux/arm64"]);
    let place = Place::new(true);
    for key in ["own.pem", "own.pub"] {
        std::fs::copy(signed.key(key), place.key(key)).unwrap();
    }
    for (_, bundle) in bundles(&signed) {
        push_bundle(&place, &place.digest(), bundle.to_string().as_bytes());
        let (code, verified, errors) = place.verify("own", &[]);
        if statement(bundle.to_string().as_bytes())["predicateType"]
            .as_str()
            .unwrap()
            .contains("imgcheck")
        {
            assert_eq!(code, 1, "{errors}");
            let problems = verified["images"][0]["problems"].to_string();
            assert!(problems.contains("it is about another image"), "{problems}");
        }
    }
}

#[test]
fn another_key_an_old_verdict_and_a_clock_that_is_ahead() {
    let place = Place::new(true);
    place.attest("own", &[]);
    let (code, verified, _) = place.verify("other", &[]);
    assert_eq!(code, 1);
    let problems = verified["images"][0]["problems"].to_string();
    assert!(problems.contains("not made with the key"), "{problems}");
    assert_eq!(place.verify("own", &["--max-age", "1"]).0, 0);
    if !testkit::tools::tool("faketime") {
        return;
    }
    for (time, arguments, problem) in [
        (
            "+3 days",
            &["--max-age", "2"][..],
            "3 days old, and may be 2",
        ),
        ("-2 hours", &[], "which is in the future"),
    ] {
        let program = crate::program::imgcheck().get_program().to_owned();
        let output = std::process::Command::new("faketime")
            .args(["-f", &time.replace(" days", "d").replace(" hours", "h")])
            .arg(program)
            .args([
                "verify",
                &place.reference(),
                "-f",
                "json",
                "--no-cache",
                "--no-config",
            ])
            .arg("--key")
            .arg(place.key("own.pub"))
            .args(arguments)
            .output()
            .unwrap();
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{time}: {errors}");
        assert!(
            text(&output.stdout).contains(problem),
            "{time}: {}",
            text(&output.stdout)
        );
    }
}

#[test]
fn facts_that_are_changed_or_missing_are_an_error() {
    let place = Place::new(true);
    place.attest("own", &[]);
    let pushed = place.registry.pushed();
    let facts = pushed
        .values()
        .find(|it| it["artifactType"] == "application/vnd.imgcheck.facts.v1")
        .unwrap();
    let layer = facts["layers"][0]["digest"].as_str().unwrap();
    place.registry.spoil(layer, b"other bytes");
    let (code, _, errors) = place.verify("own", &[]);
    assert_eq!(code, 3);
    assert!(errors.contains("sent a damaged blob"), "{errors}");
    place.registry.spoil(layer, b"");
    assert_eq!(place.verify("own", &[]).0, 3);
}

#[test]
fn thousands_of_referrers_of_strangers_are_no_obstacle() {
    let place = Place::new(false);
    place.attest("own", &[]);
    let tag = place.digest().replace(':', "-");
    let index = place.registry.pushed()[&place.registry.digest(&tag)].clone();
    let mut entries = index["manifests"].as_array().unwrap().clone();
    let stranger = json!({
        "mediaType": MANIFEST, "digest": format!("sha256:{}", "0".repeat(64)), "size": 2,
        "artifactType": "application/vnd.stranger",
    });
    entries.extend(vec![stranger; 10_000]);
    let many = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": entries,
    });
    place.registry.put(&tag, many.to_string());
    assert_eq!(place.verify("own", &[]).0, 0);
}

#[test]
fn keys_that_are_not_usable_are_named() {
    if !testkit::tools::tool("openssl") {
        return;
    }
    let place = Place::new(true);
    let write = |name: &str, content: &str| {
        std::fs::write(place.key(name), content).unwrap();
    };
    let rsa = place.key("rsa.pem").display().to_string();
    testkit::tools::run(
        "openssl",
        &["genpkey", "-algorithm", "ed25519", "-out", &rsa],
    );
    let sec1 = place.key("sec1.pem").display().to_string();
    let own = place.key("own.pem").display().to_string();
    testkit::tools::run("openssl", &["ec", "-in", &own, "-out", &sec1]);
    write("empty.pem", "");
    let encrypted = "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n";
    write("cosign.pem", encrypted);
    for (key, problem) in [
        ("missing.pem", "No such file"),
        ("empty.pem", "not a key in PEM format"),
        ("own.pub", "it is a public key, a private one is needed"),
        ("rsa.pem", "only ECDSA keys of the curve P-256"),
        ("sec1.pem", "the key is not in PKCS #8"),
        ("cosign.pem", "the key is encrypted"),
    ] {
        let output = place.run("attest", key, &[]);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{key}: {errors}");
        assert!(errors.contains(problem), "{key}: {errors}");
    }
    let output = place.run("verify", "own.pem", &[]);
    assert_eq!(output.status.code(), Some(2));
    let errors = text(&output.stderr);
    assert!(
        errors.contains("a private key, a public one is needed"),
        "{errors}"
    );
}
