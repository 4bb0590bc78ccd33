//! Resources that a real API server refuses, and those that it accepts.

use imgcheck_lint::workload::{Kinds, read};
use imgcheck_model::knowledge;
use testkit::kubernetes::Kubernetes;

/// The problem that imgcheck finds, if any, and what the server says.
fn judged(server: &Kubernetes, resources: &str) -> (String, String) {
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\nspec: {{containers: [{{name: c, image: 'a/b:1', resources: {resources}}}]}}\n"
    );
    let kinds: Kinds = knowledge::table("workloads").unwrap();
    let (workloads, _) = read(&[("x.yaml".to_owned(), pod.clone())], &[], &kinds);
    let refused = workloads[0].containers[0].refused_resources.first();
    let says = refused.map(|it| it.says.clone()).unwrap_or_default();
    let arguments = ["create", "--dry-run=server", "--validate=false", "-f", "-"];
    let output = server.kubectl(&arguments, &pod);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), error.is_empty(), "{error}");
    (says, error)
}

#[test]
fn imgcheck_and_the_server_refuse_the_same() {
    let Some(server) = Kubernetes::start() else {
        return;
    };
    for resources in [
        "{requests: {nvidia.com/gpu: 1}}",
        "{limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 1}}",
        "{limits: {memory: 4Gi}, requests: {memory: 8Gi}}",
        "{limits: {memory: 1Gi}, requests: {hugepages-2Mi: 4Mi}}",
        "{limits: {memory: 1Gi, hugepages-2Mi: 8Mi}, requests: {hugepages-2Mi: 4Mi}}",
        "{limits: {nvidia.com/gpu: 0.5}}",
        "{limits: {nvidia.com/gpu: 500m}}",
        "{limits: {nvidia.com/gpu: one}}",
        "{limits: {nvidia.com/gpu: true}}",
        "{limits: {nvidia.com/gpu: -1}}",
        "{limits: {memory: 8gb}}",
        "{limits: {gpu: 1}}",
        "{limits: {nvidia.com.gpu: 1}}",
        "{limits: {NVIDIA.com/gpu: 1}}",
        "{limits: {nvidia_com/gpu: 1}}",
        "{limits: {nvidia.com/gpu-: 1}}",
        "{limits: {requests.nvidia.com/gpu: 1}}",
        "{limits: {storage: 1Gi}}",
    ] {
        let (says, error) = judged(&server, resources);
        assert!(
            !says.is_empty() && error.contains(&says),
            "{resources}: {says}\n{error}"
        );
    }
    for resources in [
        "{limits: {nvidia.com/gpu: 1}}",
        "{limits: {nvidia.com/gpu: '1'}, requests: {nvidia.com/gpu: 1.0}}",
        "{limits: {nvidia.com/gpu: 1000m}}",
        "{limits: {nvidia.com/gpu: 0.9999999}}",
        "{limits: {cpu: 500m, memory: 8Gi, ephemeral-storage: 1G}, requests: {cpu: 0.25}}",
        "{requests: {memory: 8192Mi}, limits: {memory: 8Gi}}",
        "{requests: {kubernetes.io/gpu: 1}}",
        "{limits: {hugepages-2Mi: 4Mi, memory: 1Gi}}",
        "{limits: {nvidia.com/GH100_H100_PCIE: 1, nvidia/gpu: 1, nvidia.com/mig-1g.5gb: 1}}",
        "{limits: {nvidia.com/gpu: 010}, requests: {nvidia.com/gpu: 8}}",
        "{limits: {nvidia.com/gpu: 0x1}}",
        "{limits: {nvidia.com/gpu: 1e1}}",
        "{limits: {nvidia.com/gpu: }}",
    ] {
        assert_eq!(
            judged(&server, resources),
            (String::new(), String::new()),
            "{resources}"
        );
    }
}
