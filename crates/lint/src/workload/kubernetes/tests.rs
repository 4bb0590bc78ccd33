//! Custom objects in the shape of their projects' samples.
#![allow(clippy::unwrap_used)]

use crate::workload::{Container, Kinds, read};
use imgcheck_model::knowledge;

fn kinds() -> Kinds {
    knowledge::table("workloads").unwrap()
}

fn containers(texts: &[&str]) -> (Vec<Container>, Vec<String>) {
    let files = texts
        .iter()
        .map(|it| ("x.yaml".to_owned(), (*it).to_owned()));
    let files: Vec<(String, String)> = files.collect();
    let (workloads, malformed) = read(&files, &[], &kinds());
    assert!(malformed.is_empty(), "{malformed:?}");
    let other = workloads.iter().flat_map(|it| &it.not_understood);
    let other = other.map(|it| it.text.clone()).collect();
    let all = workloads.into_iter().flat_map(|it| it.containers);
    (all.collect(), other)
}

/// `group/name image` of each container, with the GPUs that it requests.
fn shown(text: &str) -> Vec<String> {
    let (containers, other) = containers(&[text]);
    assert_eq!(other, Vec::<String>::new());
    let line = |it: &Container| {
        let gpu = it.gpu.as_ref();
        let gpu = gpu.map(|it| format!(" {}={}", it.resource, it.count.unwrap_or_default()));
        let image = match it.image.as_str() {
            "" => "?",
            image => image,
        };
        format!("{} {image}{}", it.title(), gpu.unwrap_or_default())
    };
    containers.iter().map(line).collect()
}

fn object(api: &str, kind: &str, spec: &str) -> String {
    format!("apiVersion: {api}\nkind: {kind}\nmetadata: {{name: x}}\nspec:\n{spec}")
}

fn argo(spec: &str) -> String {
    object("argoproj.io/v1alpha1", "Workflow", spec)
}

#[test]
fn argo_runs_a_template_for_each_item() {
    let text = argo(
        r"
  entrypoint: main
  arguments: {parameters: [{name: registry, value: reg.example}, {name: list, value: '[{image: e, tag: 5}]'}]}
  nodeSelector: {pool: gpu}
  templates:
  - name: main
    steps:
    - - {name: a, template: train, arguments: {parameters: [{name: image, value: '{{item.image}}'}, {name: tag, value: '{{item.tag}}'}]}, withItems: [{image: a, tag: 1}, {image: b, tag: 2}]}
      - {name: b, template: train, arguments: {parameters: [{name: image, value: '{{steps.a.outputs.result}}'}]}}
    - - {name: c, template: train, arguments: {parameters: [{name: image, value: '{{item.image}}'}, {name: tag, value: '{{item.tag}}'}]}, withParam: '{{workflow.parameters.list}}'}
      - {name: d, template: train, arguments: {parameters: [{name: image, value: '{{item}}'}]}, withParam: '{{steps.a.outputs.result}}'}
  - name: train
    inputs: {parameters: [{name: image}, {name: tag, default: latest}]}
    container:
      name: main
      image: '{{workflow.parameters.registry}}/{{inputs.parameters.image}}:{{inputs.parameters.tag}}'
      env: [{name: LD_LIBRARY_PATH, value: '{{inputs.parameters.image}}'}]
      resources: {limits: {nvidia.com/gpu: 2}}
",
    );
    let gpus = "nvidia.com/gpu=2";
    assert_eq!(
        shown(&text),
        [
            format!("train/main reg.example/a:1 {gpus}"),
            format!("train/main reg.example/b:2 {gpus}"),
            format!("train/main ? {gpus}"),
            format!("train/main reg.example/e:5 {gpus}"),
        ]
    );
    let (containers, _) = containers(&[&text]);
    assert_eq!(containers[0].placement.selector["pool"], "gpu");
    assert_eq!(containers[0].placement.resources["nvidia.com/gpu"], 2);
    // What is unknown is so for the variables, too.
    assert_eq!(containers[1].env[0].value.as_deref(), Some("b"));
    assert_eq!(containers[2].env[0].value, None);
    assert_eq!(containers[2].location.line, 20);
    assert!(
        containers[2]
            .decided_by
            .contains("{{inputs.parameters.image}}")
    );
}

