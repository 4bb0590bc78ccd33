//! Fields that the API server refuses. `tests/engines` compares with a real one.

use super::kubernetes::pod;
use super::{Input, containers, findings};

/// The messages of the rule for the containers of a manifest, in order.
fn refused(text: &str) -> Vec<Vec<String>> {
    let report = Input::new(text).json(&[]).1;
    let containers = containers(&report).into_iter();
    let messages = containers.map(|container| {
        let findings = container["findings"].as_array().unwrap().iter();
        let own = findings.filter(|it| it["rule"] == "deploy-field-refused");
        own.map(|it| it["message"].as_str().unwrap().to_owned())
            .collect()
    });
    messages.collect()
}

#[test]
fn what_the_api_server_refuses_is_named_with_its_place() {
    let text = pod("env: [{name: A, value: 8080}]\nvolumeMount: []", "");
    assert_eq!(
        refused(&text),
        [[
            "the API server refuses `spec.containers[0].env[0].value` with the value `8080`: it is a number, and the field takes text",
            "the API server does not know the field `spec.containers[0].volumeMount`",
        ]]
    );
    let report = Input::new(&text).json(&[]).1;
    let found = findings(containers(&report)[0]);
    assert!(
        found.contains(&"deploy-field-refused 8:30".to_owned()),
        "{found:?}"
    );
}

#[test]
fn what_a_template_decides_is_not_judged() {
    for container in [
        "ports: [{containerPort: $(PORT)}]",
        "ports: [{containerPort: '@PORT@'}]",
        "ports: [{containerPort: __PORT__}]",
        "ports: [{containerPort: PORT}]",
        "env: [{name: A, value: '8080'}]",
        "newField: 1",
    ] {
        assert_eq!(refused(&pod(container, "")), [[""; 0]], "{container}");
    }
}

/// A field of a map that is in the same place.
#[test]
fn a_field_at_the_wrong_level_is_named() {
    let text = pod("privileged: true", "livenessProbe: {exec: {command: [a]}}");
    let unknown = |field: &str| format!("the API server does not know the field `{field}`");
    let expected = [
        unknown("spec.livenessProbe"),
        unknown("spec.containers[0].privileged"),
    ];
    assert_eq!(refused(&text), [expected]);
}

/// What a patch of Kustomize lacks, the object has that it patches.
#[test]
fn patches_are_not_judged_for_what_they_lack() {
    let deployment = |spec: &str, container: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: x}}\nspec:\n  {spec}\n  template:\n    spec:\n      containers: [{{name: c, image: IMAGE, {container}}}]\n"
        )
    };
    let mounts = "volumeMounts: [{name: v, mountPath: /v}]";
    assert_eq!(refused(&deployment("replicas: 2", mounts)), [[""; 0]]);
    let selector = "selector: {matchLabels: {app: x}}";
    let directive = format!("$patch: merge, {mounts}");
    assert_eq!(refused(&deployment(selector, &directive)), [[""; 0]]);
    assert_eq!(refused(&deployment(selector, mounts))[0].len(), 2);
    let number = deployment("replicas: 2", "args: [1]");
    assert_eq!(refused(&number)[0].len(), 1);
}

/// The first container has what is refused of the object, and each those of the ConfigMaps that it needs.
#[test]
fn a_config_map_is_refused_with_the_containers_that_need_it() {
    let map = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {PORT: 8080, MODE: on, HOST: x}\n";
    let data = |key: &str, value: &str, is: &str| {
        format!(
            "the API server refuses `data.{key}` of ConfigMap m with the value `{value}`: it is {is}, and the field takes text"
        )
    };
    let expected = vec![
        data("PORT", "8080", "a number"),
        data("MODE", "on", "a truth value"),
    ];
    for container in [
        "env: [{name: A, valueFrom: {configMapKeyRef: {name: m, key: PORT}}}]",
        "envFrom: [{configMapRef: {name: m}}]",
    ] {
        let found = refused(&(pod(container, "") + map));
        assert_eq!(found, std::slice::from_ref(&expected));
    }
    let volumes = "volumes: [{name: v, projected: {sources: [{configMap: {name: m}}]}}]";
    let mounts = "volumeMounts: [{name: v, mountPath: /m}]";
    assert_eq!(refused(&(pod(mounts, volumes) + map)), [expected]);
    let other = pod("envFrom: [{configMapRef: {name: other}}]", "");
    assert_eq!(refused(&(other + map)), [[""; 0]]);
}

