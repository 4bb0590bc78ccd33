//! Cases after files of public repositories: one directory each below `testdata/lint/cases`, with what is found in `expected`.
//!
//! `expected` starts with comments. A line `$ imgcheck lint ARGUMENTS` replaces the default, `.`; the others are the findings, as
//! `severity rule file:line`, and the files that are refused, as `refused file: words of the message`.

use super::*;

/// What a case expects: the arguments, findings, and refusals.
fn expectation(text: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
    let lines = text.lines().map(str::trim);
    let mut lines: Vec<String> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    let mut arguments = vec![".".to_owned()];
    if let Some(written) = lines
        .first()
        .and_then(|line| line.strip_prefix("$ imgcheck lint "))
    {
        arguments = written.split(' ').map(str::to_owned).collect();
        lines.remove(0);
    }
    let (refused, mut findings): (Vec<String>, Vec<String>) = lines
        .into_iter()
        .partition(|line| line.starts_with("refused "));
    findings.sort();
    (arguments, findings, refused)
}

/// The differences between a case and what is found.
fn differences(case: &Path) -> Option<String> {
    let text = fs::read_to_string(case.join("expected")).unwrap();
    assert!(
        text.starts_with("# "),
        "{}: where does it come from?",
        case.display()
    );
    let (arguments, findings, refused) = expectation(&text);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (_, report) = json(case, &arguments);
    let severities = report["files"].as_array().unwrap().iter();
    let severities = severities.flat_map(|file| file["findings"].as_array().unwrap());
    let severities = severities.map(|it| it["severity"].as_str().unwrap());
    let mut found: Vec<String> = severities
        .zip(places(&report))
        .map(|(severity, place)| {
            let (place, _column) = place.rsplit_once(':').unwrap();
            let (rule, place) = place.split_once(' ').unwrap();
            format!("{severity} {rule} {}", place.trim_start_matches("./"))
        })
        .collect();
    found.sort();
    let errors = report["errors"].as_array().cloned().unwrap_or_default();
    let meets = |line: &String, error: &Value| {
        let (file, words) = line["refused ".len()..].split_once(": ").unwrap();
        let named = error["file"].as_str().unwrap().trim_start_matches("./") == file;
        named && error["error"].as_str().unwrap().contains(words)
    };
    let same = errors.len() == refused.len()
        && refused
            .iter()
            .all(|line| errors.iter().any(|error| meets(line, error)));
    let name = case.file_name().unwrap().to_string_lossy();
    (found != findings || !same).then(|| {
        format!("{name}: expected {findings:#?} {refused:#?}, found {found:#?} {errors:#?}")
    })
}

#[test]
fn cases_after_real_files_have_the_findings_that_they_should() {
    let directory = data("cases");
    let mut cases: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    cases.sort();
    let wrong: Vec<String> = cases.iter().filter_map(|case| differences(case)).collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}
