//! docker-registry itself tells the gate what was pushed.

use crate::gate_server::{Home, Server, TOKEN};
use serde_json::json;

use super::real::Storage;
use crate::program::repository;

const IMAGE: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";
const CONFIGURATION: &str = "gate: {internal-hosts: [127.0.0.1]}";

#[test]
fn a_pushed_image_is_judged_before_anybody_asks() {
    let Some(storage) = Storage::new() else {
        return;
    };
    let home = Home::new(CONFIGURATION);
    let server = Server::start(&home, &[]);
    let endpoint = json!({
        "name": "imgcheck", "url": format!("{}/v1/events", server.url), "timeout": "5s", "threshold": 5, "backoff": "1s",
        "headers": {"Authorization": [format!("Bearer {TOKEN}")]},
    });
    let notifications = json!({"endpoints": [endpoint]});
    // Programs in Go trust the authorities in this file.
    let registry = storage.serve_with(
        json!({}),
        [("notifications", notifications)],
        &[("SSL_CERT_FILE", &home.path("tls.crt"))],
    );
    let from = format!("docker-archive:{}", repository(IMAGE).display());
    let to = format!(
        "docker://{}/team/image:2.8.0-cuda12.8-cudnn9-runtime",
        registry.address
    );
    let written = storage.path("digest");
    let digest_file = format!("--digestfile={}", written.display());
    let copy = [
        "copy",
        "-q",
        "--dest-tls-verify=false",
        &digest_file,
        &from,
        &to,
    ];
    testkit::tools::run("skopeo", &copy);
    let digest = std::fs::read_to_string(written).unwrap();
    let path = format!("/v1/verdicts/{}", digest.trim());
    server.wait_for("a verdict", |server| server.get(&path).status == 200);
    assert_eq!(server.get(&path).json()["images"][0]["verdict"], "pass");
    // Layers, and what the server itself pulls, are events, too.
    let events = |outcome: &str| {
        server.metric(&format!(
            "imgcheck_events_total{{from=\"distribution\",outcome=\"{outcome}\"}}"
        ))
    };
    server.wait_for("the other events", |_| events("ignored") >= 2.0);
    assert_eq!(events("queued"), 1.0);
    server.wait_for("the end of the job", |server| {
        server.metric("imgcheck_queue_jobs") == 0.0
    });
}
