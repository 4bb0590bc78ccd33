//! The objects of the table, in the shape of their projects' samples, and Compose files.

use serde_json::Value;

use super::{Input, containers, findings};

/// `group/name` of every container of a manifest.
fn names(text: &str) -> Vec<String> {
    let (_, report) = Input::new(text).json(&[]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = containers(&report).into_iter();
    all.map(|it| format!("{}/{}", text(&it["group"]), text(&it["name"])))
        .collect()
}

/// A Pod's template with one container.
fn template(name: &str) -> String {
    format!("{{spec: {{containers: [{{name: {name}, image: 'IMAGE'}}]}}}}")
}

fn object(api: &str, kind: &str, spec: &str) -> String {
    format!("apiVersion: {api}\nkind: {kind}\nmetadata: {{name: x}}\nspec: {spec}\n")
}

#[test]
fn custom_resources_have_their_containers_and_parts() {
    let t = template;
    let ray = format!(
        "{{headGroupSpec: {{rayStartParams: {{}}, template: {}}}, workerGroupSpecs: [{{groupName: gpu-workers, replicas: 2, template: {}}}]}}",
        t("ray-head"),
        t("ray-worker")
    );
    let jobs = format!(
        "{{replicatedJobs: [{{name: driver, template: {{spec: {{template: {}}}}}}}, {{name: workers, groupName: default, template: {{spec: {{template: {}}}}}}}]}}",
        t("d"),
        t("w")
    );
    let replicas = |field: &str| {
        format!(
            "{{{field}: {{Master: {{template: {}}}, Worker: {{template: {}}}}}}}",
            t("m"),
            t("w")
        )
    };
    let argo = "{templates: [{name: train, container: {name: main, image: 'IMAGE'}, sidecars: [{name: s, image: 'IMAGE'}]}, {name: code, script: {image: 'IMAGE', source: x}}]}";
    let both = ["/m", "/w"].map(|name| match name {
        "/m" => "Master/m",
        _ => "Worker/w",
    });
    for (api, kind, spec, expected) in [
        ("ray.io/v1", "RayCluster", ray.clone(), vec!["head/ray-head", "gpu-workers/ray-worker"]),
        (
            "ray.io/v1",
            "RayJob",
            format!("{{rayClusterSpec: {ray}, submitterPodTemplate: {}}}", t("submit")),
            vec!["head/ray-head", "gpu-workers/ray-worker", "submitter/submit"],
        ),
        (
            "ray.io/v1",
            "RayService",
            format!("{{rayClusterConfig: {ray}}}"),
            vec!["head/ray-head", "gpu-workers/ray-worker"],
        ),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", jobs.clone(), vec!["driver/d", "workers/w"]),
        (
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            format!("{{leaderWorkerTemplate: {{size: 2, leaderTemplate: {}, workerTemplate: {}}}}}", t("l"), t("w")),
            vec!["leader/l", "worker/w"],
        ),
        ("kubeflow.org/v1", "PyTorchJob", replicas("pytorchReplicaSpecs"), both.to_vec()),
        ("kubeflow.org/v2beta1", "MPIJob", replicas("mpiReplicaSpecs"), both.to_vec()),
        (
            "trainer.kubeflow.org/v1alpha1",
            "ClusterTrainingRuntime",
            format!("{{template: {{spec: {jobs}}}}}"),
            vec!["driver/d", "workers/w"],
        ),
        (
            "batch.volcano.sh/v1alpha1",
            "Job",
            format!("{{tasks: [{{name: worker, template: {}}}]}}", t("w")),
            vec!["worker/w"],
        ),
        (
            "serving.kserve.io/v1beta1",
            "InferenceService",
            "{predictor: {containers: [{name: kserve-container, image: 'IMAGE'}]}}".to_owned(),
            vec!["predictor/kserve-container"],
        ),
        (
            "sparkoperator.k8s.io/v1beta2",
            "SparkApplication",
            "{image: 'IMAGE', driver: {cores: 1}, executor: {gpu: {name: nvidia.com/gpu, quantity: 1}}}".to_owned(),
            vec!["driver/spark-kubernetes-driver", "executor/spark-kubernetes-executor"],
        ),
        (
            "argoproj.io/v1alpha1",
            "Workflow",
            argo.to_owned(),
            vec!["train/main", "train/s", "code/main"],
        ),
    ] {
        assert_eq!(names(&object(api, kind, &spec)), expected, "{kind}");
    }
}

#[test]
fn an_image_that_another_object_decides_is_not_a_pass() {
    let spec = "{predictor: {model: {modelFormat: {name: huggingface}, resources: {limits: {nvidia.com/gpu: 1}}}}}";
    let input = Input::new(&object(
        "serving.kserve.io/v1beta1",
        "InferenceService",
        spec,
    ));
    let (code, report) = input.json(&[]);
    let found = findings(containers(&report)[0]);
    assert_eq!((code, found.len()), (3, 1));
    assert!(found[0].starts_with("deploy-image-unknown 4:"), "{found:?}");
}

#[test]
fn parts_with_different_versions_are_reported() {
    let gpu = "resources: {limits: {nvidia.com/gpu: 1}}";
    let container =
        |name: &str| format!("{{spec: {{containers: [{{name: {name}, image: 'IMAGE', {gpu}}}]}}}}");
    let spec = format!(
        "{{pytorchReplicaSpecs: {{Master: {{template: {}}}, Worker: {{template: {}}}}}}}",
        container("pytorch"),
        container("pytorch")
    );
    let (code, report) = Input::new(&object("kubeflow.org/v1", "PyTorchJob", &spec)).json(&[]);
    assert_eq!((code, findings(containers(&report)[1])), (0, vec![]));
}

#[test]
fn compose_files_are_judged_as_docker_starts_them() {
    let text = "services:\n  app:\n    image: ${REGISTRY:-registry.example}/ml/pytorch:2.8.0-cuda12.8\n    entrypoint: python -u \"a b.py\"\n    environment:\n      - NVIDIA_VISIBLE_DEVICES=all\n      - HOME_OF_SHELL\n      - LD_PRELOAD\n    volumes: ['./src:/usr/local', 'cache:/root/.cache:ro']\n    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 2, capabilities: [gpu]}]}}}\n  db: {image: registry.invalid/db:1}\n";
    let (code, report) = Input::new(text).json(&[]);
    let all = containers(&report);
    assert_eq!((code, all.len()), (3, 2));
    let found = findings(all[0]);
    for rule in ["deploy-volume-hides-files 9:16", "deploy-default-shm 10:60"] {
        assert!(found.contains(&rule.to_owned()), "{found:?}");
    }
    assert!(
        !found.iter().any(|it| it.contains("visible-devices")),
        "{found:?}"
    );
    let gaps = all[0]["gaps"].to_string();
    assert!(
        gaps.contains("LD_PRELOAD") && !gaps.contains("HOME_OF_SHELL"),
        "{gaps}"
    );
}

#[test]
fn an_image_that_the_shell_decides_is_unknown() {
    let text = "services:\n  app:\n    image: registry.example/ml/train:${TAG}\n";
    let (code, report) = Input::new(text).json(&[]);
    let all = containers(&report);
    assert_eq!(code, 3);
    assert_eq!(findings(all[0]), ["deploy-image-unknown 3:12"]);
}

#[test]
fn claims_and_runtime_classes_of_the_same_input_count() {
    let claim = |class: &str| {
        format!(
            "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {{name: one}}\nspec: {{spec: {{devices: {{requests: [{{name: g, exactly: {{deviceClassName: {class}}}}}]}}}}}}\n---\n"
        )
    };
    let runtime = "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: fast}\nhandler: nvidia\nscheduling: {nodeSelector: {pool: h100}}\n---\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  runtimeClassName: fast\n  resourceClaims: [{name: g, resourceClaimTemplateName: one}]\n  containers: [{name: c, image: 'IMAGE', resources: {claims: [{name: g}]}}]\n";
    let nodes = "clusters: {c: {nodes: [{name: old, gpu: a100, driver: 470.82.01, labels: {pool: a100}}, {name: h100, gpu: h100, driver: 570.124.06, labels: {pool: h100}}, {name: cpu, labels: {pool: h100}}]}}\n";
    let classes = |class: &str| {
        let input = Input::new(&format!("{}{runtime}{pod}", claim(class)));
        input.write("nodes.yaml", nodes);
        let (_, report) = input.json(&["--config", "nodes.yaml"]);
        super::classes(containers(&report)[0])
    };
    assert_eq!(classes("gpu.nvidia.com"), ["h100 pass"]);
    // A network card is no GPU.
    assert_eq!(classes("nic.example.com"), ["h100 pass", "cpu pass"]);
}

#[test]
fn plain_commands_of_scripts_are_judged() {
    let text = "#!/bin/bash\n#SBATCH --gres=gpu:8\n#SBATCH --container-image=IMAGE\nTAG=2.8.0-cuda12.8\nsrun --container-image=registry.example#ml/pytorch:$TAG python train.py\ndocker run --rm -it --gpus 2 -e NVIDIA_DRIVER_CAPABILITIES=utility -v \"$PWD:/usr/local\" \\\n  registry.example/ml/pytorch:$TAG python train.py\napptainer exec --nv --bind /data docker://IMAGE python train.py\necho docker run x\n";
    let input = Input::new(text);
    let (_, report) = input.json(&[]);
    let all = containers(&report);
    let shown: Vec<String> = all
        .iter()
        .map(|it| {
            format!(
                "{} {}",
                it["name"].as_str().unwrap(),
                it["image"] == super::IMAGE
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "sbatch true",
            "srun true",
            "docker run true",
            "apptainer true"
        ]
    );
    let found = findings(all[2]);
    for rule in [
        "deploy-volume-hides-files 6:",
        "deploy-default-shm 6:21",
        "driver-capability-missing 6:",
    ] {
        assert!(
            found.iter().any(|it| it.starts_with(rule)),
            "no {rule} in {found:?}"
        );
    }
    assert_eq!(report["workloads"][0]["kind"], "script");
}

#[test]
fn steps_of_slurm_are_judged_with_their_command() {
    let text = "#!/bin/bash\n#SBATCH -N 2 --gres=gpu:h100:8 # nodes\nsrun --container-image IMAGE --container-mounts=/scratch:/usr/local:ro,/data:/data --container-workdir /data -N2 --label \\\n  /usr/bin/env LD_LIBRARY_PATH=/usr/local/cuda/compat python train.py --gpus 1\n";
    let input = Input::new(text);
    let (_, report) = input.json(&[]);
    let step = containers(&report)[0];
    assert_eq!(step["image"], super::IMAGE);
    let found = findings(step);
    assert!(
        found
            .iter()
            .any(|it| it.starts_with("deploy-volume-hides-files 3:")),
        "{found:?}"
    );
    // Without site-packages there is no PyTorch.
    let leaves = |step: &str| {
        let text = format!("#!/bin/bash\nsrun --container-image=IMAGE {step}\n");
        let (_, report) = Input::new(&text).json(&[]);
        let found = findings(containers(&report)[0]);
        let rule = "deploy-command-leaves-environment 2:";
        found.iter().any(|it| it.starts_with(rule))
    };
    assert!(leaves("-n8 --label python3 -S train.py"));
    assert!(leaves(
        "--container-entrypoint --mpi pmix python3 -S train.py"
    ));
    assert!(!leaves("--label -- python3 train.py"));
}

#[test]
fn kinds_of_the_configuration_are_judged() {
    let text = object(
        "ml.example.com/v1",
        "ChatServer",
        "{server: {gpuCount: 2, runtime: {image: {repository: registry.example/ml/pytorch, tag: 2.8.0-cuda12.8}}}, nodeSelector: {pool: h100}}",
    );
    let other = object(
        "ml.example.com/v1",
        "TrainingRun",
        &format!("{{chief: {{template: {}}}}}", template("c")),
    );
    let input = Input::new(&format!("{text}---\n{other}"));
    // Nothing is known of the first one, and the second has a Pod.
    let (_, report) = input.json(&[]);
    assert_eq!(containers(&report).len(), 1, "{report}");
    let config = "kinds:\n  - kind: ChatServer\n    group: ml.example.com\n    parts: [{at: serving=spec, pod: '', container: server, fields: {image: server.runtime.image}, gpus: [server.gpuCount]}]\n  - {kind: TrainingRun, group: ml.example.com, templates: [chief=spec.chief.template]}\nclusters: {c: {nodes: [{name: h100, gpu: h100, driver: 570.124.06, labels: {pool: h100}}, {name: old, gpu: a100, driver: 470.82.01, labels: {pool: old}}]}}\n";
    input.write("config.yaml", config);
    let (_, report) = input.json(&["--config", "config.yaml"]);
    let all = containers(&report);
    let parts: Vec<&Value> = all.iter().map(|it| &it["group"]).collect();
    assert_eq!(parts, ["serving", "chief"]);
    assert_eq!(all[0]["image"], super::IMAGE);
    assert_eq!(super::classes(all[0]), ["h100 pass"]);
    assert_eq!(report["workloads"][0]["gaps"], serde_json::json!([]));
    input.write("config.yaml", "kinds:\n  - {kind: X, group: a.b}\n");
    let (code, _, error) = input.run(&["--config", "config.yaml", "deploy.yaml"]);
    assert_eq!(code, 2);
    assert!(
        error.contains("config.yaml:2")
            && error.contains("kind `X` says nothing about its containers"),
        "{error}"
    );
}