#[test]
fn argo_has_inline_templates_and_defaults() {
    let text = argo(
        r"
  entrypoint: main
  templateDefaults: {container: {image: a/default:1}, nodeSelector: {pool: gpu}, script: {image: a/script:1}}
  templates:
  - name: main
    dag:
      tasks:
      - {name: one, inline: {container: {name: main, command: [x]}}}
      - name: two
        arguments: {parameters: [{name: i, value: '{{item}}'}]}
        withItems: [a/b:1, a/b:2]
        inline: {inputs: {parameters: [{name: i}]}, script: {name: main, image: '{{inputs.parameters.i}}', source: x}}
  - {name: set, containerSet: {containers: [{name: c, image: a/set:1}]}}
",
    );
    assert_eq!(
        shown(&text),
        [
            "one/main a/default:1",
            "two/main a/b:1",
            "two/main a/b:2",
            "set/c a/set:1"
        ]
    );
    let (containers, _) = containers(&[&text]);
    let pools = containers
        .iter()
        .map(|it| it.placement.selector.get("pool"));
    assert_eq!(pools.flatten().count(), 3);
}

/// Whoever writes a workflow does not decide how long it takes to read.
#[test]
fn argo_templates_that_run_each_other_end() {
    let step = "{name: s, template: t, withItems: [1, 2, 3, 4, 5, 6, 7, 8, 9], arguments: {parameters: [{name: p, value: '{{inputs.parameters.p}}{{item}}'}]}}";
    let steps = vec![step; 200].join(", ");
    let text = argo(&format!(
        "  entrypoint: t\n  templates:\n  - {{name: t, inputs: {{parameters: [{{name: p, value: '0'}}]}}, steps: [[{steps}]], container: {{name: c, image: 'a/b:{{{{inputs.parameters.p}}}}'}}}}\n"
    ));
    let start = std::time::Instant::now();
    let shown = shown(&text);
    assert_eq!(shown.last().unwrap(), "t/c ?");
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn a_placeholder_of_helm_is_no_placeholder_of_argo() {
    let text = argo("  templates: [{name: t, container: {image: '{{ .Values.image }}'}}]\n");
    let files = [("x.yaml".to_owned(), text)];
    let (_, malformed) = read(&files, &[], &kinds());
    assert!(
        malformed[0].1.message().contains("template"),
        "{malformed:?}"
    );
}

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
            "Frontend/ a/vllm-runtime:1",
            "Worker/side a/side:1",
            "Worker/ a/vllm-runtime:1 nvidia.com/gpu=4",
            "Intel/ a/xpu:1",
            "Unknown/ ? nvidia.com/gpu=1"
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
    assert_eq!(shown(&text), [" a/b:1 nvidia.com/gpu=1"]);
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
        [" nvcr.io/nim/meta/llama:1.8.4 nvidia.com/gpu=1"]
    );
    let (containers, _) = containers(&[&text]);
    assert_eq!(containers[0].location.line, 5);
    assert_eq!(containers[0].placement.selector["pool"], "l40s");
    assert!(!containers[0].default_shm);
    // A claim of another object may be for a GPU.
    let text = spec("  draResources: [{resourceClaimTemplateName: one}]\n");
    assert!(self::containers(&[&text]).0[0].may_have_gpu);
    let claim = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: one}\nspec: {spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com}}]}}}\n";
    let both = self::containers(&[&text, claim]).0;
    assert_eq!(both[0].gpu.as_ref().unwrap().resource, "gpu.nvidia.com");
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
            "inference.llmkube.dev/v1alpha1",
            "InferenceService",
            "  {modelRef: m, replicas: 1, image: a/llama:1, resources: {gpu: 2, memory: 4Gi}}\n".to_owned(),
            vec![" a/llama:1 nvidia.com/gpu=2"],
        ),
        (
            "inference.llmkube.dev/v1alpha1",
            "InferenceService",
            "  {modelRef: m, resources: {gpu: 0}}\n".to_owned(),
            vec![" ?"],
        ),
        (
            "sparkoperator.k8s.io/v1beta2",
            "ScheduledSparkApplication",
            "  schedule: '@daily'\n  template: {image: a/spark:1, driver: {cores: 1}, executor: {image: a/exec:1, gpu: {name: nvidia.com/gpu, quantity: 1}}}\n".to_owned(),
            vec!["driver/ a/spark:1", "executor/ a/exec:1 nvidia.com/gpu=1"],
        ),
        (
            "sparkoperator.k8s.io/v1beta2",
            "SparkApplication",
            "  {image: a/spark:1, executor: {gpu: {name: amd.com/gpu, quantity: 1}}}\n".to_owned(),
            vec!["executor/ a/spark:1"],
        ),
        (
            "serving.kserve.io/v1beta1",
            "InferenceService",
            "  predictor: {triton: {storageUri: x, resources: {limits: {nvidia.com/gpu: 1}}}, nodeSelector: {a: b}}\n".to_owned(),
            vec!["predictor/ ? nvidia.com/gpu=1"],
        ),
        (
            "serving.kserve.io/v1beta1",
            "InferenceService",
            "  predictor: {pytorch: {image: a/serve:1}, containers: [{name: side, image: a/side:1}]}\n".to_owned(),
            vec!["predictor/side a/side:1", "predictor/ a/serve:1"],
        ),
    ] {
        assert_eq!(shown(&object(api, kind, &spec)), expected, "{kind}");
    }
}

