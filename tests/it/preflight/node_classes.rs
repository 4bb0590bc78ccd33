//! Where a Pod may land, and on which of these nodes it runs.

use std::fs;

use serde_json::{Value, json};

use super::kubernetes::{GPU, pod};
use super::{Input, classes, containers, findings};

const NODES: &str = r#"
clusters:
  prod:
    nodes:
      - {name: a100-old, gpu: a100, driver: 470.82.01, labels: {pool: old}}
      - {name: h100, gpu: h100, driver: 570.124.06, labels: {pool: new, size: "8"}, taints: ["team=x:NoSchedule"]}
      - {name: arm, gpu: gh200, driver: 570.124.06, arch: arm64, labels: {pool: arm}}
      - {name: cpu, labels: {pool: cpu}}
"#;

/// The classes that a Pod may land on, for a GPU container.
fn reachable(spec: &str) -> Vec<String> {
    let input = Input::new(&pod(GPU, spec));
    input.write("nodes.yaml", NODES);
    let (_, report) = input.json(&["--config", "nodes.yaml"]);
    classes(containers(&report)[0])
}

#[test]
fn scheduling_constraints_filter_the_classes() {
    let tolerated = "tolerations: [{key: team, operator: Exists}]";
    for (spec, expected) in [
        ("restartPolicy: Never", vec!["a100-old fail", "arm fail"]),
        (tolerated, vec!["a100-old fail", "h100 pass", "arm fail"]),
        (
            "tolerations: [{key: team, value: y}]",
            vec!["a100-old fail", "arm fail"],
        ),
        ("nodeSelector: {pool: old}", vec!["a100-old fail"]),
        (
            "nodeSelector: {kubernetes.io/arch: arm64}",
            vec!["arm fail"],
        ),
        ("nodeSelector: {pool: nowhere}", vec![]),
        ("nodeName: a100-old", vec!["a100-old fail"]),
        (
            "tolerations: [{operator: Exists}]\naffinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: size, operator: Gt, values: ['4']}]}]}}}",
            vec!["h100 pass"],
        ),
        (
            "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: NotIn, values: [old]}]}, {matchFields: [{key: metadata.name, operator: In, values: [a100-old]}]}]}}}",
            vec!["a100-old fail", "arm fail"],
        ),
    ] {
        assert_eq!(reachable(spec), expected, "{spec}");
    }
}

#[test]
fn a_gpu_container_that_runs_nowhere_fails_at_its_request() {
    let input = Input::new(&pod(GPU, "nodeSelector: {pool: old}"));
    input.write("nodes.yaml", NODES);
    let (code, report) = input.json(&["--config", "nodes.yaml"]);
    let container = containers(&report)[0];
    assert_eq!((code, &container["verdict"]), (1, &"fail".into()));
    assert_eq!(findings(container), ["deploy-no-node-class 9:28"]);
    let reason = container["node_classes"][0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("470.82.01") && reason.contains("525.60.13"),
        "{reason}"
    );
}

#[test]
fn one_class_is_enough_and_the_affinity_to_paste_selects_it() {
    let input = Input::new(&pod(GPU, "tolerations: [{operator: Exists}]"));
    input.write("nodes.yaml", NODES);
    let (code, report) = input.json(&["--config", "nodes.yaml"]);
    let container = containers(&report)[0];
    assert_eq!(
        (code, findings(container)),
        (0, vec!["deploy-some-node-classes 9:28".to_owned()])
    );
    let help = container["findings"][0]["help"].as_str().unwrap();
    let affinity = help.split_once("affinity: ").unwrap().1;
    input.write(
        "deploy.yaml",
        &pod(
            GPU,
            &format!("tolerations: [{{operator: Exists}}]\naffinity: {affinity}"),
        ),
    );
    let (code, report) = input.json(&["--config", "nodes.yaml"]);
    let container = containers(&report)[0];
    assert_eq!((code, findings(container)), (0, vec![]), "{affinity}");
    assert_eq!(classes(container), ["h100 pass"]);
}

/// All containers of a Pod run on one node, also one that requests no GPU itself.
#[test]
fn a_container_beside_one_with_a_gpu_lands_on_no_class_without() {
    let beside = "tolerations: [{operator: Exists}]\ninitContainers: [{name: fetch, image: IMAGE}]";
    let input = Input::new(&pod(GPU, beside));
    input.write("nodes.yaml", NODES);
    let (_, report) = input.json(&["--config", "nodes.yaml"]);
    for container in containers(&report) {
        let classes = classes(container);
        assert!(
            !classes.iter().any(|it| it.starts_with("cpu")),
            "{classes:?}"
        );
    }
}

