//! Kubernetes: what is read of a Pod, and where it may run.

use std::fs;

use serde_json::{Value, json};

use super::{Input, classes, containers, findings};

/// A Pod with one container, whose lines stand below `containers[0]` and below `spec`.
fn pod(container: &str, spec: &str) -> String {
    let indent = |text: &str, by: &str| {
        let lines = text.lines().map(|line| format!("{by}{line}\n"));
        lines.collect::<String>()
    };
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n{}  containers:\n    - name: c\n      image: IMAGE\n{}",
        indent(spec, "  "),
        indent(container, "      "),
    )
}

const GPU: &str = "resources: {limits: {nvidia.com/gpu: 1}}";

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
fn a_volume_over_the_search_path_of_python_may_bring_the_module() {
    let volumes = "volumes: [{name: code, persistentVolumeClaim: {claimName: code}}]";
    for (mount, rules, gaps) in [
        ("/src", vec![], 1),
        ("/src/train", vec![], 1),
        ("/data", vec!["python-import-fails"], 0),
    ] {
        for start in [
            "command: [python3, -m, train]\nworkingDir: /src",
            "command: [python3, -m, train]\nenv: [{name: PYTHONPATH, value: /src}]",
        ] {
            let mounts = format!("{start}\nvolumeMounts: [{{name: code, mountPath: {mount}}}]");
            let (_, report) = Input::new(&pod(&mounts, volumes)).json(&[]);
            let container = containers(&report)[0];
            let is_import = |it: &String| it.contains("python-import-fails");
            let mut found = findings(container);
            found.retain(is_import);
            assert_eq!(found.len(), rules.len(), "{start} {mount}: {found:?}");
            let count = container["gaps"].as_array().unwrap().iter();
            let count = count.filter(|it| it["code"] == "overlay-unknown").count();
            assert!(count >= gaps, "{start} {mount}: {container}");
        }
    }
}

/// A script that the image does not have comes from a volume, or Python ends at once.
#[test]
fn a_script_of_python_is_in_the_image_or_in_a_volume() {
    let volumes = "volumes: [{name: code, persistentVolumeClaim: {claimName: code}}]";
    for (start, mount, fails, gap) in [
        (
            "command: [python3, train.py]\nworkingDir: /usr",
            "/data",
            true,
            "launch-not-understood",
        ),
        (
            "command: [python3, train.py]\nworkingDir: /usr",
            "/usr/train.py",
            false,
            "overlay-unknown",
        ),
        (
            "command: [python3, /src/train.py]",
            "/src",
            false,
            "overlay-unknown",
        ),
        // The directory may be one that a link leads to.
        (
            "command: [python3, /src/train.py]",
            "/data",
            false,
            "launch-not-understood",
        ),
        // The image has no `ray`, so no Python starts.
        (
            "command: [ray, job, submit, --, python3, /usr/train.py]",
            "/data",
            false,
            "launch-not-understood",
        ),
        ("command: [python3, -c, pass]", "/data", false, ""),
    ] {
        let mounts = format!("{start}\nvolumeMounts: [{{name: code, mountPath: {mount}}}]");
        let (_, report) = Input::new(&pod(&mounts, volumes)).json(&[]);
        let container = containers(&report)[0];
        let found = findings(container);
        let is_script = |it: &String| it.starts_with("deploy-script-missing");
        assert_eq!(
            found.iter().any(is_script),
            fails,
            "{start} {mount}: {container}"
        );
        let gaps = container["gaps"].as_array().into_iter().flatten();
        let codes: Vec<&str> = gaps.filter_map(|it| it["code"].as_str()).collect();
        let expected = [gap].into_iter().filter(|it| !it.is_empty());
        assert_eq!(
            codes,
            expected.collect::<Vec<_>>(),
            "{start} {mount}: {container}"
        );
    }
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
fn every_container_of_every_object_is_judged() {
    let container = |name: &str| format!("{{name: {name}, image: IMAGE}}");
    let list = |name: &str| format!("[{}]", container(name));
    let text = format!(
        "apiVersion: v1\nkind: List\nitems:\n  - {{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{initContainers: {}, containers: {}, ephemeralContainers: {}}}}}\n---\n# nothing\n---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: j}}\nspec: {{jobTemplate: {{spec: {{template: {{spec: {{containers: {}}}}}}}}}}}\n---\n{{\"apiVersion\": \"team.example/v1\", \"kind\": \"Own\", \"spec\": {{\"parts\": [{{\"name\": \"x\", \"pod\": {{\"containers\": [{{\"name\": \"d\", \"image\": \"IMAGE\"}}]}}}}]}}}}\n",
        list("a"),
        list("b"),
        list("e"),
        list("c")
    );
    let (_, report) = Input::new(&text).json(&[]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = containers(&report);
    let found: Vec<_> = all
        .iter()
        .map(|it| (text(&it["name"]), text(&it["role"]), text(&it["group"])))
        .collect();
    let expected = [
        ("a", "init", ""),
        ("b", "main", ""),
        ("e", "ephemeral", ""),
        ("c", "main", ""),
        ("d", "main", "x"),
    ];
    let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn the_environment_of_the_pod_breaks_the_loader_at_its_line() {
    let library = "LD_LIBRARY_PATH";
    let config_map = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m}}\ndata: {{{library}: /opt/other}}\n"
    );
    let from = pod("envFrom: [{configMapRef: {name: m}}]", "");
    let input = Input::new(&format!("{config_map}---\n{from}"));
    let (_, report) = input.json(&[]);
    let container = containers(&report)[0];
    assert_eq!(
        container["gaps"].as_array().unwrap().len(),
        0,
        "{container}"
    );
    // The same without the ConfigMap: it may set anything.
    let (_, report) = Input::new(&from).json(&[]);
    let gap = &containers(&report)[0]["gaps"][0];
    assert_eq!(gap["code"], "overlay-unknown");
    assert!(gap["message"].as_str().unwrap().contains("ConfigMap m"));
}

