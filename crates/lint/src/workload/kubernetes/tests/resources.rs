//! Resources that the API server refuses. `tests/engines/kubernetes/refused_resources.rs` asks a real one the same.

use super::containers;

/// `resource problem` of what is refused.
fn refused(kind: &str, resources: &str) -> Vec<String> {
    let (api, open, close) = match kind {
        "Pod" => ("v1", "", ""),
        "Job" => ("batch/v1", "template: {spec: {", "}}"),
        _ => ("example.com/v1", "template: {spec: {", "}}"),
    };
    let text = format!(
        "apiVersion: {api}\nkind: {kind}\nmetadata: {{name: x}}\nspec: {{{open}containers: [{{name: c, image: 'a/b:1', resources: {resources}}}]{close}}}\n"
    );
    let (found, _) = containers(&[&text]);
    let refused = found[0].refused_resources.iter();
    refused
        .map(|it| format!("{} {}", it.resource, it.problem))
        .collect()
}

#[test]
fn what_the_api_server_refuses() {
    for (resources, expected) in [
        ("{requests: {nvidia.com/gpu: 1}}", "nvidia.com/gpu limit"),
        ("{requests: {hugepages-2Mi: 4Mi}}", "hugepages-2Mi limit"),
        (
            "{limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 1}}",
            "nvidia.com/gpu unequal",
        ),
        (
            "{limits: {memory: 4Gi}, requests: {memory: 8Gi}}",
            "memory unequal",
        ),
        ("{limits: {nvidia.com/gpu: 0.5}}", "nvidia.com/gpu integer"),
        ("{limits: {nvidia.com/gpu: 500m}}", "nvidia.com/gpu integer"),
        ("{limits: {nvidia.com/gpu: one}}", "nvidia.com/gpu quantity"),
        ("{limits: {nvidia.com/gpu: -1}}", "nvidia.com/gpu quantity"),
        ("{limits: {memory: 8gb}}", "memory quantity"),
        ("{limits: {gpu: 1}}", "gpu unqualified"),
        (
            "{limits: {nvidia.com.gpu: 1}}",
            "nvidia.com.gpu unqualified",
        ),
        ("{limits: {NVIDIA.com/gpu: 1}}", "NVIDIA.com/gpu name"),
        (
            "{limits: {requests.nvidia.com/gpu: 1}}",
            "requests.nvidia.com/gpu name",
        ),
        ("{nvidia.com/gpu: 1}", "nvidia.com/gpu unknown-field"),
    ] {
        assert_eq!(refused("Pod", resources), [expected], "{resources}");
        assert_eq!(refused("Job", resources), [expected], "{resources}");
        // Nobody knows what another controller makes of them.
        assert_eq!(refused("Training", resources), [""; 0], "{resources}");
    }
}

/// Knative hands resources on to a Deployment; KServe adds those of a ServingRuntime that the service does not have.
#[test]
fn what_it_refuses_of_the_pods_of_a_controller() {
    let refused = |service: &str, resources: &str| {
        let (found, _) = containers(&[&service.replace("RESOURCES", resources)]);
        let refused = found[0].refused_resources.iter();
        let problems: Vec<String> = refused.map(|it| it.problem.clone()).collect();
        problems.join(" ")
    };
    let knative = "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: x}\nspec: {template: {spec: {containers: [{name: c, image: 'a/b:1', resources: RESOURCES}]}}}\n";
    let kserve = "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: x}\nspec: {predictor: {model: {image: 'a/b:1', resources: RESOURCES}}}\n";
    let half = "{limits: {nvidia.com/gpu: 0.5}}";
    let request = "{requests: {nvidia.com/gpu: 1}}";
    assert_eq!(refused(knative, half), "integer");
    assert_eq!(refused(knative, request), "limit");
    assert_eq!(refused(kserve, half), "integer");
    assert_eq!(refused(kserve, request), "");
}

#[test]
fn what_it_accepts() {
    for resources in [
        "{limits: {nvidia.com/gpu: 1}}",
        "{limits: {nvidia.com/gpu: '1'}, requests: {nvidia.com/gpu: 1.0}}",
        "{limits: {nvidia.com/gpu: 1000m}}",
        "{limits: {cpu: 500m, memory: 8Gi, ephemeral-storage: 1G}, requests: {cpu: 0.25}}",
        "{requests: {memory: 8192Mi}, limits: {memory: 8Gi}}",
        "{requests: {cpu: 1}}",
        "{requests: {kubernetes.io/gpu: 1}}",
        "{limits: {hugepages-2Mi: 4Mi, memory: 1Gi}}",
        "{limits: {nvidia.com/GH100_H100_PCIE: 1, nvidia/gpu: 1}}",
        "{limits: {nvidia.com/gpu: '{{n}}'}, requests: {nvidia.com/gpu: 1}}",
        "{limits: {nvidia.com/gpu: $(GPUS)}}",
        "{limits: {'{{name}}': 1}}",
        "{claims: [{name: gpu}]}",
        "{}",
    ] {
        assert_eq!(refused("Pod", resources), [""; 0], "{resources}");
    }
}

/// A volume in memory is no larger than its limit.
#[test]
fn a_volume_may_have_as_little_shared_memory_as_the_default() {
    let little = |api: &str, kind: &str, volume: &str| {
        let spec = format!(
            "{{containers: [{{name: c, image: 'a/b:1', volumeMounts: [{{name: shm, mountPath: /dev/shm}}]}}], volumes: [{{name: shm, {volume}}}]}}"
        );
        let spec = match kind {
            "RayCluster" => format!("{{headGroupSpec: {{template: {{spec: {spec}}}}}}}"),
            _ => spec,
        };
        let text =
            format!("apiVersion: {api}\nkind: {kind}\nmetadata: {{name: x}}\nspec: {spec}\n");
        containers(&[&text]).0[0].default_shm
    };
    for (volume, expected) in [
        ("emptyDir: {medium: Memory, sizeLimit: 64Mi}", true),
        ("emptyDir: {medium: Memory, sizeLimit: 32M}", true),
        ("emptyDir: {medium: Memory, sizeLimit: 8Gi}", false),
        ("emptyDir: {medium: Memory}", false),
        ("emptyDir: {sizeLimit: 64Mi}", false),
        ("persistentVolumeClaim: {claimName: c}", false),
    ] {
        assert_eq!(little("v1", "Pod", volume), expected, "{volume}");
        assert_eq!(
            little("ray.io/v1", "RayCluster", volume),
            expected,
            "{volume}"
        );
    }
}