/// Other ways to a GPU than a request for one.
#[test]
fn a_pod_gets_gpus_by_other_ways() {
    let pod = |container: &str, more: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\nspec: {{containers: [{{name: c, image: 'a/b:1', {container}}}], {more}}}\n"
        )
    };
    let limits = |name: &str| format!("resources: {{limits: {{{name}: 2}}}}");
    let env = |value: &str| format!("env: [{{name: NVIDIA_VISIBLE_DEVICES, value: '{value}'}}]");
    let privileged =
        "securityContext: {privileged: true}, volumeMounts: [{name: v, mountPath: /dev}]";
    let host = |path: &str| format!("volumes: [{{name: v, hostPath: {{path: {path}}}}}]");
    for (container, more, gpu, perhaps) in [
        (
            limits("nvidia.com/gpu"),
            String::new(),
            Some(Some(2)),
            false,
        ),
        (
            limits("nvidia.com/mig-1g.10gb"),
            String::new(),
            Some(Some(2)),
            false,
        ),
        (
            limits("volcano.sh/vgpu-number"),
            String::new(),
            Some(Some(2)),
            false,
        ),
        (
            limits("volcano.sh/vgpu-memory"),
            String::new(),
            Some(None),
            false,
        ),
        (
            "resources: {limits: {volcano.sh/vgpu-memory: 3000, volcano.sh/vgpu-number: 1}}"
                .to_owned(),
            String::new(),
            Some(Some(1)),
            false,
        ),
        (
            limits("deviceclass.resource.kubernetes.io/gpu.nvidia.com"),
            String::new(),
            Some(Some(2)),
            false,
        ),
        (limits("nvidia.com/pgpu"), String::new(), None, true),
        (limits("nvidia.com/GA102GL_A10"), String::new(), None, true),
        (limits("nvidia.com/hostdev"), String::new(), None, false),
        (
            "resources: {limits: {nvidia.com/pgpu: 0}}".to_owned(),
            String::new(),
            None,
            false,
        ),
        (limits("amd.com/gpu"), String::new(), None, false),
        (env("all"), String::new(), None, true),
        (env("0,1"), String::new(), None, true),
        (env("void"), String::new(), None, false),
        (env("none"), String::new(), None, false),
        (env(""), String::new(), None, false),
        (
            "env: [{name: NVIDIA_VISIBLE_DEVICES, valueFrom: {secretKeyRef: {name: s, key: k}}}]"
                .to_owned(),
            String::new(),
            None,
            true,
        ),
        (privileged.to_owned(), host("/dev"), None, true),
        (privileged.to_owned(), host("/dev/"), None, true),
        (privileged.to_owned(), host("/dev/nvidia0"), None, true),
        (privileged.to_owned(), host("/dev/sda"), None, false),
        (
            privileged.to_owned(),
            "volumes: [{name: v, emptyDir: {}}]".to_owned(),
            None,
            false,
        ),
        (
            privileged.replace("true", "false"),
            host("/dev"),
            None,
            false,
        ),
    ] {
        let text = pod(&container, &more);
        let (containers, _) = containers(&[&text]);
        let found = containers[0].gpu.as_ref().map(|it| it.count);
        assert_eq!(
            (found, containers[0].may_have_gpu),
            (gpu, perhaps),
            "{text}"
        );
        // What no node lists does not exclude nodes.
        assert!(
            !containers[0]
                .placement
                .resources
                .contains_key("volcano.sh/vgpu-memory")
        );
    }
}

