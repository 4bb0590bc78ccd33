//! Custom kinds that start Pods, with the definitions that their projects publish: whoever applies one is warned, and its Pods are decided.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scene::Scene;
use super::{images, node};
use crate::gate_server::PATIENCE;

const DEFINITIONS: &str = include_str!("../../../testdata/kubernetes/workloads.yaml");

/// An object, and where the API server stores the template of its GPU Pods.
struct Kind {
    object: Value,
    template: &'static str,
    /// What its controller writes on each Pod.
    label: &'static str,
    /// The name of the container in warnings.
    container: &'static str,
}

/// One object of each kind that starts this Pod, as people write them: without what the definitions set by default.
fn kinds(pod: &Value) -> Vec<Kind> {
    let template = json!({"spec": pod["spec"]});
    let mut head = template.clone();
    head["spec"]["containers"][0]["resources"] = json!({});
    let object = |version: &str, kind: &str, spec: Value| {
        let metadata = json!({"name": "train"});
        json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
    };
    let job = json!({"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": template});
    vec![
        Kind {
            object: object(
                "jobset.x-k8s.io/v1alpha2",
                "JobSet",
                json!({"replicatedJobs": [{"name": "workers", "replicas": 2, "template": {"spec": job}}]}),
            ),
            template: "/spec/replicatedJobs/0/template/spec/template",
            label: "jobset.sigs.k8s.io/jobset-name",
            container: "workers/trainer",
        },
        Kind {
            object: object(
                "ray.io/v1",
                "RayCluster",
                json!({
                    "rayVersion": "2.46.0",
                    "headGroupSpec": {"rayStartParams": {}, "template": head},
                    "workerGroupSpecs": [{
                        "groupName": "gpus", "replicas": 1, "minReplicas": 0, "maxReplicas": 4, "rayStartParams": {}, "template": template,
                    }],
                }),
            ),
            template: "/spec/workerGroupSpecs/0/template",
            label: "ray.io/cluster",
            container: "gpus/trainer",
        },
        Kind {
            object: object(
                "kubeflow.org/v1",
                "PyTorchJob",
                json!({
                    "runPolicy": {"cleanPodPolicy": "None"},
                    "pytorchReplicaSpecs": {
                        "Master": {"replicas": 1, "restartPolicy": "OnFailure", "template": template},
                        "Worker": {"replicas": 3, "restartPolicy": "OnFailure", "template": template},
                    },
                }),
            ),
            template: "/spec/pytorchReplicaSpecs/Worker/template",
            label: "training.kubeflow.org/job-name",
            container: "Worker/trainer",
        },
        Kind {
            object: object(
                "leaderworkerset.x-k8s.io/v1",
                "LeaderWorkerSet",
                json!({"leaderWorkerTemplate": {"size": 2, "workerTemplate": template}}),
            ),
            template: "/spec/leaderWorkerTemplate/workerTemplate",
            label: "leaderworkerset.sigs.k8s.io/name",
            container: "worker/trainer",
        },
    ]
}

impl Kind {
    fn name(&self) -> &str {
        self.object["kind"].as_str().unwrap()
    }

    /// A Pod as the controller makes it of the stored object.
    fn pod(&self, scene: &Scene, namespace: &str) -> Value {
        let stored = scene
            .cluster
            .json(&["get", self.name(), "train", "-n", namespace]);
        let template = stored.pointer(self.template);
        let mut pod = template.unwrap_or_else(|| panic!("{stored:#}")).clone();
        let owner = json!({
            "apiVersion": stored["apiVersion"], "kind": stored["kind"], "name": "train", "uid": stored["metadata"]["uid"],
            "controller": true, "blockOwnerDeletion": true,
        });
        let name = format!("train-{}", self.name().to_lowercase());
        pod["metadata"] =
            json!({"name": name, "labels": {self.label: "train"}, "ownerReferences": [owner]});
        (pod["apiVersion"], pod["kind"]) = (json!("v1"), json!("Pod"));
        pod
    }
}

