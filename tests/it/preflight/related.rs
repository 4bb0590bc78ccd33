//! Objects of the same input that decide where and with what a workload runs: queues of Kueue, runtimes of TrainJobs.

use super::{Input, classes, containers, findings};

const NODES: &str = r#"
clusters:
  prod:
    nodes:
      - {name: a100, gpu: a100, driver: 570.124.06, labels: {pool: a100}}
      - {name: h100, gpu: h100, driver: 570.124.06, labels: {pool: h100}, taints: ["team=x:NoSchedule"]}
      - {name: l4, gpu: l4, driver: 570.124.06, labels: {pool: l4}}
"#;

const QUEUES: &str = r#"
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: research, namespace: ml}
spec: {clusterQueue: all}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: all}
spec:
  resourceGroups:
    - {coveredResources: [cpu, memory], flavors: [{name: any}]}
    - {coveredResources: [nvidia.com/gpu], flavors: [{name: a100}, {name: h100}]}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: a100}
spec: {nodeLabels: {pool: a100}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: h100}
spec: {nodeLabels: {pool: h100}, nodeTaints: [{key: team, value: x, effect: NoSchedule}]}
---
"#;

/// The classes that a Job in a queue may land on.
fn reachable(queues: &str, queue: &str, spec: &str) -> Vec<String> {
    let job = format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j, namespace: ml, labels: {{kueue.x-k8s.io/queue-name: {queue}}}}}\nspec: {{template: {{spec: {{{spec}containers: [{{name: c, image: 'IMAGE', resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]}}}}}}\n"
    );
    let input = Input::new(&job);
    input.write("queues.yaml", &format!("{queues}\n"));
    input.write("nodes.yaml", NODES);
    let (_, report) = input.json(&["queues.yaml", "--config", "nodes.yaml"]);
    classes(containers(&report)[0])
}

#[test]
fn flavors_of_its_queue_decide_where_a_job_runs() {
    let tolerated = "tolerations: [{key: team, operator: Exists}], ";
    for (queue, spec, expected) in [
        // A flavor with a taint that the Job does not tolerate is not given to it.
        ("research", "", vec!["a100 pass"]),
        ("research", tolerated, vec!["a100 pass", "h100 pass"]),
        ("research", "nodeSelector: {pool: l4}, ", vec![]),
        // Nothing is known about this queue.
        (
            "unknown",
            tolerated,
            vec!["a100 pass", "h100 pass", "l4 pass"],
        ),
    ] {
        assert_eq!(reachable(QUEUES, queue, spec), expected, "{queue} {spec}");
    }
    // The toleration of a flavor holds only on its own nodes.
    let taint = "nodeTaints: [{key: team, value: x, effect: NoSchedule}]";
    let tolerating = QUEUES.replace(
        taint,
        &format!("{taint}, {}", tolerated.trim_end_matches(", ")),
    );
    assert_eq!(
        reachable(&tolerating, "research", ""),
        ["a100 pass", "h100 pass"]
    );
    let elsewhere = QUEUES.replace(
        "spec: {nodeLabels: {pool: a100}}",
        "spec: {nodeLabels: {pool: a100}, tolerations: [{key: team, operator: Exists}]}",
    );
    assert_eq!(reachable(&elsewhere, "research", ""), ["a100 pass"]);
    // One flavor of the queue is not in the input, so any node may be meant.
    let incomplete = QUEUES.replace("metadata: {name: h100}", "metadata: {name: other}");
    assert_eq!(
        reachable(&incomplete, "research", ""),
        ["a100 pass", "l4 pass"]
    );
}

const RUNTIME: &str = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: torch}\nspec: {template: {spec: {replicatedJobs: [{name: initializer, template: {spec: {template: {spec: {containers: [{name: i, image: 'IMAGE'}]}}}}}, {name: node, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: {volumes: [{name: v, emptyDir: {}}], containers: [{name: node, image: 'IMAGE', command: [python3, train.py], env: [{name: A, value: a}], volumeMounts: [{name: v, mountPath: /usr/local}]}]}}}}}]}}}\n";

fn job(trainer: &str) -> String {
    format!(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: t, namespace: ml}}\nspec:\n  runtimeRef: {{name: torch}}\n{trainer}"
    )
}

