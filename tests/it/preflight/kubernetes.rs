//! Kubernetes: what is read of a Pod.

use serde_json::{Value, json};

use super::{IMAGE, Input, containers, findings};

/// A Pod with one container, whose lines stand below `containers[0]` and below `spec`.
pub(super) fn pod(container: &str, spec: &str) -> String {
    let indent = |text: &str, by: &str| {
        let lines = text.lines().map(|line| format!("{by}{line}\n"));
        lines.collect::<String>()
    };
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n{}  containers:\n    - name: c\n      image: IMAGE\n{}",
        indent(spec, "  "),
        indent(container, "      "),
    )
}

pub(super) const GPU: &str = "resources: {limits: {nvidia.com/gpu: 1}}";

/// A script that the image does not have comes from a volume, or Python ends at once. A finding leaves no gap.
#[test]
fn a_script_of_python_is_in_the_image_or_in_a_volume() {
    let volumes = "volumes: [{name: code, persistentVolumeClaim: {claimName: code}}]";
    let finding = "deploy-script-missing 9:16";
    for (start, mount, expected) in [
        (
            "command: [python3, train.py]\nworkingDir: /usr",
            "/data",
            finding,
        ),
        (
            "command: [python3, train.py]\nworkingDir: /usr",
            "/usr/train.py",
            "overlay-unknown",
        ),
        (
            "command: [python3, /src/train.py]",
            "/src",
            "overlay-unknown",
        ),
        // The image has no directory /src.
        ("command: [python3, /src/train.py]", "/data", finding),
        (
            "command: [python3, train.py]\nworkingDir: /src",
            "/data",
            finding,
        ),
        (
            "command: [python3, -m, torch.distributed.run, --nproc-per-node, '8', train.py]\nworkingDir: /usr",
            "/data",
            finding,
        ),
        (
            "command: [python3, -m, torch.distributed.run, --nproc-per-node, $(N), train.py]\nworkingDir: /usr\nenv: [{name: N, value: '8'}]",
            "/usr/train.py",
            "overlay-unknown",
        ),
        (
            "command: [python3, -m, torch.distributed.run, -m, train]\nworkingDir: /usr",
            "/data",
            "",
        ),
        ("command: [python3, -c, pass]", "/data", ""),
    ] {
        let mounts = format!("{start}\nvolumeMounts: [{{name: code, mountPath: {mount}}}]");
        let (_, report) = Input::new(&pod(&mounts, volumes)).json(&[]);
        assert_eq!(failure(containers(&report)[0]), expected, "{start} {mount}");
    }
}

/// The finding on the program or script of a container, and the codes of its gaps.
fn failure(container: &Value) -> String {
    let gaps = container["gaps"].as_array().into_iter().flatten();
    let codes: Vec<&str> = gaps.filter_map(|it| it["code"].as_str()).collect();
    let mut found = findings(container).into_iter();
    match found.find(|it| it.contains("-missing")) {
        Some(finding) => format!("{finding}{}", codes.concat()),
        None => codes.concat(),
    }
}

/// A link in the image may lead to a volume.
#[test]
fn a_volume_brings_a_script_through_a_link() {
    for (mount, expected) in [
        ("/data", "launch-not-understood"),
        ("/other", "deploy-script-missing 9:16"),
    ] {
        let mounts = format!(
            "command: [python3, /src/train.py]\nvolumeMounts: [{{name: code, mountPath: {mount}}}]"
        );
        let input = Input::new(&pod(&mounts, "volumes: [{name: code, emptyDir: {}}]"));
        let archive = input.path().join("linked.tar");
        let config = json!({"Cmd": ["python3"]});
        crate::launch::archive::write(&archive, &config, &[testkit::symlink("src", "/data/src")]);
        input.write("images.yaml", &format!("IMAGE: {}\n", archive.display()));
        let (_, report) = input.json(&[]);
        assert_eq!(failure(containers(&report)[0]), expected, "{mount}");
    }
}

