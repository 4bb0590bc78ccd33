//! What Helm charts render.

use super::{containers, shown};

const CHARTS: &str = include_str!("../../../../../../testdata/preflight/charts.yaml");

#[test]
fn every_container_of_the_charts_is_found_with_its_gpus() {
    assert_eq!(
        shown(CHARTS),
        [
            "vllm lmcache/vllm-openai:v0.3.9 nvidia.com/gpu=2",
            "router-container lmcache/lmstack-router:latest",
            "head/vllm-ray-head vllm/vllm-openai:v0.10.0 nvidia.com/gpu=1",
            "ray/vllm-ray-worker vllm/vllm-openai:v0.10.0 nvidia.com/gpu=1",
            "head/ray-head rayproject/ray:2.46.0",
            "gpus/ray-worker rayproject/ray-ml:2.46.0-gpu nvidia.com/gpu=4",
            "gpus/collector quay.io/kuberay/collector:v1.5.0",
            "workergroup/ray-worker rayproject/ray:2.46.0",
            "nim-llm nvcr.io/nim/meta/llama3-8b-instruct:1.0.3 nvidia.com/gpu=1",
            "leader/nim-leader nvcr.io/nim/meta/llama-3.1-405b-instruct:1.0.3 nvidia.com/gpu=8",
            "worker/nim-worker nvcr.io/nim/meta/llama-3.1-405b-instruct:1.0.3 nvidia.com/gpu=8",
            "triton-inference-server nvcr.io/nvidia/tritonserver:25.08-py3 nvidia.com/gpu=1",
        ]
    );
    let (containers, _) = containers(&[CHARTS]);
    // Memory of the node at /dev/shm: by a volume, or by the operator of Ray.
    let small = containers.iter().filter(|it| it.default_shm);
    let small: Vec<String> = small.map(|it| it.title()).collect();
    assert_eq!(
        small,
        [
            "router-container",
            "leader/nim-leader",
            "worker/nim-worker",
            "triton-inference-server"
        ]
    );
    assert_eq!(
        containers[0].unknown.len(),
        2,
        "{:?}",
        containers[0].unknown
    );
    assert!(
        containers[8]
            .mounts
            .iter()
            .any(|it| it.kind == "persistentVolumeClaim")
    );
}
