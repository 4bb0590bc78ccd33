//! What `attest` writes, and that `verify` and `check` use it.

use std::collections::BTreeSet;

use imgcheck_source::attest::envelope::Envelope;
use imgcheck_source::attest::key::PrivateKey;
use imgcheck_source::attest::statement::Statement;
use serde_json::{Value, json};

use super::{BUNDLE, Place, image, push_bundle, statement, text};
use crate::program::imgcheck;
use testkit::{Compression, Image, oci_layout, write_directory};

const FACTS: &str = "application/vnd.imgcheck.facts.v1";

/// The manifests about a digest, by the type of the artifact.
fn about<'m>(
    pushed: &'m std::collections::BTreeMap<String, Value>,
    digest: &str,
    kind: &str,
) -> Vec<&'m Value> {
    let is_about = |it: &&Value| it["subject"]["digest"] == digest && it["artifactType"] == kind;
    pushed.values().filter(is_about).collect()
}

#[test]
fn facts_and_statements_refer_to_the_image() {
    for has_referrers in [true, false] {
        let place = Place::new(has_referrers);
        let printed = place.attest("own", &["--sbom", "--requirements"]);
        assert!(printed.starts_with("attested pass  sha256:"), "{printed}");
        let (digest, pushed) = (place.digest(), place.registry.pushed());
        let facts = about(&pushed, &digest, FACTS);
        assert_eq!(facts.len(), 1);
        assert_eq!(facts[0]["layers"].as_array().unwrap().len(), 2);
        let bundles = about(&pushed, &digest, BUNDLE);
        let mut types = BTreeSet::new();
        for bundle in &bundles {
            let layer = bundle["layers"][0]["digest"].as_str().unwrap();
            let statement = statement(&place.registry.blob(layer));
            assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
            let subject = &statement["subject"][0]["digest"]["sha256"];
            assert_eq!(format!("sha256:{}", subject.as_str().unwrap()), digest);
            types.insert(statement["predicateType"].as_str().unwrap().to_owned());
        }
        let expected = [
            "https://cyclonedx.org/bom",
            "https://github.com/imgcheck/imgcheck/predicate/facts/v1",
            "https://github.com/imgcheck/imgcheck/predicate/requirements/v1",
            "https://github.com/imgcheck/imgcheck/predicate/verdict/v1",
            "https://slsa.dev/verification_summary/v1",
        ];
        assert!(types.iter().eq(expected.iter()), "{types:?}");
        let tag = digest.replace(':', "-");
        let listed = pushed.values().find(|it| it["manifests"].is_array());
        match has_referrers {
            true => assert_eq!(listed, None, "a registry that lists referrers needs no tag"),
            false => {
                let index = place.registry.digest(&tag);
                let entries = pushed[&index]["manifests"].as_array().unwrap();
                assert_eq!(entries.len(), 6);
                assert!(entries.iter().any(|it| it["artifactType"] == FACTS));
            }
        }
        let old = &pushed[&place.registry.digest(&format!("{tag}.att"))];
        assert_eq!(old["layers"].as_array().unwrap().len(), 5);
        let (code, verified, errors) = place.verify("own", &["--sample", "2", "--max-age", "0"]);
        assert_eq!((code, errors.as_str()), (0, ""));
        assert_eq!(verified["schema"], "imgcheck/verify/v1");
        assert_eq!(verified["images"][0]["digest"], digest);
        assert_eq!(verified["images"][0]["attested"], "pass");
        assert_eq!(verified["images"][0]["verdict"], "pass");
        assert_eq!(verified["images"][0]["problems"], json!([]));
    }
}

#[test]
fn to_attest_again_replaces_what_the_same_key_said() {
    for has_referrers in [true, false] {
        let place = Place::new(has_referrers);
        for key in ["own", "other", "own", "own"] {
            place.attest(key, &[]);
        }
        let (digest, pushed) = (place.digest(), place.registry.pushed());
        let listed = match has_referrers {
            true => about(&pushed, &digest, BUNDLE).len(),
            false => {
                let index = &pushed[&place.registry.digest(&digest.replace(':', "-"))];
                let entries = index["manifests"].as_array().unwrap();
                entries
                    .iter()
                    .filter(|it| it["artifactType"] == BUNDLE)
                    .count()
            }
        };
        assert_eq!(listed, 6, "three statements of each key");
        let old = &pushed[&place
            .registry
            .digest(&format!("{}.att", digest.replace(':', "-")))];
        assert_eq!(old["layers"].as_array().unwrap().len(), 6);
        assert_eq!(
            about(&pushed, &digest, FACTS).len(),
            1,
            "equal facts are one artifact"
        );
        for key in ["own", "other"] {
            assert_eq!(place.verify(key, &[]).0, 0);
        }
    }
}

