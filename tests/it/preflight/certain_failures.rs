//! Containers that certainly do not run, as their manifests are written.

use serde_json::{Value, json};

use super::kubernetes::{GPU, pod};
use super::{Input, containers, findings};

/// The report on a manifest whose image is the sample with a shell.
pub(super) fn with_shell(text: &str) -> Value {
    with_programs(text, &["bash", "cat"])
}

/// The report on a manifest whose image is the sample with these programs.
pub(super) fn with_programs(text: &str, names: &[&str]) -> Value {
    let input = Input::new(text);
    let archive = input.path().join("shell.tar");
    let config = json!({"Cmd": ["bash"], "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"]});
    let paths = names.iter().map(|it| format!("usr/bin/{it}"));
    let programs: Vec<_> = paths
        .map(|it| crate::launch::archive::program(&it))
        .collect();
    let programs = programs.concat();
    crate::launch::archive::write(&archive, &config, &programs);
    input.write("images.yaml", &format!("IMAGE: {}\n", archive.display()));
    input.json(&[]).1
}

/// The findings with this text, and the messages of gaps in the launch.
pub(super) fn shown(report: &Value, rule: &str) -> String {
    let container = containers(report)[0];
    let found = findings(container);
    let found = found.into_iter().filter(|it| it.starts_with(rule));
    let gaps = container["gaps"].as_array().unwrap().iter();
    let gaps = gaps.filter(|it| it["code"] == "launch-not-understood");
    let gaps = gaps.map(|it| it["message"].as_str().unwrap().to_owned());
    found.chain(gaps).collect::<Vec<_>>().join(", ")
}

/// As for a script of Python. The runtime makes the working directory, and those of volumes.
#[test]
fn a_script_or_directory_of_a_shell_is_in_the_image_or_in_a_volume() {
    let mounted = |start: &str, mount: &str| {
        let container =
            format!("command: {start}\nvolumeMounts: [{{name: v, mountPath: {mount}}}]");
        pod(&container, "volumes: [{name: v, emptyDir: {}}]")
    };
    let finding = "deploy-path-missing 9:16";
    for (start, mount, expected) in [
        ("[bash, /opt/run.sh]", "/data", finding),
        ("[bash, -c, bash /opt/run.sh]", "/data", finding),
        ("[bash, -c, exec bash /opt/run.sh]", "/data", finding),
        ("[bash, -c, cd /src && exec python3 x.py]", "/data", finding),
        (
            "[bash, -c, set -e; cd /src; python3 x.py]",
            "/data",
            finding,
        ),
        (
            "[bash, -c, cat /opt/a && exec python3 x.py]",
            "/data",
            finding,
        ),
        (
            "[bash, -e, -c, cat /opt/a; exec python3 x.py]",
            "/data",
            finding,
        ),
        ("[cat, /opt/a]", "/data", finding),
        (
            "[bash, /opt/run.sh]",
            "/opt",
            "the script /opt/run.sh, which the image does not decide, is not understood",
        ),
        (
            "[bash, $(SCRIPT)]",
            "/data",
            "the command of the container runs `$(SCRIPT)`, which is not in the image",
        ),
    ] {
        let report = with_shell(&mounted(start, mount));
        assert_eq!(shown(&report, "deploy-path-missing"), expected, "{start}");
    }
    for (start, more) in [
        (
            "[bash, -c, cd /src && exec python3 -c pass]",
            "workingDir: /src/code",
        ),
        (
            "[bash, -c, cd /src && exec python3 -c pass]",
            "volumeMounts: [{name: v, mountPath: /src/code}]",
        ),
        ("[bash, -c, cd /src || exec python3 -c pass]", ""),
        (
            "[bash, -c, cat /src/a && exec python3 -c pass]",
            "volumeMounts: [{name: v, mountPath: /src}]",
        ),
        ("[bash, -c, cat /src/a; exec python3 -c pass]", ""),
    ] {
        let text = pod(
            &format!("command: {start}\n{more}"),
            "volumes: [{name: v, emptyDir: {}}]",
        );
        let report = with_shell(&text);
        let found = findings(containers(&report)[0]);
        assert!(
            !found.iter().any(|it| it.contains("-missing")),
            "{start} {more}: {found:?}"
        );
    }
}