/// Controllers that bring no files are those of which the table says so.
#[test]
fn a_script_is_missing_in_objects_whose_controllers_bring_no_files() {
    let template =
        "{spec: {containers: [{name: c, image: IMAGE, command: [python3, /src/train.py]}]}}";
    for (version, kind, spec, expected) in [
        (
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            format!("{{leaderWorkerTemplate: {{size: 2, workerTemplate: {template}}}}}"),
            "deploy-script-missing",
        ),
        (
            "ray.io/v1",
            "RayCluster",
            format!("{{headGroupSpec: {{template: {template}}}}}"),
            // The image has no bash, in which KubeRay starts Ray.
            "launch-program-missing",
        ),
        (
            "ray.io/v1",
            "RayCluster",
            format!(
                "{{headGroupSpec: {{template: {template}}}}}\nmetadata: {{annotations: {{ray.io/overwrite-container-cmd: 'true'}}}}"
            ),
            "deploy-script-missing",
        ),
        (
            "batch.volcano.sh/v1alpha1",
            "Job",
            format!("{{tasks: [{{name: w, template: {template}}}]}}"),
            "deploy-script-missing",
        ),
        (
            "batch.volcano.sh/v1alpha1",
            "Job",
            format!(
                "{{volumes: [{{mountPath: /src, volumeClaimName: code}}], tasks: [{{name: w, template: {template}}}]}}"
            ),
            "launch-not-understood",
        ),
        (
            "kubeflow.org/v1",
            "PyTorchJob",
            format!("{{pytorchReplicaSpecs: {{Master: {{template: {template}}}}}}}"),
            "deploy-script-missing",
        ),
        (
            "kubeflow.org/v2beta1",
            "MPIJob",
            format!("{{mpiReplicaSpecs: {{Worker: {{template: {template}}}}}}}"),
            "deploy-script-missing",
        ),
        (
            "argoproj.io/v1alpha1",
            "Workflow",
            "{templates: [{name: t, container: {image: IMAGE, command: [python3, /src/train.py]}}]}".to_owned(),
            "deploy-script-missing",
        ),
        (
            "argoproj.io/v1alpha1",
            "Workflow",
            "{templates: [{name: t, inputs: {artifacts: [{name: a, path: /src}]}, container: {image: IMAGE, command: [python3, /src/train.py]}}]}".to_owned(),
            "launch-not-understood",
        ),
        (
            "argoproj.io/v1alpha1",
            "CronWorkflow",
            "{workflowSpec: {templates: [{name: t, script: {image: IMAGE, command: [nosuch], source: x}}]}}".to_owned(),
            "launch-program-missing",
        ),
    ] {
        let text = format!("apiVersion: {version}\nkind: {kind}\n# A job.\nspec: {spec}\n");
        let line = text.replace("IMAGE", IMAGE);
        let column = line.lines().nth(3);
        let column = column.and_then(|it| it.find("[python3").or(it.find("[nosuch")));
        let expected = match expected {
            gap if gap.starts_with("launch-not") => gap.to_owned(),
            rule => format!("{rule} 4:{}", column.unwrap() + 1),
        };
        let (_, report) = Input::new(&text).json(&[]);
        assert_eq!(failure(containers(&report)[0]), expected, "{kind}");
    }
    let compose = "services:\n  train:\n    image: IMAGE\n    command: python3 /src/train.py\n";
    for (more, expected) in [
        ("", "deploy-script-missing 4:14"),
        ("    volumes: ['./src:/src']\n", "overlay-unknown"),
        ("    configs: [train]\n", "launch-not-understood"),
    ] {
        let (_, report) = Input::new(&format!("{compose}{more}")).json(&[]);
        assert_eq!(failure(containers(&report)[0]), expected, "{more}");
    }
}