#[test]
fn a_declared_class_has_no_number_of_nodes() {
    let input = Input::new(&pod(GPU, "tolerations: [{operator: Exists}]"));
    input.write("nodes.yaml", NODES);
    let with = ["--config", "nodes.yaml"];
    let (_, report) = input.json(&with);
    assert_eq!(
        containers(&report)[0]["node_classes"][1]["nodes"],
        Value::Null
    );
    let (_, text, _) = input.run(&[&with[..], &["deploy.yaml"]].concat());
    assert!(text.contains("yes      h100      declared\n"), "{text}");
}

#[test]
fn a_gpu_or_driver_of_the_command_line_replaces_declared_classes() {
    let input = Input::new(&pod(GPU, "tolerations: [{operator: Exists}]"));
    input.write("nodes.yaml", NODES);
    let with = |option: &[&str]| input.json(&[&["--config", "nodes.yaml"], option].concat());
    let (code, report) = with(&["--gpu", "a100", "--driver", "470.82.01"]);
    let container = containers(&report)[0];
    assert_eq!((code, &container["node_classes"]), (1, &Value::Null));
    assert_eq!(findings(container), ["driver-too-old 8:14"]);
    let (code, report) = with(&["--gpu", "h100"]);
    assert_eq!((code, findings(containers(&report)[0])), (0, vec![]));
    for option in ["--gpu=h100", "--driver=570.124.06"] {
        let cluster = ["--config", "nodes.yaml", "--cluster", "prod", "deploy.yaml"];
        let (code, _, error) = input.run(&[&[option], &cluster[..]].concat());
        assert_eq!(code, 2);
        assert!(error.contains("leave out --nodes, --cluster"), "{error}");
    }
}

#[test]
fn no_affinity_leaves_out_a_class_without_labels() {
    let input = Input::new(&pod(GPU, ""));
    let nodes = "clusters: {c: {nodes: [{name: old, gpu: a100, driver: 470.82.01}, {name: new, gpu: h100, driver: 570.124.06, labels: {pool: h100}}]}}\n";
    input.write("nodes.yaml", nodes);
    let (_, report) = input.json(&["--config", "nodes.yaml"]);
    let container = containers(&report)[0];
    assert_eq!(findings(container), ["deploy-some-node-classes 8:28"]);
    assert_eq!(
        container["findings"][0]["help"],
        "label the nodes on which it runs, and select them with a nodeSelector"
    );
}

#[test]
fn a_container_without_a_gpu_needs_its_architecture_only() {
    let input = Input::new(&pod("command: [sleep, inf]", "nodeSelector: {pool: arm}"));
    input.write("nodes.yaml", NODES);
    let (code, report) = input.json(&["--config", "nodes.yaml"]);
    let found = findings(containers(&report)[0]);
    assert!(
        found.contains(&"deploy-wrong-architecture 8:14".to_owned()),
        "{found:?}"
    );
    assert_eq!(code, 1);
}

