//! The condition under which an API server asks the gate about a Pod, evaluated as CEL. API servers before 1.28 ignore it.

use cel::{Context, Program, Value as CelValue};
use serde_json::{Value, json};

use super::images::{ENFORCE, create, image, registry};
use super::server::Server;
use crate::program::repository;

/// The condition that `imgcheck serve --print-webhook` prints.
fn condition() -> Program {
    let text = std::fs::read_to_string(repository("deploy/kustomize/base/webhook.yaml")).unwrap();
    let webhook: Value = serde_saphyr::from_str(&text).unwrap();
    let conditions = webhook["webhooks"][0]["matchConditions"]
        .as_array()
        .unwrap();
    assert_eq!(conditions.len(), 1);
    Program::compile(conditions[0]["expression"].as_str().unwrap()).unwrap()
}

/// Pods as API servers of Kubernetes 1.33 and later send them, and whether the gate is asked.
fn pods(image: &str) -> Vec<(&'static str, Value, bool)> {
    let gpu = json!({"limits": {"cpu": "4", "nvidia.com/gpu": "1"}, "requests": {"cpu": "4", "nvidia.com/gpu": "1"}});
    let mig = json!({"limits": {"nvidia.com/mig-1g.10gb": "1"}});
    let cpu = json!({"limits": {"cpu": "1", "memory": "1Gi"}});
    let container = |name: &str, resources: &Value| {
        json!({"name": name, "image": image, "imagePullPolicy": "IfNotPresent", "resources": resources,
            "terminationMessagePath": "/dev/termination-log"})
    };
    let sidecar = |resources: &Value| {
        let mut sidecar = container("proxy", resources);
        sidecar["restartPolicy"] = json!("Always");
        sidecar
    };
    let none = json!({});
    let plain = container("main", &none);
    vec![
        ("a web server", json!({"containers": [plain]}), false),
        (
            "limits without a GPU",
            json!({"containers": [container("main", &cpu)]}),
            false,
        ),
        (
            "no resources at all",
            json!({"containers": [{"name": "main", "image": image}]}),
            false,
        ),
        (
            "a GPU",
            json!({"containers": [plain, container("train", &gpu)]}),
            true,
        ),
        (
            "a slice of a GPU",
            json!({"containers": [container("train", &mig)]}),
            true,
        ),
        (
            "an init container",
            json!({"containers": [plain], "initContainers": [container("warm", &gpu)]}),
            true,
        ),
        (
            "a sidecar without a GPU",
            json!({"containers": [plain], "initContainers": [sidecar(&cpu)]}),
            false,
        ),
        (
            "a sidecar with a GPU",
            json!({"containers": [plain], "initContainers": [sidecar(&gpu)]}),
            true,
        ),
        (
            "a resource claim",
            json!({"containers": [{"name": "main", "image": image, "resources": {"claims": [{"name": "gpu", "request": "one"}]}}],
                "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]}),
            true,
        ),
        (
            "a runtime class",
            json!({"containers": [plain], "runtimeClassName": "nvidia-cdi"}),
            true,
        ),
        (
            "another runtime class",
            json!({"containers": [plain], "runtimeClassName": "gvisor"}),
            false,
        ),
        (
            "resources of the Pod",
            json!({"containers": [plain], "resources": {"limits": {"cpu": "2"}}, "hostUsers": false}),
            false,
        ),
    ]
}

#[test]
fn only_pods_that_ask_for_a_gpu_wait_for_the_gate() {
    let condition = condition();
    for (name, spec, expected) in pods("registry.example/team/image:1") {
        let mut context = Context::default();
        let object =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec});
        context.add_variable("object", object).unwrap();
        assert_eq!(
            condition.execute(&context),
            Ok(CelValue::Bool(expected)),
            "{name}"
        );
    }
}

#[test]
fn pods_of_new_api_servers_are_judged() {
    let (registry, server) = (registry(), Server::new(ENFORCE));
    for (name, spec, is_asked) in pods(&image(&registry)) {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ml"}, "spec": spec});
        let response = server.validate_read(&create(&pod));
        assert_eq!(response["allowed"], true, "{name}: {response}");
        if is_asked {
            assert_eq!(
                response["auditAnnotations"]["verdict"], "pass",
                "{name}: {response}"
            );
        }
    }
}
