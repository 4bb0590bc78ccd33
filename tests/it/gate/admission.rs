//! Verdicts on Pods and on objects that create Pods.

use reqwest::Method;
use serde_json::{Value, json};

use super::images::{ENFORCE, create, deployment, enforce_with, image, pod, registry, update};
use super::server::Server;

/// Texts of all warnings.
fn warnings(response: &Value) -> String {
    let warnings = response["warnings"].as_array().into_iter().flatten();
    let warnings: Vec<&str> = warnings.map(|it| it.as_str().unwrap()).collect();
    assert!(
        warnings.iter().all(|it| it.chars().count() <= 120),
        "{warnings:?}"
    );
    warnings.join("\n")
}

#[test]
fn an_image_that_nobody_read_is_denied_then_read_once_and_judged() {
    let (registry, server) = (registry(), Server::new(ENFORCE));
    let review = create(&pod(&image(&registry)));
    let first = server.validate(&review);
    assert_eq!(first["allowed"], false);
    assert_eq!(first["status"]["code"], 403);
    let message = first["status"]["message"].as_str().unwrap();
    assert!(
        message.contains(":2.8.0-cuda12.8-cudnn9-runtime was not read yet")
            && message.contains("try again"),
        "{message}"
    );
    assert_eq!(first["auditAnnotations"]["verdict"], "unknown");
    let response = server.validate_read(&review);
    assert_eq!(response["allowed"], true, "{response}");
    let audit = &response["auditAnnotations"];
    assert_eq!(
        (&audit["verdict"], &audit["mode"]),
        (&json!("pass"), &json!("enforce"))
    );
    assert_eq!(audit["classes"], "trainer: 1 of 1");
    assert_eq!(audit["judged-by"], "tag");
    assert!(
        audit["digest"].as_str().unwrap().contains("@sha256:")
            || audit["digest"].as_str().unwrap().contains("=sha256:")
    );
    assert_eq!(response["warnings"], Value::Null);
    // Another Pod of the same ReplicaSet: a different name, and a different volume of the ServiceAccount.
    let blobs = registry.count("blobs");
    let mut other = review.clone();
    other["request"]["object"]["metadata"]["name"] = json!("train-x7k2p");
    assert_eq!(server.validate(&other)["allowed"], true);
    assert_eq!(registry.count("blobs"), blobs);
    assert!(server.metric("imgcheck_lookups_total{of=\"verdict\",found=\"true\"}") >= 1.0);
    // The facts are there a moment before the scan ends.
    server.wait_for("the end of the scan", |it| {
        it.metric("imgcheck_scans_total{outcome=\"success\"}") == 1.0
    });
}

#[test]
fn a_pod_that_runs_on_no_node_is_denied_and_its_deployment_warned() {
    let registry = registry();
    let server = Server::new(&enforce_with(&[(
        "gpu: h100, driver: '570.86.10'",
        "gpu: a100, driver: '470.82.01'",
    )]));
    let denied = server.validate_read(&create(&pod(&image(&registry))));
    assert_eq!(denied["allowed"], false);
    let message = denied["status"]["message"].as_str().unwrap();
    assert!(
        message.contains("trainer: the image does not run on the only node class"),
        "{message}"
    );
    assert!(
        message.contains("470.82.01") && message.contains("deploy-no-node-class"),
        "{message}"
    );
    assert_eq!(denied["auditAnnotations"]["classes"], "trainer: 0 of 1");
    let rules = denied["auditAnnotations"]["rules"].as_str().unwrap();
    assert!(rules.contains("deploy-no-node-class"), "{rules}");
    let warned = server.validate_read(&create(&deployment(&image(&registry))));
    assert_eq!(warned["allowed"], true);
    assert!(
        warnings(&warned).contains("its Pods will be denied"),
        "{warned}"
    );
    assert_eq!(warned["auditAnnotations"]["passed"], "mode");
}

