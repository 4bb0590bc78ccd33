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
    // The server has the CronJobs of before 1.21, whose fields are the same.
    let object = object.replace("batch/v1\nkind: CronJob", "batch/v1beta1\nkind: CronJob");
    let output = server.kubectl(&arguments, &object);
    let error = String::from_utf8_lossy(&output.stderr);
    let error = error.lines().filter(|it| !it.starts_with("Warning:"));
    let error = error.collect::<Vec<_>>().join("\n").trim().to_owned();
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

fn cron_job(spec: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: x}}\nspec:\n  {spec}\n  jobTemplate: {{spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: 'a/b:1'}}]}}}}}}}}\n"
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
    let plain = "workingDir: /";
    let labelled = |labels: &str| pod(plain, "").replace("{name: x}", labels);
    for container in [
        "livenessProbe: {httpGet: {path: /}}",
        "livenessProbe: {periodSeconds: 5}",
        "livenessProbe: {tcpSocket: {port: 80}, exec: {command: [a]}}",
        "livenessProbe: {tcpSocket: {port: 80}, successThreshold: 2}",
        "readinessProbe: {httpGet: {port: 70000}}",
        "readinessProbe: {tcpSocket: {port: 80}, periodSeconds: -1}",
        "lifecycle: {preStop: {}}",
        "ports: [{containerPort: 0}]",
        "ports: [{containerPort: 70000}]",
        "ports: [{containerPort: 80, protocol: tcp}]",
        "ports: [{containerPort: 80, name: tensorboard-metrics}]",
        "ports: [{containerPort: 80, name: a}, {containerPort: 81, name: a}]",
        "ports: [{name: a}]",
        "env: [{name: A=B, value: c}]",
        "env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.podip}}}]",
        "env: [{name: A, valueFrom: {fieldRef: {}}}]",
        "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.gpu}}}]",
        "env: [{name: A, valueFrom: {secretKeyRef: {name: s}}}]",
        "env: [{name: A, valueFrom: {configMapKeyRef: {key: k}}}]",
        "env: [{name: A, valueFrom: {}}]",
        "envFrom: [{configMapRef: {}}]",
        "volumeMounts: [{name: v}]",
        "volumeMounts: [{name: v, mountPath: /a, subPath: /b}]",
        "volumeMounts: [{name: v, mountPath: /a, subPath: ../b}]",
        "volumeMounts: [{name: v, mountPath: /a, mountPropagation: bidirectional}]",
        "securityContext: {privileged: true, allowPrivilegeEscalation: false}",
        "securityContext: {runAsUser: -1}",
        "terminationMessagePolicy: file",
    ] {
        refused.push(pod(container, volumes));
    }
    for more in [
        "tolerations: [{key: a, operator: Equals, value: b}]",
        "tolerations: [{key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: 5}]",
        "tolerations: [{effect: NoSchedule}]",
        "nodeSelector: {gpu: NVIDIA A100}",
        "nodeSelector: {a/b/c: d}",
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}",
        "topologySpreadConstraints: [{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]",
        "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: doNotSchedule}]",
        "topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]",
        "dnsPolicy: clusterFirst",
        "activeDeadlineSeconds: 0",
        "securityContext: {fsGroupChangePolicy: always}",
        "securityContext: {seccompProfile: {type: runtimeDefault}}",
        "volumes: [{name: v, hostPath: {path: /x, type: directory}}]",
        "volumes: [{name: v, hostPath: {}}]",
        "volumes: [{name: v, persistentVolumeClaim: {}}]",
        "volumes: [{name: v, nfs: {server: s}}]",
        "volumes: [{name: v, emptyDir: {medium: Memory, sizeLimit: 16GiB}}]",
        "volumes: [{name: v, configMap: {name: m, items: [{key: a, path: ../b}]}}]",
        "volumes: [{name: v, configMap: {name: m, items: [{key: a, path: /b}]}}]",
        "volumes: [{name: v, configMap: {name: m, items: [{key: a}]}}]",
        "volumes: [{emptyDir: {}}]",
        "initContainers: [{name: i, image: a, livenessProbe: {tcpSocket: {port: 80}}}]",
        "initContainers: [{name: c, image: a}]",
        "hostNetwork: true\n  initContainers: [{name: i, image: a}]\n  containers: [{name: c, image: a, ports: [{containerPort: 80, hostPort: 81}]}]",
        "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {a: b}}}]}}",
        "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 101, podAffinityTerm: {topologyKey: z}}]}}",
    ] {
        // The last list of containers counts.
        let object = pod(plain, more);
        let object = match more.contains("  containers:") {
            true => object.replacen(
                "  containers:\n  - name: c\n    image: a/b:1\n    workingDir: /\n",
                "",
                1,
            ),
            false => object,
        };
        refused.push(object);
    }
    for expression in [
        "operator: in, values: [b]",
        "operator: Exists, values: [b]",
        "operator: In",
        "operator: In, values: []",
        "operator: Gt, values: ['1', '2']",
        "values: [b]",
    ] {
        let required = format!(
            "affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{matchExpressions: [{{key: a, {expression}}}]}}]}}}}}}"
        );
        refused.push(pod(plain, &required));
    }
    let preferred = "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{preference: {matchExpressions: [{key: a, operator: Exists}]}}]}}";
    refused.push(pod(plain, preferred));
    refused.push(labelled(
        "{name: x, labels: {image: 'registry.example/ml/pytorch:2.8.0'}}",
    ));
    refused.push(labelled("{name: x, labels: {-a: b}}"));
    refused.push(labelled("{name: x, annotations: {a b: c}}"));
    for strategy in [
        "type: Recreate, rollingUpdate: {maxSurge: 1}",
        "type: recreate",
        "rollingUpdate: {maxSurge: 0, maxUnavailable: 0}",
        "rollingUpdate: {maxSurge: '25'}",
    ] {
        let spec = format!("spec:\n  strategy: {{{strategy}}}\n  selector");
        refused.push(job("Deployment", "").replace("spec:\n  selector", &spec));
    }
    refused.push(job("Deployment", "activeDeadlineSeconds: 5"));
    refused.push(
        job("Deployment", "").replace("spec:\n  selector", "spec:\n  replicas: -1\n  selector"),
    );
    refused.push(job("StatefulSet", "").replace(
        "spec:\n  selector",
        "spec:\n  serviceName: s\n  podManagementPolicy: parallel\n  selector",
    ));
    refused.push(
        job("Job", "restartPolicy: Never").replace("spec:\n  \n", "spec:\n  backoffLimit: -1\n"),
    );
    for cron in [
        "schedule: '0 25 * * *'",
        "schedule: '* * * *'",
        "schedule: '@daily'\n  concurrencyPolicy: forbid",
    ] {
        refused.push(cron_job(cron));
    }
    for mode in ["defaultMode: 755", "items: [{key: a, path: a, mode: 755}]"] {
        let volume = format!("volumes: [{{name: v, configMap: {{name: m, {mode}}}}}]");
        refused.push(pod("workingDir: /", &volume));
    }
    let mut differences = Vec::new();
    for object in refused {
        let (field, error) = judged(&server, &object);
        if field.is_none() || error.is_empty() {
            differences.push(format!("{field:?} {error}\n{object}"));
        }
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
        pod("imagePullPolicy: never\nimagePullPolicy: Never", "restartPolicy: Always\n  restartPolicy: Never"),
        pod("workingDir:", "volumes:\n  nodeSelector: ~"),
        pod("resources: {limits: {cpu: 1, memory: 1.5e9}}", ""),
        pod("livenessProbe: {exec: {command: [a]}, successThreshold: 1}\nlifecycle: {preStop: {exec: {command: [a]}}}", ""),
        pod("readinessProbe: {tcpSocket: {port: 80}, successThreshold: 3, periodSeconds: 0}", ""),
        pod("ports: [{containerPort: 80, name: http, protocol: TCP}, {containerPort: 80, protocol: UDP}]", "hostNetwork: true\n  hostIPC: true"),
        pod("env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['a']\"}}}, {name: B, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}]", ""),
        pod("env: [{name: a.b-c, value: d}]\nsecurityContext: {runAsUser: 0, privileged: false}", "securityContext: {fsGroup: 1000, fsGroupChangePolicy: OnRootMismatch}"),
        pod("volumeMounts: [{name: v, mountPath: /a, subPath: a/b..c}, {name: v, mountPath: /b, subPathExpr: $(A)}]\nenv: [{name: A, value: b}]", volumes),
        pod("workingDir: /", "tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}, {key: a, value: b}]"),
        pod("workingDir: /", "nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB, a: ''}\n  dnsPolicy: ClusterFirst"),
        pod("workingDir: /", "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway}]"),
        pod("workingDir: /", "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Gt, values: ['1']}, {key: b, operator: DoesNotExist}]}]}}}"),
        pod("workingDir: /", "volumes: [{name: v, emptyDir: {medium: Memory, sizeLimit: 16Gi}}, {name: w, hostPath: {path: /x, type: ''}}]"),
        pod("workingDir: /", "volumes: [{name: v, configMap: {name: m, items: [{key: a, path: b/c, mode: 0400}]}}]"),
        pod("workingDir: /", "").replace("{name: x}", "{name: x, labels: {a: 2.8.0_x, app.kubernetes.io/name: z}, annotations: {Example.com/A: 'b: c'}}"),
        job("Deployment", "").replace("spec:\n  selector", "spec:\n  strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}\n  replicas: 0\n  selector"),
        cron_job("schedule: '*/5 0-6 * * mon-fri'\n  concurrencyPolicy: Forbid"),
        job("Job", "restartPolicy: Never"),
        job("Deployment", ""),
        job("Deployment", "restartPolicy: Always"),
        job("StatefulSet", "").replace(
            "spec:\n  selector",
            "spec:\n  serviceName: s\n  volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]\n  selector",
        ).replace("'a/b:1'}", "'a/b:1', volumeMounts: [{name: d, mountPath: /d}]}"),
    ];
    for object in accepted {
        let (field, error) = judged(&server, &object);
        if field.is_some() || !error.is_empty() {
            differences.push(format!("{field:?} {error}\n{object}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
