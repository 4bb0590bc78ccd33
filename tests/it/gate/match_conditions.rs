//! The condition under which an API server asks the gate about a Pod, evaluated as CEL. API servers before 1.28 ignore it.

use std::collections::BTreeMap;

use cel::{Context, Program, Value as CelValue};
use serde_json::{Value, json};

use super::images::{ENFORCE, create, image, registry};
use super::server::Server;
use crate::program::repository;

fn webhooks() -> Value {
    let text = std::fs::read_to_string(repository("deploy/kustomize/base/webhook.yaml")).unwrap();
    let configuration: Value = serde_saphyr::from_str(&text).unwrap();
    configuration["webhooks"].clone()
}

/// The condition of a webhook that `imgcheck serve --print-webhook` prints.
fn condition(webhook: &str) -> Program {
    let webhooks = webhooks();
    let mut webhooks = webhooks.as_array().unwrap().iter();
    let webhook = webhooks.find(|it| it["name"] == webhook).unwrap();
    let conditions = webhook["matchConditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 1);
    Program::compile(conditions[0]["expression"].as_str().unwrap()).unwrap()
}

/// The webhook for Pods that request a GPU, and that for Pods that may get one without a request.
const REQUEST: &str = "gpu-pods.imgcheck.io";
const OTHER: &str = "other-pods.imgcheck.io";

/// Pods as API servers of Kubernetes 1.33 and later send them, and the webhook that asks the gate.
fn pods(image: &str) -> Vec<(&'static str, Value, Option<&'static str>)> {
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
    let variable = |variable: Value| json!({"name": "v", "image": image, "env": [variable]});
    let privileged = |is: bool| {
        json!({"name": "p", "image": image, "securityContext": {"privileged": is},
            "volumeMounts": [{"name": "dev", "mountPath": "/dev"}]})
    };
    vec![
        ("a web server", json!({"containers": [plain]}), None),
        (
            "limits without a GPU",
            json!({"containers": [container("main", &cpu)]}),
            None,
        ),
        (
            "no resources at all",
            json!({"containers": [{"name": "main", "image": image}]}),
            None,
        ),
        (
            "a GPU",
            json!({"containers": [plain, container("train", &gpu)]}),
            Some(REQUEST),
        ),
        (
            "a slice of a GPU",
            json!({"containers": [container("train", &mig)]}),
            Some(REQUEST),
        ),
        (
            "an init container",
            json!({"containers": [plain], "initContainers": [container("warm", &gpu)]}),
            Some(REQUEST),
        ),
        (
            "a sidecar without a GPU",
            json!({"containers": [plain], "initContainers": [sidecar(&cpu)]}),
            None,
        ),
        (
            "a sidecar with a GPU",
            json!({"containers": [plain], "initContainers": [sidecar(&gpu)]}),
            Some(REQUEST),
        ),
        (
            "a resource claim",
            json!({"containers": [{"name": "main", "image": image, "resources": {"claims": [{"name": "gpu", "request": "one"}]}}],
                "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]}),
            Some(REQUEST),
        ),
        (
            "a runtime class",
            json!({"containers": [plain], "runtimeClassName": "nvidia-cdi"}),
            Some(REQUEST),
        ),
        (
            "another runtime class",
            json!({"containers": [plain], "runtimeClassName": "gvisor"}),
            None,
        ),
        (
            "resources of the Pod",
            json!({"containers": [plain], "resources": {"limits": {"cpu": "2"}}, "hostUsers": false}),
            None,
        ),
        (
            "a share of a GPU",
            json!({"containers": [container("main", &json!({"limits": {"volcano.sh/vgpu-number": "1"}}))]}),
            Some(REQUEST),
        ),
        (
            "a queue of Volcano",
            json!({"containers": [container("main", &json!({"limits": {"volcano.sh/other": "1"}}))]}),
            None,
        ),
        (
            "a device of a virtual machine",
            json!({"containers": [container("main", &json!({"limits": {"nvidia.com/pgpu": "1"}}))]}),
            Some(REQUEST),
        ),
        (
            "a variable of the container runtime",
            json!({"containers": [plain, variable(json!({"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}))]}),
            Some(OTHER),
        ),
        (
            "a variable from a Secret in an init container",
            json!({"containers": [plain], "initContainers": [variable(json!({"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}))]}),
            Some(OTHER),
        ),
        (
            "a variable that hides all GPUs",
            json!({"containers": [variable(json!({"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"})), variable(json!({"name": "NVIDIA_VISIBLE_DEVICES"}))]}),
            None,
        ),
        (
            "all devices of the node",
            json!({"containers": [privileged(true)], "volumes": [{"name": "dev", "hostPath": {"path": "/dev", "type": ""}}]}),
            Some(OTHER),
        ),
        (
            "the devices without the right to use them",
            json!({"containers": [privileged(false)], "volumes": [{"name": "dev", "hostPath": {"path": "/dev"}}]}),
            None,
        ),
        (
            "another directory of the node",
            json!({"containers": [privileged(true)], "volumes": [{"name": "dev", "hostPath": {"path": "/var/lib"}}]}),
            None,
        ),
    ]
}

#[test]
fn only_pods_that_ask_for_a_gpu_wait_for_the_gate() {
    let conditions = [REQUEST, OTHER].map(|it| (it, condition(it)));
    for (name, spec, expected) in pods("registry.example/team/image:1") {
        let mut context = Context::default();
        let object =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec});
        context.add_variable("object", object).unwrap();
        for (webhook, condition) in &conditions {
            assert_eq!(
                condition.execute(&context),
                Ok(CelValue::Bool(expected == Some(webhook))),
                "{name}: {webhook}"
            );
        }
    }
}

#[test]
fn pods_of_new_api_servers_are_judged() {
    let (registry, server) = (registry(), Server::new(ENFORCE));
    for (name, spec, is_asked) in pods(&image(&registry)) {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ml"}, "spec": spec});
        let response = server.validate_read(&create(&pod));
        assert_eq!(response["allowed"], true, "{name}: {response}");
        if is_asked.is_some() {
            assert_eq!(
                response["auditAnnotations"]["verdict"], "pass",
                "{name}: {response}"
            );
        }
    }
}

/// The second webhook warns about the kinds that `preflight` knows: both come from one table.
#[test]
fn the_kinds_of_the_webhook_are_those_of_preflight() {
    let text = std::fs::read_to_string(repository("rules/knowledge/workloads.yaml")).unwrap();
    let table: Value = serde_saphyr::from_str(&text).unwrap();
    let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for kind in table["kinds"].as_array().unwrap() {
        let group = kind["group"].as_str().unwrap_or_default();
        if let Some(resource) = kind["resource"].as_str() {
            let resources = known.entry(group.to_owned()).or_default();
            resources.push(resource.to_owned());
        }
        // A Pod is decided by the first webhook, and the others have no namespace.
        let name = kind["kind"].as_str().unwrap();
        let is_other = name == "Pod" || name.starts_with("Cluster");
        assert_eq!(kind["resource"].is_null(), is_other, "{name}");
    }
    let webhooks = webhooks();
    let workloads = &webhooks[1];
    assert_eq!(workloads["name"], "workloads.imgcheck.io");
    let rules = workloads["rules"].as_array().unwrap().iter();
    let listed = rules.map(|rule| {
        assert_eq!(rule["operations"], json!(["CREATE", "UPDATE"]));
        let texts = |key: &str| -> Vec<String> {
            let list = rule[key].as_array().unwrap().iter();
            list.map(|it| it.as_str().unwrap().to_owned()).collect()
        };
        (texts("apiGroups").concat(), texts("resources"))
    });
    assert_eq!(listed.collect::<BTreeMap<_, _>>(), known);
}

/// Flux leaves symbolic links out of what it fetches, so the chart has a copy.
#[test]
fn the_chart_has_a_copy_of_the_webhooks() {
    let chart = repository("deploy/helm/imgcheck/files/webhook.yaml");
    let base = repository("deploy/kustomize/base/webhook.yaml");
    assert!(std::fs::symlink_metadata(&chart).unwrap().is_file());
    assert_eq!(
        std::fs::read_to_string(chart).unwrap(),
        std::fs::read_to_string(base).unwrap()
    );
}
