//! Every format of a report: by the published schemas, on real samples, and with names that want to break out of it.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use imgcheck::claims::Claim;
use imgcheck::elf::Depth;
use imgcheck::finding::{Confidence, Finding, IgnoreReason, IgnoredFinding, Location, Severity};
use imgcheck::process::tree::Tree;
use imgcheck::report::{
    self, FileReport, ImageFacts, ImageReport, Layer, Report, UnreadImage, Verdict,
};
use imgcheck::rules::RuleSet;
use imgcheck::source::SourceKind;
use imgcheck::stack::{Component, Evidence, EvidenceKind, Gpu};
use imgcheck::targets::{DriverFacts, GpuFacts, PackageCode, TargetFacts};
use jsonschema::{Registry, Validator};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::Value;
use tempfile::tempdir;

#[path = "support/program.rs"]
mod program;

use program::{imgcheck, repository};

const MISLABELLED: &str = "testdata/sample/pytorch-cuda-v2.9.tar";
const HONEST: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";
const FORMATS: [&str; 9] = [
    "text",
    "json",
    "sarif",
    "junit",
    "github",
    "gitlab",
    "markdown",
    "cyclonedx",
    "html",
];

fn schema(name: &str) -> Value {
    let path = repository("testdata/schemas").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn assert_valid(validator: &Validator, document: &Value) {
    let faults: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

static SARIF: LazyLock<Validator> = LazyLock::new(|| {
    let mut schema = schema("sarif-2.1.0.schema.json");
    // As published they are no regular expressions of JSON Schema: a bracket is closed that was never opened.
    for object in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][object]["properties"]["language"];
        language.as_object_mut().unwrap().remove("pattern").unwrap();
    }
    let options = jsonschema::options().should_validate_formats(true);
    options.build(&schema).unwrap()
});

static CYCLONEDX: LazyLock<Validator> = LazyLock::new(|| {
    let (spdx, jsf) = (schema("spdx.schema.json"), schema("jsf-0.82.schema.json"));
    let registry = Registry::new()
        .add("http://cyclonedx.org/schema/spdx.schema.json", &spdx)
        .unwrap()
        .add("http://cyclonedx.org/schema/jsf-0.82.schema.json", &jsf)
        .unwrap()
        .prepare()
        .unwrap();
    let options = jsonschema::options().should_validate_formats(true);
    let options = options.with_registry(&registry);
    options.build(&schema("bom-1.6.schema.json")).unwrap()
});

/// Parses a SARIF log, which must be one.
fn sarif(text: &str) -> Value {
    let log = serde_json::from_str(text).unwrap();
    assert_valid(&SARIF, &log);
    log
}

/// Parses a CycloneDX document, which must be one and must not name a part twice.
fn cyclonedx(text: &str) -> Value {
    let bom = serde_json::from_str(text).unwrap();
    assert_valid(&CYCLONEDX, &bom);
    let mut references = HashSet::new();
    for reference in values(&bom, "bom-ref") {
        assert!(references.insert(reference.clone()), "{reference} twice");
    }
    for reference in values(&bom, "ref") {
        assert!(references.contains(&reference), "{reference} is nowhere");
    }
    bom
}

/// Every text below a key, wherever it stands.
fn values(document: &Value, key: &str) -> Vec<String> {
    let mut found = Vec::new();
    match document {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == key {
                    found.extend(value.as_str().map(str::to_owned));
                }
                found.extend(values(value, key));
            }
        }
        Value::Array(elements) => found.extend(elements.iter().flat_map(|it| values(it, key))),
        _ => {}
    }
    found
}

/// Exit code and standard output of a check.
fn run(images: &[&str], format: &str) -> (i32, String) {
    let images = images.iter().map(|image| match image.contains('/') {
        true => repository(image),
        false => PathBuf::from(image),
    });
    let output = imgcheck()
        .arg("check")
        .args(images)
        .args(["--format", format])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), text)
}