/// The definition of a custom kind, or its controller, has the types of a Pod.
#[test]
fn the_pods_of_custom_kinds_have_the_same_types() {
    let job = |container: &str| {
        format!(
            "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: x}}\nspec:\n  pytorchReplicaSpecs:\n    Master:\n      template:\n        spec:\n          containers: [{{name: pytorch, image: IMAGE, {container}}}]\n"
        )
    };
    let path = "spec.pytorchReplicaSpecs.Master.template.spec.containers[0]";
    assert_eq!(
        refused(&job("command: python train.py")),
        [[format!(
            "the API server refuses `{path}.command` with the value `python train.py`: it is text, and the field takes a list"
        )]]
    );
    // Volumes may be those of the controller.
    let mounts = "volumeMounts: [{name: v, mountPath: /v}]";
    assert_eq!(refused(&job(mounts)), [[""; 0]]);
}

/// What the webhooks of Kubeflow demand of jobs.
#[test]
fn replicas_of_a_training_job() {
    let job = |kind: &str, map: &str, replicas: &str| {
        format!(
            "apiVersion: kubeflow.org/v1\nkind: {kind}\nmetadata: {{name: x}}\nspec:\n  {map}:\n{replicas}"
        )
    };
    let replica = |name: &str, count: &str, container: &str| {
        format!(
            "    {name}:\n      replicas: {count}\n      template: {{spec: {{containers: [{{name: {container}, image: IMAGE}}]}}}}\n"
        )
    };
    let pytorch = |text: &str| refused(&job("PyTorchJob", "pytorchReplicaSpecs", text)).concat();
    let whole = replica("Master", "1", "pytorch") + &replica("worker", "3", "pytorch");
    assert_eq!(pytorch(&whole), [""; 0]);
    assert_eq!(pytorch(&replica("Master", "$(N)", "'{{name}}'")), [""; 0]);
    let refuses = |field: &str, says: &str| {
        vec![format!(
            "the API server refuses `spec.pytorchReplicaSpecs.{field}: {says}"
        )]
    };
    assert_eq!(
        pytorch(&replica("Worker", "2", "main")),
        refuses(
            "Worker.template.spec.containers`",
            "Required value: must have at least one container with name pytorch"
        )
    );
    assert_eq!(
        pytorch(&replica("Workers", "2", "pytorch")),
        refuses(
            "Workers` with the value `Workers`",
            "supported values: \"Master\", \"Worker\""
        )
    );
    assert_eq!(
        pytorch(&replica("Master", "2", "pytorch")),
        refuses("Master.replicas` with the value `2`", "must be 1")
    );
    for (kind, map, name, container) in [
        ("XGBoostJob", "xgbReplicaSpecs", "Master", "xgboost"),
        ("JAXJob", "jaxReplicaSpecs", "Worker", "jax"),
        ("PaddleJob", "paddleReplicaSpecs", "Worker", "paddle"),
    ] {
        assert_eq!(
            refused(&job(kind, map, &replica(name, "1", container))).concat(),
            [""; 0]
        );
        assert_eq!(
            refused(&job(kind, map, &replica(name, "1", "main")))
                .concat()
                .len(),
            1
        );
    }
    let tensorflow = job("TFJob", "tfReplicaSpecs", &replica("PS", "2", "tensorflow"));
    assert_eq!(refused(&tensorflow).concat(), [""; 0]);
}
