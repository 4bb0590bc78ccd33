//! Bad input: bodies that are no AdmissionReview, references that are files or internal addresses, registries that lie.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::registry::{self, respond, with};

use super::images::{ENFORCE, content, create, enforce_with, image, pod, registry};
use super::server::Server;

#[test]
fn what_is_not_an_admission_review_is_a_400_with_one_sentence() {
    let server = Server::new(ENFORCE);
    let review = create(&pod("team/image:1")).to_string();
    let nested = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let deep = review.replace("\"oldObject\":null", &format!("\"oldObject\":{nested}"));
    assert_ne!(deep, review);
    let mut no_uid = create(&pod("team/image:1"));
    no_uid["request"]["uid"] = json!("");
    for body in [
        "",
        "x",
        "null",
        "[]",
        "{}",
        "\u{0}",
        r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}"#,
        r#"{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {"uid": "x", "operation": "CREATE"}}"#,
        r#"{"apiVersion": "v1", "kind": "Pod", "request": {"uid": "x", "operation": "CREATE"}}"#,
        r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": 7, "operation": "CREATE"}}"#,
        &review[..review.len() / 2],
        &deep,
        &no_uid.to_string(),
    ] {
        for path in ["/admission/validate", "/admission/mutate"] {
            let answer = server.send(Method::POST, path, body);
            assert_eq!(answer.status, 400, "{path} {:.80} {answer:?}", body);
            let error = answer.json()["error"].as_str().unwrap().to_owned();
            assert!(
                !error.is_empty() && error.len() < 500 && !error.contains('\n'),
                "{error}"
            );
        }
    }
    let answer = server.send(Method::POST, "/admission/validate", vec![0xff; 100]);
    assert_eq!(answer.status, 400);
    // The server answers before the whole body is sent, so the client may see a closed connection.
    let client = super::server::client(&server.home);
    let body = vec![b' '; 4 << 20];
    let answer = server.send_with(&client, Method::POST, "/admission/validate", body, None);
    assert!(answer.is_ok_and(|it| it.status == 413) || server.get("/livez").status == 200);
    let metrics = server.get("/metrics").text;
    let mut admissions = metrics
        .lines()
        .filter(|it| it.starts_with("imgcheck_admissions_total{"));
    assert!(admissions.all(|it| it.ends_with(" 0")), "{metrics}");
    assert_eq!(server.get("/admission/validate").status, 405);
    assert_eq!(server.get("/nowhere").status, 404);
}

