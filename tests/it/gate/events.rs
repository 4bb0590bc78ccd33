//! Events of registries: what was pushed is read before anybody asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::Method;
use serde_json::{Value, json};
use testkit::registry;
use testkit::{Image, file, sha256};

use super::images::{ENFORCE, content, enforce_with, registry};
use super::server::{Answer, Home, Server, TOKEN};

const TAG: &str = "2.8.0-cuda12.8-cudnn9-runtime";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

fn digest() -> String {
    sha256(content().manifest(TAG).to_string().as_bytes())
}

/// A push of the sample image, as the distribution project writes it.
fn push(host: &str) -> Value {
    json!({
        "id": "320678d8-ca14-430f-8bb6-4ca139cd83f7", "timestamp": "2026-11-23T10:00:00Z", "action": "push",
        "target": {
            "mediaType": MANIFEST, "size": 708, "digest": digest(), "length": 708,
            "repository": "team/image", "url": format!("http://{host}/v2/team/image/manifests/{}", digest()), "tag": TAG,
        },
        "request": {"id": "6df24a34", "addr": "127.0.0.1:1", "host": host, "method": "PUT", "useragent": "skopeo"},
        "actor": {}, "source": {"addr": "x:5000", "instanceID": "a53db899"},
    })
}

/// The same, as Harbor writes it.
fn harbor(host: &str, kind: &str) -> Value {
    json!({"type": kind, "occur_at": 1_800_000_000, "operator": "admin", "event_data": {
        "resources": [{"digest": digest(), "tag": TAG, "resource_url": format!("{host}/team/image:{TAG}")}],
        "repository": {"name": "image", "namespace": "team", "repo_full_name": "team/image", "repo_type": "private"},
    }})
}

fn read(server: &Server) {
    let path = format!("/v1/verdicts/{}", digest());
    server.wait_for("a verdict", |server| server.get(&path).status == 200);
    assert_eq!(server.get(&path).json()["images"][0]["verdict"], "pass");
}

#[track_caller]
fn is_received(answer: &Answer, queued: usize, ignored: usize) {
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(answer.json(), json!({"queued": queued, "ignored": ignored}));
}

#[test]
fn pushed_images_are_read() {
    let registry = registry();
    let host = registry.address.as_str();
    let mut blob = push(host);
    blob["target"]["mediaType"] = json!("application/octet-stream");
    let mut pull = push(host);
    pull["action"] = json!("pull");
    let cloud = json!({
        "specversion": "1.0", "id": "1", "source": "/projects/2/webhook/policies/1", "type": "harbor.artifact.pushed",
        "datacontenttype": "application/json", "data": harbor(host, "")["event_data"], "operator": "admin",
    });
    for (event, from, ignored) in [
        (
            json!({"events": [blob, push(host), pull]}),
            "distribution",
            2,
        ),
        (harbor(host, "PUSH_ARTIFACT"), "harbor", 0),
        (cloud, "cloudevents", 0),
    ] {
        let server = Server::new(ENFORCE);
        is_received(&server.post("/v1/events", &event), 1, ignored);
        read(&server);
        let metric = format!("imgcheck_events_total{{from=\"{from}\",outcome=\"queued\"}}");
        assert_eq!(server.metric(&metric), 1.0);
        // Once more: nothing is read again.
        let seen = registry.count("blobs/");
        is_received(&server.post("/v1/events", &event), 1, ignored);
        read(&server);
        assert_eq!(registry.count("blobs/"), seen);
    }
}

#[test]
fn of_an_index_the_platforms_of_the_nodes_are_read() {
    let images = ["amd64", "arm64"].map(|architecture| {
        let mut image = Image::new("team/image:1", &[&[file("etc/name", architecture)]]);
        architecture.clone_into(&mut image.architecture);
        image
    });
    let content = registry::Content::of("1", &images, true);
    let digest = content.tags["1"].clone();
    let registry = content.serve();
    let server = Server::new(&enforce_with(&[("gpu: h100", "gpu: h100, arch: arm64")]));
    let mut event = push(&registry.address);
    event["target"]["mediaType"] = json!("application/vnd.oci.image.index.v1+json");
    event["target"]["digest"] = json!(digest);
    is_received(
        &server.post("/v1/events", &json!({"events": [event]})),
        1,
        0,
    );
    let path = |architecture| format!("/v1/verdicts/{digest}?architecture={architecture}");
    server.wait_for("a verdict", |server| {
        server.get(&path("arm64")).status == 200
    });
    let found = server.get(&path("arm64")).json();
    assert_eq!(found["images"][0]["platform"], "linux/arm64");
    assert_eq!(server.get(&path("amd64")).status, 404);
}

