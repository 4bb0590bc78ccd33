//! Formats for programs, and the summary.

use super::*;
use crate::program::{imgcheck, repository};
use imgcheck::ImageRequest;
use serde_json::Value;

#[test]
fn tags_of_repositories_that_are_pulled_most_come_first() {
    let (records, totals) = fleet();
    let lying = |at: usize, pulls| FleetRecord {
        pods: None,
        pulls,
        ..records[at].clone()
    };
    let records = [lying(1, Some(7)), lying(2, Some(9_000))];
    let text = text(FleetFormat::Text, &records, &totals);
    assert!(
        text.contains("Tags that lie, most pulls first (2):"),
        "{text}"
    );
    let [few, many] = ["few:2.9: ", "many:2.9: "].map(|name| text.find(name).unwrap());
    assert!(many < few, "{text}");
}

#[test]
fn each_line_is_a_record_of_the_schema() {
    let output = imgcheck()
        .args(["rules", "schema", "--fleet"])
        .output()
        .unwrap();
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    let (mut records, totals) = fleet();
    records.extend(real());
    let text = text(FleetFormat::Jsonl, &records, &totals);
    assert_eq!(text.lines().count(), records.len());
    for (line, record) in text.lines().zip(&records) {
        let value: Value = serde_json::from_str(line).unwrap();
        let errors: Vec<String> = schema
            .iter_errors(&value)
            .map(|it| it.to_string())
            .collect();
        assert_eq!(errors, Vec::<String>::new(), "{line}");
        let read: FleetRecord = serde_json::from_str(line).unwrap();
        assert_eq!(read, *record);
        assert_eq!(value["schema"], "imgcheck/fleet/v1");
    }
}

/// The records of real archives, judged for a target that the second does not run on.
fn real() -> Vec<FleetRecord> {
    let checker = Checker::builder()
        .gpus(["a100", "v100"])
        .driver("470.82.01")
        .build()
        .unwrap();
    let images = [
        "testdata/sample/pytorch-cuda-v2.9.tar",
        "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar",
    ];
    let images = images.map(|it| ImageRequest::new(repository(it).to_str().unwrap()));
    let report = checker.check(&images);
    report.images.iter().map(FleetRecord::of).collect()
}

#[test]
fn a_record_has_what_the_report_says() {
    let records = real();
    let record = &records[0];
    assert_eq!(record.status, FleetStatus::Judged);
    assert_eq!(record.verdict, Some(Verdict::Fail));
    assert!(
        record
            .findings
            .iter()
            .any(|it| it.rule == "claim-torch-version" && it.component.as_deref() == Some("torch"))
    );
    assert!(
        record.stack.contains_key("torch") && record.stack.contains_key("python"),
        "{:?}",
        record.stack
    );
    assert!(
        !record.layers.is_empty()
            && record
                .layers
                .iter()
                .all(|it| it.diff_id.starts_with("sha256:"))
    );
    let driver = records[1].minimum_driver.as_deref();
    assert_eq!(
        driver,
        Some("525.60.13"),
        "CUDA 12.8 runs with it, by minor-version compatibility"
    );
    assert_eq!(
        records[1].targets[0].runs,
        FleetRuns::No,
        "the driver is too old"
    );
}

#[test]
fn a_comparison_names_what_is_new_and_what_is_gone() {
    let checker = |driver: &str| Checker::builder().driver(driver).build().unwrap();
    let image = repository("testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar");
    let image = ImageRequest::new(image.to_str().unwrap());
    let report = |driver: &str| {
        checker(driver)
            .check(std::slice::from_ref(&image))
            .images
            .remove(0)
    };
    let (here, there) = (report("570.86.10"), report("470.82.01"));
    let mut record = FleetRecord::of(&here);
    record.compare(&there);
    let against = record.against.unwrap();
    assert_eq!(against.verdict, Verdict::Fail);
    let new: Vec<&str> = against.new.iter().map(|it| it.rule.as_str()).collect();
    assert!(new.contains(&"driver-too-old"), "{new:?}");
    let mut back = FleetRecord::of(&there);
    back.compare(&here);
    assert_eq!(back.against.unwrap().gone, against.new);
}