#[test]
fn a_healthy_image_has_no_error_and_no_warning_in_any_format() {
    for format in FORMATS {
        let (code, text) = run(&[HONEST], format);
        assert_eq!(code, 0, "{format}\n{text}");
        let faults = match format {
            "sarif" => {
                let log = sarif(&text);
                let results = log["runs"][0]["results"].as_array().unwrap();
                results.iter().filter(|it| it["level"] != "note").count()
            }
            "junit" => {
                let document = quick_junit::Report::deserialize_from_str(&text).unwrap();
                assert_eq!(document.test_suites.len(), 1);
                assert!(document.tests > 30, "rules that pass are told too");
                document.failures + document.errors
            }
            "gitlab" => {
                let issues: Vec<Value> = serde_json::from_str(&text).unwrap();
                issues.iter().filter(|it| it["severity"] != "info").count()
            }
            "cyclonedx" => {
                cyclonedx(&text);
                0
            }
            "json" => text.matches("\"severity\": \"error\"").count(),
            "github" => text.matches("::error").count() + text.matches("::warning").count(),
            "html" => {
                let finding = |severity| format!("class=\"finding {severity}\"");
                text.matches(&finding("error")).count() + text.matches(&finding("warning")).count()
            }
            _ => text.matches('❌').count() + text.matches("error").count(),
        };
        assert_eq!(faults, 0, "{format}\n{text}");
    }
}

#[test]
fn a_wrong_label_fails_in_every_format() {
    for format in FORMATS {
        let (code, text) = run(&[MISLABELLED], format);
        assert_eq!(code, 1, "{format}\n{text}");
        let rule = match format {
            "cyclonedx" => continue,
            _ => "claim-torch-version",
        };
        assert!(text.contains(rule), "{format}\n{text}");
        assert!(text.contains("pytorch-cuda:v2.9"), "{format}\n{text}");
    }
}

#[test]
fn an_image_that_cannot_be_read_is_no_pass_in_any_format() {
    for format in FORMATS {
        let (code, text) = run(&[HONEST, "absent.tar"], format);
        assert_eq!(code, 3, "{format}\n{text}");
        let told = match format {
            // The standard error stream tells it.
            "text" => true,
            "sarif" => {
                let invocation = &sarif(&text)["runs"][0]["invocations"][0];
                let notification = &invocation["toolExecutionNotifications"][0];
                invocation["executionSuccessful"] == false
                    && notification["message"]["text"]
                        .to_string()
                        .contains("absent.tar")
            }
            "junit" => {
                let document = quick_junit::Report::deserialize_from_str(&text).unwrap();
                (document.errors, document.failures) == (1, 0)
            }
            "gitlab" => {
                let issues: Vec<Value> = serde_json::from_str(&text).unwrap();
                issues[0]["severity"] == "blocker" && issues[0]["location"]["path"] == "absent.tar"
            }
            "github" => {
                text.starts_with("::error title=imgcheck%3A absent.tar could not be read::")
            }
            "markdown" => text.starts_with("## imgcheck: ❌ not everything could be read"),
            "cyclonedx" => {
                let properties = cyclonedx(&text)["metadata"]["properties"].to_string();
                properties.contains("imgcheck:unread") && properties.contains("absent.tar")
            }
            _ => text.contains("absent.tar"),
        };
        assert!(told, "{format}\n{text}");
    }
}

#[test]
fn sarif_names_the_path_the_layer_and_the_rule_page() {
    let log = sarif(&run(&[MISLABELLED], "sarif").1);
    let run = &log["runs"][0];
    let result = &run["results"][0];
    let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
    assert_eq!(rule["id"], "claim-torch-version");
    assert_eq!(rule["defaultConfiguration"]["level"], "error");
    let page = rule["help"]["markdown"].as_str().unwrap();
    assert!(page.contains("## Why it matters"), "{page}");
    let location = &result["locations"][0];
    let artifact = &location["physicalLocation"]["artifactLocation"];
    assert_eq!(
        artifact["uri"],
        "usr/local/lib/python3.11/site-packages/torch"
    );
    assert_eq!(artifact["uriBaseId"], "IMAGE");
    let base = &run["originalUriBaseIds"]["IMAGE"];
    assert_eq!(
        base.as_object().unwrap().len(),
        1,
        "no place of this machine"
    );
    let layer = &location["logicalLocations"][0];
    let name = layer["fullyQualifiedName"].as_str().unwrap();
    assert!(name.starts_with("pytorch-cuda:v2.9@sha256:") && name.ends_with("/layer/2"));
    assert!(layer["name"].as_str().unwrap().contains("pip install"));
    assert_eq!(result["suppressions"], serde_json::json!([]));
}

