//! Digests for Pods.

use base64::Engine;
use serde_json::{Value, json};

use super::images::{ENFORCE, create, deployment, image, pod, registry};
use super::server::Server;

const PATH: &str = "/admission/mutate?timeout=5s";

fn patch(response: &Value) -> Value {
    assert_eq!(
        (&response["allowed"], &response["patchType"]),
        (&json!(true), &json!("JSONPatch"))
    );
    let bytes =
        base64::engine::general_purpose::STANDARD.decode(response["patch"].as_str().unwrap());
    serde_json::from_slice(&bytes.unwrap()).unwrap()
}

#[test]
fn a_new_pod_gets_digests_once() {
    let (registry, server) = (registry(), Server::new(ENFORCE));
    let image = image(&registry);
    let mut pod = pod(&image);
    pod["spec"]["initContainers"] = json!([{"name": "prepare", "image": image}]);
    let patch = patch(&server.admit(PATH, &create(&pod)));
    let paths: Vec<&Value> = patch
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["path"])
        .collect();
    assert_eq!(
        paths,
        ["/spec/initContainers/0/image", "/spec/containers/0/image"]
    );
    let pinned = patch[0]["value"].as_str().unwrap();
    assert!(pinned.starts_with(&format!("{image}@sha256:")), "{pinned}");
    pod["spec"]["initContainers"][0]["image"] = json!(pinned);
    pod["spec"]["containers"][0]["image"] = json!(pinned);
    let again = server.admit(PATH, &create(&pod));
    assert_eq!(
        (&again["allowed"], &again["patch"]),
        (&json!(true), &Value::Null)
    );
    // What is pinned is judged by the same digest.
    let response = server.validate_read(&create(&pod));
    assert_eq!(response["auditAnnotations"]["judged-by"], "digest");
    assert_eq!(response["allowed"], true, "{response}");
}

#[test]
fn nothing_else_is_changed_and_nothing_denied() {
    let (registry, server) = (registry(), Server::new(ENFORCE));
    let nothing = |review: &Value| {
        let response = server.admit(PATH, review);
        assert_eq!(
            (&response["allowed"], &response["patch"]),
            (&json!(true), &Value::Null),
            "{response}"
        );
        response
    };
    nothing(&create(&deployment(&image(&registry))));
    let mut update = create(&pod(&image(&registry)));
    update["request"]["operation"] = json!("UPDATE");
    nothing(&update);
    for unknown in [
        "127.0.0.1:1/team/image:1",
        "oci:/etc",
        "-",
        "UPPER CASE",
        "",
    ] {
        nothing(&create(&pod(unknown)));
    }
    let response = nothing(&create(&pod("127.0.0.1:1/team/image:1")));
    assert!(
        response["auditAnnotations"]["not-pinned"]
            .as_str()
            .unwrap()
            .contains("127.0.0.1:1")
    );
    nothing(&create(
        &json!({"kind": "Pod", "apiVersion": "v1", "spec": {"containers": "none"}, "metadata": {}}),
    ));
}