#[test]
fn a_table_has_a_row_an_image_and_no_formula() {
    let (records, totals) = fleet();
    let bytes = written(FleetFormat::Csv, &records, &totals);
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let names = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), records.len());
    let cell = |row: usize, name: &str| {
        let place = names.iter().position(|it| it == name).unwrap();
        rows[row][place].to_owned()
    };
    assert_eq!(cell(2, "findings"), "claim-torch-version gpu-ptx-only");
    assert_eq!(
        (cell(2, "errors"), cell(2, "pods")),
        ("1".to_owned(), "40".to_owned())
    );
    assert_eq!(
        (cell(3, "gaps"), cell(3, "against")),
        ("framework-not-reached".to_owned(), "fail".to_owned())
    );
    assert_eq!(
        (cell(5, "status"), cell(5, "code")),
        ("failed".to_owned(), "not-found".to_owned())
    );
    assert_eq!(
        (cell(6, "status"), cell(6, "verdict")),
        ("skipped".to_owned(), String::new())
    );
    assert!(
        cell(4, "reference").starts_with("'=cmd()"),
        "{}",
        cell(4, "reference")
    );
    for cell in rows.iter().flatten() {
        assert!(
            !cell.starts_with(['=', '+', '-', '@']) && !cell.contains(char::is_control),
            "{cell:?}"
        );
    }
}

#[test]
fn a_log_has_a_result_a_finding_and_says_what_failed() {
    let (records, totals) = fleet();
    let log: Value = serde_json::from_str(&text(FleetFormat::Sarif, &records, &totals)).unwrap();
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 5);
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let named: std::collections::BTreeSet<&str> = results
        .iter()
        .map(|it| it["ruleId"].as_str().unwrap())
        .collect();
    assert_eq!(rules.len(), named.len(), "only rules that have results");
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(
            !rule["shortDescription"]["text"]
                .as_str()
                .unwrap()
                .is_empty()
        );
        let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            .as_str()
            .unwrap();
        assert!(!uri.contains([' ', '<', '\n']), "{uri}");
    }
    assert_eq!(
        results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        "registry.example/few"
    );
    let prints: std::collections::BTreeSet<&str> = results
        .iter()
        .map(|it| {
            it["partialFingerprints"]["imgcheck/fleet/v1"]
                .as_str()
                .unwrap()
        })
        .collect();
    assert_eq!(prints.len(), 5);
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let said = invocation["toolExecutionNotifications"].to_string();
    for words in [
        "gone:1 failed: not-found",
        "chart:1 was skipped: not-an-image",
        "framework-not-reached",
        "page 3 of the catalog",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
}

#[test]
fn a_log_without_findings_is_a_log() {
    let totals = FleetTotals {
        complete: true,
        ..FleetTotals::default()
    };
    let log: Value = serde_json::from_str(&text(FleetFormat::Sarif, &[], &totals)).unwrap();
    assert_eq!(log["runs"][0]["results"], serde_json::json!([]));
    assert_eq!(
        log["runs"][0]["invocations"][0]["executionSuccessful"],
        true
    );
}

#[test]
fn the_summary_counts_everything() {
    let (records, totals) = fleet();
    insta::assert_snapshot!(text(FleetFormat::Text, &records, &totals), @r#"
    7 listed = 5 judged + 1 failed + 1 skipped
    The list is incomplete:
    page 3 of the catalog of registry.example could not be read
    3 fail, 1 incomplete, 1 pass

    Rules with the most findings (images):
           2  error    claim-torch-version
           2  warning  gpu-ptx-only
           1  error    claim-cuda-version

    Targets:
      =cmd()|'<script>alert(1)</script></pre>\u{202e}\u{1b}[31m\n\u{3a}:error::x\u{9}{0} ](javascript:1): 0 run, 0 do not, 1 unknown, 0 without GPU code
      h100: 3 run, 1 do not, 0 unknown, 0 without GPU code

    Tags that lie, most Pods first (3):
      registry.example/many:2.9 (40 Pods): the tag claims PyTorch 2.9, the image contains 2.8.0
      registry.example/few:2.9 (2 Pods): the tag claims PyTorch 2.9, the image contains 2.8.0
      =cmd()|'<script>alert(1)</script></pre>\u{202e}\u{1b}[31m\n\u{3a}:error::x\u{9}{0} ](javascript:1): =cmd()|'<script>alert(1)</script></pre>\u{202e}\u{1b}[31m\n\u{3a}:error::x\u{9}{0} ](javascript:1)

    Incomplete (1):
      registry.example/unreached:1: framework-not-reached

    Failed and skipped (2):
      registry.example/gone:1: not-found registry.example/gone:1: repository not found
      registry.example/chart:1: not-an-image it is a Helm chart

    Against driver 550: 1 worse, 0 better

    Worse (1):
      registry.example/unreached:1: the driver is too old
    "#
    );
}

#[test]
#[cfg(not(feature = "parquet"))]
fn a_build_without_parquet_says_so() {
    let checker = Checker::builder().build().unwrap();
    let error = checker
        .fleet_output(FleetFormat::Parquet, Box::new(io::sink()))
        .unwrap_err();
    assert!(
        error.to_string().contains("built without Parquet"),
        "{error}"
    );
    assert!(error.help().unwrap().contains("--features parquet"));
}
