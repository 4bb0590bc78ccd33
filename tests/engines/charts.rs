//! A Helm chart as it is published, rendered by Helm and judged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testkit::tools::{real_images, real_images_required, say, tool};

use crate::program::{imgcheck, repository};

const SAMPLE: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";

/// The chart of vLLM; `None` where it or Helm is missing.
fn chart() -> Option<PathBuf> {
    let chart = real_images().join("charts/vllm-0.9.2/examples/online_serving/chart-helm");
    if !chart.exists() {
        let message = "there is no chart; see testdata/recipes/charts.py";
        assert!(!real_images_required(), "{message}");
        say(message);
        return None;
    }
    tool("helm").then_some(chart)
}

/// The containers of the Deployment that the chart renders with these values.
fn containers(chart: &Path, values: &[&str]) -> Vec<Value> {
    let place = tempfile::tempdir().unwrap();
    let helm = Command::new("helm")
        .args(["template", "vllm"])
        .arg(chart)
        .args(values)
        .env("HOME", place.path())
        .output()
        .unwrap();
    assert!(helm.status.success(), "{helm:?}");
    let (manifest, images) = (place.path().join("m.yaml"), place.path().join("i.yaml"));
    fs::write(&manifest, helm.stdout).unwrap();
    let sample = repository(SAMPLE);
    let sample = sample.display();
    let text = format!("vllm/vllm-openai:latest: {sample}\namazon/aws-cli:2.6.4: {sample}\n");
    fs::write(&images, text).unwrap();
    // The sample is in the place of images with vllm and aws.
    let config = place.path().join("config.yaml");
    fs::write(&config, "severities: {launch-program-missing: off}\n").unwrap();
    let output = imgcheck()
        .args(["preflight", "-f", "json", "--config"])
        .arg(config)
        .arg("--images")
        .arg(images)
        .arg("--nodes")
        .arg(repository("testdata/preflight/nodes.json"))
        .arg(manifest)
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let workloads = report["workloads"].as_array().unwrap();
    let kinds: Vec<&str> = workloads
        .iter()
        .filter_map(|it| it["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["Deployment", "Job"]);
    workloads[0]["containers"].as_array().unwrap().clone()
}

fn rules(container: &Value) -> Vec<&str> {
    let findings = container["findings"].as_array().unwrap();
    findings
        .iter()
        .filter_map(|it| it["rule"].as_str())
        .collect()
}

#[test]
fn the_containers_of_a_published_chart_are_judged_where_they_can_run() {
    let Some(chart) = chart() else {
        return;
    };
    // By default it names a GPU model that no node has.
    let default = containers(&chart, &[]);
    let names: Vec<_> = default
        .iter()
        .map(|it| (&it["name"], &it["role"]))
        .collect();
    assert_eq!(
        names,
        [
            (&"wait-download-model".into(), &"init".into()),
            (&"vllm".into(), &"main".into())
        ]
    );
    assert!(rules(&default[1]).contains(&"deploy-no-node-class"));

    let one = containers(&chart, &["--set", "gpuModels={NVIDIA-H100-80GB-HBM3}"]);
    assert_eq!(rules(&one[1]), ["claim-floating-tag"]);
    let classes = one[1]["node_classes"].as_array().unwrap();
    assert_eq!(classes.len(), 1, "{classes:?}");
    assert_eq!(classes[0]["verdict"], "pass", "{classes:?}");

    // Without more memory at /dev/shm, which the chart has no value for.
    let four = [
        "--set",
        "gpuModels={NVIDIA-H100-80GB-HBM3}",
        "--set-string",
        "resources.requests.nvidia\\.com/gpu=4",
        "--set-string",
        "resources.limits.nvidia\\.com/gpu=4",
    ];
    let four = containers(&chart, &four);
    assert!(
        rules(&four[1]).contains(&"deploy-default-shm"),
        "{:?}",
        rules(&four[1])
    );
}
