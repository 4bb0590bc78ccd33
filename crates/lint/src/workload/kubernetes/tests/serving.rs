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
}

#[test]
fn kserve_selects_a_runtime_that_supports_the_format() {
    let runtime = |kind: &str, name: &str, spec: &str| {
        format!(
            "apiVersion: serving.kserve.io/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n  containers: [{{name: kserve-container, image: 'a/{name}:1'}}]\n  {spec}\n"
        )
    };
    let formats = |entry: &str| format!("supportedModelFormats: [{{name: x, {entry}}}]");
    let auto = formats("version: '1', autoSelect: true");
    let (own, cluster) = ("ServingRuntime", "ClusterServingRuntime");
    let first = formats("autoSelect: true, priority: 2");
    for (model, runtimes, expected) in [
        ("modelFormat: {name: x}", vec![(own, &*auto)], "a/r0:1"),
        (
            "modelFormat: {name: x, version: '1'}",
            vec![(cluster, &auto)],
            "a/r0:1",
        ),
        (
            "modelFormat: {name: x, version: '2'}",
            vec![(own, &auto)],
            "a ServingRuntime for x",
        ),
        (
            "modelFormat: {name: y}",
            vec![(own, &auto)],
            "a ServingRuntime for y",
        ),
        (
            "modelFormat: {name: x}",
            vec![(own, &formats("version: '1'"))],
            "a ServingRuntime for x",
        ),
        // Those of the namespace come first, then those of a higher priority.
        (
            "modelFormat: {name: x}",
            vec![(cluster, &first), (own, &auto)],
            "a/r1:1",
        ),
        (
            "modelFormat: {name: x}",
            vec![(own, &auto), (own, &first)],
            "a/r1:1",
        ),
        (
            "modelFormat: {name: x}",
            vec![(own, &auto), (own, &auto)],
            "one of the ServingRuntimes r0, r1",
        ),
        (
            "modelFormat: {name: x}",
            vec![(own, &auto), (own, &format!("{auto}\n  disabled: true"))],
            "a/r0:1",
        ),
        (
            "modelFormat: {name: x}",
            vec![(own, &format!("{auto}\n  multiModel: true"))],
            "a ServingRuntime for x",
        ),
        (
            "modelFormat: {name: x}",
            vec![(own, &format!("{auto}\n  protocolVersions: [v2]"))],
            "a ServingRuntime for x",
        ),
        (
            "modelFormat: {name: x}, protocolVersion: v2",
            vec![(own, &format!("{auto}\n  protocolVersions: [v1, v2]"))],
            "a/r0:1",
        ),
    ] {
        let service = format!("  predictor:\n    model: {{{model}}}\n");
        let service = object("serving.kserve.io/v1beta1", "InferenceService", &service);
        let runtimes = runtimes.iter().enumerate();
        let runtimes: Vec<String> = runtimes
            .map(|(at, (kind, spec))| runtime(kind, &format!("r{at}"), spec))
            .collect();
        let texts: Vec<&str> = [&service]
            .into_iter()
            .chain(&runtimes)
            .map(String::as_str)
            .collect();
        let (containers, _) = containers(&texts);
        let first = &containers[0];
        let found = format!("{}{}", first.image, first.decided_by);
        assert_eq!(found, expected, "{model} {runtimes:?}");
    }
}
