//! Custom objects that describe their Pods with fields of their own.

use super::{containers, object, shown};

#[test]
fn dynamo_adds_the_gpus_of_a_service_to_its_main_container() {
    let text = object(
        "nvidia.com/v1alpha1",
        "DynamoGraphDeployment",
        r"
  services:
    Frontend: {replicas: 1, extraPodSpec: {mainContainer: {image: a/vllm-runtime:1}}}
    Worker:
      replicas: 2
      envs: [{name: A, value: b}]
      resources: {limits: {gpu: '4'}}
      extraPodSpec:
        nodeSelector: {pool: h100}
        containers: [{name: side, image: a/side:1}]
        mainContainer: {image: a/vllm-runtime:1, env: [{name: C, value: d}], command: [python3, -m, dynamo.vllm]}
    Intel: {resources: {limits: {gpu: '1', gpuType: gpu.intel.com/xe}}, extraPodSpec: {mainContainer: {image: a/xpu:1}}}
    Unknown: {resources: {requests: {gpu: '1'}}}
",
    );
    assert_eq!(
        shown(&text),
        [
            "Frontend/main a/vllm-runtime:1",
            "Worker/side a/side:1",
            "Worker/main a/vllm-runtime:1 nvidia.com/gpu=4",
            "Intel/main a/xpu:1",
            "Unknown/main ? nvidia.com/gpu=1"
        ]
    );
    let (containers, _) = containers(&[&text]);
    let worker = &containers[2];
    let names: Vec<&str> = worker.env.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["C", "A"]);
    assert_eq!(worker.placement.selector["pool"], "h100");
    assert_eq!(worker.placement.resources["nvidia.com/gpu"], 4);
    assert_eq!(worker.gpu.as_ref().unwrap().location.line, 11);
    assert!(!worker.default_shm);
    let beta = "  components: [{name: Worker, podTemplate: {spec: {containers: [{name: main, image: a/b:1, resources: {limits: {nvidia.com/gpu: 1}}}]}}}]\n";
    let text = object("nvidia.com/v1beta1", "DynamoGraphDeployment", beta);
    assert_eq!(shown(&text), ["Worker/main a/b:1 nvidia.com/gpu=1"]);
    let one =
        "  resources: {limits: {gpu: '1'}}\n  extraPodSpec: {mainContainer: {image: a/b:1}}\n";
    let text = object("nvidia.com/v1alpha1", "DynamoComponentDeployment", one);
    assert_eq!(shown(&text), ["main a/b:1 nvidia.com/gpu=1"]);
}

#[test]
fn the_image_of_a_nim_is_a_map() {
    let spec = |more: &str| {
        let spec = format!(
            "  image: {{repository: nvcr.io/nim/meta/llama, tag: 1.8.4, pullSecrets: [ngc]}}\n  nodeSelector: {{pool: l40s}}\n  env: [{{name: A, value: b}}]\n{more}"
        );
        object("apps.nvidia.com/v1alpha1", "NIMService", &spec)
    };
    let text = spec("  resources: {limits: {nvidia.com/gpu: 1}}\n");
    assert_eq!(
        shown(&text),
        ["x nvcr.io/nim/meta/llama:1.8.4 nvidia.com/gpu=1"]
    );
    let (containers, _) = containers(&[&text]);
    assert_eq!(containers[0].location.line, 5);
    assert_eq!(containers[0].placement.selector["pool"], "l40s");
    assert!(!containers[0].default_shm);
    // A claim of another object may be for a GPU.
    let text = spec("  draResources: [{resourceClaimTemplateName: one}]\n");
    assert!(super::containers(&[&text]).0[0].may_have_gpu);
    let claim = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: one}\nspec: {spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com}}]}}}\n";
    let both = super::containers(&[&text, claim]).0;
    assert_eq!(both[0].gpu.as_ref().unwrap().resource, "gpu.nvidia.com");
    // The operator makes a claim for these devices.
    let text = spec(
        "  draResources: [{claimCreationSpec: {devices: [{name: g, deviceClassName: gpu.nvidia.com}]}}]\n",
    );
    let made = super::containers(&[&text]).0;
    assert_eq!(made[0].gpu.as_ref().unwrap().resource, "gpu.nvidia.com");
    assert_eq!(made[0].gpu.as_ref().unwrap().location.line, 8);
}

