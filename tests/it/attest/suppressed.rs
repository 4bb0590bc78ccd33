//! A verdict hides nothing: what the policy does not count is in it, and its digest is that of the whole policy.

use serde_json::{Value, json};

use super::{Place, statement, text};

/// What the image does not meet: it is Debian 12.
const EXPECT: [&str; 2] = ["--expect", "os==debian11"];

/// Writes a configuration beside the keys.
fn configuration(place: &Place, content: &str) -> String {
    let file = place.key("config.yaml");
    std::fs::write(&file, content).unwrap();
    file.display().to_string()
}

/// The verdict that `attest` signs.
fn attested(place: &Place, arguments: &[&str]) -> Value {
    let file = place.key("bundles.jsonl");
    let output = ["--output", &file.display().to_string()];
    place.run("attest", "own.pem", &[&output, arguments].concat());
    let bundles = std::fs::read_to_string(&file).unwrap();
    let mut statements = bundles.lines().map(|it| statement(it.as_bytes()));
    let verdict = statements.find(|it| it["predicate"]["verdict"].is_string());
    verdict.unwrap()["predicate"].clone()
}

#[test]
fn nothing_is_attested_by_a_policy_that_never_fails() {
    let place = Place::new(true);
    let config = configuration(&place, "fail-on: never\n");
    for never in [["--fail-on", "never"], ["--config", &config]] {
        let output = place.run("attest", "own.pem", &[&never[..], &EXPECT].concat());
        assert_eq!(output.status.code(), Some(2), "{never:?}");
        let errors = text(&output.stderr);
        assert!(errors.contains("--fail-on error"), "{errors}");
        assert!(place.registry.pushed().is_empty());
    }
    let arguments = ["--config", &config, "--fail-on", "error"];
    let verdict = attested(&place, &[&arguments[..], &EXPECT].concat());
    assert_eq!(verdict["verdict"], "fail");
    assert_eq!(verdict["failOn"], "error");
}

#[test]
fn a_verdict_lists_what_it_does_not_count() {
    let place = Place::new(true);
    let config = configuration(&place, "ignore: [{rule: '*', reason: quiet}]\n");
    let arguments = [&["--config", &config][..], &EXPECT].concat();
    let verdict = attested(&place, &arguments);
    assert_eq!(verdict["verdict"], "pass");
    assert_eq!(verdict["findings"], json!([]));
    let ignored = &verdict["ignored"];
    assert_eq!(ignored.as_array().map(Vec::len), Some(1), "{verdict:#}");
    assert_eq!(ignored[0]["rule"], "policy-expectation");
    assert_eq!(ignored[0]["ignore"]["reason"], "quiet");

    place.attest("own", &arguments);
    let (_, verified, _) = place.verify("own", &[]);
    let suppressed = &verified["images"][0]["suppressed"];
    assert_eq!(suppressed[0]["rule"], "policy-expectation");
    assert_eq!(suppressed[0]["reason"], "quiet");
    let printed = text(&place.run("verify", "own.pub", &[]).stdout);
    let line = "  not counted: error[policy-expectation], because: quiet\n";
    assert!(printed.contains(line), "{printed}");
}

#[test]
fn the_digest_of_the_rules_is_that_of_the_whole_policy() {
    let place = Place::new(true);
    let plain = attested(&place, &[])["rules"].clone();
    assert_eq!(attested(&place, &[])["rules"], plain);
    assert_ne!(attested(&place, &EXPECT)["rules"], plain);
    assert_ne!(attested(&place, &["--strict"])["rules"], plain);
    assert_ne!(attested(&place, &["--fail-on", "note"])["rules"], plain);
    for policy in [
        "ignore: [{rule: '*', reason: quiet}]",
        "ignore: [{gap: '*', reason: quiet}]",
        "max-size: 1GB",
        "stacks: [{torch: none}]",
        "consistent: [torch]",
    ] {
        let config = configuration(&place, policy);
        let verdict = attested(&place, &["--config", &config]);
        assert_ne!(verdict["rules"], plain, "{policy}");
    }
    let mut reasons = ["one", "another"].into_iter().map(|reason| {
        let ignore = format!("ignore: [{{rule: '*', reason: {reason}}}]");
        attested(&place, &["--config", &configuration(&place, &ignore)])["rules"].clone()
    });
    assert_eq!(reasons.next(), reasons.next(), "a reason decides nothing");

    place.attest("own", &[]);
    let (_, verified, _) = place.verify("own", &EXPECT);
    assert_eq!(verified["images"][0]["rules"], plain);
    assert_ne!(verified["rules"], plain, "verify --expect");
}
