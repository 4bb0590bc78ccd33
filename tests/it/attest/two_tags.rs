//! Two tags of one digest promise different things: a verdict on one of them is not one on the other.

use serde_json::json;

use super::{Place, statement, text};
use crate::program::imgcheck;

/// The release that the image contains, and another.
const RIGHT: &str = "debian12";
const WRONG: &str = "debian11";

/// Runs `attest` or `verify` for a tag: the exit code, standard output and standard error.
fn run(place: &Place, command: &str, tag: &str, arguments: &[&str]) -> (i32, String, String) {
    let key = match command {
        "attest" => "own.pem",
        _ => "own.pub",
    };
    let output = imgcheck()
        .args([command, &reference(place, tag), "--key"])
        .arg(place.key(key))
        .args(arguments)
        .env("HOME", place.keys.path())
        .env("IMGCHECK_SETTLE_TIME", "0.1")
        .output()
        .unwrap();
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn reference(place: &Place, tag: &str) -> String {
    format!("{}/team/image:{tag}", place.server.address)
}

/// A place whose image has both tags.
fn place() -> Place {
    let place = Place::new(true);
    let manifest = place.registry.blob(&place.digest());
    for tag in [RIGHT, WRONG] {
        assert_eq!(place.registry.put(tag, manifest.clone()), place.digest());
    }
    place
}

#[test]
fn a_verdict_on_another_tag_is_a_problem() {
    let place = place();
    let (code, _, errors) = run(&place, "attest", RIGHT, &[]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let (code, printed, _) = run(&place, "verify", RIGHT, &[]);
    assert_eq!(code, 0, "{printed}");

    let (code, printed, _) = run(&place, "verify", WRONG, &[]);
    assert_eq!(code, 1, "{printed}");
    let problem = format!(
        "the verdict is on {}, which has the same digest, and does not say whether {} keeps its promises",
        reference(&place, RIGHT),
        reference(&place, WRONG)
    );
    assert!(printed.starts_with("NOT VERIFIED"), "{printed}");
    assert!(printed.contains(&problem), "{printed}");

    let by_digest = format!("{}/team/image@{}", place.server.address, place.digest());
    let output = imgcheck()
        .args(["verify", &by_digest, "-f", "json", "--key"])
        .arg(place.key("own.pub"))
        .output()
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let image = &document["images"][0];
    assert_eq!(image["problems"], json!([]), "a digest makes no promise");
    assert_eq!(image["judged_reference"], reference(&place, RIGHT));
}

#[test]
fn a_verdict_on_this_tag_counts_though_another_key_attested_another_tag_since() {
    let place = place();
    run(&place, "attest", RIGHT, &[]);
    let output = imgcheck()
        .args(["attest", &reference(&place, WRONG), "--key"])
        .arg(place.key("other.pem"))
        .env("IMGCHECK_SETTLE_TIME", "0.1")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "another key's verdict stays");
    let other = place.key("other.pub").display().to_string();
    let (code, printed, _) = run(&place, "verify", RIGHT, &["--key", &other]);
    assert_eq!(code, 0, "{printed}");
}

#[test]
fn attest_warns_when_it_replaces_the_verdict_on_another_tag() {
    let place = place();
    run(&place, "attest", RIGHT, &[]);
    let again = run(&place, "attest", RIGHT, &[]);
    assert_eq!(again.2, "", "the same reference again");
    let (code, _, errors) = run(&place, "attest", WRONG, &["--fail-on", "warning"]);
    assert_eq!(code, 1);
    let warning = format!("replaces the one on {}", reference(&place, RIGHT));
    assert!(errors.contains(&warning), "{errors}");
}

#[test]
fn the_verdict_names_its_reference_in_full() {
    let place = place();
    let file = place.key("bundles.jsonl");
    let arguments = ["--output", &file.display().to_string()];
    run(&place, "attest", RIGHT, &arguments);
    let bundles = std::fs::read_to_string(&file).unwrap();
    let statements = bundles.lines().map(|it| statement(it.as_bytes()));
    let references: Vec<_> = statements
        .filter_map(|it| it["predicate"]["reference"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(references, [reference(&place, RIGHT)]);
}
