//! What an image needs of a machine is what the rules say of it there.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::program::{imgcheck, repository};

const SAMPLE: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";
/// With a PCI device id (pci.ids; for Blackwell the names of NVIDIA's driver).
const GPUS: [(&str, &str, &str); 9] = [
    ("p100", "6.0", "15f8"),
    ("v100", "7.0", "1db4"),
    ("t4", "7.5", "1eb8"),
    ("a100", "8.0", "20b2"),
    ("l40s", "8.9", "26b9"),
    ("h100", "9.0", "2330"),
    ("b200", "10.0", "2901"),
    ("rtx 5090", "12.0", "2b85"),
    ("gb10", "12.1", "2e12"),
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
fn on_node(pod: &Pod, labels: &BTreeMap<String, String>) -> bool {
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
    for (gpu, capability, _) in GPUS {
        for driver in DRIVERS {
            let (code, _) = output(&[image, "--gpu", gpu, "--driver", driver, "-q"]);
            // No such driver exists for the GPU.
            if code == 2 {
                continue;
            }
            let passes = code == 0;
            assert_eq!(
                on_node(&pod, &labels(capability, driver)),
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
    // Only an ARM machine has a GPU of 12.1.
    let expected = |it| capabilities.contains(&it);
    assert!(
        expected("9.0") && !expected("3.7") && !expected("12.1"),
        "{capabilities:?}"
    );
    assert_eq!(needs["shared_memory"], true);
    assert_eq!(needs["driver_capabilities"], serde_json::json!(["compute"]));
    assert_eq!(needs["devices"], serde_json::json!(["/dev/nvidia*"]));
    assert_eq!(
        (&needs["rdma"], &needs["cuda_compat"]),
        (&Value::Bool(false), &Value::Null)
    );
    let (_, text) = output(&["requirements", image.to_str().unwrap()]);
    assert!(
        text.contains("525.60.13 or newer for CUDA 12.8; for PTX, 570.26 or newer"),
        "{text}"
    );
}

/// What a format says about the sample.
fn sample(format: &str) -> String {
    let image = repository(SAMPLE);
    let (code, text) = output(&["requirements", "-f", format, image.to_str().unwrap()]);
    assert_eq!(code, 0);
    text
}

#[test]
fn node_feature_discovery_sees_the_gpus_by_their_pci_devices() {
    #[derive(Deserialize)]
    struct Specification {
        version: String,
        compatibilities: Vec<Compatibility>,
    }
    #[derive(Deserialize)]
    struct Compatibility {
        rules: Vec<Rule>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Rule {
        match_features: Vec<Matched>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Matched {
        feature: String,
        match_expressions: BTreeMap<String, Matcher>,
    }
    #[derive(Deserialize)]
    struct Matcher {
        op: String,
        #[serde(default)]
        value: Vec<String>,
    }
    let specification: Specification = serde_saphyr::from_str(&sample("nfd")).unwrap();
    assert_eq!(specification.version, "v1alpha1");
    let rules = &specification.compatibilities[0].rules;
    let gpu = &rules[0].match_features[0];
    assert_eq!(gpu.feature, "pci.device");
    assert_eq!(rules[1].match_features[0].feature, "kernel.loadedmodule");
    // As NFD compares a device: all expressions must match, `In` and `InRegexp` with one of the values.
    let matches = |id: &str| {
        let device = [("vendor", "10de"), ("class", "0302"), ("device", id)];
        device.iter().all(|(key, value)| {
            let matcher = &gpu.match_expressions[*key];
            matcher.value.iter().any(|it| match matcher.op.as_str() {
                "In" => it == value,
                "InRegexp" => regex::Regex::new(it).unwrap().is_match(value),
                other => panic!("{other}"),
            })
        })
    };
    assert_eq!(sample("k8s"), sample("kubernetes"));
    let pod: Pod = serde_saphyr::from_str(&sample("kubernetes")).unwrap();
    for (gpu, capability, id) in GPUS {
        let is_supported = on_node(&pod, &labels(capability, "580.65.06"));
        assert_eq!(matches(id), is_supported, "{gpu}");
    }
    assert!(!matches("2b00"), "Jetson Thor is not a GPU of 12.0");
}

#[test]
fn job_services_get_the_gpus_under_their_own_names() {
    let tasks: Value = serde_saphyr::from_str(&sample("skypilot")).unwrap();
    let resources = &tasks["resources"];
    assert_eq!(
        resources["image_id"],
        "docker:pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime"
    );
    assert_eq!(resources["accelerators"]["A100-80GB"], 1);
    for absent in ["P100", "GH200"] {
        // The one has no code, the other an ARM processor.
        assert_eq!(resources["accelerators"][absent], Value::Null, "{absent}");
    }
    let pod: Value = serde_json::from_str(&sample("runpod")).unwrap();
    let ids = pod["gpuTypeIds"].as_array().unwrap();
    assert!(ids.contains(&"NVIDIA H100 80GB HBM3".into()), "{ids:?}");
    assert!(ids.iter().all(|it| !it.as_str().unwrap().contains("K80")));
    // PyTorch for CUDA 12 needs 525.60.13, the first driver with CUDA 12.0.
    let versions = pod["allowedCudaVersions"].as_array().unwrap();
    assert_eq!(versions.first().unwrap(), "12.0");
    assert_eq!(versions.last().unwrap(), "13.0");
}