#[test]
fn an_inference_service_has_the_containers_of_its_runtime() {
    let runtime = |kind: &str, name: &str, image: &str| {
        format!(
            "apiVersion: serving.kserve.io/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n  supportedModelFormats: [{{name: x}}]\n  nodeSelector: {{pool: gpu}}\n  workerSpec: {{containers: [{{name: w, image: a/worker:1}}]}}\n  containers: [{{name: kserve-container, image: '{image}', args: [serve], env: [{{name: A, value: b}}]}}]\n"
        )
    };
    let service = |model: &str| {
        object(
            "serving.kserve.io/v1beta1",
            "InferenceService",
            &format!("  predictor:\n    model: {{{model}}}\n"),
        )
    };
    let gpu = "resources: {limits: {nvidia.com/gpu: 1}}";
    for (name, image, model, expected) in [
        ("own", "a/serve:1", "", "a/serve:1"),
        ("own", "a/serve:1", "runtimeVersion: v2", "a/serve:v2"),
        (
            "own",
            "host:5000/serve",
            "runtimeVersion: v2",
            "host:5000/serve:v2",
        ),
        (
            "own",
            "a/serve:1",
            "image: 'b/other:1', runtimeVersion: v2",
            "b/other:1",
        ),
        ("kserve-torchserve", "a/ts:1", "", "a/ts:1"),
        ("kserve-torchserve", "a/ts:1", gpu, "a/ts:1-gpu"),
        ("kserve-huggingfaceserver", "a/hf:1-gpu", gpu, "a/hf:1-gpu"),
        ("kserve-huggingfaceserver", "a/hf:1", gpu, ""),
    ] {
        for kind in ["ServingRuntime", "ClusterServingRuntime"] {
            let model = format!("runtime: {name}, {model}");
            let texts = [service(&model), runtime(kind, name, image)];
            let (containers, _) = containers(&[&texts[0], &texts[1]]);
            let first = &containers[0];
            assert_eq!(first.image, expected, "{kind} {model}");
            assert_eq!(first.title(), "predictor/kserve-container");
            assert_eq!(
                first.overlay.args.as_deref(),
                Some(&["serve".to_owned()][..])
            );
            assert_eq!(first.placement.selector["pool"], "gpu");
            assert_eq!(first.gpu.is_some(), model.contains("nvidia"));
            // The Pod of the service has no worker; the other two are those of the runtime alone.
            assert_eq!(containers.len(), 3, "{containers:?}");
        }
    }
    for (model, decider) in [
        (
            "runtime: llama, modelFormat: {name: x}",
            "ServingRuntime llama",
        ),
        (
            "modelFormat: {name: huggingface}",
            "a ServingRuntime for huggingface",
        ),
    ] {
        let (containers, _) = containers(&[&service(model)]);
        assert_eq!(
            (
                containers[0].image.as_str(),
                containers[0].decided_by.as_str()
            ),
            ("", decider)
        );
    }
    let text = object(
        "serving.kserve.io/v1beta1",
        "InferenceService",
        "  predictor: {triton: {storageUri: x}}\n",
    );
    assert_eq!(
        containers(&[&text]).0[0].decided_by,
        "a ServingRuntime for triton"
    );
    let text = object(
        "tekton.dev/v1",
        "Task",
        "  {params: [{name: i}], steps: [{name: s, image: $(params.i)}]}\n",
    );
    assert_eq!(containers(&[&text]).0[0].decided_by, "$(params.i)");
}