#[test]
fn a_train_job_is_its_runtime_with_what_the_trainer_replaces() {
    let input = Input::new(&job(""));
    input.write("runtime.yaml", RUNTIME);
    let judged = |trainer: &str| {
        input.write("deploy.yaml", &job(trainer));
        let (code, report) = input.json(&["runtime.yaml"]);
        assert_eq!(report["workloads"][0]["kind"], "TrainJob", "{report:#}");
        assert_eq!(report["workloads"][0]["name"], "t");
        let all = containers(&report);
        let names: Vec<String> = all[..2]
            .iter()
            .map(|it| {
                format!(
                    "{}/{}",
                    it["group"].as_str().unwrap(),
                    it["name"].as_str().unwrap()
                )
            })
            .collect();
        assert_eq!(names, ["initializer/i", "node/node"]);
        let of_trainer = all[1];
        assert_eq!(of_trainer["image"], super::IMAGE);
        (code, findings(of_trainer))
    };
    // What the runtime says has the place of the reference to it.
    let (_, found) = judged("");
    assert!(
        found
            .iter()
            .any(|it| it == "deploy-volume-hides-files 5:15"),
        "{found:?}"
    );
    let (_, found) = judged("  trainer:\n    command: [python3, -S, train.py]\n");
    assert!(
        found
            .iter()
            .any(|it| it.starts_with("deploy-command-leaves-environment 7:")),
        "{found:?}"
    );
    let (_, found) = judged("  trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 1}}}\n");
    assert!(
        !found
            .iter()
            .any(|it| it.starts_with("deploy-gpu-not-requested")),
        "{found:?}"
    );
}

/// A TrainJob in GPUs, with its patches; what is found in its trainer, and where it runs.
fn patched(patches: &str) -> (Vec<String>, Vec<String>) {
    let gpu = "  trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 1}}}\n";
    let input = Input::new(&job(&format!("{gpu}{patches}")));
    input.write("runtime.yaml", RUNTIME);
    input.write("nodes.yaml", NODES);
    let (_, report) = input.json(&["runtime.yaml", "--config", "nodes.yaml"]);
    let all = containers(&report);
    let mut of_trainer = all.into_iter().filter(|it| it["group"] == "node");
    let of_trainer = of_trainer.next().unwrap();
    (findings(of_trainer), classes(of_trainer))
}

#[test]
fn patches_of_a_train_job_change_the_pods_of_its_runtime() {
    let pod = "{nodeSelector: {pool: h100}, tolerations: [{key: team, operator: Exists}], containers: [{name: node, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}], volumeMounts: [{name: v, mountPath: /data}]}]}";
    let hides = |found: &[String]| {
        let hides = "deploy-volume-hides-files";
        found.iter().any(|it| it.starts_with(hides))
    };
    let (found, classes) = patched("");
    assert!(hides(&found), "{found:?}");
    assert_eq!(classes, ["a100 pass", "l4 pass"]);
    let overrides = |targets: &str| {
        format!("  podTemplateOverrides:\n    - {{targetJobs: [{targets}], spec: {pod}}}\n")
    };
    let runtime_patches = |name: &str| {
        format!(
            "  runtimePatches:\n    - manager: example.com/x\n      trainingRuntimeSpec: {{template: {{spec: {{replicatedJobs: [{{name: {name}, template: {{spec: {{template: {{spec: {pod}}}}}}}}}]}}}}}}\n"
        )
    };
    for patches in [
        overrides("{name: node}"),
        overrides("{name: initializer}, {name: node}"),
        runtime_patches("node"),
    ] {
        let (found, classes) = patched(&patches);
        assert_eq!(classes, ["h100 pass"], "{patches}");
        // The variable has its place in the manifest of the job.
        let variable = found
            .iter()
            .find(|it| it.starts_with("deploy-visible-devices"));
        assert!(
            variable.is_some_and(|it| !it.ends_with(" 5:15")),
            "{patches}: {found:?}"
        );
        assert!(hides(&found), "{found:?}");
    }
    // Of another job.
    for patches in [overrides("{name: initializer}"), runtime_patches("other")] {
        let (found, classes) = patched(&patches);
        assert_eq!(classes, ["a100 pass", "l4 pass"], "{patches}");
        assert!(
            !found
                .iter()
                .any(|it| it.starts_with("deploy-visible-devices")),
            "{found:?}"
        );
    }
    // The last one wins.
    let both = format!(
        "{}    - {{targetJobs: [{{name: node}}], spec: {{nodeSelector: {{pool: l4}}}}}}\n",
        overrides("{name: node}")
    );
    assert_eq!(patched(&both).1, ["l4 pass"]);
}

#[test]
fn a_train_job_whose_runtime_is_elsewhere_is_not_a_pass() {
    for trainer in ["", "  trainer: {numNodes: 2}\n"] {
        let (code, report) = Input::new(&job(trainer)).json(&[]);
        let found = findings(containers(&report)[0]);
        assert_eq!((code, found.len()), (3, 1), "{trainer}");
        assert!(found[0].starts_with("deploy-image-unknown"), "{found:?}");
    }
}
