//! Every format of a report: by the published schemas, and on real samples.

use crate::reports;
use std::fs;
use std::path::PathBuf;

use imgcheck_report::{self as report, Report};
use imgcheck_rules::rules::RuleSet;
use serde_json::Value;
use tempfile::tempdir;

use crate::documents::{cyclonedx, sarif};
use crate::program::{imgcheck, repository, undated};

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
fn an_unreadable_image_passes_in_no_format() {
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
            "markdown" => text.starts_with("## imgcheck: ❌ something could not be read"),
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
fn ignored_findings_do_not_fail_and_show_their_reason() {
    let ignore = "  - {rule: claim-torch-version, reason: the tag is replaced in March, expires: 2999-12-31}\n";
    let of = |format: &str| with_configuration(ignore, format);

    let log = sarif(&of("sarif"));
    let result = &log["runs"][0]["results"][0];
    let reason = "the tag is replaced in March, until 2999-12-31";
    assert_eq!(result["suppressions"][0]["justification"], reason);

    let junit = of("junit");
    let document = quick_junit::Report::deserialize_from_str(&junit).unwrap();
    // The other skipped tests need a GPU or a driver.
    let ignored = junit.matches("message=\"ignored: ").count();
    assert_eq!((document.failures, ignored), (0, 1));

    assert_eq!(of("gitlab"), "[]\n");
    let github = of("github");
    assert!(github.starts_with("PASS pytorch-cuda:v2.9: no findings\nKnowledge tables: 20"));
    assert!(
        github.ends_with("\nConfiguration: imgcheck.yaml\n"),
        "{github}"
    );
    let markdown = of("markdown");
    assert!(markdown.contains("<summary>1 finding ignored</summary>"));
    assert!(markdown.contains("the tag is replaced in March, until 2999-12-31"));
}

#[test]
fn a_fault_of_the_configuration_is_shown_at_its_line() {
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
        insta::assert_snapshot!(format, undated(&run(&[MISLABELLED], format).1));
    }
}

#[test]
fn a_comment_fits_github_and_says_what_is_left_out() {
    let rules = RuleSet::builtin().unwrap();
    let mut long = reports::image("pytorch-cuda:v2.9");
    let one = reports::finding(&"ä|".repeat(2000), None);
    long.findings = vec![one; 500];
    let images = [long];
    let report = Report {
        workloads: &[],
        images: &images,
        files: &[],
        errors: &[],
        rules: &rules,
        knowledge: &reports::KNOWLEDGE,
        configuration: None,
    };
    let text = report::markdown::report(&report);
    assert!(text.chars().count() < 65_536, "{}", text.len());
    let shown = text.matches("<details").count();
    assert!(shown > 3, "{shown}");
    assert!(
        text.contains(&format!("{} findings are not shown", 500 - shown)),
        "{}",
        &text[text.len() - 300..]
    );
    assert!(text.ends_with("to see everything.\n"));
    assert!(text.contains("FAIL (500 errors)"));
}

/// Rules without results, and expressions, would make it half a megabyte.
#[test]
fn sarif_of_four_findings_is_small() {
    let output = imgcheck()
        .arg("check")
        .arg(repository(MISLABELLED))
        .args([
            "-f",
            "sarif",
            "--expect",
            "torch==2.9.*",
            "--expect",
            "cudnn==8.*",
        ])
        .args(["--gpu", "sm_52"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let log = sarif(&text);
    let run = &log["runs"][0];
    let (results, rules) = (&run["results"], &run["tool"]["driver"]["rules"]);
    assert!(results.as_array().unwrap().len() >= 4, "{results}");
    assert!(rules.as_array().unwrap().len() <= results.as_array().unwrap().len());
    assert!(text.len() <= 40_000, "{} bytes", text.len());
    assert!(!text.contains("claims.filter("));
}
