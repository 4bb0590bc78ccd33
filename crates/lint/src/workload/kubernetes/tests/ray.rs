//! What the KubeRay operator makes of a cluster.

use super::{containers, object, shown};

/// The command line of each container.
fn commands(text: &str) -> Vec<String> {
    let (containers, _) = containers(&[text]);
    let overlays = containers.into_iter().map(|it| it.overlay);
    let words = overlays.map(|it| [it.command, it.args].into_iter().flatten().flatten());
    words.map(|it| it.collect::<Vec<_>>().join(" | ")).collect()
}

fn cluster(annotations: &str) -> String {
    format!(
        "apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: x, annotations: {{{annotations}}}}}
spec:
  headGroupSpec:
    template:
      spec:
        containers:
        - {{name: head, image: a/ray:1, command: ['/bin/bash -c \"true &\"']}}
        - {{name: logs, image: a/logs:1, command: [tail]}}
  workerGroupSpecs:
  - {{groupName: plain, template: {{spec: {{containers: [{{name: worker, image: a/ray:1}}]}}}}}}
  - {{groupName: own, template: {{spec: {{containers: [{{name: worker, image: a/ray:1, command: [bash], args: [-c, ray start --block]}}]}}}}}}
"
    )
}

#[test]
fn a_shell_starts_ray_after_the_command_of_the_first_container() {
    let text = cluster("");
    assert_eq!(
        commands(&text),
        [
            "/bin/bash | -c | -- | /bin/bash -c \"true &\" && ulimit -n 65536; ray start",
            "tail",
            "/bin/bash | -c | -- | ulimit -n 65536; ray start",
            "bash | -c | ray start --block",
        ]
    );
    let found = containers(&[&text]).0;
    let line = |at: usize| found[at].command_location.as_ref().unwrap().line;
    assert_eq!([line(0), line(2)], [9, 12]);
    let own = commands(&cluster("ray.io/overwrite-container-cmd: 'true'"));
    assert_eq!(own[0], "/bin/bash -c \"true &\"");
    assert_eq!(own[2], "");
}

#[test]
fn the_submitter_of_a_job_runs_what_it_says() {
    let pod = |name: &str| {
        format!("{{spec: {{containers: [{{name: {name}, image: a/ray:1, command: [{name}]}}]}}}}")
    };
    let (head, submitter) = (pod("head"), pod("submitter"));
    let spec = format!(
        "  rayClusterSpec: {{headGroupSpec: {{template: {head}}}}}\n  submitterPodTemplate: {submitter}\n"
    );
    assert_eq!(
        commands(&object("ray.io/v1", "RayJob", &spec)),
        [
            "/bin/bash | -c | -- | head && ulimit -n 65536; ray start",
            "submitter"
        ]
    );
}

#[test]
fn the_autoscaler_is_beside_the_head() {
    let cluster = |enabled: &str, options: &str| {
        let head = "{template: {spec: {containers: [{name: head, image: a/ray:1}]}}}";
        let spec = format!(
            "  enableInTreeAutoscaling: {enabled}\n  autoscalerOptions: {options}\n  headGroupSpec: {head}\n"
        );
        object("ray.io/v1", "RayCluster", &spec)
    };
    let options =
        "{image: a/autoscaler:2, resources: {limits: {cpu: 500m}}, env: [{name: A, value: b}]}";
    let text = cluster("true", options);
    assert_eq!(
        shown(&text),
        ["head/head a/ray:1", "head/autoscaler a/autoscaler:2"]
    );
    let autoscaler = &containers(&[&text]).0[1];
    assert_eq!(autoscaler.location.line, 6);
    assert_eq!(autoscaler.overlay.env["A"], "b");
    assert!(commands(&text)[1].starts_with("/bin/bash | -c | -- | ray kuberay-autoscaler"));
    // It has the image of the head, which is judged.
    assert_eq!(shown(&cluster("true", "{}")), ["head/head a/ray:1"]);
    let unused = cluster("false", options);
    assert_eq!(containers(&[&unused]).0.len(), 1);
}