#[test]
fn cyclonedx_is_the_same_every_time_and_lists_the_stack_with_evidence() {
    let (_, first) = run(&[HONEST], "cyclonedx");
    assert_eq!(first, run(&[HONEST], "cyclonedx").1);
    let bom = cyclonedx(&first);
    let serial = bom["serialNumber"].as_str().unwrap();
    assert_eq!(&serial[..9], "urn:uuid:");
    assert_eq!(&serial[23..24], "8", "{serial}");
    let torch = bom["components"].as_array().unwrap();
    let torch = torch.iter().find(|it| it["name"] == "torch").unwrap();
    assert_eq!(torch["version"], "2.8.0+cu128");
    assert_eq!(torch["purl"], "pkg:pypi/torch@2.8.0");
    let identity = &torch["evidence"]["identity"][0];
    assert_eq!(identity["methods"][0]["technique"], "binary-analysis");
    assert_eq!(bom["metadata"]["component"]["type"], "container");
    let output = imgcheck()
        .arg("facts")
        .arg(repository(HONEST))
        .args(["-f", "cyclonedx"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), first);
}

#[test]
fn several_images_are_several_parts_of_one_document() {
    let bom = cyclonedx(&run(&[HONEST, MISLABELLED], "cyclonedx").1);
    let images = bom["components"].as_array().unwrap();
    assert_eq!(images.len(), 2);
    assert!(
        images
            .iter()
            .all(|it| it["type"] == "container" && it["components"].as_array().unwrap().len() > 5)
    );
    let (code, text) = run(&[HONEST, MISLABELLED], "junit");
    let document = quick_junit::Report::deserialize_from_str(&text).unwrap();
    assert_eq!(
        (code, document.test_suites.len(), document.failures),
        (1, 2, 1)
    );
}

#[test]
fn junit_fails_by_the_severity_that_fails() {
    let of = |fail_on: &str| {
        let output = imgcheck()
            .arg(repository(MISLABELLED))
            .args(["-f", "junit", "--fail-on", fail_on])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        quick_junit::Report::deserialize_from_str(&text).unwrap()
    };
    assert_eq!(of("error").failures, 1);
    let never = of("never");
    assert_eq!(never.failures, 0);
    let suite = &never.test_suites[0];
    let test = suite
        .test_cases
        .iter()
        .find(|it| it.name.as_str() == "claim-torch-version");
    let output = test.unwrap().system_out.as_ref().unwrap();
    assert!(output.as_str().contains("2.8.0+cu128"));
}

#[test]
fn several_formats_are_written_in_one_run() {
    let directory = tempdir().unwrap();
    let file = |format: &str| directory.path().join(format!("report.{format}"));
    let mut command = imgcheck();
    command.arg(repository(MISLABELLED));
    for format in FORMATS {
        command.arg("-o");
        command.arg(format!("{format}={}", file(format).display()));
    }
    let output = command.args(["--color", "always"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        output.stdout.contains(&0x1b),
        "the terminal has its colours"
    );
    for format in FORMATS {
        let text = fs::read_to_string(file(format)).unwrap();
        assert!(!text.contains('\u{1b}'), "{format}");
        // The wall time differs from run to run.
        if !matches!(format, "text" | "json" | "junit" | "html") {
            assert_eq!(text, run(&[MISLABELLED], format).1, "{format}");
        }
    }
}

#[test]
fn github_gets_a_summary_of_the_step() {
    let directory = tempdir().unwrap();
    let summary = directory.path().join("summary.md");
    fs::write(&summary, "before\n").unwrap();
    let check = |format: &str, path: &str| {
        let mut command = imgcheck();
        command.arg(repository(MISLABELLED)).args(["-f", format]);
        command.env("GITHUB_STEP_SUMMARY", path);
        command.output().unwrap()
    };
    let path = summary.to_str().unwrap();
    check("text", path);
    assert_eq!(fs::read_to_string(&summary).unwrap(), "before\n");
    check("github", path);
    let markdown = run(&[MISLABELLED], "markdown").1;
    let expected = format!("before\n{markdown}");
    assert_eq!(fs::read_to_string(&summary).unwrap(), expected);
    // The verdict does not depend on it.
    let output = check("github", "/no/such/directory/summary");
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("/no/such/directory/summary"), "{told}");
}

