//! What the kubelet does with a container beside starting it.

use super::Input;
use super::certain_failures::{shown, with_shell};
use super::kubernetes::pod;

/// The kubelet runs the programs of probes and of the lifecycle in the container.
#[test]
fn a_program_of_a_probe_is_missing() {
    let exec = |field: &str, command: &str| format!("{field}: {{exec: {{command: {command}}}}}");
    let finding = "deploy-exec-fails";
    for (more, expected) in [
        (exec("livenessProbe", "[curl, localhost]"), finding),
        (
            exec("readinessProbe", "[bash, -c, curl localhost]"),
            finding,
        ),
        (exec("startupProbe", "[/opt/check]"), finding),
        (exec("livenessProbe", "[bash, /opt/check.sh]"), finding),
        (exec("livenessProbe", "[bash, /data/check.sh]"), ""),
        (
            exec("lifecycle", "[curl]").replace("exec", "postStart: {exec") + "}",
            finding,
        ),
        (exec("livenessProbe", "[cat, /tmp/healthy]"), ""),
        (exec("livenessProbe", "[/tmp/check]"), ""),
        (exec("livenessProbe", "[/data/check]"), ""),
        (
            exec("lifecycle", "[curl]").replace("exec", "preStop: {exec") + "}",
            "",
        ),
        (
            "livenessProbe: {httpGet: {path: /, port: 80}}".to_owned(),
            "",
        ),
    ] {
        let container =
            format!("command: [cat]\nvolumeMounts: [{{name: v, mountPath: /data}}]\n{more}");
        let report = with_shell(&pod(&container, "volumes: [{name: v, emptyDir: {}}]"));
        let found = shown(&report, "deploy-exec");
        assert!(found.starts_with(expected), "{more}: {found}");
        assert_eq!(found.is_empty(), expected.is_empty(), "{more}: {found}");
    }
    // A script may write another one, or make it executable.
    for (start, expected) in [
        ("[python3, -c, pass]", finding),
        ("[bash, -c, 'exec cat']", ""),
    ] {
        let probe = exec("readinessProbe", "[python3, /opt/health.py]");
        let text = pod(&format!("command: {start}\n{probe}"), "");
        let (_, report) = Input::new(&text).json(&[]);
        let found = shown(&report, "deploy-exec");
        assert!(found.starts_with(expected), "{start}: {found}");
        assert_eq!(found.is_empty(), expected.is_empty(), "{start}: {found}");
    }
}

/// `verifyRunAsNonRoot` of the kubelet. The sample has no user.
#[test]
fn a_container_that_must_not_run_as_root() {
    for (of_container, of_pod, expected) in [
        ("", "securityContext: {runAsNonRoot: true}", true),
        ("securityContext: {runAsNonRoot: true}", "", true),
        (
            "securityContext: {runAsNonRoot: true, runAsUser: 0}",
            "",
            true,
        ),
        (
            "securityContext: {runAsNonRoot: true, runAsUser: 1000}",
            "",
            false,
        ),
        (
            "securityContext: {runAsNonRoot: false}",
            "securityContext: {runAsNonRoot: true}",
            false,
        ),
        ("", "", false),
    ] {
        let container = format!("command: [python3, -c, pass]\n{of_container}");
        let (_, report) = Input::new(&pod(&container, of_pod)).json(&[]);
        let found = shown(&report, "deploy-user-refused");
        assert_eq!(
            !found.is_empty(),
            expected,
            "{of_container} {of_pod}: {found}"
        );
    }
}

/// A Pod with such a reference is stored and never starts.
#[test]
fn a_key_that_its_object_lacks_stops_the_container() {
    let objects = "\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: m}
data: {a: x}
binaryData: {b: eA==}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {a: eA==}
stringData: {b: x}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata: {name: t}
data: {extra: eA==}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: filled}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: m, namespace: other}
data: {only: x}
";
    let variable = |kind: &str, name: &str, key: &str, more: &str| {
        let source = format!("{kind}KeyRef: {{name: {name}, key: {key}{more}}}");
        (
            format!("env: [{{name: X, valueFrom: {{{source}}}}}]"),
            String::new(),
        )
    };
    let volume = |volume: &str| {
        (
            "volumeMounts: [{name: v, mountPath: /v}]".to_owned(),
            format!("volumes: [{{name: v, {volume}}}]"),
        )
    };
    let item = |source: &str, key: &str| format!("{source}, items: [{{key: {key}, path: x}}]");
    let projected = |source: &str| format!("projected: {{sources: [{source}]}}");
    let map = |key: &str| format!("configMap: {{{}}}", item("name: m", key));
    let secret = |key: &str| format!("secret: {{{}}}", item("secretName: s", key));
    let named = |key: &str| format!("{{secret: {{{}}}}}", item("name: s", key));
    let unmounted = volume(&map("c")).1;
    for ((container, spec), expected) in [
        (variable("configMap", "m", "a", ""), ""),
        (
            variable("configMap", "m", "c", ""),
            "ConfigMap m has no key `c`",
        ),
        (variable("configMap", "m", "c", ", optional: true"), ""),
        (variable("secret", "s", "a", ""), ""),
        (variable("secret", "s", "b", ""), ""),
        (variable("secret", "s", "c", ""), "Secret s has no key `c`"),
        (variable("secret", "t", "token", ""), ""),
        (variable("configMap", "other", "c", ""), ""),
        (variable("configMap", "filled", "c", ""), ""),
        (volume(&map("a")), ""),
        (volume(&map("b")), ""),
        (volume(&map("c")), "ConfigMap m has no key `c`"),
        (volume(&secret("b")), ""),
        (volume(&secret("c")), "Secret s has no key `c`"),
        (volume(&projected(&named("c"))), "Secret s has no key `c`"),
        (volume(&projected(&named("a"))), ""),
        ((String::new(), unmounted), ""),
    ] {
        let container = format!("command: [cat]\n{container}");
        let text = pod(&container, &spec);
        let report = with_shell(&format!("{text}{objects}"));
        let findings = &report["workloads"][0]["containers"][0]["findings"];
        let findings = findings.as_array().unwrap().iter();
        let found = findings.filter(|it| it["rule"] == "deploy-key-missing");
        let found: Vec<&str> = found.filter_map(|it| it["message"].as_str()).collect();
        let expected = match expected {
            "" => String::new(),
            it => format!("{it}, so the kubelet does not start the container"),
        };
        assert_eq!(found.concat(), expected, "{text}");
    }
}