#[test]
fn a_pod_that_no_node_can_take_is_admitted_with_a_warning() {
    let registry = registry();
    let labels = (
        "driver: '570.86.10'",
        "driver: '570.86.10', labels: {pool: training}",
    );
    let server = Server::new(&enforce_with(&[labels]));
    let mut misspelled = pod(&image(&registry));
    misspelled["spec"]["containers"][0]["resources"] = json!({"limits": {"nvidia.com/gpus": 1}});
    let mut nowhere = pod(&image(&registry));
    nowhere["spec"]["nodeSelector"] = json!({"pool": "nowhere"});
    for (pod, expected) in [
        (
            misspelled,
            "no node has it, so the Pod stays Pending (deploy-gpu-resource-misspelled)",
        ),
        (nowhere, "no node class can take the container"),
    ] {
        let response = server.validate_read(&create(&pod));
        assert_eq!(response["allowed"], true);
        let said = warnings(&response).replace("\nimgcheck:   ", " ");
        assert!(
            said.starts_with("imgcheck: trainer: ") && said.contains(expected),
            "{said} {response}"
        );
        assert_eq!(response["auditAnnotations"]["classes"], "trainer: 0 of 0");
    }
}

#[test]
fn a_pod_that_runs_only_on_some_nodes_is_admitted_with_a_warning_that_names_the_others() {
    let registry = registry();
    let nodes = (
        "{name: h100, gpu: h100, driver: '570.86.10'}",
        "{name: h100, gpu: h100, driver: '570.86.10'}, {name: old, gpu: a100, driver: '470.82.01'}",
    );
    let review = create(&pod(&image(&registry)));
    let server = Server::new(&enforce_with(&[nodes]));
    let response = server.validate_read(&review);
    assert_eq!(response["allowed"], true);
    let said = warnings(&response).replace("\nimgcheck:   ", " ");
    assert!(
        said.starts_with(
            "imgcheck: trainer: runs on 1 of 2 node classes, not on old (the driver 470.82.01"
        ),
        "{said}"
    );
    assert_eq!(response["auditAnnotations"]["classes"], "trainer: 1 of 2");
    // The Pods of a Deployment will start, too.
    let response = server.validate_read(&create(&deployment(&image(&registry))));
    let said = warnings(&response);
    assert!(
        said.contains("runs on 1 of 2 node classes") && !said.contains("denied"),
        "{said}"
    );
    let audit = Server::new(&enforce_with(&[nodes, ("mode: enforce", "mode: audit")]));
    assert_eq!(audit.validate_read(&review)["warnings"], Value::Null);
}