#[test]
fn who_applies_a_custom_kind_is_warned_and_its_pods_are_decided() {
    let prepare = |cluster: &testkit::kubernetes::Kubernetes| cluster.define(DEFINITIONS);
    let Some(scene) = Scene::new(prepare) else {
        return;
    };
    scene.create_read("enforce", &scene.pod("p"), &[]);
    let kinds = kinds(&images::pod(&images::image(&scene.registry)));
    for kind in &kinds {
        for mode in ["audit", "warn", "enforce"] {
            let (accepted, text) = scene.create(mode, &kind.object, &[]);
            let what = format!("{mode} {}: {text}", kind.name());
            assert!(accepted, "{what}");
            let warning = format!("Warning: imgcheck: {}: ", kind.container);
            assert_eq!(text.contains(&warning), mode != "audit", "{what}");
            assert_eq!(
                text.contains("its Pods will be denied"),
                mode == "enforce",
                "{what}"
            );
            let (accepted, text) = scene.create(mode, &kind.pod(&scene, mode), &[]);
            let what = format!("{mode} Pod of {}: {text}", kind.name());
            assert_eq!(accepted, mode != "enforce", "{what}");
            assert_eq!(text.contains("470.82.01"), mode != "audit", "{what}");
            assert_eq!(
                text.contains("Warning: imgcheck: trainer"),
                mode == "warn",
                "{what}"
            );
        }
    }
    let log = scene.cluster.audit();
    let audited = |namespace: &str, resource: &str, key: &str| {
        let is_meant = |it: &&Value| {
            let object = &it["objectRef"];
            object["namespace"] == namespace
                && object["resource"] == resource
                && it["verb"] == "create"
        };
        let values = log.iter().filter(is_meant);
        let mut values = values.filter_map(|it| it["annotations"][key].as_str());
        values.next_back().map(str::to_owned)
    };
    for kind in &kinds {
        let resource = format!("{}s", kind.name().to_lowercase());
        for mode in ["audit", "warn", "enforce"] {
            let value =
                |key: &str| audited(mode, &resource, &format!("workloads.imgcheck.io/{key}"));
            assert_eq!(value("mode").as_deref(), Some(mode), "{resource}");
            assert_eq!(
                value("verdict").as_deref(),
                Some("fail"),
                "{resource} {mode}"
            );
            let classes = value("classes").unwrap();
            assert!(
                classes.contains("trainer: 0 of 1"),
                "{resource} {mode}: {classes}"
            );
        }
    }
    let denied = audited("enforce", "pods", "gpu-pods.imgcheck.io/verdict");
    assert_eq!(denied.as_deref(), Some("fail"));
    nothing_that_leaves_the_pods_alone_is_judged(&scene, &kinds);
    a_node_on_which_they_run_ends_it(&scene, &kinds);
}

/// Labels, the number of Pods and the status change all the time.
fn nothing_that_leaves_the_pods_alone_is_judged(scene: &Scene, kinds: &[Kind]) {
    let kubectl = |arguments: &[&str]| {
        let output = scene.cluster.kubectl(arguments, "");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {text}");
        assert!(!text.contains("Warning"), "{arguments:?}: {text}");
    };
    for kind in kinds {
        kubectl(&["-n", "enforce", "label", kind.name(), "train", "team=x"]);
    }
    kubectl(&[
        "-n",
        "enforce",
        "scale",
        "leaderworkerset",
        "train",
        "--replicas=3",
    ]);
}

fn a_node_on_which_they_run_ends_it(scene: &Scene, kinds: &[Kind]) {
    let new = node("new", "NVIDIA-H100-80GB-HBM3", "570.124.06");
    scene.cluster.apply(&new);
    for kind in kinds {
        let start = Instant::now();
        while !scene.create("enforce", &kind.pod(scene, "enforce"), &[]).0 {
            assert!(start.elapsed() < PATIENCE, "{}", kind.name());
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}
