//! Queues of Kueue in a cluster: a workload runs only on the nodes of the flavors of its queue.

use std::path::Path;

use testkit::kubernetes::Kubernetes;

use super::live::{classes, preflight};
use super::{node, server};

const DEFINITIONS: &str = include_str!("../../../testdata/kubernetes/kueue.yaml");

/// Two queues of one namespace, one for each kind of node, and a queue of the namespace `default` for both.
const QUEUES: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: ml}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: a100}
spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: h100}
spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: old}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu, memory]
      flavors: [{name: any, resources: [{name: cpu, nominalQuota: 9}, {name: memory, nominalQuota: 36Gi}]}]
    - {coveredResources: [nvidia.com/gpu], flavors: [{name: a100, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: both}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors:
        - {name: a100, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}
        - {name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: research, namespace: ml}
spec: {clusterQueue: old}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: research, namespace: default}
spec: {clusterQueue: both}
"#;

const OLD: &str = "NVIDIA-A100-SXM4-80GB (driver 470.82.01) fail";
const NEW: &str = "NVIDIA-H100-80GB-HBM3 (driver 570.124.06) pass";

/// A cluster with two kinds of GPU nodes.
fn cluster() -> Option<Kubernetes> {
    let server = server()?;
    let old = node("old", "NVIDIA-A100-SXM4-80GB", "470.82.01");
    let new = node("new", "NVIDIA-H100-80GB-HBM3", "570.124.06");
    server.apply(&(old + &new));
    Some(server)
}

/// A Job in a queue; without a namespace if that is empty.
fn job(namespace: &str) -> String {
    let namespace = match namespace {
        "" => String::new(),
        name => format!("namespace: {name}, "),
    };
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: train, {namespace}labels: {{kueue.x-k8s.io/queue-name: research}}}}\n\
         spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: IMAGE, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]}}}}}}\n"
    )
}

#[test]
fn preflight_follows_a_workload_to_the_nodes_of_its_queue() {
    let Some(server) = cluster() else { return };
    let reachable = |kubeconfig: &Path, namespace: &str| {
        let (_, report, error) = preflight(&server, kubeconfig, &job(namespace), &[]);
        assert!(report["workloads"].is_array(), "{error}");
        classes(&report)
    };
    let account = server.kubeconfig("imgcheck");
    // A cluster without Kueue: any node may be meant.
    assert_eq!(reachable(&account, "ml"), [OLD, NEW]);
    server.define(DEFINITIONS);
    assert_eq!(reachable(&account, "ml"), [OLD, NEW]);
    server.apply(QUEUES);
    assert_eq!(reachable(&account, "ml"), [OLD]);
    assert_eq!(reachable(&account, "default"), [OLD, NEW]);
    assert_eq!(reachable(&account, "elsewhere"), [OLD, NEW]);
    // Without a namespace it is created in that of the kubeconfig.
    server.apply("apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: research, namespace: imgcheck}\nspec: {clusterQueue: old}\n");
    assert_eq!(reachable(&account, ""), [OLD]);
    assert_eq!(reachable(&server.kubeconfig("admin"), ""), [OLD, NEW]);

    // Who may not list queues is told so, if a workload names one.
    let rules = r#"[{"op": "replace", "path": "/rules/3/resources", "value": ["localqueues"]}]"#;
    let patch = [
        "patch",
        "clusterrole",
        "imgcheck",
        "--type=json",
        "-p",
        rules,
    ];
    assert!(server.kubectl(&patch, "").status.success());
    let (code, _, error) = preflight(&server, &account, &job("ml"), &[]);
    assert_eq!(code, 3, "{error}");
    assert!(
        error.contains("cannot list resource \"clusterqueues\""),
        "{error}"
    );
    let plain = job("ml").replace("kueue.x-k8s.io/queue-name", "team");
    let (code, _, error) = preflight(&server, &account, &plain, &[]);
    assert_eq!(code, 0, "{error}");
}

#[cfg(feature = "gate")]
#[test]
fn the_gate_follows_a_workload_to_the_nodes_of_its_queue() {
    use serde_json::json;

    use super::scene::Scene;
    use super::{images, wait_until};

    let prepare = |server: &Kubernetes| {
        server.define(DEFINITIONS);
        let new = node("new", "NVIDIA-H100-80GB-HBM3", "570.124.06");
        server.apply(&format!("{QUEUES}{new}"));
    };
    let Some(scene) = Scene::new(prepare) else {
        return;
    };
    let queue = |name: &str, cluster_queue: &str| {
        scene.cluster.apply(&format!(
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {{name: {name}, namespace: enforce}}\nspec: {{clusterQueue: {cluster_queue}}}\n"
        ));
    };
    queue("research", "old");
    queue("other", "both");
    let pod = images::pod(&images::image(&scene.registry));
    let job = |name: &str, queue: &str| {
        json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
            "spec": {"suspend": true, "template": {"spec": {"containers": pod["spec"]["containers"], "restartPolicy": "Never"}}},
        })
    };
    let applied = |object: &serde_json::Value| {
        let (accepted, text) = scene.create_read("enforce", object, &["--dry-run=server"]);
        assert!(accepted, "{text}");
        text
    };
    // Has the image read.
    scene.create_read("enforce", &scene.pod("p"), &[]);
    wait_until("the queue is known", || {
        let text = applied(&job("j", "research"));
        text.contains("470.82.01") && text.contains("its Pods will be denied")
    });
    assert!(!applied(&job("j", "other")).contains("denied"));
    // Nothing is known about this queue, so any node may be meant.
    assert!(!applied(&job("j", "unknown")).contains("denied"));
    // A Pod in a queue of its own.
    let mut queued = scene.pod("q");
    queued["metadata"]["labels"] = json!({"kueue.x-k8s.io/queue-name": "research"});
    let (accepted, text) = scene.create("enforce", &queued, &[]);
    assert!(!accepted && text.contains("470.82.01"), "{text}");

    // The queue gets nodes on which it runs.
    let flavors =
        r#"[{"op": "replace", "path": "/spec/resourceGroups/1/flavors/0/name", "value": "h100"}]"#;
    let patch = ["patch", "clusterqueue", "old", "--type=json", "-p", flavors];
    assert!(scene.cluster.kubectl(&patch, "").status.success());
    wait_until("the flavor is known", || {
        scene.create("enforce", &queued, &[]).0
    });
}