/// A program that no directory of PATH has, and that nothing brings.
#[test]
fn a_program_is_in_the_image_or_in_a_volume() {
    let volumes = "volumes: [{name: v, emptyDir: {}}]\ninitContainers: [{name: copy, image: IMAGE, command: [python3, -c, pass]}]";
    let mounted =
        |path: &str| format!("\nvolumeMounts: [{{name: v, mountPath: {path}, subPath: x}}]");
    let finding = "launch-program-missing 10:16";
    for (start, mount, expected) in [
        ("command: [serve, --all]", "/data", finding),
        ("command: [/app/start.sh]", "/data", finding),
        ("command: [python3 train.py]", "/data", finding),
        ("args: [serve]", "/data", "launch-program-missing 10:13"),
        (
            "command: [serve]",
            "/usr/local/bin",
            "launch-not-understoodoverlay-unknown",
        ),
        (
            "command: [serve]",
            "/usr/local/bin/serve",
            "launch-not-understood",
        ),
        ("command: [serve]", "/usr/local/bin/other", finding),
        ("command: [/app/start.sh]", "/app", "launch-not-understood"),
        (
            "command: [./start.sh]\nworkingDir: /app",
            "/app",
            "launch-not-understood",
        ),
        ("command: [./start.sh]\nworkingDir: /app", "/data", finding),
        ("command: [nvidia-smi]", "/data", ""),
        ("command: [$(PROGRAM)]", "/data", "launch-not-understood"),
        // The ConfigMap may set PATH.
        (
            "command: [serve]\nenvFrom: [{configMapRef: {name: m}}]",
            "/data",
            "launch-not-understoodoverlay-unknown",
        ),
        (
            "command: [/app/start.sh]\nenvFrom: [{configMapRef: {name: m}}]",
            "/data",
            "launch-program-missing 10:16overlay-unknown",
        ),
        (
            "command: [python3]\nlifecycle: {postStart: {exec: {command: [nosuch]}}}\nlivenessProbe: {exec: {command: [nosuch]}}",
            "/data",
            "",
        ),
        (
            "command: [python3]\nenv: [{name: PATH, value: /usr/local/nvidia/bin:/usr/local/bin}]",
            "/data",
            "",
        ),
        (
            "command: [python3]\nenv: [{name: PATH, value: '/opt/bin:$PATH'}]",
            "/data",
            "launch-program-missing 11:34",
        ),
    ] {
        let (_, report) =
            Input::new(&pod(&format!("{start}{}", mounted(mount)), volumes)).json(&[]);
        let main = containers(&report)
            .into_iter()
            .find(|it| it["role"] == "main");
        assert_eq!(failure(main.unwrap()), expected, "{start} {mount}");
    }
    let text = pod("command: [python]", "");
    let (code, report) =
        Input::new(&text.replace("command: [python]", "command: [pyton3]")).json(&[]);
    let finding = &containers(&report)[0]["findings"][0];
    let message = "the command starts `pyton3`, which is not in the image: `exec: \"pyton3\": executable file not found in $PATH`";
    let help = "write `python3`, which is in the image, or install `pyton3`";
    assert_eq!(
        (code, &finding["message"], &finding["help"]),
        (1, &json!(message), &json!(help))
    );
}

#[test]
fn every_container_of_every_object_is_judged() {
    let container = |name: &str| format!("{{name: {name}, image: IMAGE}}");
    let list = |name: &str| format!("[{}]", container(name));
    let text = format!(
        "apiVersion: v1\nkind: List\nitems:\n  - {{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{initContainers: {}, containers: {}, ephemeralContainers: {}}}}}\n---\n# nothing\n---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: j}}\nspec: {{jobTemplate: {{spec: {{template: {{spec: {{containers: {}}}}}}}}}}}\n---\n{{\"apiVersion\": \"team.example/v1\", \"kind\": \"Own\", \"spec\": {{\"parts\": [{{\"name\": \"x\", \"pod\": {{\"containers\": [{{\"name\": \"d\", \"image\": \"IMAGE\"}}]}}}}]}}}}\n",
        list("a"),
        list("b"),
        list("e"),
        list("c")
    );
    let (_, report) = Input::new(&text).json(&[]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = containers(&report);
    let found: Vec<_> = all
        .iter()
        .map(|it| (text(&it["name"]), text(&it["role"]), text(&it["group"])))
        .collect();
    let expected = [
        ("a", "init", ""),
        ("b", "main", ""),
        ("e", "ephemeral", ""),
        ("c", "main", ""),
        ("d", "main", "x"),
    ];
    let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn the_environment_of_the_pod_breaks_the_loader_at_its_line() {
    let library = "LD_LIBRARY_PATH";
    let config_map = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m}}\ndata: {{{library}: /opt/other}}\n"
    );
    let from = pod("envFrom: [{configMapRef: {name: m}}]", "");
    let input = Input::new(&format!("{config_map}---\n{from}"));
    let (_, report) = input.json(&[]);
    let container = containers(&report)[0];
    assert_eq!(
        container["gaps"].as_array().unwrap().len(),
        0,
        "{container}"
    );
    // The same without the ConfigMap: it may set anything.
    let (_, report) = Input::new(&from).json(&[]);
    let gap = &containers(&report)[0]["gaps"][0];
    assert_eq!(gap["code"], "overlay-unknown");
    assert!(gap["message"].as_str().unwrap().contains("ConfigMap m"));
}