#[test]
fn nodes_as_kubectl_prints_them() {
    let input = Input::new(&pod(GPU, ""));
    let nodes = crate::program::repository("testdata/preflight/nodes.json");
    let (code, report) = input.json(&["--nodes", nodes.to_str().unwrap()]);
    assert_eq!(code, 0);
    assert_eq!(
        classes(containers(&report)[0]),
        [
            "NVIDIA-A100-SXM4-40GB (driver 470.82.01) fail",
            "NVIDIA-A100-SXM4-80GB (driver 535.104.05) pass",
            "NVIDIA-H100-80GB-HBM3 (driver 570.124.06) pass",
        ]
    );
    // Only the nodes count on which the Pod can land.
    let text = fs::read_to_string(&nodes).unwrap();
    let mut list: Value = serde_json::from_str(&text).unwrap();
    let taint = json!({"key": "team", "value": "x", "effect": "NoSchedule"});
    let spec = |list: &mut Value, name: &str, taint: Value| {
        let mut items = list["items"].as_array_mut().unwrap().iter_mut();
        let node = items.find(|it| it["metadata"]["name"] == name).unwrap();
        let taints = node["spec"]["taints"].as_array_mut().unwrap();
        taints.push(taint);
    };
    let counts = |input: &Input| {
        let (_, report) = input.json(&["--nodes", "nodes.json"]);
        let classes = containers(&report)[0]["node_classes"].clone();
        let classes = classes.as_array().unwrap().iter();
        let counts: Vec<u64> = classes.map(|it| it["nodes"].as_u64().unwrap()).collect();
        counts
    };
    input.write("nodes.json", &list.to_string());
    assert_eq!(counts(&input), [1, 2, 1]);
    spec(&mut list, "gpu-a-2", taint.clone());
    input.write("nodes.json", &list.to_string());
    assert_eq!(counts(&input), [1, 1, 1]);
    spec(&mut list, "gpu-a-1", taint);
    input.write("nodes.json", &list.to_string());
    assert_eq!(counts(&input), [1, 1]);
    // A ResourceSlice knows what the labels of its node do not.
    let slice = r#"{"kind": "List", "items": [
      {"kind": "Node", "metadata": {"name": "n", "labels": {"kubernetes.io/arch": "amd64"}}, "status": {"allocatable": {"nvidia.com/gpu": "1"}}},
      {"kind": "Node", "metadata": {"name": "m"}, "status": {"allocatable": {"nvidia.com/gpu": "1"}}},
      {"kind": "ResourceSlice", "spec": {"driver": "gpu.nvidia.com", "nodeName": "n", "devices": [{"name": "gpu-0", "attributes": {
        "productName": {"string": "NVIDIA H100 80GB HBM3"}, "cudaComputeCapability": {"version": "9.0.0"}, "driverVersion": {"version": "580.105.8"}}}]}}]}"#;
    input.write("nodes.json", slice);
    let (code, report) = input.json(&["--nodes", "nodes.json"]);
    let container = containers(&report)[0];
    assert_eq!(
        (code, classes(container)),
        (
            0,
            vec![
                "unknown GPU (driver unknown, unknown architecture) incomplete".to_owned(),
                "NVIDIA H100 80GB HBM3 (driver 580.105.8, amd64) pass".to_owned()
            ]
        )
    );
    assert_eq!(findings(container), ["deploy-node-class-unknown 8:28"]);
}

#[test]
fn a_misspelled_gpu_resource_is_one_if_a_node_has_it() {
    let limits = "resources: {limits: {nvidia.com/gpu-count: 1}}";
    let input = Input::new(&pod(limits, ""));
    let (code, report) = input.json(&[]);
    let found = (code, findings(containers(&report)[0]));
    assert_eq!(
        found,
        (0, vec!["deploy-gpu-resource-misspelled 8:28".to_owned()])
    );
    let nodes = r#"{"kind": "Node", "metadata": {"name": "n", "labels": {"kubernetes.io/arch": "amd64"}}, "status": {"allocatable": {"RESOURCE": "1"}}}"#;
    for (resource, expected) in [("nvidia.com/gpu", 1), ("nvidia.com/gpu-count", 0)] {
        input.write("nodes.json", &nodes.replace("RESOURCE", resource));
        let (_, report) = input.json(&["--nodes", "nodes.json"]);
        let found = findings(containers(&report)[0]);
        let misspelled = found.iter().filter(|it| it.contains("misspelled"));
        assert_eq!(misspelled.count(), expected, "{found:?}");
    }
}

/// No pass stands above a container that no node can take, and no class runs it.
#[test]
fn what_no_node_can_take_does_not_pass() {
    let misspelled = "resources: {limits: {nvidia.com/gpus: 1}}";
    let nowhere = "nodeSelector: {pool: nowhere}";
    let none = "the scheduler can choose none of the nodes";
    for (container, spec, with, expected) in [
        (misspelled, "", &[][..], ""),
        (misspelled, "", &["--config", "nodes.yaml"], none),
        (GPU, nowhere, &["--config", "nodes.yaml"], none),
        ("tty: true", nowhere, &["--config", "nodes.yaml"], none),
    ] {
        let input = Input::new(&pod(container, spec));
        input.write("nodes.yaml", NODES);
        let (code, text, _) = input.run(&[with, &["deploy.yaml"]].concat());
        let word = text.lines().find_map(|it| it.strip_suffix(super::IMAGE));
        assert_eq!((code, word), (0, Some("WARNING  c  ")), "{text}");
        assert!(text.contains(expected) && !text.contains("yes "), "{text}");
        let (_, report) = input.json(with);
        let classes = containers(&report)[0]["node_classes"].as_array().cloned();
        assert!(classes.unwrap_or_default().is_empty(), "{report}");
    }
}

