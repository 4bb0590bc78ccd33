//! Fields that a real API server refuses, and those that it accepts.

use imgcheck_lint::workload::{Kinds, read};
use imgcheck_model::knowledge;
use testkit::kubernetes::Kubernetes;

/// The field that imgcheck says is refused first, if any, and what the server says.
fn judged(server: &Kubernetes, object: &str) -> (Option<String>, String) {
    let kinds: Kinds = knowledge::table("workloads").unwrap();
    let (workloads, malformed) = read(&[("x.yaml".to_owned(), object.to_owned())], &[], &kinds);
    assert!(malformed.is_empty(), "{object}");
    let containers = workloads.iter().flat_map(|it| &it.containers);
    let mut refused = containers.flat_map(|it| &it.refused_fields);
    let field = refused.next().map(|it| it.field.clone());
    let arguments = ["create", "--dry-run=server", "--validate=false", "-f", "-"];
    let output = server.kubectl(&arguments, object);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), error.is_empty(), "{error}");
    (field, error)
}

fn pod(container: &str, more: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\nspec:\n  containers:\n  - name: c\n    image: a/b:1\n    {}\n  {more}\n",
        container.replace('\n', "\n    ")
    )
}

fn job(kind: &str, pod: &str) -> String {
    let selector = "selector: {matchLabels: {app: x}}";
    let (group, selector) = match kind {
        "Job" => ("batch", ""),
        _ => ("apps", selector),
    };
    format!(
        "apiVersion: {group}/v1\nkind: {kind}\nmetadata: {{name: x}}\nspec:\n  {selector}\n  template:\n    metadata: {{labels: {{app: x}}}}\n    spec:\n      {pod}\n      containers: [{{name: c, image: 'a/b:1'}}]\n"
    )
}

/// Variables without quotes, and whether the server takes them for text.
const VALUES: [(&str, bool); 40] = [
    ("8080", false),
    ("0755", false),
    ("0x1F", false),
    ("0o17", false),
    ("0b11", false),
    ("08", false),
    ("1_000", false),
    ("1e3", false),
    ("1.5", false),
    (".5", false),
    ("1.", false),
    ("-1", false),
    ("+1", false),
    ("true", false),
    ("True", false),
    ("yes", false),
    ("No", false),
    ("on", false),
    ("OFF", false),
    ("y", false),
    ("n", false),
    ("~", true),
    ("null", true),
    ("'1'", true),
    ("\"yes\"", true),
    ("1.2.3", true),
    ("1:30", true),
    ("1e", true),
    ("tRue", true),
    ("2025-01-01", true),
    ("1Gi", true),
    ("cu128", true),
    ("0xg", true),
    ("_1", true),
    ("95e4031", true),
    ("!!str 12", true),
    ("|-\n        1e6", true),
    (">-\n        true", true),
    ("\n        12", false),
    ("yes please", true),
];

#[test]
fn imgcheck_and_the_server_take_the_same_for_text() {
    let Some(server) = Kubernetes::start() else {
        return;
    };
    for (value, is_text) in VALUES {
        let object = pod("env:\n- name: A\n  value: VALUE", "").replace("VALUE", value);
        let (field, error) = judged(&server, &object);
        assert_eq!(error.is_empty(), is_text, "{value}: {error}");
        let expected = (!is_text).then(|| "spec.containers[0].env[0].value".to_owned());
        assert_eq!(field, expected, "{value}: {error}");
    }
}

