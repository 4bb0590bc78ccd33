//! Faults from public reports: one directory each below `testdata/lint/reports`, and beside it `NAME-fits`, which is right. `not-named.txt` lists
//! those that lint does not name yet.

use std::collections::BTreeSet;

use super::*;

/// The rules of the errors and warnings in a directory.
fn found(case: &Path) -> BTreeSet<String> {
    let (_, report) = json(case, &["."]);
    let files = report["files"].as_array().unwrap().iter();
    let findings = files.flat_map(|file| file["findings"].as_array().unwrap());
    let severe = findings.filter(|it| it["severity"] != "note");
    severe
        .map(|it| it["rule"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn faults_are_named_and_what_fits_is_not() {
    let directory = data("reports");
    let not_named = fs::read_to_string(directory.join("not-named.txt")).unwrap();
    let not_named: BTreeSet<&str> = not_named
        .lines()
        .filter(|it| !it.starts_with('#'))
        .collect();
    let entries = fs::read_dir(&directory).unwrap();
    let cases = entries.map(|it| it.unwrap().path());
    // The image of a Pod is read from its registry.
    let cases = cases.filter(|it| it.is_dir() && !it.join("pod.yaml").exists());
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in cases {
        let name = case.file_name().unwrap().to_str().unwrap();
        let rules = found(&case);
        let is_fault = !name.ends_with("-fits");
        count += usize::from(is_fault);
        let expected = is_fault && !not_named.contains(name);
        if rules.is_empty() == expected {
            wrong.push(format!("{name}: {rules:?}"));
        }
    }
    wrong.sort();
    assert_eq!(
        wrong, [""; 0],
        "named, and should not be, or the other way around"
    );
    assert!(count > 90, "{count}");
}