/// The labels of a node are wrong about its GPU or its driver, so it is not known whether the image runs there: neither a pass nor a failure.
#[test]
fn a_node_whose_gpu_and_driver_do_not_go_together() {
    let on_with = |driver: &str, arguments: &[&str]| {
        let slice = r#"{"kind": "List", "items": [
          {"kind": "Node", "metadata": {"name": "n", "labels": {"kubernetes.io/arch": "amd64"}}, "status": {"allocatable": {"nvidia.com/gpu": "1"}}},
          {"kind": "ResourceSlice", "spec": {"driver": "gpu.nvidia.com", "nodeName": "n", "devices": [{"name": "gpu-0", "attributes": {
            "productName": {"string": "Tesla V100-SXM2-16GB"}, "cudaComputeCapability": {"version": "7.0.0"}, "driverVersion": {"version": "DRIVER"}}}]}}]}"#;
        let input = Input::new(&pod(GPU, ""));
        input.write("nodes.json", &slice.replace("DRIVER", driver));
        input.write(
            "config.yaml",
            "ignore: [{rule: deploy-node-class-unknown, reason: they are drained}]\n",
        );
        input.json(&[&["--nodes", "nodes.json"], arguments].concat())
    };
    let on = |driver: &str| on_with(driver, &[]);
    // A strict check wants an answer, or to be told that nobody needs one.
    assert_eq!(on_with("595.71.5", &["--strict"]).0, 3);
    assert_eq!(on_with("580.65.6", &["--strict"]).0, 0);
    let ignored = on_with("595.71.5", &["--strict", "--config", "config.yaml"]);
    assert_eq!(ignored.0, 0);
    let (code, report) = on("595.71.5");
    let container = containers(&report)[0];
    assert_eq!(code, 0);
    assert_eq!(
        classes(container),
        ["Tesla V100-SXM2-16GB (driver 595.71.5) incomplete"]
    );
    let found = findings(container);
    assert!(
        matches!(&found[..], [only] if only.starts_with("deploy-node-class-unknown ")),
        "{found:?}"
    );
    let said = container.to_string();
    let sentence = "driver 595.71.5 is too new for V100: branch 580 is the last that supports Volta, so the labels of its nodes contradict each other";
    assert!(said.contains(sentence), "{said}");
    let (code, report) = on("580.65.6");
    let expected = ["Tesla V100-SXM2-16GB (driver 580.65.6) pass"];
    assert_eq!(
        (code, classes(containers(&report)[0])),
        (0, expected.map(str::to_owned).to_vec())
    );
}

/// One of the two nodes is tainted, and both have eight GPUs.
#[test]
fn a_class_is_refused_for_the_reason_that_all_its_nodes_share() {
    let nodes = crate::program::repository("testdata/preflight/nodes.json");
    let mut list: Value = serde_json::from_str(&fs::read_to_string(nodes).unwrap()).unwrap();
    let mut items = list["items"].as_array_mut().unwrap().iter_mut();
    let node = items.find(|it| it["metadata"]["name"] == "gpu-a-1");
    let taints = node.unwrap()["spec"]["taints"].as_array_mut().unwrap();
    taints.push(json!({"key": "team", "value": "x", "effect": "NoSchedule"}));
    let message = |container: &str, spec: &str| {
        let input = Input::new(&pod(container, spec));
        input.write("nodes.json", &list.to_string());
        let (_, report) = input.json(&["--nodes", "nodes.json"]);
        let found = containers(&report)[0]["findings"].as_array().unwrap();
        let mut found = found.iter();
        let finding = found.find(|it| it["rule"] == "deploy-no-node-class");
        finding.unwrap()["message"].as_str().unwrap().to_owned()
    };
    let a100 = "NVIDIA-A100-SXM4-80GB (driver 535.104.05)";
    let said = message("resources: {limits: {nvidia.com/gpu: 16}}", "");
    let expected = format!("{a100}: it does not have 16 nvidia.com/gpu");
    assert!(said.contains(&expected), "{said}");
    let said = message(
        GPU,
        "nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-80GB}",
    );
    let expected = format!(
        "{a100}: its label nvidia.com/gpu.product is NVIDIA-A100-SXM4-80GB, not NVIDIA-A100-80GB"
    );
    assert!(said.contains(&expected), "{said}");
}