/// Standard output of a check of the mislabelled sample with a configuration.
fn with_configuration(ignore: &str, format: &str) -> String {
    let directory = tempdir().unwrap();
    let file = directory.path().join("imgcheck.yaml");
    fs::write(&file, format!("ignore:\n{ignore}")).unwrap();
    let output = imgcheck()
        .current_dir(directory.path())
        .env_remove("IMGCHECK_NO_CONFIG")
        .arg(repository(MISLABELLED))
        .args(["--config", "imgcheck.yaml", "-f", format])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_ne!(output.status.code(), Some(2), "{told}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_is_ignored_is_no_fault_and_its_reason_is_told() {
    let ignore = "  - {rule: claim-torch-version, reason: the tag is replaced in March, expires: 2999-12-31}\n";
    let of = |format: &str| with_configuration(ignore, format);

    let log = sarif(&of("sarif"));
    let result = &log["runs"][0]["results"][0];
    let reason = "the tag is replaced in March (until 2999-12-31)";
    assert_eq!(result["suppressions"][0]["justification"], reason);

    let document = quick_junit::Report::deserialize_from_str(&of("junit")).unwrap();
    assert_eq!((document.failures, document.skipped), (0, 1));

    assert_eq!(of("gitlab"), "[]\n");
    assert_eq!(of("github"), "PASS pytorch-cuda:v2.9: no findings\n");
    let markdown = of("markdown");
    assert!(markdown.contains("<summary>1 finding ignored</summary>"));
    assert!(markdown.contains("the tag is replaced in March, until 2999-12-31"));
}

#[test]
fn a_fault_of_the_configuration_stands_at_its_line() {
    let ignore = "  - {rule: claim-torch-version, reason: replaced in March}\n  - {rule: cuda-duplicate, reason: none there}\n";
    let of = |format: &str| with_configuration(ignore, format);

    let github = of("github");
    assert!(
        github.starts_with("::warning file=imgcheck.yaml,line=3,col="),
        "{github}"
    );
    let issues: Vec<Value> = serde_json::from_str(&of("gitlab")).unwrap();
    assert_eq!(issues[0]["location"]["path"], "imgcheck.yaml");
    assert_eq!(issues[0]["location"]["lines"]["begin"], 3);

    let log = sarif(&of("sarif"));
    let results = log["runs"][0]["results"].as_array().unwrap();
    let result = results
        .iter()
        .find(|it| it["ruleId"] == "policy-ignore-unused");
    let place = &result.unwrap()["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "imgcheck.yaml");
    assert_eq!(place["region"]["startLine"], 3);
    let line = place["region"]["snippet"]["text"].as_str().unwrap();
    assert!(line.contains("cuda-duplicate"), "{line}");

    let document = quick_junit::Report::deserialize_from_str(&of("junit")).unwrap();
    let suite = &document.test_suites[1];
    assert_eq!((suite.name.as_str(), suite.tests), ("imgcheck.yaml", 1));
}

#[test]
fn what_people_read_of_the_sample() {
    for format in ["github", "markdown"] {
        insta::assert_snapshot!(format, run(&[MISLABELLED], format).1);
    }
}

/// Names that want to be more than a name.
const HOSTILE: [&str; 15] = [
    "\u{1b}[2J\u{1b}]0;x\u{7}",
    "\u{202e}gpj.exe\u{2066}\u{200b}\u{9b}2J",
    "</script><script>alert(1)</script>",
    "</details></code><img src=x onerror=alert(1)>",
    "]]><failure/><!--",
    "a|b|c\n|---|---|",
    "%0A::error file=a::b%0D",
    "x\n::error file=a,title=b::c\n  ::stop-commands::d",
    "##[error]x ##vso[task.complete result=Failed]",
    "[click](https://evil.example) ![x](https://evil.example/x.png) https://evil.example www.evil.example",
    "@everyone #1 `code` **bold** _x_ ~~y~~ $z$ :tada:",
    "\n\n# heading\n\n- list\n\n```\nfence",
    "a\\`<b>`\\|{0}](1)",
    "&lt;b&gt;&#64;team",
    "../../../../etc/passwd",
];

fn evidence(text: &str) -> Evidence {
    Evidence {
        kind: EvidenceKind::PythonMetadata,
        value: text.to_owned(),
        path: format!("/{text}"),
        detail: format!("torch {text}"),
    }
}

fn finding(text: &str, location: Option<Location>) -> Finding {
    Finding {
        rule: "claim-torch-version".to_owned(),
        severity: Severity::Error,
        confidence: Confidence::High,
        message: format!("wrong: {text}"),
        claim: Some(claim(text)),
        help: Some(format!("do {text}")),
        path: location.is_none().then(|| format!("/{text}")),
        layer: location.is_none().then_some(0),
        location,
        evidence: vec![evidence(text)],
        fingerprint: "f".to_owned(),
        docs: "https://docs.example/rule.md".to_owned(),
    }
}

fn claim(text: &str) -> Claim {
    Claim {
        subject: "torch".to_owned(),
        version: text.to_owned(),
        origin: "env".to_owned(),
        text: text.to_owned(),
    }
}

fn target(text: &str) -> TargetFacts {
    TargetFacts {
        name: text.to_owned(),
        gpus: vec![GpuFacts {
            name: text.to_owned(),
            sm: "sm_90".to_owned(),
            packages: vec![PackageCode {
                name: text.to_owned(),
                ..PackageCode::default()
            }],
            ..GpuFacts::default()
        }],
        driver: Some(DriverFacts {
            version: text.to_owned(),
            how: "unknown".to_owned(),
            reason: text.to_owned(),
            ..DriverFacts::default()
        }),
    }
}

fn image(text: &str) -> ImageReport {
    let part = |name: &str| Component {
        name: name.to_owned(),
        version: text.to_owned(),
        path: format!("/{text}"),
        layer: Some(0),
        loaded: true,
        details: [("build".to_owned(), text.to_owned())].into(),
        evidence: vec![evidence(text)],
    };
    ImageReport {
        facts: ImageFacts {
            reference: Some(text.to_owned()),
            named: text.to_owned(),
            source: SourceKind::DockerArchive,
            access: None,
            platform: "linux/amd64".to_owned(),
            depth: Depth::Default,
            digest: None,
            config_digest: None,
            layers: vec![Layer {
                index: 0,
                diff_id: "sha256:0".to_owned(),
                digest: None,
                size: 1,
                created_by: text.to_owned(),
                cached: false,
                in_parts: false,
            }],
            claims: vec![claim(text)],
            stack: vec![part("torch"), part("os"), part("torch")],
            gpu: Gpu::default(),
            driver: None,
            loader: None,
            files: 1,
        },
        tree: Tree::default(),
        targets: vec![target(text)],
        verdict: Verdict::Fail,
        // The second has no path, and the same fingerprint as if it were another image's.
        findings: vec![
            finding(text, None),
            Finding {
                path: None,
                layer: None,
                ..finding(text, None)
            },
        ],
        ignored: vec![IgnoredFinding {
            finding: finding(text, None),
            ignore: IgnoreReason {
                reason: text.to_owned(),
                expires: Some("2027-03-01".to_owned()),
            },
        }],
        elapsed_ms: 1,
    }
}

fn lint(text: &str) -> FileReport {
    let location = Location {
        file: format!("./{text}"),
        line: 3,
        column: 2,
        end_column: 5,
        text: text.to_owned(),
    };
    FileReport {
        file: format!("./{text}"),
        verdict: Verdict::Fail,
        ignored: Vec::new(),
        findings: vec![finding(text, Some(location))],
    }
}

/// The report of a format, and whether it keeps its shape whatever the names are.
type Case = (&'static str, fn(&Report) -> String, fn(&str));

const CASES: [Case; 8] = [
    (
        "text",
        |it| plain(&report::text::report(it, None)),
        no_commands,
    ),
    (
        "json",
        |it| report::json::report(it).unwrap(),
        |text| {
            let document: Value = serde_json::from_str(text).unwrap();
            assert_eq!(document["images"].as_array().unwrap().len(), 1);
        },
    ),
    (
        "sarif",
        |it| report::sarif::report(it).unwrap(),
        sarif_holds,
    ),
    (
        "junit",
        |it| report::junit::report(it, Some(Severity::Error)).unwrap(),
        |text| {
            let document = quick_junit::Report::deserialize_from_str(text).unwrap();
            assert_eq!((document.errors, document.failures), (1, 2));
            assert_eq!(document.test_suites.len(), 3);
        },
    ),
    ("github", report::github::report, github_holds),
    (
        "gitlab",
        |it| report::gitlab::report(it).unwrap(),
        gitlab_holds,
    ),
    ("markdown", report::markdown::report, markdown_holds),
    (
        "cyclonedx",
        |it| report::cyclonedx::report(it.images.iter().map(|it| &it.facts), it.errors).unwrap(),
        |text| {
            for purl in values(&cyclonedx(text), "purl") {
                assert!(purl.chars().all(|c| c.is_ascii_graphic()), "{purl}");
            }
        },
    ),
];

#[test]
fn no_name_breaks_out_of_any_format() {
    let rules = RuleSet::builtin().unwrap();
    for text in HOSTILE {
        let images = [image(text)];
        let files = [lint(text)];
        let errors = [UnreadImage {
            image: text.to_owned(),
            error: text.to_owned(),
        }];
        let report = Report {
            images: &images,
            files: &files,
            errors: &errors,
            rules: &rules,
        };
        for (name, render, check) in CASES {
            let rendered = render(&report);
            let hidden = |c: char| {
                (c.is_control() && c != '\n')
                    || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            };
            assert!(
                !rendered.contains(hidden),
                "{name} of {text:?}:\n{rendered}"
            );
            check(&rendered);
        }
    }
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// Nothing that a build system would obey.
fn no_commands(text: &str) {
    for line in text.lines() {
        assert!(!line.trim_start().starts_with("::"), "{line}");
    }
    for command in ["##[", "##vso[", "##teamcity["] {
        assert!(!text.contains(command), "{command}");
    }
}

fn sarif_holds(text: &str) {
    let log = sarif(text);
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    let ignored = results
        .iter()
        .filter(|it| it["suppressions"] != serde_json::json!([]));
    assert_eq!(ignored.count(), 1);
    for uri in values(&run["results"], "uri") {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~/%".contains(c);
        assert!(!uri.is_empty() && uri.chars().all(allowed), "{uri}");
    }
    for uri in values(&Value::from(&results[..3]), "uri") {
        assert!(!uri.split('/').any(|part| part == ".."), "{uri}");
    }
    let region = &results[3]["locations"][0]["physicalLocation"]["region"];
    assert_eq!(
        (&region["startLine"], &region["endColumn"]),
        (&3.into(), &5.into())
    );
    for message in results
        .iter()
        .map(|it| it["message"]["text"].as_str().unwrap())
    {
        let link = message.replace("\\]", "").contains("](");
        assert!(!link, "{message}");
    }
}

fn github_holds(text: &str) {
    let (commands, others): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with("::"));
    no_commands(&others.join("\n"));
    assert_eq!((commands.len(), others.len()), (4, 2));
    for command in commands {
        let (properties, _) = command["::error ".len()..].split_once("::").unwrap();
        for property in properties.split(',') {
            let (name, value) = property.split_once('=').unwrap();
            assert!(
                ["file", "line", "col", "endColumn", "title"].contains(&name),
                "{command}"
            );
            assert!(!value.contains(':'), "{command}");
            assert!(name != "file" || !value.starts_with("./"), "{command}");
        }
    }
}

fn gitlab_holds(text: &str) {
    let issues: Vec<Value> = serde_json::from_str(text).unwrap();
    assert_eq!(issues.len(), 4);
    let mut fingerprints = HashSet::new();
    for issue in &issues {
        assert!(fingerprints.insert(issue["fingerprint"].as_str().unwrap()));
        let path = issue["location"]["path"].as_str().unwrap();
        assert!(!path.starts_with('/') && !path.contains('\n'), "{path}");
        assert!(issue["location"]["lines"]["begin"].as_u64().unwrap() >= 1);
        assert!(!issue["description"].as_str().unwrap().is_empty());
    }
}

/// As GitHub reads it: the only links are those to pages of rules, the only tags our own, and nobody is mentioned.
fn markdown_holds(text: &str) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_MATH;
    let (mut code, mut headings, mut cells) = (0, 0, 0);
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                assert_eq!(&*dest_url, "https://docs.example/rule.md");
            }
            Event::Start(
                tag @ (Tag::Image { .. }
                | Tag::Strong
                | Tag::Emphasis
                | Tag::Strikethrough
                | Tag::CodeBlock(_)),
            ) => panic!("{tag:?} in\n{text}"),
            Event::InlineMath(math) | Event::DisplayMath(math) => panic!("{math} in\n{text}"),
            Event::Start(Tag::Heading { .. }) => headings += 1,
            Event::End(TagEnd::TableCell) => cells += 1,
            Event::InlineHtml(html) | Event::Html(html) => {
                code += html.matches("<code>").count();
                code -= html.matches("</code>").count();
                assert_own_tags(&html);
            }
            Event::Text(written) if code == 0 => {
                let mention = written.split('@').skip(1);
                let mut mention = mention.filter(|rest| rest.starts_with(char::is_alphanumeric));
                assert_eq!(mention.next(), None, "{written}");
                assert!(!written.contains("https://evil") && !written.contains("www.evil"));
            }
            _ => {}
        }
    }
    // The title, the unread image, the image, the file; a table of a head and the subjects torch and os, and one of a head, a
    // GPU and a driver.
    assert_eq!((headings, cells), (4, 12 + 6), "{text}");
}