#[test]
fn modes_come_from_the_configuration() {
    let registry = registry();
    let old = &[(
        "gpu: h100, driver: '570.86.10'",
        "gpu: a100, driver: '470.82.01'",
    )];
    let with = |gate: &str| enforce_with(&[old[0], ("mode: enforce", gate)]);
    let review = create(&pod(&image(&registry)));
    let warn = Server::new(&with("mode: warn"));
    let response = warn.validate_read(&review);
    assert_eq!(response["allowed"], true);
    assert!(
        warnings(&response).contains("imgcheck: trainer:"),
        "{response}"
    );
    let audit = Server::new(&with("mode: enforce, namespaces: {'m*': audit}"));
    let response = audit.validate_read(&review);
    assert_eq!(
        (&response["allowed"], &response["warnings"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(response["auditAnnotations"]["verdict"], "fail");
    assert!(
        response["auditAnnotations"]["reasons"]
            .as_str()
            .unwrap()
            .contains("470.82.01")
    );
    let all = Server::new(&with("mode: enforce, deny-workloads: true"));
    assert_eq!(
        all.validate_read(&create(&deployment(&image(&registry))))["allowed"],
        false
    );
}

#[test]
fn the_environment_of_a_pod_can_break_its_image() {
    let (registry, server) = (registry(), Server::new(ENFORCE));
    let mut pod = pod(&image(&registry));
    assert_eq!(server.validate_read(&create(&pod))["allowed"], true);
    pod["spec"]["containers"][0]["env"] = json!([{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}, {"name": "PYTHONPATH", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]);
    // The variable of the Secret decides what is imported, and nobody can see it: that is a gap.
    let response = server.validate(&create(&pod));
    assert_eq!(response["allowed"], false, "{response}");
    let message = response["status"]["message"].as_str().unwrap();
    assert!(
        message.contains("not judged (overlay-unknown): ") && message.contains("PYTHONPATH"),
        "{message}"
    );
    // NVIDIA_VISIBLE_DEVICES denies nothing: it is a warning of its own.
    assert!(!message.contains("VISIBLE_DEVICES"), "{message}");
    let said = warnings(&response).replace("\nimgcheck:   ", " ");
    assert_eq!(
        said.matches("NVIDIA_VISIBLE_DEVICES=all overrides").count(),
        1,
        "{said}"
    );
    assert!(!said.contains("not judged"), "{said}");
    for help in ["preflight --strict", "`gap: overlay-unknown`"] {
        assert!(message.contains(help), "{message}");
    }
    assert_eq!(response["auditAnnotations"]["gaps"], "overlay-unknown");
    // What does not enforce does not count gaps.
    let relaxed = Server::new(&enforce_with(&[("mode: enforce", "mode: warn")]));
    let response = relaxed.validate_read(&create(&pod));
    let audit = &response["auditAnnotations"];
    assert_eq!(audit["verdict"], "pass");
    // But the audit log says which ones enforcing would count.
    assert_eq!(audit["gaps"], "overlay-unknown");
}

#[test]
fn init_and_ephemeral_containers_are_judged() {
    let registry = registry();
    let server = Server::new(&enforce_with(&[
        (
            "gpu: h100, driver: '570.86.10'",
            "gpu: a100, driver: '470.82.01'",
        ),
        ("mode: enforce", "mode: enforce, all-pods: true"),
    ]));
    let mut with_init = pod(&image(&registry));
    with_init["spec"]["initContainers"] = with_init["spec"]["containers"].clone();
    with_init["spec"]["initContainers"][0]["name"] = json!("prepare");
    with_init["spec"]["containers"][0]["resources"] = json!({});
    let denied = server.validate_read(&create(&with_init));
    assert!(
        denied["status"]["message"]
            .as_str()
            .unwrap()
            .contains("prepare: "),
        "{denied}"
    );
    // A debug container with an image of a registry that does not exist.
    let before = pod(&image(&registry));
    let mut after = before.clone();
    after["spec"]["ephemeralContainers"] =
        json!([{"name": "debug", "image": "127.0.0.1:1/debug:1"}]);
    let mut review = update(&before, &after);
    review["request"]["subResource"] = json!("ephemeralcontainers");
    let response = server.validate(&review);
    assert_eq!(response["allowed"], false);
    assert!(
        response["status"]["message"]
            .as_str()
            .unwrap()
            .contains("127.0.0.1:1/debug:1"),
        "{response}"
    );
    // The same containers as before are not judged again.
    let mut review = update(&before, &before);
    review["request"]["subResource"] = json!("ephemeralcontainers");
    assert_eq!(
        server.validate(&review)["auditAnnotations"]["passed"],
        "unchanged"
    );
}

#[test]
fn what_cannot_change_what_runs_is_not_judged() {
    // The registry does not exist: whatever is asked there would be denied.
    let server = Server::new(ENFORCE);
    let pod = pod("127.0.0.1:1/team/image:1");
    let passes = |review: &Value, why: &str| {
        let response = server.validate(review);
        assert_eq!(response["allowed"], true, "{why}: {response}");
        assert_eq!(response["auditAnnotations"]["passed"], why);
    };
    assert_eq!(server.validate(&create(&pod))["allowed"], false);
    let mut delete = create(&pod);
    delete["request"]["operation"] = json!("DELETE");
    delete["request"]["oldObject"] = delete["request"]["object"].take();
    passes(&delete, "operation");
    for subresource in ["status", "binding", "eviction", "resize"] {
        let mut review = update(&pod, &pod);
        review["request"]["subResource"] = json!(subresource);
        passes(&review, "subresource");
    }
    let mut scale = create(&deployment("127.0.0.1:1/team/image:1"));
    scale["request"]["subResource"] = json!("scale");
    passes(&scale, "subresource");
    let mut mirror = pod.clone();
    mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
    let mut of_node = create(&mirror);
    of_node["request"]["userInfo"] =
        json!({"username": "system:node:a", "groups": ["system:nodes", "system:authenticated"]});
    passes(&of_node, "mirror-pod");
    for user in [
        json!({"username": "anna", "groups": ["system:nodes"]}),
        json!({"username": "system:node:a", "groups": ["system:authenticated"]}),
        json!({}),
    ] {
        let mut of_user = create(&mirror);
        of_user["request"]["userInfo"] = user;
        assert_eq!(server.validate(&of_user)["allowed"], false, "{of_user}");
    }
    let mut labelled = pod.clone();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    passes(&update(&pod, &labelled), "unchanged");
    let before = deployment("127.0.0.1:1/team/image:1");
    let mut scaled = before.clone();
    scaled["spec"]["replicas"] = json!(1);
    passes(&update(&before, &scaled), "unchanged");
    let mut plain = pod.clone();
    plain["spec"]["containers"][0]["resources"] = json!({});
    passes(&create(&plain), "no-gpu");
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {}});
    passes(&create(&map), "no-containers");
    // A changed image is judged.
    let mut changed = pod.clone();
    changed["spec"]["containers"][0]["image"] = json!("127.0.0.1:1/team/image:2");
    assert_eq!(server.validate(&update(&pod, &changed))["allowed"], false);
}

/// Whoever registers the webhook for other kinds: what is not understood is allowed and named, and its Pods are judged.
#[test]
fn an_owner_that_is_not_understood_is_named_and_its_pods_are_judged() {
    let server = Server::new(ENFORCE);
    let object = |spec: Value| json!({"apiVersion": "apps.nvidia.com/v1alpha1", "kind": "NIMCache", "metadata": {"name": "llama"}, "spec": spec});
    let pod_of = |more: Value| {
        let mut spec = more;
        spec["template"] =
            json!({"spec": {"containers": [{"name": "c", "image": "127.0.0.1:1/team/image:1"}]}});
        spec
    };
    for spec in [
        json!({"image": {"repository": "127.0.0.1:1/team/image", "tag": "1"}, "resources": {"limits": {"nvidia.com/gpu": 1}}}),
        json!({"gpus": 2}),
        json!({"config": "image: 127.0.0.1:1/team/image:1"}),
        pod_of(json!({"gpus": 2})),
    ] {
        let response = server.validate(&create(&object(spec)));
        assert_eq!(response["allowed"], true, "{response}");
        assert_eq!(response["auditAnnotations"]["passed"], "not-understood");
        let warnings = warnings(&response);
        assert!(warnings.contains("NIMCache"), "{warnings}");
    }
    for (spec, why) in [
        (json!({"replicas": 2, "gpu": 0}), "no-containers"),
        (pod_of(json!({})), "no-gpu"),
    ] {
        let response = server.validate(&create(&object(spec)));
        assert_eq!(response["auditAnnotations"]["passed"], why, "{response}");
        assert_eq!(response["warnings"], Value::Null);
    }
    // The Pod that its controller creates.
    let response = server.validate(&create(&pod("127.0.0.1:1/team/image:1")));
    assert_eq!(response["allowed"], false, "{response}");
}

#[test]
fn an_answer_comes_before_the_api_server_gives_up() {
    // A registry that never answers.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::new(ENFORCE);
    let review = create(&pod(&format!("{address}/team/image:1")));
    let start = std::time::Instant::now();
    let response = server.admit("/admission/validate?timeout=1s", &review);
    // It waits 900 ms; a request to the registry would be given up after 30 s.
    let milliseconds = start.elapsed().as_millis();
    assert!((900..10_000).contains(&milliseconds), "{milliseconds} ms");
    assert_eq!(response["allowed"], false);
    assert!(
        response["status"]["message"]
            .as_str()
            .unwrap()
            .contains("did not answer in time"),
        "{response}"
    );
    let answer = server.send(Method::GET, "/livez", "");
    assert_eq!(answer.status, 200);
}

/// A volume hides the code that the Pod starts: a gap that its owner can accept.
#[test]
fn a_gap_is_named_by_its_code_and_can_be_accepted() {
    let registry = registry();
    let mut pod = pod(&image(&registry));
    let spec = &mut pod["spec"];
    spec["volumes"] = json!([{"name": "code", "persistentVolumeClaim": {"claimName": "code"}}]);
    let container = &mut spec["containers"][0];
    container["command"] = json!(["python", "/code/train.py"]);
    container["volumeMounts"] = json!([{"name": "code", "mountPath": "/code"}]);
    let review = create(&pod);
    let response = Server::new(ENFORCE).validate_read(&review);
    assert_eq!(response["allowed"], false, "{response}");
    let message = response["status"]["message"].as_str().unwrap();
    for words in [
        "not judged (overlay-unknown): the volume code",
        "preflight --strict",
        "`gap: overlay-unknown`",
    ] {
        assert!(message.contains(words), "{words}: {message}");
    }
    let audit = &response["auditAnnotations"];
    assert_eq!(audit["gaps"], "overlay-unknown");
    assert!(
        audit["reasons"]
            .as_str()
            .unwrap()
            .contains("overlay-unknown")
    );
    let accepted = format!("{ENFORCE}ignore: [{{gap: overlay-unknown, reason: read it}}]\n");
    let response = Server::new(&accepted).validate_read(&review);
    assert_eq!(response["allowed"], true, "{response}");
}
