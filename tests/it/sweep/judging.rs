//! Verdicts from the store.

use serde_json::json;

use super::*;
use crate::imports_of_command::programs;

/// A plan of the samples, read into the store.
fn read(case: &Case) -> testkit::registry::Server {
    let server = samples().serve();
    let (totals, code) = case.plan(&[&format!("registry:{}", server.address)]);
    assert_eq!((totals["images"].as_u64(), code), (Some(1), 0));
    assert_eq!(case.run(&[]).status.code(), Some(0));
    server
}

fn find<'r>(records: &'r [Value], tag: &str) -> &'r Value {
    let has = |it: &&Value| it["reference"].as_str().unwrap().contains(tag);
    records.iter().find(has).unwrap()
}

#[test]
fn each_tag_is_judged_as_a_check_judges_it_and_no_registry_is_asked() {
    let case = Case::new();
    let server = read(&case);
    let before = server.seen().len();
    let (records, code) = case.judge(&[]);
    assert_eq!((records.len(), code), (2, 1));
    assert_eq!(server.seen().len(), before);
    assert_eq!(find(&records, ":2.8.0")["verdict"], "pass");
    let lying = find(&records, ":2.9.0");
    assert_eq!(lying["verdict"], "fail");
    let reference = lying["reference"].as_str().unwrap();
    let output = imgcheck()
        .args(["check", "-f", "json", &format!("docker://{reference}")])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rules = |findings: &Value| {
        let findings = findings.as_array().unwrap().iter();
        findings
            .map(|it| (it["rule"].clone(), it["message"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        rules(&lying["findings"]),
        rules(&report["images"][0]["findings"])
    );
    assert_eq!(lying["digest"], report["images"][0]["digest"]);
    assert_eq!(lying["stack"]["torch"], "2.8.0+cu128");
}

#[test]
fn a_change_of_driver_or_gpu_is_judged_before_it_is_made() {
    let case = Case::new();
    let _server = read(&case);
    let arguments = [
        "--gpu",
        "a100",
        "--driver",
        "570.86.10",
        "--against",
        "driver=470.82.01",
    ];
    let (records, code) = case.judge(&arguments);
    assert_eq!(code, 1);
    let record = find(&records, ":2.8.0");
    assert_eq!(
        (&record["verdict"], &record["against"]["verdict"]),
        (&json!("pass"), &json!("fail"))
    );
    let new = &record["against"]["new"][0];
    assert!(
        new["message"].as_str().unwrap().contains("470.82.01"),
        "{new}"
    );
    assert_eq!(record["targets"][0]["runs"], "yes");
    let (records, _) = case.judge(&["--against", "strict", "--against", "gpu=k80"]);
    assert_eq!(find(&records, ":2.8.0")["against"]["verdict"], "fail");
    let impossible = ["--gpu", "h100", "--against", "driver=470.82.01"];
    for wrong in [&["--against", "weather=good"][..], &impossible] {
        let output = case.sweep(&["judge", "plan"]).args(wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn each_class_of_nodes_is_a_target() {
    let case = Case::new();
    let _server = read(&case);
    let node = |name: &str, product: &str, driver: &str, architecture: &str| {
        let (major, rest) = driver.split_once('.').unwrap();
        json!({"kind": "Node", "metadata": {"name": name, "labels": {
            "kubernetes.io/arch": architecture, "nvidia.com/gpu.product": product, "nvidia.com/gpu.count": "8",
            "nvidia.com/cuda.driver.major": major, "nvidia.com/cuda.driver.minor": rest.split('.').next(),
            "nvidia.com/cuda.driver.rev": rest.split('.').nth(1), "nvidia.com/cuda.driver-version.full": driver}},
            "status": {"allocatable": {"nvidia.com/gpu": "8"}}})
    };
    let nodes = json!({"kind": "List", "items": [
        node("a", "NVIDIA-H100-80GB-HBM3", "570.86.10", "amd64"), node("b", "NVIDIA-H100-80GB-HBM3", "570.86.10", "amd64"),
        node("c", "Tesla-K80", "470.82.01", "amd64"), node("d", "NVIDIA-GH200-480GB", "570.86.10", "arm64")]});
    write(&case, "nodes.json", &nodes.to_string());
    let (records, code) = case.judge(&["--nodes", "nodes.json"]);
    assert_eq!(code, 1);
    let targets = find(&records, ":2.8.0")["targets"]
        .as_array()
        .unwrap()
        .clone();
    let runs = |product: &str| {
        let mut targets = targets.iter();
        let target = targets.find(|it| it["name"].as_str().unwrap().contains(product));
        target.unwrap()["runs"].as_str().unwrap().to_owned()
    };
    assert_eq!(targets.len(), 3, "{targets:?}");
    assert_eq!(["H100", "K80", "GH200"].map(runs), ["yes", "no", "no"]);
}

#[test]
fn what_no_worker_of_this_version_has_read_is_not_judged() {
    let case = Case::new();
    let _server = read(&case);
    // Facts that were read within other limits are those of another version.
    let (records, code) = case.judge(&["--limit", "symbols=1000"]);
    assert_eq!((records.len(), code), (2, 3));
    for record in records {
        assert_eq!(
            (&record["status"], &record["code"]),
            (&json!("failed"), &json!("not-found"))
        );
        assert!(
            record["message"]
                .as_str()
                .unwrap()
                .contains("imgcheck sweep run")
        );
    }
}

#[test]
fn all_formats_are_written_at_once() {
    let case = Case::new();
    let _server = read(&case);
    let outputs = [
        "jsonl=fleet.jsonl",
        "csv=fleet.csv",
        "html=fleet.html",
        "sarif=fleet.sarif",
        "text=fleet.txt",
    ];
    let arguments: Vec<&str> = outputs.iter().flat_map(|it| ["-o", it]).collect();
    let words = [&["judge", "plan"][..], &arguments].concat();
    let output = case.sweep(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    for file in [
        "fleet.csv",
        "fleet.html",
        "fleet.sarif",
        "fleet.txt",
        "fleet.jsonl",
    ] {
        let written = std::fs::read_to_string(case.path(file)).unwrap();
        assert!(
            written.contains("claim-torch-version") || file == "fleet.txt",
            "{file}"
        );
    }
}

#[test]
fn errors_that_are_not_counted_are_no_passes() {
    let case = Case::new();
    let _server = read(&case);
    let judge = case
        .sweep(&["judge", "plan", "--fail-on", "never"])
        .output();
    let summary = text(&judge.unwrap().stdout);
    let (_, lies) = summary.split_once("Tags that lie (").expect(&summary);
    let (lies, _) = lies.split_once(')').unwrap();
    let not_counted = format!(", {lies} with errors that are not counted\n");
    assert!(summary.contains(&not_counted), "{summary}");
}

#[test]
fn quiet_prints_a_summary_only_if_an_image_fails() {
    let case = Case::new();
    let _server = read(&case);
    for (options, is_silent) in [(&["--fail-on", "never"][..], true), (&[], false)] {
        let judge = ["judge", "plan", "--quiet"];
        let output = case.sweep(&judge).args(options).output().unwrap();
        assert_eq!(output.stdout.is_empty(), is_silent, "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}

/// Each by its own command, although they have the same layer.
#[test]
fn what_images_import_is_judged() {
    let case = Case::new();
    let mut fleet = Fleet::default();
    for program in ["good.py", "bad.py"] {
        let content = Content::of("1", &[programs(program)], false);
        push(&mut fleet, "team/train", program, &content);
    }
    let server = fleet.serve();
    case.plan(&[&format!("registry:{}", server.address)]);
    assert_eq!(case.run(&[]).status.code(), Some(0));
    let (records, code) = case.judge(&[]);
    assert_eq!(code, 1);
    assert_eq!(find(&records, ":good.py")["verdict"], "pass");
    let bad = find(&records, ":bad.py");
    assert_eq!(bad["findings"][0]["rule"], "python-import-fails", "{bad}");
}