#[test]
fn secrets_are_gaps_only_if_they_decide_what_is_loaded() {
    let env = |name: &str| {
        pod(
            &format!("env: [{{name: {name}, valueFrom: {{secretKeyRef: {{name: s, key: k}}}}}}]"),
            "",
        )
    };
    for (name, count) in [("HF_TOKEN", 0), ("LD_PRELOAD", 1), ("PYTHONPATH", 1)] {
        let (_, report) = Input::new(&env(name)).json(&[]);
        let gaps = containers(&report)[0]["gaps"].as_array().unwrap();
        assert_eq!(gaps.len(), count, "{name}: {gaps:?}");
    }
}

/// USER of the image is looked up when the Pod does not say `runAsUser`.
#[test]
fn run_as_user_replaces_the_user_of_the_image() {
    let refused = |container: &str, spec: &str| {
        let input = Input::new(&pod(container, spec));
        let archive = input.path().join("ghost.tar");
        let config = json!({"User": "ghost", "Cmd": ["python3", "serve.py"]});
        crate::launch::archive::write(&archive, &config, &[]);
        input.write("images.yaml", &format!("IMAGE: {}\n", archive.display()));
        let (_, report) = input.json(&[]);
        let found = findings(containers(&report)[0]);
        found.iter().any(|it| it.starts_with("launch-no-such-user"))
    };
    let context = "securityContext: {runAsUser: 1000, runAsGroup: 1000}";
    assert!(refused("", ""));
    assert!(refused("securityContext: {runAsNonRoot: true}", ""));
    assert!(!refused(context, ""));
    assert!(!refused("", context));
}

#[test]
fn a_network_that_the_image_has_no_library_for_is_said_at_its_variable() {
    let said = |network: &str, volume: &str| {
        let mount = "volumeMounts: [{name: v, mountPath: /plugins}]";
        let variable = format!("env: [{{name: NCCL_NET, value: {network}}}]\n{mount}");
        let volumes = format!("volumes: [{{name: v, {volume}}}]");
        let input = Input::new(&pod(&variable, &volumes));
        let (_, report) = input.json(&[]);
        let found = findings(containers(&report)[0]);
        let mut found = found.iter();
        found.any(|it| it.starts_with("deploy-nccl-network-missing 9:"))
    };
    assert!(said("nowhere", "emptyDir: {}"));
    assert!(said("IB", "emptyDir: {}"));
    assert!(!said("Socket", "emptyDir: {}"));
    assert!(!said("nowhere", "hostPath: {path: /opt/plugins}"));
}

#[test]
fn a_network_adapter_without_its_library_is_said_at_its_request() {
    let said = |resources: &str| {
        let input = Input::new(&pod(&format!("resources: {{limits: {{{resources}}}}}"), ""));
        let (_, report) = input.json(&[]);
        let found = findings(containers(&report)[0]);
        let mut found = found.iter();
        found.any(|it| it.starts_with("deploy-rdma-without-verbs 8:"))
    };
    assert!(said("nvidia.com/gpu: 8, rdma/hca_shared_devices_a: 1"));
    assert!(said("nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 4"));
    assert!(said("nvidia.com/gpu: 8, nvidia.com/mlnx_sriov_rdma: 1"));
    assert!(!said("nvidia.com/gpu: 8, intel.com/sriov_netdevice: 1"));
    assert!(!said("nvidia.com/gpu: 8, rdma/ib: 0"));
    assert!(!said("nvidia.com/gpu: 8"));
}