#[test]
fn every_platform_and_the_index_are_attested() {
    let place = Place::of(&[image("amd64"), image("arm64")], true);
    let printed = place.attest("own", &[]);
    assert_eq!(printed.lines().count(), 3, "{printed}");
    assert!(
        printed.contains(&format!("{} (index)", place.digest())),
        "{printed}"
    );
    let pushed = place.registry.pushed();
    let statements: Vec<Value> = about(&pushed, &place.digest(), BUNDLE)
        .iter()
        .map(|it| {
            statement(
                &place
                    .registry
                    .blob(it["layers"][0]["digest"].as_str().unwrap()),
            )
        })
        .collect();
    let verdict = statements
        .iter()
        .find(|it| it["predicate"]["images"].is_array());
    let images = verdict.unwrap()["predicate"]["images"].as_array().unwrap();
    let platforms: Vec<_> = images
        .iter()
        .map(|it| it["platform"].as_str().unwrap())
        .collect();
    assert_eq!(platforms, ["linux/amd64", "linux/arm64"]);
    let (code, verified, _) = place.verify("own", &["--all-platforms"]);
    assert_eq!((code, verified["images"].as_array().unwrap().len()), (0, 2));
    assert_eq!(verified["index"]["digest"], place.digest());
    assert_eq!(verified["index"]["attested"], "pass");
    assert_eq!(verified["index"]["images"].as_array().unwrap().len(), 2);
    assert_eq!(verified["index"]["problems"], json!([]));
    let printed = text(&place.run("verify", "own.pub", &["--all-platforms"]).stdout);
    let index = format!("VERIFIED  {} (index)\n  attested: pass, ", place.digest());
    assert!(printed.starts_with(&index), "{printed}");
}

#[test]
fn a_verdict_on_an_index_that_does_not_cover_an_image_is_a_problem() {
    let place = Place::of(&[image("amd64"), image("arm64")], true);
    place.attest("own", &["--platform", "linux/amd64"]);
    let (code, verified, _) = place.verify("own", &["--platform", "linux/amd64"]);
    assert_eq!(
        (code, &verified["index"]),
        (0, &Value::Null),
        "nobody attested the index"
    );

    let amd64 = verified["images"][0]["digest"].as_str().unwrap();
    let key = PrivateKey::read(place.key("own.pem").to_str().unwrap()).unwrap();
    let sign = |images: &Value| {
        let verdict = json!({
            "engine": {"name": "imgcheck", "version": "0.1.0"}, "verdict": "pass",
            "knowledge": "2026-11-22", "judgedAt": "2026-11-22T00:00:00Z", "images": images,
            "reference": place.reference(),
        });
        let kind = "https://github.com/imgcheck/imgcheck/predicate/verdict/v1";
        let said = Statement::new("team/image", &place.digest(), kind, &verdict).unwrap();
        let envelope = Envelope::sign(&said.to_json().unwrap(), |it| key.sign(it)).unwrap();
        let bundle = envelope.to_bundle(&key.public().unwrap()).unwrap();
        push_bundle(&place, &place.digest(), &bundle);
    };
    sign(&json!([]));
    let (code, verified, _) = place.verify("own", &["--platform", "linux/amd64"]);
    assert_eq!(code, 1);
    let problem = format!("the verdict on the index does not cover {amd64} (linux/amd64)");
    assert_eq!(verified["index"]["problems"], json!([problem]));
}

#[test]
fn the_verdict_names_the_rules_that_judged() {
    let place = Place::new(true);
    place.attest("own", &[]);
    let rules = |arguments: &[&str]| {
        let (_, verified, _) = place.verify("own", arguments);
        (
            verified["rules"].clone(),
            verified["images"][0]["rules"].clone(),
        )
    };
    let (today, then) = rules(&[]);
    assert_eq!(today, then);
    assert!(today.as_str().unwrap().starts_with("sha256:"));
    let config = place.key("severities.yaml");
    std::fs::write(&config, "severities: {claim-os: note}\n").unwrap();
    let rule = crate::program::repository("tests/it/attest/example-rule.yaml");
    let rule = rule.display().to_string();
    for arguments in [
        ["--config", &config.display().to_string()],
        ["--rules", &rule],
    ] {
        let (other, then) = rules(&arguments);
        assert_eq!(then, today);
        assert_ne!(other, today, "{arguments:?}");
    }
}

