//! What Helm charts render.

use super::{containers, shown};

const CHARTS: &str = include_str!("../../../../../../testdata/preflight/charts.yaml");

#[test]
fn every_container_of_the_charts_is_found_with_its_gpus() {
    assert_eq!(
        shown(CHARTS),
        [
            "fetch busybox:1.36",
            "vllm lmcache/vllm-openai:v0.3.9 nvidia.com/gpu=2",
            "sidecar lmcache/lmstack-sidecar:latest",
            "vllm vllm/vllm-openai:v0.11.0 nvidia.com/gpu=1",
            "vllm vllm/vllm-openai:v0.11.0 nvidia.com/gpu=1",
            "router-container lmcache/lmstack-router:latest",
            "lmcache-server lmcache/vllm-openai:v0.3.9",
            "fix-perms busybox:1.36",
            "manager lmcache/lmstack-lora-controller:latest",
            "leader/vllm-leader vllm/vllm-openai:v0.11.0 nvidia.com/gpu=8",
            "worker/vllm-worker vllm/vllm-openai:v0.11.0 nvidia.com/gpu=8",
            "head/vllm-ray-head vllm/vllm-openai:v0.10.0",
            "ray/vllm-ray-worker vllm/vllm-openai:v0.10.0 nvidia.com/gpu=1",
            "head/ray-head rayproject/ray:2.46.0",
            "head/autoscaler rayproject/ray:2.46.0-py311",
            "gpus/ray-worker rayproject/ray-ml:2.46.0-gpu nvidia.com/gpu=4",
            "gpus/collector quay.io/kuberay/collector:v1.5.0",
            "workergroup/ray-worker rayproject/ray:2.46.0",
            "nim-llm nvcr.io/nim/meta/llama3-8b-instruct:1.0.3 nvidia.com/gpu=1",
            "leader/nim-leader nvcr.io/nim/meta/llama-3.1-405b-instruct:1.0.3 nvidia.com/gpu=8",
            "worker/nim-worker nvcr.io/nim/meta/llama-3.1-405b-instruct:1.0.3 nvidia.com/gpu=8",
            "Launcher/nim nvcr.io/nim/meta/llama-3.1-405b-instruct:1.0.3",
            "Worker/nim nvcr.io/nim/meta/llama-3.1-405b-instruct:1.0.3 nvidia.com/gpu=8",
            "curl curlimages/curl:8.6.0",
            "triton-inference-server nvcr.io/nvidia/tritonserver:25.02-py3 nvidia.com/gpu=1",
        ]
    );
}

/// What Helm renders of published charts, whole.
const RENDERED: [(&str, &[&str]); 5] = [
    (
        include_str!("../../../../../../testdata/preflight/charts/production-stack.yaml"),
        &[
            "lmcache-server lmcache/vllm-openai:v0.3.9",
            "router-container lmcache/lmstack-router:latest",
            "vllm vllm/vllm-openai:v0.11.0 nvidia.com/gpu=1",
            "my-container busybox:1.36",
            "vllm lmcache/vllm-openai:v0.3.9 nvidia.com/gpu=4",
            "sidecar lmcache/lmstack-sidecar:latest",
        ],
    ),
    (
        include_str!("../../../../../../testdata/preflight/charts/production-stack-ray.yaml"),
        &[
            "router-container lmcache/lmstack-router:latest",
            "head/vllm-ray-head vllm/vllm-openai:v0.11.0",
            "ray/vllm-ray-worker vllm/vllm-openai:v0.11.0 nvidia.com/gpu=2",
        ],
    ),
    (
        include_str!("../../../../../../testdata/preflight/charts/ray-cluster.yaml"),
        &[
            "head/ray-head rayproject/ray:2.52.0-py312-gpu",
            "smallGroup/ray-worker rayproject/ray:2.52.0-py312-gpu nvidia.com/gpu=1",
            "gpu-group/fetch busybox:1.36",
            "gpu-group/ray-worker rayproject/ray:2.52.0-py312-gpu nvidia.com/gpu=4",
            "gpu-group/fluentbit fluent/fluent-bit:3.2.2",
        ],
    ),
    (
        include_str!("../../../../../../testdata/preflight/charts/nim-llm.yaml"),
        &[
            "ngc-model-puller registry.example/ngc-cli:3.34",
            "nim-llm nvcr.io/nim/meta/llama3-70b-instruct:1.0.3 nvidia.com/gpu=2",
            "curl curlimages/curl:8.6.0",
            "curl curlimages/curl:8.6.0",
            "curl curlimages/curl:8.6.0",
        ],
    ),
    (
        include_str!("../../../../../../testdata/preflight/charts/triton.yaml"),
        &["triton-inference-server nvcr.io/nvidia/tritonserver:25.02-py3 nvidia.com/gpu=2"],
    ),
];

#[test]
fn published_charts_are_understood_and_accepted() {
    for (chart, expected) in RENDERED {
        assert_eq!(shown(chart), expected);
        let (containers, not_understood) = containers(&[chart]);
        assert!(not_understood.is_empty(), "{not_understood:?}");
        for container in containers {
            assert!(container.refused_fields.is_empty(), "{container:?}");
            assert!(container.refused_resources.is_empty(), "{container:?}");
        }
    }
}

#[test]
fn shared_memory_comes_from_a_volume_the_node_or_an_operator() {
    let (containers, _) = containers(&[CHARTS]);
    let mut named: Vec<_> = containers.iter().collect();
    named.retain(|it| it.default_shm && it.gpu.is_some());
    let small: Vec<_> = named.iter().map(|it| (it.title(), &*it.image)).collect();
    assert_eq!(
        small,
        [
            ("vllm".to_owned(), "vllm/vllm-openai:v0.11.0"),
            (
                "triton-inference-server".to_owned(),
                "nvcr.io/nvidia/tritonserver:25.02-py3"
            ),
        ]
    );
}

#[test]
fn charts_set_variables_commands_volumes_and_users() {
    let (containers, _) = containers(&[CHARTS]);
    let named = |name: &str| containers.iter().find(|it| it.title() == name).unwrap();
    let engine = named("vllm");
    assert_eq!(engine.unknown.len(), 2, "{:?}", engine.unknown);
    assert_eq!(engine.overlay.env["VLLM_LOGGING_LEVEL"], "INFO");
    assert_eq!(engine.runtime_class.as_ref().unwrap().name, "nvidia");
    assert_eq!(named("fix-perms").overlay.user.as_deref(), Some("0:0"));
    let nim = named("nim-llm");
    assert_eq!(nim.overlay.user.as_deref(), Some("1000:1000"));
    let kinds = nim.mounts.iter().map(|it| it.kind.as_str());
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        ["persistentVolumeClaim", "emptyDir"]
    );
    let leader = named("leader/vllm-leader").overlay.command.as_ref();
    // The controller of LeaderWorkerSets sets this variable.
    assert!(leader.unwrap().contains(&"$(LWS_GROUP_SIZE)".to_owned()));
    let head = named("head/vllm-ray-head").overlay.args.as_ref();
    let script = &head.unwrap()[0];
    assert!(script.starts_with("/bin/bash -c \" cp"), "{script}");
    assert!(script.ends_with("; ray start"), "{script}");
    let rdma: Vec<String> = containers
        .iter()
        .filter(|it| it.rdma.is_some())
        .map(|it| it.title())
        .collect();
    assert_eq!(rdma, ["vllm"]);
}