#[test]
fn imgcheck_and_the_server_refuse_the_same_fields() {
    let Some(server) = Kubernetes::start() else {
        return;
    };
    let volumes = "volumes: [{name: v, emptyDir: {}}]";
    let mut refused = vec![
        pod("args: [sleep, 10]", ""),
        pod("command: python train.py", ""),
        pod("command: {a: b}", ""),
        pod("env: {A: b}", ""),
        pod("ports: [{containerPort: '8000'}]", ""),
        pod("securityContext: {privileged: 'true'}", ""),
        pod("securityContext: {runAsUser: '1000'}", ""),
        pod("env: [{value: a}]", ""),
        pod(
            "env: [{name: A, value: a, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]",
            "",
        ),
        pod("imagePullPolicy: ifNotPresent", ""),
        pod("volumeMounts: [{name: v, mountPath: /data}]", ""),
        pod(
            "volumeMounts: [{name: v, mountPath: /data}, {name: v, mountPath: /data}]",
            volumes,
        ),
        pod(
            "workingDir: /",
            "volumes: [{name: v, emptyDir: {}}, {name: v, emptyDir: {}}]",
        ),
        pod(
            "workingDir: /",
            "volumes: [{name: v, emptyDir: {}, hostPath: {path: /x}}]",
        ),
        pod(
            "workingDir: /",
            "volumes: [{name: My_Volume, emptyDir: {}}]",
        ),
        pod("workingDir: /", "hostIPC: 'true'"),
        pod(
            "workingDir: /",
            "nodeSelector: {nvidia.com/gpu.present: true}",
        ),
        pod(
            "workingDir: /",
            "tolerations: [{key: nvidia.com/gpu, operator: Exists, value: present}]",
        ),
        pod(
            "workingDir: /",
            "tolerations: [{key: a, effect: noSchedule}]",
        ),
        pod("workingDir: /", "restartPolicy: never"),
        pod("workingDir: /", "").replace("name: c", "name: Train_1"),
        pod("workingDir: /", "").replace("name: c", "command: [a]"),
        pod("workingDir: /", "").replace("{name: x}", "{name: my_pod}"),
        pod("workingDir: /", "").replace(
            "{name: x}",
            "{name: x, annotations: {prometheus.io/port: 8080}}",
        ),
        pod("workingDir: /", "").replace("{name: x}", "{name: x, labels: {a: on}}"),
        job("Job", ""),
        job("Job", "restartPolicy: Always"),
        job("Deployment", "restartPolicy: Never"),
        job("Deployment", "").replace("labels: {app: x}", "labels: {app: y}"),
        job("Deployment", "").replace("spec:\n  selector", "spec:\n  replicas: '2'\n  selector"),
    ];
    for mode in ["defaultMode: 755", "items: [{key: a, path: a, mode: 755}]"] {
        let volume = format!("volumes: [{{name: v, configMap: {{name: m, {mode}}}}}]");
        refused.push(pod("workingDir: /", &volume));
    }
    for object in refused {
        let (field, error) = judged(&server, &object);
        assert!(
            field.is_some() && !error.is_empty(),
            "{field:?} {error}\n{object}"
        );
    }
    let accepted = [
        pod("workingDir: /", "volumes: [{name: v, configMap: {name: m, defaultMode: 0755}}]"),
        pod("workingDir: /", "volumes: [{name: v, configMap: {name: m, defaultMode: 493}}]"),
        pod("args: ['10', sleep, \"true\"]\ncommand: [sh]", ""),
        pod("ports: [{containerPort: 8000, name: http}]", "terminationGracePeriodSeconds: 0"),
        pod("livenessProbe: {httpGet: {path: /, port: http}}\nports: [{containerPort: 8000, name: http}]", ""),
        pod("volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b}]", volumes),
        pod("volumeMounts: [{name: v, mountPath: /a}]", "volumes: [{name: v}]"),
        pod("env: [{name: A}, {name: A, value: ''}]", "tolerations: [{operator: Exists}]"),
        pod("imagePullPolicy: IfNotPresent", "tolerations: [{key: a, operator: Exists, value: '', effect: NoSchedule}]"),
        pod("workingDir: /", "nodeSelector: {a: 'true'}\n  hostIPC: true\n  restartPolicy: OnFailure"),
        pod("workingDir:", "volumes:\n  nodeSelector: ~"),
        pod("resources: {limits: {cpu: 1, memory: 1.5e9}}", ""),
        job("Job", "restartPolicy: Never"),
        job("Deployment", ""),
        job("Deployment", "restartPolicy: Always"),
        job("StatefulSet", "").replace(
            "spec:\n  selector",
            "spec:\n  serviceName: s\n  volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]\n  selector",
        ).replace("'a/b:1'}", "'a/b:1', volumeMounts: [{name: d, mountPath: /d}]}"),
    ];
    for object in accepted {
        let judged = judged(&server, &object);
        assert_eq!(judged, (None, String::new()), "{object}");
    }
}