#[test]
fn objects_of_any_form_are_answered() {
    let server = Server::new(&enforce_with(&[(
        "mode: enforce",
        "mode: enforce, all-pods: true",
    )]));
    for object in [
        json!(null),
        json!(7),
        json!("text"),
        json!([]),
        json!({}),
        json!({"kind": "Pod"}),
        json!({"kind": "Pod", "apiVersion": "v1", "spec": null}),
        json!({"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [null, 7, {}, {"image": 7}, {"image": {}}]}}),
        json!({"kind": 7, "apiVersion": [], "metadata": "x"}),
        json!({"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [{"name": "a", "image": ""}], "imagePullSecrets": "x", "serviceAccountName": 7}}),
    ] {
        let mut review = create(&pod("team/image:1"));
        review["request"]["object"] = object.clone();
        let response = server.validate(&review);
        // What has containers whose images nobody knows has not passed.
        let has_container = response["auditAnnotations"]["verdict"].is_string();
        assert_eq!(
            response["allowed"] == json!(true),
            !has_container,
            "{object}: {response}"
        );
    }
}

#[test]
fn references_to_files_and_transports_are_never_opened() {
    let server = Server::new(ENFORCE);
    let long = "a/".repeat(500_000) + "b";
    for reference in [
        "oci:/etc",
        "dir:/",
        "-",
        "/etc/passwd",
        "./x",
        "docker-archive:/x.tar",
        "docker://busybox",
        "docker-daemon:busybox:1",
        "..",
        "a b",
        "a:b:c",
        "busybox@sha256:0",
        "http://busybox",
        "busybox:1\n",
        &long,
    ] {
        let response = server.validate(&create(&pod(reference)));
        assert_eq!(response["allowed"], false, "{reference:.80}");
        let message = response["status"]["message"].as_str().unwrap();
        assert!(
            message.contains("is not a valid image reference") || reference.len() > 1000,
            "{message}"
        );
        assert!(message.len() < 5000);
        let answer = server.post("/v1/check", &json!({"reference": reference}));
        assert_eq!(answer.status, 400, "{answer:?}");
    }
    assert_eq!(server.metric("imgcheck_queue_jobs"), 0.0);
}

#[test]
fn internal_addresses_are_refused_unless_listed() {
    let registry = registry();
    let closed = Server::new(&enforce_with(&[(
        "internal-hosts: [127.0.0.1]",
        "internal-hosts: []",
    )]));
    let port = registry.address.rsplit(':').next().unwrap().to_owned();
    for host in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "169.254.169.254",
        "10.0.0.1",
        "[::ffff:127.0.0.1]",
    ] {
        let response = closed.validate(&create(&pod(&format!("{host}:{port}/team/image:1"))));
        assert_eq!(response["allowed"], false, "{host}");
        let message = response["status"]["message"].as_str().unwrap();
        assert!(
            message.contains("has the internal address"),
            "{host}: {message}"
        );
    }
    assert_eq!(registry.seen().len(), 0);
}

#[test]
fn a_registry_does_not_lead_inward() {
    let inside = registry();
    let secret = inside.address.replace("127.0.0.1", "localhost");
    // It redirects manifests, and names a token server.
    let target = secret.clone();
    let redirecting = registry::Server::new(move |seen| {
        with(
            respond(307, ""),
            "location",
            &format!("http://{target}{}", seen.path),
        )
    });
    let target = secret.clone();
    let challenging = registry::Server::new(move |_| {
        let challenge = format!("Bearer realm=\"http://{target}/token\",service=\"x\"");
        with(respond(401, ""), "www-authenticate", &challenge)
    });
    // Only the address of loopback is listed, not its name.
    let server = Server::new(ENFORCE);
    for outside in [&redirecting, &challenging] {
        let response = server.validate(&create(&pod(&image(outside))));
        assert_eq!(response["allowed"], false);
        assert!(!outside.seen().is_empty());
    }
    assert_eq!(inside.seen().len(), 0, "{:?}", inside.seen());
}

#[test]
fn only_listed_registries_are_asked() {
    let registry = registry();
    let server = Server::new(&enforce_with(&[(
        "internal-hosts",
        "registries: ['*.example'], internal-hosts",
    )]));
    let response = server.validate(&create(&pod(&image(&registry))));
    assert_eq!(response["allowed"], false);
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.contains("is not listed under"), "{message}");
    assert!(message.contains("`registries`"), "{message}");
    assert!(!message.contains("preflight"), "{message}");
    assert_eq!(registry.seen().len(), 0);
    // Nothing was judged.
    let audit = &response["auditAnnotations"];
    assert_eq!(
        (&audit["verdict"], &audit["judged-by"]),
        (&json!("incomplete"), &Value::Null)
    );
}

/// As preflight: the tag alone is wrong, whatever the image contains.
#[test]
fn a_tag_that_claims_the_impossible_fails_unread() {
    let server = Server::new(&enforce_with(&[(
        "internal-hosts",
        "registries: ['*.example'], internal-hosts",
    )]));
    let response = server.validate(&create(&pod(
        "pytorch/pytorch:2.8.0-cuda10.2-cudnn7-runtime",
    )));
    let audit = &response["auditAnnotations"];
    assert_eq!(audit["verdict"], "fail", "{response}");
    assert!(
        audit["rules"]
            .as_str()
            .unwrap()
            .contains("claim-impossible"),
        "{audit}"
    );
    assert_eq!(audit["judged-by"], Value::Null);
}

/// Who reads a denial is told what helps, not to try again where that does not.
#[test]
fn a_denial_says_what_helps() {
    let server = Server::new(ENFORCE);
    for (status, help) in [
        (401, "under `imagePullSecrets` of the Pod"),
        (403, "under `imagePullSecrets` of the Pod"),
        (404, "correct the name of the image, or push it first"),
    ] {
        let registry = registry::Server::new(move |_| match status {
            401 => with(respond(401, ""), "www-authenticate", "Basic realm=\"x\""),
            _ => respond(status, ""),
        });
        let response = server.validate(&create(&pod(&image(&registry))));
        assert_eq!(response["allowed"], false);
        let message = response["status"]["message"].as_str().unwrap();
        assert!(message.contains(help), "{status}: {message}");
        assert!(!message.contains("try again in"), "{status}: {message}");
    }
    let inside = Server::new(&enforce_with(&[("[127.0.0.1]", "[]")]));
    let response = inside.validate(&create(&pod("169.254.169.254/team/image:1")));
    let message = response["status"]["message"].as_str().unwrap();
    assert!(
        message.contains("internal-hosts") && message.contains("does not help"),
        "{message}"
    );
    // Also if the address is that of a name.
    let response = inside.validate(&create(&pod("localhost:1/team/image:1")));
    let message = response["status"]["message"].as_str().unwrap();
    assert!(
        message.contains("internal-hosts") && message.contains("does not help"),
        "{message}"
    );
}

#[test]
fn a_registry_that_lies_or_breaks_gives_no_pass() {
    let content = Arc::new(content());
    let server = Server::new(ENFORCE);
    let judge = |registry: &registry::Server| -> Value {
        let response = server.validate_read(&create(&pod(&image(registry))));
        assert_eq!(response["allowed"], false, "{response}");
        response
    };
    // Another digest than that of the manifest.
    let lying = content.clone();
    let lying = registry::Server::new(move |seen| {
        let answer = lying.answer(seen);
        let is_tag = seen.part().starts_with("manifests/2.8");
        match is_tag {
            true => with(
                answer,
                "docker-content-digest",
                &format!("sha256:{}", "0".repeat(64)),
            ),
            false => answer,
        }
    });
    judge(&lying);
    // Layers that are cut off.
    let layer = content.layer();
    let cutting = content.clone();
    let cutting = registry::Server::new(move |seen| match seen.is_blob(&layer) {
        true => respond(200, cutting.blobs[&layer][..1000].to_vec()),
        false => cutting.answer(seen),
    });
    let response = judge(&cutting);
    assert_eq!(response["auditAnnotations"]["verdict"], "incomplete");
    // Nothing but errors.
    let failing = registry::Server::new(|_| respond(500, "{}"));
    let response = server.validate(&create(&pod(&image(&failing))));
    assert_eq!(
        (
            &response["allowed"],
            &response["auditAnnotations"]["verdict"]
        ),
        (&json!(false), &json!("unknown"))
    );
}