#[test]
fn the_steps_of_a_tekton_task_are_containers_of_one_pod() {
    let steps = "stepTemplate: {image: a/base:1, env: [{name: A, value: b}]}, steps: [{name: prepare}, {name: train, image: a/train:1, computeResources: {limits: {nvidia.com/gpu: 1}}}], sidecars: [{name: s, image: a/side:1}]";
    let expected = [
        "prepare a/base:1",
        "train a/train:1 nvidia.com/gpu=1",
        "s a/side:1",
    ];
    let (run, pipeline) = (
        format!("  taskSpec: {{{steps}}}\n  podTemplate: {{nodeSelector: {{pool: gpu}}}}\n"),
        format!("  tasks: [{{name: one, taskSpec: {{{steps}}}}}]\n"),
    );
    for (kind, spec, group) in [
        ("Task", format!("  {{{steps}}}\n"), ""),
        ("TaskRun", run.clone(), ""),
        ("Pipeline", pipeline.clone(), "one/"),
        (
            "PipelineRun",
            format!("  pipelineSpec:\n  {pipeline}"),
            "one/",
        ),
    ] {
        let expected = expected.map(|it| format!("{group}{it}"));
        assert_eq!(
            shown(&object("tekton.dev/v1", kind, &spec)),
            expected,
            "{kind}"
        );
    }
    let (containers, _) = containers(&[&object("tekton.dev/v1", "TaskRun", &run)]);
    assert_eq!(containers[1].placement.selector["pool"], "gpu");
    assert_eq!(containers[1].overlay.env["A"], "b");
}

#[test]
fn other_projects_have_their_containers() {
    let pod =
        "{spec: {containers: [{name: c, image: a/b:1, resources: {limits: {nvidia.com/gpu: 1}}}]}}";
    for (api, kind, spec, expected) in [
        (
            "kubeflow.org/v1",
            "Notebook",
            format!("  template: {pod}\n"),
            vec!["c a/b:1 nvidia.com/gpu=1"],
        ),
        (
            "ray.io/v1",
            "RayCronJob",
            format!("  jobTemplate: {{rayClusterSpec: {{headGroupSpec: {{template: {pod}}}, workerGroupSpecs: [{{groupName: w, template: {pod}}}]}}, submitterPodTemplate: {pod}}}\n"),
            vec![
                "head/c a/b:1 nvidia.com/gpu=1",
                "w/c a/b:1 nvidia.com/gpu=1",
                "submitter/c a/b:1 nvidia.com/gpu=1",
            ],
        ),
        (
            "disaggregatedset.x-k8s.io/v1",
            "DisaggregatedSet",
            format!("  roles: [{{name: prefill, spec: {{leaderWorkerTemplate: {{size: 1, workerTemplate: {pod}}}}}}}, {{name: decode, spec: {{leaderWorkerTemplate: {{leaderTemplate: {pod}, workerTemplate: {pod}}}}}}}]\n"),
            vec![
                "decode/c a/b:1 nvidia.com/gpu=1",
                "prefill/c a/b:1 nvidia.com/gpu=1",
                "decode/c a/b:1 nvidia.com/gpu=1",
            ],
        ),
        (
            "inference.llmkube.dev/v1alpha1",
            "InferenceService",
            "  {modelRef: m, replicas: 1, image: a/llama:1, resources: {gpu: 2, memory: 4Gi}}\n".to_owned(),
            vec!["x a/llama:1 nvidia.com/gpu=2"],
        ),
        (
            "inference.llmkube.dev/v1alpha1",
            "InferenceService",
            "  {modelRef: m, resources: {gpu: 0}}\n".to_owned(),
            vec!["x ?"],
        ),
        (
            "sparkoperator.k8s.io/v1beta2",
            "ScheduledSparkApplication",
            "  schedule: '@daily'\n  template: {image: a/spark:1, driver: {cores: 1}, executor: {image: a/exec:1, gpu: {name: nvidia.com/gpu, quantity: 1}}}\n".to_owned(),
            vec!["driver/spark-kubernetes-driver a/spark:1", "executor/spark-kubernetes-executor a/exec:1 nvidia.com/gpu=1"],
        ),
        (
            "sparkoperator.k8s.io/v1beta2",
            "SparkApplication",
            "  {image: a/spark:1, executor: {gpu: {name: amd.com/gpu, quantity: 1}}}\n".to_owned(),
            vec!["executor/spark-kubernetes-executor a/spark:1"],
        ),
        (
            "serving.kserve.io/v1beta1",
            "InferenceService",
            "  predictor: {triton: {storageUri: x, resources: {limits: {nvidia.com/gpu: 1}}}, nodeSelector: {a: b}}\n".to_owned(),
            vec!["predictor/kserve-container ? nvidia.com/gpu=1"],
        ),
        (
            "serving.kserve.io/v1beta1",
            "InferenceService",
            "  predictor: {pytorch: {image: a/serve:1}, containers: [{name: side, image: a/side:1}]}\n".to_owned(),
            vec!["predictor/side a/side:1", "predictor/kserve-container a/serve:1"],
        ),
    ] {
        assert_eq!(shown(&object(api, kind, &spec)), expected, "{kind}");
    }
}