/// Argo and Tekton write the text to a file, and start that.
#[test]
fn a_script_in_a_field_runs_in_its_program() {
    let argo = |script: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {{name: w}}\nspec:\n  entrypoint: t\n  templates:\n  - name: t\n    script: {{image: IMAGE, {script}}}\n"
        )
    };
    let tekton = |script: &str| {
        format!(
            "apiVersion: tekton.dev/v1\nkind: Task\nmetadata: {{name: t}}\nspec:\n  steps:\n  - {{name: s, image: IMAGE, script: {script}}}\n"
        )
    };
    for (text, rule, expected) in [
        (
            argo(r#"command: [bash], source: "set -e\ncd /src\nexec python3 x.py""#),
            "deploy-path-missing",
            "deploy-path-missing 8:",
        ),
        (
            argo("command: [python3], source: import no_such"),
            "python",
            "python-import-fails 8:",
        ),
        (argo("command: [python3], source: import sys"), "python", ""),
        (
            argo("command: [bash], source: 'x {{workflow.outputs.x}}'"),
            "deploy-path",
            "the script /argo/staging/script, which the image does not decide, is not understood",
        ),
        (
            tekton(r##""#!/usr/bin/env python3\nimport no_such""##),
            "python",
            "python-import-fails 6:",
        ),
        (
            tekton(r##""#!/bin/bash\necho $(results.r.path)""##),
            "deploy-path",
            "the script /tekton/scripts/script, which the image does not decide, is not understood",
        ),
    ] {
        let report = match rule {
            "python" => Input::new(&text).json(&[]).1,
            _ => with_shell(&text),
        };
        let shown = shown(&report, rule);
        let is_expected = match expected {
            "" => shown.is_empty(),
            start => shown.starts_with(start),
        };
        assert!(is_expected, "{text}: {shown}");
    }
}

/// The kubelet sets those of the Services of a namespace.
#[test]
fn a_variable_that_the_platform_sets_is_not_unset() {
    let fails = |name: &str| {
        format!(
            "line 1, `echo ${name}`, fails if {name} is not set, which ends the script before it starts a program"
        )
    };
    for (name, pod_fields, expected) in [
        ("KUBERNETES_SERVICE_HOST", "", String::new()),
        (
            "KUBERNETES_SERVICE_HOST",
            "enableServiceLinks: false",
            String::new(),
        ),
        ("REDIS_SERVICE_PORT", "", String::new()),
        (
            "REDIS_SERVICE_PORT",
            "enableServiceLinks: false",
            fails("REDIS_SERVICE_PORT"),
        ),
        ("RANK", "", fails("RANK")),
        ("OF_SECRET", "", String::new()),
    ] {
        let container = format!(
            "command: [bash, -c, 'set -eu; echo ${name}; exec python3 -c pass']\nenv: [{{name: OF_SECRET, valueFrom: {{secretKeyRef: {{name: s, key: k}}}}}}]"
        );
        let report = with_shell(&pod(&container, pod_fields));
        assert_eq!(
            shown(&report, "deploy-path-missing"),
            expected,
            "{name} {pod_fields}"
        );
    }
}

#[test]
fn a_program_after_c_that_is_not_valid_python() {
    for (code, expected) in [
        ("'import torch; print('", "python-does-not-start 8:16"),
        ("print 1", "python-does-not-start 8:16"),
        ("print(1)", ""),
        ("\"match 1:\\n  case _: pass\"", ""),
        ("print($(N))", ""),
    ] {
        let (_, report) =
            Input::new(&pod(&format!("command: [python3, -c, {code}]"), "")).json(&[]);
        assert_eq!(shown(&report, "python-does-not-start"), expected, "{code}");
    }
}

/// The operator of MPI starts `/usr/sbin/sshd` in workers without a command.
#[test]
fn workers_of_mpi_start_sshd() {
    let job = |version: &str, more: &str| {
        format!(
            "apiVersion: kubeflow.org/{version}\nkind: MPIJob\nmetadata: {{name: m}}\nspec:\n  mpiReplicaSpecs:\n    Worker:\n      template: {{spec: {{containers: [{{name: w, image: IMAGE{more}}}]}}}}\n"
        )
    };
    for (version, more, expected) in [
        ("v2beta1", "", "launch-program-missing 7:55"),
        ("v2beta1", ", command: []", "launch-program-missing 7:55"),
        ("v2beta1", ", command: [python3, -c, pass]", ""),
        ("v1", "", ""),
    ] {
        let (_, report) = Input::new(&job(version, more)).json(&[]);
        assert_eq!(
            shown(&report, "launch-program-missing"),
            expected,
            "{version}{more}"
        );
    }
}

#[test]
fn a_program_of_a_slurm_step_is_missing() {
    let step = |step: &str| {
        let text = format!("#!/bin/bash\nsrun --container-image=IMAGE {step}\n");
        let (_, report) = Input::new(&text).json(&[]);
        shown(&report, "launch-program-missing")
    };
    assert!(step("vllm serve x").starts_with("launch-program-missing 2:"));
    assert!(step("--container-mounts=/a:/data vllm serve x").starts_with("launch-program-missing"));
    for open in [
        "--container-mounts=$MOUNTS vllm serve x",
        "--container-mounts=/a:/usr/local/bin vllm serve x",
        "/opt/run serve",
        "python3 -c pass",
    ] {
        assert!(!step(open).contains("launch-program-missing"), "{open}");
    }
}

/// The arrow points at the variable, and the help speaks of the manifest.
#[test]
fn a_manifest_hides_the_gpus() {
    let text = pod(
        &format!(
            "command: [python3, -c, import torch]\nenv: [{{name: CUDA_VISIBLE_DEVICES, value: ''}}]\n{GPU}"
        ),
        "",
    );
    let (_, report) = Input::new(&text).json(&[]);
    let container = containers(&report)[0];
    let found = findings(container);
    assert!(
        found
            .iter()
            .any(|it| it.starts_with("driver-devices-hidden 9:")),
        "{found:?}"
    );
    let all = container["findings"].as_array().unwrap().iter();
    let hidden = all.clone().find(|it| it["rule"] == "driver-devices-hidden");
    let help = hidden.unwrap()["help"].as_str().unwrap();
    assert!(help.contains("in the manifest"), "{help}");
}

#[test]
fn devices_of_compose_need_capabilities() {
    let service = |device: &str| {
        let text = format!(
            "services:\n  a:\n    image: IMAGE\n    deploy: {{resources: {{reservations: {{devices: [{device}]}}}}}}\n"
        );
        let (_, report) = Input::new(&text).json(&[]);
        shown(&report, "deploy-resources-refused")
    };
    assert!(service("{driver: nvidia, count: 1}").starts_with("deploy-resources-refused 4:"));
    assert_eq!(service("{driver: nvidia, capabilities: [gpu]}"), "");
}

/// All files that `docker run` brings are in its options.
#[test]
fn docker_run_starts_what_the_image_or_a_volume_has() {
    for (options, start, expected) in [
        ("--gpus all", "nosuch serve", "launch-program-missing"),
        ("--gpus all", "python3 train.py", "deploy-script-missing"),
        ("-v $PWD:/w -w /w", "python3 train.py", ""),
        ("--mount type=bind,src=/opt,dst=/opt", "nosuch", ""),
        ("-e PATH", "nosuch", ""),
        ("--env-file env", "nosuch", ""),
    ] {
        let text = format!("#!/bin/sh\ndocker run --rm {options} IMAGE {start}\n");
        let (_, report) = Input::new(&text).json(&[]);
        let found = findings(containers(&report)[0]);
        let missing = found.iter().filter_map(|it| it.split_once(" 2:"));
        let missing = missing.map(|(rule, _)| rule);
        let missing: Vec<&str> = missing.filter(|it| it.ends_with("-missing")).collect();
        assert_eq!(missing.concat(), expected, "{options} {start}: {found:?}");
    }
}

#[test]
fn nothing_is_written_to_a_root_filesystem_that_is_read_only() {
    for (more, expected) in [
        ("securityContext: {readOnlyRootFilesystem: true}", true),
        ("securityContext: {readOnlyRootFilesystem: false}", false),
        (
            "securityContext: {readOnlyRootFilesystem: true}\nvolumeMounts: [{name: v, mountPath: /cache}]",
            false,
        ),
    ] {
        let container =
            format!("command: [bash, -c, 'set -e; cat /etc/x > /cache; exec cat']\n{more}");
        let report = with_shell(&pod(&container, "volumes: [{name: v, emptyDir: {}}]"));
        let found = shown(&report, "deploy");
        assert_eq!(
            found.contains("fails, which ends the script"),
            expected,
            "{more}: {found}"
        );
    }
}

/// The entry point of Spark gets `driver` or `executor`.
#[test]
fn a_spark_application_needs_the_entry_point_of_spark() {
    let text = "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: s}\nspec:\n  image: IMAGE\n  driver: {cores: 1}\n  executor: {instances: 1}\n";
    let (_, report) = Input::new(text).json(&[]);
    for container in containers(&report) {
        let found = findings(container);
        assert!(
            found
                .iter()
                .any(|it| it.starts_with("launch-program-missing")),
            "{found:?}"
        );
    }
}

/// Without the program of its condition, such a loop never ends, and what follows it never starts.
#[test]
fn a_loop_waits_for_a_program_that_is_missing() {
    for (script, expected) in [
        (
            "until curl -s db; do /usr/bin/cat; done; exec cat /opt",
            true,
        ),
        (
            "while ! nc -z db 1; do echo wait; done; exec cat /opt",
            true,
        ),
        ("until cat /x; do echo wait; done; exec cat /opt", false),
        ("while nc -z db 1; do echo wait; done; exec cat", false),
        (
            "until curl db; do i=$((i+1)); [ $i -gt 9 ] && break; done; exec cat",
            false,
        ),
        (
            "for i in 1 2; do curl db && break; done; exec cat /opt",
            false,
        ),
        (
            "if [ -n \"$WAIT\" ]; then until curl db; do :; done; fi; exec cat",
            false,
        ),
    ] {
        let container = format!(
            "command: [bash, -c, '{script}']\nenv: [{{name: WAIT, valueFrom: {{secretKeyRef: {{name: s, key: k}}}}}}]"
        );
        let found = shown(&with_shell(&pod(&container, "")), "launch-program-missing");
        let is_error = found.starts_with("launch-program-missing");
        assert_eq!(is_error, expected, "{script}: {found}");
    }
}