#[test]
fn cloud_events_come_in_binary_mode_and_in_batches() {
    let registry = registry();
    let server = Server::new(ENFORCE);
    let post = |name: &'static str, value: &'static str, body: &Value| {
        let mut headers = reqwest::header::HeaderMap::new();
        headers.insert("authorization", format!("Bearer {TOKEN}").parse().unwrap());
        headers.insert(name, value.parse().unwrap());
        let client = super::server::builder(&server.home.path("tls.crt"));
        let client = client.default_headers(headers).build().unwrap();
        server
            .send_with(&client, Method::POST, "/v1/events", body.to_string(), None)
            .unwrap()
    };
    let data = harbor(&registry.address, "")["event_data"].clone();
    is_received(&post("ce-type", "harbor.artifact.pushed", &data), 1, 0);
    read(&server);
    is_received(&post("ce-type", "harbor.artifact.pulled", &data), 0, 1);
    let event = json!({"specversion": "1.0", "type": "harbor.artifact.pushed", "data": data});
    let batch = "application/cloudevents-batch+json";
    is_received(&post("content-type", batch, &json!([event, {}])), 1, 1);
    for wrong in [&event, &json!([event, 7])] {
        assert_eq!(post("content-type", batch, wrong).status, 400, "{wrong}");
    }
}

#[test]
fn what_is_no_push_of_an_image_is_ignored() {
    let registry = registry();
    let server = Server::new(&enforce_with(&[(
        "internal-hosts",
        "registries: ['127.0.0.1:*'], internal-hosts",
    )]));
    let host = registry.address.as_str();
    let mut of_another = push("registry.example");
    of_another["request"]["host"] = json!("registry.example");
    let mut without_digest = push(host);
    without_digest["target"]["digest"] = json!("sha256:0");
    let mut file = push(host);
    file["target"]["repository"] = json!("../../etc");
    for event in [
        json!({}),
        json!({"events": []}),
        json!({"events": [of_another, without_digest, file]}),
        json!({"events": [null, 7, {}, {"action": "push", "target": null}]}),
        harbor(host, "SCANNING_COMPLETED"),
        json!({"type": "PUSH_ARTIFACT", "event_data": {"resources": [{"resource_url": "oci:/etc", "digest": digest()}]}}),
        json!({"specversion": "1.0", "type": "com.example.other", "data": "x"}),
    ] {
        let answer = server.post("/v1/events", &event);
        assert_eq!(
            (answer.status, &answer.json()["queued"]),
            (202, &json!(0)),
            "{event}"
        );
    }
    for body in ["", "x", "[]", "7", "null", "\"x\"", "{", "\u{0}"] {
        let answer = server.send(Method::POST, "/v1/events", body);
        assert_eq!(answer.status, 400, "{body} {answer:?}");
        assert!(answer.json()["error"].is_string());
    }
    assert_eq!(server.metric("imgcheck_queue_jobs"), 0.0);
    assert_eq!(registry.seen().len(), 0);
}

#[test]
fn an_event_does_not_lead_inward() {
    let registry = registry();
    let server = Server::new(ENFORCE);
    let port = registry.address.rsplit(':').next().unwrap();
    // Only the address of loopback is listed, not its name.
    let event = json!({"events": [push(&format!("localhost:{port}"))]});
    is_received(&server.post("/v1/events", &event), 1, 0);
    server.wait_for("the failure", |server| {
        server.metric("imgcheck_scans_total{outcome=\"failure\"}") == 1.0
    });
    assert_eq!(registry.seen().len(), 0);
}

#[test]
fn an_accepted_event_survives_a_kill() {
    let content = content();
    let is_open = Arc::new(AtomicBool::new(false));
    let open = is_open.clone();
    let registry = registry::Server::new(move |seen| {
        while !open.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        content.answer(seen)
    });
    let home = Home::new(ENFORCE);
    let mut server = Server::start(&home, &[]);
    let event = json!({"events": [push(&registry.address)]});
    is_received(&server.post("/v1/events", &event), 1, 0);
    server.signal("KILL");
    assert_eq!(server.wait(), None);
    is_open.store(true, Ordering::SeqCst);
    read(&Server::start(&home, &[]));
}