#[test]
fn secrets_are_gaps_only_if_they_decide_what_is_loaded() {
    let env = |name: &str| {
        pod(
            &format!("env: [{{name: {name}, valueFrom: {{secretKeyRef: {{name: s, key: k}}}}}}]"),
            "",
        )
    };
    for (name, count) in [("HF_TOKEN", 0), ("LD_PRELOAD", 1), ("PYTHONPATH", 1)] {
        let (_, report) = Input::new(&env(name)).json(&[]);
        let gaps = containers(&report)[0]["gaps"].as_array().unwrap();
        assert_eq!(gaps.len(), count, "{name}: {gaps:?}");
    }
}

#[test]
fn a_volume_over_the_libraries_is_said() {
    let mount = |path: &str| {
        pod(
            &format!("{GPU}\nvolumeMounts: [{{name: v, mountPath: {path}}}]"),
            "volumes: [{name: v, emptyDir: {}}]",
        )
    };
    let (code, report) = Input::new(&mount("/usr/local/")).json(&[]);
    let container = containers(&report)[0];
    assert_eq!(
        (code, findings(container)[0].as_str()),
        (0, "deploy-volume-hides-files 10:43")
    );
    let message = container["findings"][0]["message"].as_str().unwrap();
    assert!(
        message.starts_with("the emptyDir v at /usr/local hides /usr/local/"),
        "{message}"
    );
    let gaps = container["gaps"].as_array().unwrap();
    assert!(
        gaps.iter().any(|it| it["code"] == "overlay-unknown"),
        "{gaps:?}"
    );
    let (code, report) = Input::new(&mount("/data")).json(&["--strict"]);
    assert_eq!((code, findings(containers(&report)[0])), (0, vec![]));
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

/// USER of the image is looked up when the Pod does not say `runAsUser`.
#[test]
fn run_as_user_replaces_the_user_of_the_image() {
    let refused = |container: &str, spec: &str| {
        let input = Input::new(&pod(container, spec));
        let archive = input.path().join("ghost.tar");
        let config = json!({"User": "ghost", "Cmd": ["python3", "serve.py"]});
        crate::launch::archive::write(&archive, &config, &[]);
        input.write("images.yaml", &format!("IMAGE: {}\n", archive.display()));
        let (_, report) = input.json(&[]);
        let found = findings(containers(&report)[0]);
        found.iter().any(|it| it.starts_with("launch-no-such-user"))
    };
    let context = "securityContext: {runAsUser: 1000, runAsGroup: 1000}";
    assert!(refused("", ""));
    assert!(refused("securityContext: {runAsNonRoot: true}", ""));
    assert!(!refused(context, ""));
    assert!(!refused("", context));
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

#[test]
fn a_network_adapter_without_its_library_is_said_at_its_request() {
    let said = |resources: &str| {
        let input = Input::new(&pod(&format!("resources: {{limits: {{{resources}}}}}"), ""));
        let (_, report) = input.json(&[]);
        let found = findings(containers(&report)[0]);
        let mut found = found.iter();
        found.any(|it| it.starts_with("deploy-rdma-without-verbs 8:"))
    };
    assert!(said("nvidia.com/gpu: 8, rdma/hca_shared_devices_a: 1"));
    assert!(said("nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 4"));
    assert!(said("nvidia.com/gpu: 8, nvidia.com/mlnx_sriov_rdma: 1"));
    assert!(!said("nvidia.com/gpu: 8, intel.com/sriov_netdevice: 1"));
    assert!(!said("nvidia.com/gpu: 8, rdma/ib: 0"));
    assert!(!said("nvidia.com/gpu: 8"));
}
