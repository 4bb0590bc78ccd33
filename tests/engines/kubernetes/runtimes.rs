//! Runtimes of TrainJobs and InferenceServices in a cluster: they have the images of those that name none.

use testkit::kubernetes::Kubernetes;

use super::live::{classes, preflight};
use super::{node, server};

const DEFINITIONS: &str = include_str!("../../../testdata/kubernetes/trainer.yaml");

/// A runtime with an image.
fn runtime(head: &str, image: &str) -> String {
    format!(
        "---\napiVersion: trainer.kubeflow.org/v1alpha1\n{head}\nspec: {{template: {{spec: {{replicatedJobs: [{{name: node, template: {{metadata: {{labels: {{\
         trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}}, spec: {{template: {{spec: {{containers: [{{name: node, image: '{image}', \
         resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]}}}}}}}}}}]}}}}}}\n"
    )
}

/// A job that names a runtime and no image.
const JOB: &str = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: train}\nspec: {runtimeRef: {name: torch}}\n";

const OLD: &str = "NVIDIA-A100-SXM4-80GB (driver 470.82.01)";

#[test]
fn preflight_reads_the_runtime_of_a_job_from_the_cluster() {
    let Some(server) = server() else { return };
    server.apply(&node("old", "NVIDIA-A100-SXM4-80GB", "470.82.01"));
    let account = server.kubeconfig("imgcheck");
    let containers = |job: &str| {
        let (code, report, error) = preflight(&server, &account, job, &[]);
        let containers = &report["workloads"][0]["containers"];
        (code, containers.clone(), report, error)
    };
    // A cluster without Kubeflow Trainer.
    let (_, found, ..) = containers(JOB);
    assert!(
        found[0]["image"].as_str().unwrap_or_default().is_empty(),
        "{found}"
    );

    server.define(DEFINITIONS);
    let image = "registry.example/ml/pytorch:2.8.0-cuda12.8";
    let cluster = "kind: ClusterTrainingRuntime\nmetadata: {name: torch}";
    server.apply(&runtime(cluster, image));
    let (code, found, report, error) = containers(JOB);
    assert_eq!(found[0]["image"], image, "{error}");
    assert_eq!(classes(&report), [format!("{OLD} fail")]);
    assert_eq!(code, 1, "{error}");

    // A runtime of the namespace is another one.
    let own = JOB.replace("name: torch", "kind: TrainingRuntime, name: torch");
    let (_, found, ..) = containers(&own);
    assert!(
        found[0]["image"].as_str().unwrap_or_default().is_empty(),
        "{found}"
    );
    let namespaced = "kind: TrainingRuntime\nmetadata: {name: torch, namespace: imgcheck}";
    server.apply(&runtime(namespaced, image));
    let (code, found, _, error) = containers(&own);
    assert_eq!((code, &found[0]["image"]), (1, &image.into()), "{error}");
}

/// The group of KServe has its runtimes in another version than its services.
#[test]
fn preflight_reads_the_runtime_of_a_service_from_the_cluster() {
    let Some(server) = server() else { return };
    server.apply(&node("old", "NVIDIA-A100-SXM4-80GB", "470.82.01"));
    let account = server.kubeconfig("imgcheck");
    let service = "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: s}\nspec: {predictor: {model: {runtime: torch, resources: {limits: {nvidia.com/gpu: 1}}}}}\n";
    let image = || {
        let (_, report, error) = preflight(&server, &account, service, &[]);
        let container = report["workloads"][0]["containers"][0].clone();
        let image = container["image"].as_str().unwrap_or_default().to_owned();
        (image, report, error)
    };
    // A cluster without KServe.
    let (found, _, error) = image();
    assert_eq!(found, "", "{error}");
    server.define(include_str!("../../../testdata/kubernetes/serving.yaml"));
    let (found, _, error) = image();
    assert_eq!(found, "", "{error}");
    let expected = "registry.example/ml/pytorch:2.8.0-cuda12.8";
    server.apply(&format!(
        "apiVersion: serving.kserve.io/v1alpha1\nkind: ClusterServingRuntime\nmetadata: {{name: torch}}\nspec: {{containers: [{{name: kserve-container, image: '{expected}'}}]}}\n"
    ));
    let (found, report, error) = image();
    assert_eq!(found, expected, "{error}");
    assert_eq!(classes(&report), [format!("{OLD} fail")]);
}

#[cfg(feature = "gate")]
#[test]
fn the_gate_warns_of_a_job_by_its_runtime() {
    use serde_json::json;

    use super::scene::Scene;
    use super::{images, wait_until};

    let Some(scene) = Scene::new(|server: &Kubernetes| server.define(DEFINITIONS)) else {
        return;
    };
    scene.create_read("enforce", &scene.pod("p"), &[]);
    let head = "kind: TrainingRuntime\nmetadata: {name: torch, namespace: enforce}";
    scene
        .cluster
        .apply(&runtime(head, &images::image(&scene.registry)));
    let job = json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "train"},
        "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": "torch"}},
    });
    wait_until("the runtime is known", || {
        let (accepted, text) = scene.create_read("enforce", &job, &["--dry-run=server"]);
        assert!(accepted, "{text}");
        text.contains("node/node") && text.contains("its Pods will be denied")
    });
}