#[test]
fn a_check_takes_signed_facts_and_reads_no_layer() {
    let place = Place::new(true);
    place.attest("own", &[]);
    let layers: Vec<String> = {
        let manifest = place.registry.blob(&place.digest());
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let layers = manifest["layers"].as_array().unwrap().iter();
        layers
            .map(|it| it["digest"].as_str().unwrap().to_owned())
            .collect()
    };
    let requests = || {
        let seen = place.server.seen();
        seen.iter()
            .filter(|it| layers.iter().any(|layer| it.is_blob(layer)))
            .count()
    };
    let before = requests();
    let check_in = |transport: &str, arguments: &[&str]| {
        let reference = format!("{transport}{}", place.reference());
        let output = imgcheck()
            .args([
                "check",
                &reference,
                "-f",
                "json",
                "--facts-from",
                "registry",
            ])
            .args(arguments)
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (report, text(&output.stderr))
    };
    let check = |arguments: &[&str]| check_in("docker://", arguments);
    let own = place.key("own.pub").display().to_string();
    // No container engine has the bare reference.
    check_in("", &["--facts-key", &own]);
    assert_eq!(requests(), before, "no layer is read");
    let (report, errors) = check(&["--facts-key", &own]);
    assert_eq!(
        (errors.as_str(), requests()),
        ("", before),
        "no layer is read"
    );
    let signed = report["images"][0].clone();
    assert_eq!(signed["verdict"], "pass");

    let other = place.key("other.pub").display().to_string();
    let (report, errors) = check(&["--facts-key", &other]);
    assert!(
        errors.contains("nobody whose key counts signed any"),
        "{errors}"
    );
    assert_eq!(requests(), before + layers.len(), "the layers are read");
    assert_eq!(report["images"][0]["digest"], signed["digest"]);
    assert_eq!(report["images"][0]["stack"], signed["stack"]);

    let (_, errors) = check(&[]);
    assert!(errors.contains("no key says whose facts"), "{errors}");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(".imgcheck.yaml");
    std::fs::copy(&own, directory.path().join("team.pub")).unwrap();
    std::fs::write(&file, "facts-keys: [team.pub]\n").unwrap();
    let output = imgcheck()
        .env_remove("IMGCHECK_NO_CONFIG")
        .args(["check", &format!("docker://{}", place.reference())])
        .args(["--facts-from", "registry", "--config"])
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(
        (output.status.code(), text(&output.stderr).as_str()),
        (Some(0), "")
    );
    assert_eq!(requests(), before + layers.len());
}

#[test]
fn a_command_can_sign() {
    if !testkit::tools::tool("openssl") {
        return;
    }
    let place = Place::new(true);
    let sign = format!(
        "openssl dgst -sha256 -sign {}",
        place.key("own.pem").display()
    );
    let attest = |command: &str| {
        let output = place.run("attest", "own.pub", &["--sign-with", command]);
        (output.status.code().unwrap(), text(&output.stderr))
    };
    assert_eq!(attest(&sign), (0, String::new()));
    assert_eq!(attest(&format!("{sign} | base64 -w0")), (0, String::new()));
    assert_eq!(place.verify("own", &[]).0, 0);
    let other = format!(
        "openssl dgst -sha256 -sign {}",
        place.key("other.pem").display()
    );
    for (command, problem) in [
        (
            other.as_str(),
            "not a signature that the public key verifies",
        ),
        (
            "echo nothing",
            "not a signature that the public key verifies",
        ),
        ("exit 7", "exit status: 7"),
    ] {
        let (code, errors) = attest(command);
        assert_eq!(code, 2);
        assert!(errors.contains(problem), "{errors}");
    }
}

#[test]
fn without_a_registry_the_statements_go_to_a_file() {
    let place = Place::new(true);
    let file = place.keys.path().join("bundles.jsonl");
    let argument = file.display().to_string();
    place.attest("own", &["--output", &argument]);
    let bundles = std::fs::read_to_string(&file).unwrap();
    assert_eq!(bundles.lines().count(), 2, "facts are only in registries");
    for line in bundles.lines() {
        assert!(statement(line.as_bytes())["predicate"].is_object());
    }
    assert!(
        place.registry.pushed().is_empty(),
        "nothing is written to the registry"
    );
    place.attest("own", &["--dry-run"]);
    assert!(place.registry.pushed().is_empty());
    let (code, _, errors) = place.verify("own", &[]);
    assert_eq!(code, 3);
    assert!(errors.contains("nobody attested this image"), "{errors}");
}

/// A layout with a tag alone does not say of which repository the image is.
#[test]
fn a_statement_names_no_repository_that_nobody_gave() {
    let place = Place::new(true);
    let tagged = Image {
        reference: Some("v2.9".to_owned()),
        ..image("amd64")
    };
    let layout = tempfile::tempdir().unwrap();
    write_directory(
        layout.path(),
        &oci_layout(&[tagged], Compression::Plain, false),
    );
    let attest = |more: &[&str]| {
        let output = imgcheck()
            .args(["attest", &format!("oci:{}", layout.path().display())])
            .arg("--key")
            .arg(place.key("own.pem"))
            .arg("--output")
            .arg(place.key("bundles.jsonl"))
            .args(more)
            .output()
            .unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let (code, errors) = attest(&[]);
    assert_eq!(code, Some(3));
    assert!(errors.contains("`--as REPOSITORY:TAG`"), "{errors}");
    assert_eq!(attest(&["--as", "team/train:v2.9"]).0, Some(0));
}
