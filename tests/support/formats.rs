//! The errors and warnings in a report of each format, read as the consuming programs would.

#![allow(dead_code)] // each test file uses its part

use serde_json::Value;

use crate::program::imgcheck;

/// The formats that the program lists in its error for an unknown format.
pub fn offered() -> Vec<String> {
    let output = imgcheck()
        .args(["check", "--format", "no-such-format", "image"])
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let list = error
        .split_once("[possible values: ")
        .and_then(|(_, rest)| rest.split_once(']'))
        .unwrap_or_else(|| panic!("no list of formats in: {error}"));
    list.0.split(", ").map(str::to_owned).collect()
}

/// Lines that tell of an error or a warning in a report. A format that this function does not know is a failure: somebody must say
/// here how it tells them.
pub fn alarms(format: &str, report: &str) -> Vec<String> {
    match format {
        "text" => matching(report, |line| {
            line.starts_with("FAIL") || line.starts_with("error") || line.starts_with("warning")
        }),
        "json" => severities(&json(report)),
        "sarif" => results(&json(report)),
        "junit" => matching(report, |line| {
            ["<failure", "<error"].iter().any(|tag| line.contains(tag))
        }),
        "github" => matching(report, |line| {
            line.starts_with("::error") || line.starts_with("::warning")
        }),
        "gitlab" => issues(&json(report)),
        "cyclonedx" => {
            let report = json(report);
            assert_eq!(report["bomFormat"], "CycloneDX");
            assert!(!report["components"].as_array().unwrap().is_empty());
            vulnerabilities(&report)
        }
        // Both show the output of the terminal.
        "markdown" | "html" => {
            let words = report.to_lowercase();
            assert!(
                words.contains("pass") || words.contains("fail"),
                "no verdict in: {report}"
            );
            counted(report)
        }
        other => panic!(
            "how does the format {other} tell errors and warnings? Say it in tests/support/formats.rs"
        ),
    }
}

fn json(report: &str) -> Value {
    serde_json::from_str(report).unwrap_or_else(|error| panic!("{error} in: {report}"))
}

fn matching(report: &str, told: impl Fn(&str) -> bool) -> Vec<String> {
    let lines = report.lines().filter(|line| told(line));
    lines.map(str::to_owned).collect()
}

fn severities(report: &Value) -> Vec<String> {
    let images = report["images"].as_array().unwrap();
    assert!(!images.is_empty());
    let findings = images
        .iter()
        .flat_map(|image| image["findings"].as_array().unwrap());
    findings
        .filter(|finding| finding["severity"] != "note")
        .map(Value::to_string)
        .collect()
}

fn results(report: &Value) -> Vec<String> {
    let runs = report["runs"].as_array().unwrap();
    assert!(!runs.is_empty());
    let results = runs
        .iter()
        .flat_map(|run| run["results"].as_array().unwrap());
    results
        .filter(|result| result["level"] != "note" && result["level"] != "none")
        .map(Value::to_string)
        .collect()
}

fn issues(report: &Value) -> Vec<String> {
    let issues = report.as_array().unwrap().iter();
    issues
        .filter(|issue| issue["severity"] != "info")
        .map(Value::to_string)
        .collect()
}

fn vulnerabilities(report: &Value) -> Vec<String> {
    let found = report["vulnerabilities"].as_array().into_iter().flatten();
    found.map(Value::to_string).collect()
}

/// `2 errors`, `1 warning`: a number other than none before the word.
fn counted(report: &str) -> Vec<String> {
    // Colours of a style sheet are numbers, too.
    let text = match (report.find("<style"), report.find("</style>")) {
        (Some(start), Some(end)) if start < end => [&report[..start], &report[end..]].concat(),
        _ => report.to_owned(),
    };
    let words: Vec<&str> = text
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let counts = words.windows(2).filter(|pair| {
        let [count, word] = pair else { return false };
        matches!(*word, "error" | "errors" | "warning" | "warnings")
            && count.parse::<u32>().is_ok_and(|count| count > 0)
    });
    counts.map(|pair| pair.join(" ")).collect()
}
