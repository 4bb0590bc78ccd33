//! `imgcheck preflight --kubeconfig`.

use std::path::Path;

use serde_json::Value;
use testkit::kubernetes::Kubernetes;

use super::{node, server};
use crate::program::{imgcheck, repository};

const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  runtimeClassName: nvidia
  containers:
    - {name: c, image: IMAGE, resources: {limits: {nvidia.com/gpu: 1}}}
";
const IMAGE: &str = "registry.example/ml/pytorch:2.8.0-cuda12.8";

/// Exit code, JSON report and standard error of an object with the image `IMAGE` on the cluster.
pub fn preflight(
    server: &Kubernetes,
    kubeconfig: &Path,
    object: &str,
    arguments: &[&str],
) -> (i32, Value, String) {
    let (manifest, images) = (
        server.directory().join("pod.yaml"),
        server.directory().join("images.yaml"),
    );
    let sample = repository("testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar");
    std::fs::write(&manifest, object.replace("IMAGE", IMAGE)).unwrap();
    std::fs::write(&images, format!("{IMAGE}: {}\n", sample.display())).unwrap();
    let mut command = imgcheck();
    command
        .args(["preflight", "-f", "json", "--offline", "--images"])
        .arg(images);
    command
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(arguments)
        .arg(manifest);
    let output = command.output().unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!error.contains("panicked"), "{error}");
    (output.status.code().unwrap(), report, error)
}

/// The node classes of the first container, with their verdicts.
pub fn classes(report: &Value) -> Vec<String> {
    let classes = report["workloads"][0]["containers"][0]["node_classes"].as_array();
    let mut names: Vec<String> = classes
        .unwrap()
        .iter()
        .map(|it| {
            format!(
                "{} {}",
                it["name"].as_str().unwrap(),
                it["verdict"].as_str().unwrap()
            )
        })
        .collect();
    names.sort();
    names
}

#[test]
fn the_nodes_of_a_cluster_decide() {
    let Some(server) = server() else { return };
    let account = server.kubeconfig("imgcheck");
    let (code, _, error) = preflight(&server, &account, POD, &[]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("the cluster has no nodes"), "{error}");

    server.apply(&node("old", "NVIDIA-A100-SXM4-80GB", "470.82.01"));
    server.apply(&node("new", "NVIDIA-H100-80GB-HBM3", "570.124.06"));
    server.apply(&node("cpu", "", ""));
    let (code, report, error) = preflight(&server, &account, POD, &[]);
    assert_eq!(
        classes(&report),
        [
            "NVIDIA-A100-SXM4-80GB (driver 470.82.01) fail",
            "NVIDIA-H100-80GB-HBM3 (driver 570.124.06) pass"
        ],
        "{error}"
    );
    assert_eq!(code, 0, "{error}");

    // The runtime class of the cluster chooses the nodes.
    server.apply(
        "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: nvidia}\nhandler: nvidia\n\
         scheduling: {nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}}\n",
    );
    let (code, report, _) = preflight(&server, &account, POD, &[]);
    assert_eq!(
        classes(&report),
        ["NVIDIA-A100-SXM4-80GB (driver 470.82.01) fail"]
    );
    assert_eq!(code, 1);
}

#[test]
fn what_is_wrong_with_the_connection_is_said() {
    let Some(mut server) = server() else { return };
    let stranger = server.directory().join("stranger.kubeconfig");
    let text = std::fs::read_to_string(server.kubeconfig("admin")).unwrap();
    std::fs::write(
        &stranger,
        text.replace("\"token\":\"admin\"", "\"token\":\"wrong\""),
    )
    .unwrap();
    let (code, _, error) = preflight(&server, &stranger, POD, &[]);
    assert_eq!(code, 3, "{error}");
    assert!(error.contains("401 Unauthorized"), "{error}");

    let delete = server.kubectl(&["delete", "clusterrolebinding", "imgcheck"], "");
    assert!(delete.status.success());
    let (code, _, error) = preflight(&server, &server.kubeconfig("imgcheck"), POD, &[]);
    assert_eq!(code, 3, "{error}");
    assert!(error.contains("cannot list resource \"nodes\""), "{error}");

    let (code, _, error) = preflight(
        &server,
        &server.kubeconfig("admin"),
        POD,
        &["--context", "other"],
    );
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("other"), "{error}");
    let (code, _, error) = preflight(&server, Path::new("/nowhere/config"), POD, &[]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("/nowhere/config"), "{error}");

    server.stop();
    let (code, _, error) = preflight(&server, &server.kubeconfig("admin"), POD, &[]);
    assert_eq!(code, 3, "{error}");
    assert!(error.contains("refused"), "{error}");
}
