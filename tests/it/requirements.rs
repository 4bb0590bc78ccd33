//! What an image needs of a machine is what the rules say of it there.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::program::{imgcheck, repository};

const SAMPLE: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";
const GPUS: [(&str, &str); 9] = [
    ("p100", "6.0"),
    ("v100", "7.0"),
    ("t4", "7.5"),
    ("a100", "8.0"),
    ("l40s", "8.9"),
    ("h100", "9.0"),
    ("b200", "10.0"),
    ("rtx 5090", "12.0"),
    ("gb10", "12.1"),
];
const DRIVERS: [&str; 6] = [
    "470.256.02",
    "525.60.11",
    "525.60.13",
    "535.183.06",
    "570.124.06",
    "580.65.06",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pod {
    affinity: Affinity,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Affinity {
    node_affinity: NodeAffinity,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeAffinity {
    required_during_scheduling_ignored_during_execution: NodeSelector,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeSelector {
    node_selector_terms: Vec<Term>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Term {
    match_expressions: Vec<Expression>,
}

#[derive(Deserialize)]
struct Expression {
    key: String,
    operator: String,
    values: Vec<String>,
}

fn output(arguments: &[&str]) -> (i32, String) {
    let output = imgcheck().args(arguments).output().unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

/// The labels that GPU Feature Discovery gives a node.
fn labels(capability: &str, driver: &str) -> BTreeMap<String, String> {
    let keys = [
        "nvidia.com/gpu.compute.major",
        "nvidia.com/gpu.compute.minor",
        "nvidia.com/cuda.driver-version.major",
        "nvidia.com/cuda.driver-version.minor",
        "nvidia.com/cuda.driver-version.revision",
    ];
    let values = capability.split('.').chain(driver.split('.'));
    let of_gpu = keys.into_iter().zip(values);
    let architecture = [("kubernetes.io/arch", "amd64")];
    let all = of_gpu.chain(architecture);
    all.map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// As the scheduler of Kubernetes decides.
fn matches(pod: &Pod, labels: &BTreeMap<String, String>) -> bool {
    let holds = |it: &Expression| {
        let value = labels.get(&it.key);
        match it.operator.as_str() {
            "In" => value.is_some_and(|value| it.values.contains(value)),
            "Gt" => value.and_then(|it| it.parse::<i64>().ok()) > it.values[0].parse::<i64>().ok(),
            other => panic!("{other}"),
        }
    };
    let selector = &pod
        .affinity
        .node_affinity
        .required_during_scheduling_ignored_during_execution;
    let mut terms = selector.node_selector_terms.iter();
    terms.any(|term| term.match_expressions.iter().all(holds))
}

#[test]
fn a_node_matches_if_and_only_if_the_image_passes_there() {
    let image = repository(SAMPLE);
    let image = image.to_str().unwrap();
    let (code, yaml) = output(&["requirements", "-f", "kubernetes", image]);
    assert_eq!(code, 0);
    let pod: Pod = serde_saphyr::from_str(&yaml).unwrap();
    let mut seen = [0; 2];
    for (gpu, capability) in GPUS {
        for driver in DRIVERS {
            let (code, _) = output(&[image, "--gpu", gpu, "--driver", driver, "-q"]);
            // No such driver exists for the GPU.
            if code == 2 {
                continue;
            }
            let passes = code == 0;
            assert_eq!(
                matches(&pod, &labels(capability, driver)),
                passes,
                "{gpu} {driver}\n{yaml}"
            );
            seen[usize::from(passes)] += 1;
        }
    }
    assert!(seen.iter().all(|it| *it >= 8), "{seen:?}");
}

#[test]
fn requirements_name_gpus_and_driver() {
    let image = repository(SAMPLE);
    let (code, text) = output(&["requirements", "-f", "json", image.to_str().unwrap()]);
    assert_eq!(code, 0);
    let report: Value = serde_json::from_str(&text).unwrap();
    let needs = &report["images"][0];
    assert_eq!(needs["platform"], "linux/amd64");
    assert_eq!(needs["driver"]["compatible"], "525.60.13");
    let capabilities = needs["gpus"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["capability"].as_str().unwrap());
    let capabilities: Vec<&str> = capabilities.collect();
    assert!(
        capabilities.contains(&"9.0") && !capabilities.contains(&"3.7"),
        "{capabilities:?}"
    );
    let (_, text) = output(&["requirements", image.to_str().unwrap()]);
    assert!(
        text.contains("525.60.13 or newer for CUDA 12.8; for PTX, 570.26 or newer"),
        "{text}"
    );
}