fn assert_own_tags(html: &str) {
    let tags = html.split('<').skip(1);
    for tag in tags.filter_map(|rest| rest.split('>').next()) {
        let name = tag.trim_start_matches('/').split(' ').next().unwrap();
        assert!(
            ["code", "details", "summary", "b"].contains(&name),
            "{tag} in {html}"
        );
        assert!(tag == "details open" || !tag.contains(' '), "{tag}");
    }
}

#[test]
fn a_comment_is_never_longer_than_github_takes_and_says_what_is_left_out() {
    let rules = RuleSet::builtin().unwrap();
    let mut long = image("pytorch-cuda:v2.9");
    let one = finding(&"ä|".repeat(2000), None);
    long.findings = vec![one; 500];
    let images = [long];
    let report = Report {
        images: &images,
        files: &[],
        errors: &[],
        rules: &rules,
    };
    let text = report::markdown::report(&report);
    assert!(text.chars().count() < 65_536, "{}", text.len());
    let shown = text.matches("<details").count();
    assert!(shown > 3, "{shown}");
    assert!(
        text.contains(&format!("{} findings are left out", 500 - shown)),
        "{}",
        &text[text.len() - 300..]
    );
    assert!(text.ends_with("shows everything.\n"));
    assert!(text.contains("FAIL (500 errors)"));
}
