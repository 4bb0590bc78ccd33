//! Inference services and their runtimes.

use super::{containers, object};

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
