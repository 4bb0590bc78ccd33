//! `imgcheck explain`.

use crate::program::{failure, imgcheck};

fn explained(name: &str) -> String {
    let output = imgcheck().args(["explain", name]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{name}");
    assert!(
        text.lines().all(|line| line.starts_with("    ")
            || line.contains("://")
            || line.chars().count() <= 80),
        "{text}"
    );
    text
}

#[test]
fn a_rule_is_explained_by_an_example_without_its_expressions() {
    let text = explained("claim-torch-version");
    assert!(
        text.starts_with("claim-torch-version\n\nTag claims a different PyTorch version"),
        "{text}"
    );
    assert!(text.contains("    error[claim-torch-version]: the tag claims PyTorch 2.9"));
    assert!(text.contains("Why it matters"));
    assert!(!text.contains("size(found)"), "{text}");
    assert_eq!(explained("error[claim-torch-version]"), text);
}

#[test]
fn codes_of_gaps_and_errors_are_explained() {
    assert!(explained("launch-not-understood").contains("- gap: launch-not-understood"));
    assert!(explained("NOT JUDGED[python-startup]").contains("Python runs code"));
    assert!(explained("unauthorized").contains("A login is required"));
    let error = failure(2, &["explain", "claim-torch-versoin"]);
    assert!(
        error.contains("did you mean claim-torch-version?"),
        "{error}"
    );
    let error = failure(2, &["explain", "claim-"]);
    assert_eq!(error.matches("claim-os").count(), 1, "{error}");
    let error = failure(2, &["explain", "lazy-leyer"]);
    assert!(error.contains("did you mean lazy-layer?"), "{error}");
}
