//! The published JSON Schemas: they are current, and real files and reports match them.

use std::fs;
use std::path::{Path, PathBuf};

use imgcheck_rules::policy::Config;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::program::{imgcheck, repository};

const SAMPLES: [&str; 2] = [
    "testdata/sample/pytorch-cuda-v2.9.tar",
    "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar",
];

/// The options of `imgcheck rules schema` by the names of the files.
const PUBLISHED: [(&str, &[&str]); 11] = [
    ("rule.json", &[]),
    ("report.json", &["--report"]),
    ("lint.json", &["--lint"]),
    ("preflight.json", &["--preflight"]),
    ("config.json", &["--config"]),
    ("image-facts.json", &["--facts"]),
    ("size.json", &["--size"]),
    ("requirements.json", &["--requirements"]),
    ("verdict.json", &["--verdict"]),
    ("verify.json", &["--verify"]),
    ("fleet.json", &["--fleet"]),
];

fn printed(options: &[&str]) -> String {
    let output = imgcheck()
        .args(["rules", "schema"])
        .args(options)
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

fn schema(name: &str) -> Validator {
    let (_, options) = PUBLISHED.iter().find(|(file, _)| *file == name).unwrap();
    let schema: Value = serde_json::from_str(&printed(options)).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

/// What is wrong with a value; empty if nothing is.
fn faults(schema: &Validator, value: &Value) -> Vec<String> {
    let errors = schema.iter_errors(value);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// YAML 1.2, as editors read it: `off` is a text.
fn yaml(text: &str) -> Value {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options)
        .unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn book() -> PathBuf {
    repository("docs/src")
}

#[test]
fn the_published_schemas_are_current() {
    for (name, options) in PUBLISHED {
        let path = book().join("schema").join(name);
        let committed = fs::read_to_string(&path).unwrap_or_default();
        let current = printed(options);
        assert!(
            committed == current,
            "docs/src/schema/{name} is stale: run `cargo run -- rules schema {} > docs/src/schema/{name}`",
            options.join(" ")
        );
        let schema: Value = serde_json::from_str(&current).unwrap();
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        assert!(
            schema["$id"]
                .as_str()
                .unwrap()
                .ends_with(&format!("/docs/src/schema/{name}"))
        );
        assert!(jsonschema::draft202012::meta::is_valid(&schema));
        assert_described(name, &schema);
    }
}

/// Every key that users write or read has a description.
fn assert_described(place: &str, schema: &Value) {
    assert!(
        schema["title"].is_string() && schema["description"].is_string(),
        "{place}"
    );
    let definitions = schema["$defs"].as_object().into_iter().flatten();
    for (name, part) in definitions
        .map(|(name, part)| (name.as_str(), part))
        .chain([("", schema)])
    {
        for (key, value) in part["properties"].as_object().into_iter().flatten() {
            assert!(value["description"].is_string(), "{place}: {name}.{key}");
        }
    }
}

#[test]
fn reports_of_lint_are_what_their_schema_says() {
    let directory = tempfile::tempdir().unwrap();
    let wrong = directory.path().join("requirements.txt");
    fs::write(&wrong, "torch==2.5.1\ntorchvision==0.19.0\n").unwrap();
    let unread = directory.path().join("Dockerfile");
    fs::write(&unread, "FROM\n").unwrap();
    let output = imgcheck()
        .args(["lint", "-f", "json"])
        .args([&wrong, &unread])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        !report["files"][0]["findings"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert!(!report["errors"].as_array().unwrap().is_empty());
    assert_eq!(faults(&schema("lint.json"), &report), [""; 0]);
}

#[test]
fn reports_are_what_their_schema_says() {
    let schema = schema("report.json");
    let configuration = repository("tests/it/schemas.yaml");
    let output = imgcheck()
        .arg("check")
        .args(SAMPLES.map(repository))
        .args(["absent.tar", "-f", "json", "--config"])
        .arg(configuration)
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(faults(&schema, &report), [""; 0]);
    assert!(report["errors"].is_array() && report["images"][0]["ignored"][0]["ignore"].is_object());
    let output = imgcheck()
        .arg("check")
        .args(SAMPLES.map(repository))
        .args(["-f", "json", "--config"])
        .arg(repository("tests/it/schemas.yaml"))
        .output()
        .unwrap();
    let whole: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(faults(&schema, &whole), [""; 0]);
    assert_eq!(whole["findings"][0]["location"]["line"], 4);
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 5] = [
        ("another schema", |report| {
            report["schema"] = json!("imgcheck/report/v2")
        }),
        ("no images", |report| {
            drop(report.as_object_mut().unwrap().remove("images"))
        }),
        ("an unknown verdict", |report| {
            report["images"][0]["verdict"] = json!("perhaps")
        }),
        ("a layer without a digest", |report| {
            drop(
                report["images"][0]["layers"][0]
                    .as_object_mut()
                    .unwrap()
                    .remove("diff_id"),
            )
        }),
        ("a claim that is a text", |report| {
            report["images"][0]["claims"] = json!(["torch"])
        }),
    ];
    for (name, change) in changes {
        let mut wrong = whole.clone();
        change(&mut wrong);
        assert!(!faults(&schema, &wrong).is_empty(), "{name}");
    }
}

#[test]
fn the_built_in_rules_are_what_their_schema_says() {
    let schema = schema("rule.json");
    let mut folders = vec![repository("rules")];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !path.ends_with("knowledge") {
                    folders.push(path);
                }
                continue;
            }
            let rule = yaml(&fs::read_to_string(&path).unwrap());
            assert_eq!(faults(&schema, &rule), [""; 0], "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 30);
    let rule = json!({"id": "a", "title": "t", "severity": "error", "since": "1", "fail": "true", "message": "m", "why": "w"});
    assert_eq!(faults(&schema, &rule), [""; 0]);
    for (key, value) in [
        ("id", json!("Not An Id")),
        ("fail", json!(true)),
        ("tests", json!([{"name": "x"}])),
        ("severty", json!("error")),
    ] {
        let mut wrong = rule.clone();
        wrong[key] = value;
        assert!(!faults(&schema, &wrong).is_empty(), "{key}");
    }
}

#[test]
fn the_examples_of_the_book_are_what_the_configuration_schema_says() {
    let schema = schema("config.json");
    let mut count = 0;
    for page in ["configuration.md", "policy.md"] {
        let text = fs::read_to_string(book().join(page)).unwrap();
        for block in text.split("```yaml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            if block.starts_with("# a rule") || block.starts_with("# CI") {
                continue;
            }
            assert_eq!(faults(&schema, &yaml(block)), [""; 0], "{page}:\n{block}");
            accepted(block, page);
            count += 1;
        }
    }
    assert!(count > 5, "{count} examples");
}

fn read(name: &str, text: &str) -> imgcheck::Result<Config> {
    Config::read(
        name,
        text,
        Path::new(""),
        &imgcheck_model::knowledge::targets()?,
    )
}

/// The program reads it too, but for the files that it names.
fn accepted(text: &str, page: &str) {
    if let Err(error) = read(page, text) {
        panic!("{page}: {error}");
    }
}

#[test]
fn the_configuration_schema_rejects_what_the_program_rejects() {
    let schema = schema("config.json");
    for text in [
        "expct: []",
        "fail-on: fatal",
        "severities: {claim-os: errror}",
        "ignore: [{rule: claim-os}]",
        "ignore: [{reason: x}]",
        "ignore: [{rule: claim-os, reason: x, expires: soon}]",
        "ignore: [{rule: claim-os, raeson: x}]",
        "expect: torch==2.8",
        "stacks: [torch]",
        "targets: [{gpus: [a100]}]",
        "rules: ci",
        "limits: {entrys: 4}",
        "limits: {layer-bytes: large}",
        "limits: {entries: 64MiB}",
        "limits: {time: 0}",
    ] {
        assert!(read("c", text).is_err(), "{text}");
        assert!(!faults(&schema, &yaml(text)).is_empty(), "{text}");
    }
}

#[test]
fn facts_are_what_their_schema_says() {
    let schema = schema("image-facts.json");
    let checker = imgcheck::Checker::builder().build().unwrap();
    for sample in SAMPLES {
        let request = imgcheck::ImageRequest::new(repository(sample).to_str().unwrap());
        let facts = checker.facts(&request).unwrap().to_json().unwrap();
        let facts = serde_json::from_str(&facts).unwrap();
        assert_eq!(faults(&schema, &facts), Vec::<String>::new(), "{sample}");
    }
}
