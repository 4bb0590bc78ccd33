//! Harbor's interface for scanners: a scan from the request to the report, and what goes wrong on the way.

mod forward;

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use testkit::registry::{self, error, with};
use testkit::{Image, file, sha256};

use super::images::{ENFORCE, content, enforce_with};
use super::server::{Answer, Home, PATIENCE, Server, client};
use crate::program::repository;

const GENERIC: &str = "application/vnd.security.vulnerability.report; version=1.1";
const ERROR: &str = "application/vnd.scanner.adapter.error+json; version=1.0";
/// `robot$ci:secret`.
const ROBOT: &str = "Basic cm9ib3QkY2k6c2VjcmV0";
const HEALTHY_TAG: &str = "2.8.0-cuda12.8-cudnn9-runtime";

/// A registry that only the robot may use, and which holds its layers back until it is opened.
fn registry() -> (registry::Server, Arc<AtomicBool>) {
    let content = content();
    let is_open = Arc::new(AtomicBool::new(true));
    let open = is_open.clone();
    let server = registry::Server::new(move |seen| {
        if seen.authorization.as_deref() != Some(ROBOT) {
            let refusal = error(401, "UNAUTHORIZED", "who are you");
            return with(refusal, "www-authenticate", "Basic realm=\"harbor\"");
        }
        while seen.part().starts_with("blobs/") && !open.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        content.answer(seen)
    });
    (server, is_open)
}

fn digest() -> String {
    sha256(content().manifest(HEALTHY_TAG).to_string().as_bytes())
}

/// What Harbor sends for the sample image under a tag.
fn request(registry: &registry::Server, tag: &str) -> Value {
    json!({
        "registry": {"url": format!("http://{}", registry.address), "authorization": ROBOT},
        "artifact": {
            "repository": "team/image", "digest": digest(), "tag": tag,
            "mime_type": "application/vnd.oci.image.manifest.v1+json",
        },
        "enabled_capabilities": [{"type": "vulnerability", "produces_mime_types": [GENERIC]}],
    })
}

/// What the interface does not allow in a document.
fn faults(schema: &str, document: &Value) -> Vec<String> {
    let text = std::fs::read_to_string(repository("testdata/harbor/scanner-1.2.yaml")).unwrap();
    let description: Value = serde_saphyr::from_str(&text).unwrap();
    let schema = json!({
        "$ref": format!("#/components/schemas/{schema}"), "components": description["components"],
    });
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors = validator.iter_errors(document);
    errors.map(|error| error.to_string()).collect()
}

/// Asks for a scan, and returns the path of its report.
#[track_caller]
fn ask(server: &Server, request: &Value) -> String {
    let answer = server.post("/api/v1/scan", request);
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(
        answer.headers["content-type"],
        "application/vnd.scanner.adapter.scan.response+json; version=1.0"
    );
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    format!("/api/v1/scan/{id}/report")
}

/// Asks for a report until it is there, as Harbor does.
#[track_caller]
fn wait(server: &Server, report: &str) -> Answer {
    let start = Instant::now();
    loop {
        let answer = server.get(report);
        if answer.status != 302 {
            assert!([200, 500].contains(&answer.status), "{answer:?}");
            return answer;
        }
        assert_eq!(answer.headers["refresh-after"], "5");
        assert!(start.elapsed() < PATIENCE, "{answer:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[track_caller]
fn refused(answer: &Answer, status: u16) -> String {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.headers["content-type"], ERROR);
    answer.json()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn the_metadata_say_what_is_scanned() {
    let server = Server::new(ENFORCE);
    let answer = server.get("/api/v1/metadata");
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.headers["content-type"],
        "application/vnd.scanner.adapter.metadata+json; version=1.1"
    );
    let metadata = answer.json();
    assert_eq!(metadata["scanner"]["name"], "imgcheck");
    assert_eq!(
        faults("ScannerAdapterMetadata", &metadata),
        Vec::<String>::new()
    );
    assert_eq!(metadata["capabilities"][0]["type"], "vulnerability");
    assert_eq!(
        metadata["capabilities"][0]["produces_mime_types"],
        json!([GENERIC])
    );
    let authorization = "harbor.scanner-adapter/registry-authorization-type";
    assert_eq!(metadata["properties"][authorization], "Basic");
}

#[test]
fn findings_are_vulnerabilities() {
    let (registry, _) = registry();
    let server = Server::new(ENFORCE);
    let path = ask(
        &server,
        &request(&registry, "2.8.0-cuda11.8-cudnn9-runtime"),
    );
    let answer = wait(&server, &path);
    assert_eq!(answer.headers["content-type"], GENERIC);
    let report = answer.json();
    assert_eq!(report["artifact"]["digest"], digest().as_str());
    assert_eq!(report["scanner"]["name"], "imgcheck");
    assert_eq!(report["severity"], "High");
    let found = report["vulnerabilities"].as_array().unwrap();
    let found = found.iter().find(|it| it["id"] == "claim-cuda-version");
    let found = found.unwrap_or_else(|| panic!("{report}"));
    assert_eq!(found["severity"], "High");
    let text = found["description"].as_str().unwrap();
    assert!(text.contains("11.8") && text.contains("12.8"), "{text}");
    assert!(
        found["links"][0]
            .as_str()
            .unwrap()
            .contains("claim-cuda-version")
    );
    assert_eq!(
        faults("HarborVulnerabilityReport", &report),
        Vec::<String>::new()
    );
    // Harbor keeps a vulnerability by these, for all images.
    assert_eq!(found["version"].as_str().unwrap().len(), 12);
    assert!(!found["package"].as_str().unwrap().is_empty());
    // The same image under the tag that it keeps: nothing is read again.
    let blobs = registry.count("blobs/");
    let healthy = wait(&server, &ask(&server, &request(&registry, HEALTHY_TAG))).json();
    assert_eq!(healthy["vulnerabilities"], json!([]), "{healthy}");
    assert_eq!(
        (&healthy["severity"], registry.count("blobs/")),
        (&json!("Unknown"), blobs)
    );
    // A verdict that is known is not withdrawn by a scan.
    assert_eq!(
        server.get(&format!("/v1/verdicts/{}", digest())).status,
        200
    );
    assert_eq!(server.metric("imgcheck_harbor_scans"), 0.0);
}

/// Of an index Harbor sends each image.
#[test]
fn an_image_for_another_platform_is_scanned() {
    let mut image = Image::new("team/image:1", &[&[file("etc/os-release", "ID=debian\n")]]);
    "arm64".clone_into(&mut image.architecture);
    let content = registry::Content::of("1", &[image], false);
    let digest = content.tags["1"].clone();
    let registry = content.serve();
    let server = Server::new(ENFORCE);
    let mut asked = request(&registry, "1");
    asked["artifact"]["digest"] = json!(digest);
    let report = wait(&server, &ask(&server, &asked)).json();
    assert_eq!(report["artifact"]["digest"], digest.as_str());
    let found = server.get(&format!("/v1/verdicts/{digest}")).json();
    assert_eq!(found["images"][0]["platform"], "linux/arm64");
}

#[test]
fn an_accepted_scan_survives_a_kill() {
    let (registry, is_open) = registry();
    let home = Home::new(ENFORCE);
    let mut server = Server::start(&home, &[]);
    is_open.store(false, Ordering::SeqCst);
    let path = ask(&server, &request(&registry, HEALTHY_TAG));
    let answer = server.get(&path);
    assert_eq!(
        (answer.status, &answer.headers["refresh-after"]),
        (302, &"5".parse().unwrap())
    );
    // Credentials are in the file until the report is there.
    let mode = home
        .path("state/queue.redb")
        .metadata()
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    assert!(!server.has_logged("cm9ib3") && !server.has_logged("secret"));
    server.signal("KILL");
    assert_eq!(server.wait(), None);
    is_open.store(true, Ordering::SeqCst);
    let server = Server::start(&home, &["--log", "debug"]);
    let report = wait(&server, &path).json();
    assert_eq!(report["vulnerabilities"], json!([]), "{report}");
    assert!(!server.has_logged("cm9ib3") && !server.has_logged("secret"));
    drop(server);
    // The report is known for a while, the credentials are not.
    let server = Server::start(&home, &[]);
    assert_eq!(wait(&server, &path).status, 200);
    assert_eq!(server.metric("imgcheck_harbor_scans"), 0.0);
}

#[test]
fn a_scan_does_not_fail_with_another_that_has_no_credentials() {
    let (registry, _) = registry();
    let server = Server::new(ENFORCE);
    let event = json!({"events": [{
        "action": "push", "request": {"host": registry.address},
        "target": {
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "repository": "team/image", "digest": digest(),
        },
    }]});
    assert_eq!(server.post("/v1/events", &event).json()["queued"], 1);
    let path = ask(&server, &request(&registry, HEALTHY_TAG));
    assert_eq!(wait(&server, &path).status, 200);
    // The credentials are for this scan only.
    let answer = server.post(
        "/v1/check",
        &json!({"reference": format!("{}/team/image:{HEALTHY_TAG}", registry.address)}),
    );
    assert_ne!(answer.status, 200, "{answer:?}");
}

#[test]
fn what_cannot_be_read_is_an_error_with_a_reason() {
    let (registry, _) = registry();
    let server = Server::new(ENFORCE);
    let mut wrong = request(&registry, HEALTHY_TAG);
    wrong["registry"]["authorization"] = json!("Basic cm9ib3Q6d3Jvbmc=");
    let answer = wait(&server, &ask(&server, &wrong));
    let message = refused(&answer, 500);
    assert!(
        message.contains("rejected the user name or password"),
        "{message}"
    );
    assert!(!message.contains("wrong"), "{message}");
    // Another try with the right ones.
    assert_eq!(
        wait(&server, &ask(&server, &request(&registry, HEALTHY_TAG))).status,
        200
    );
    // An address inside is not connected to.
    let mut inside = request(&registry, HEALTHY_TAG);
    let port = registry.address.rsplit(':').next().unwrap();
    inside["registry"]["url"] = json!(format!("http://localhost:{port}"));
    inside["artifact"]["digest"] = json!(format!("sha256:{}", "0".repeat(64)));
    let seen = registry.seen().len();
    let message = refused(&wait(&server, &ask(&server, &inside)), 500);
    assert!(message.contains("internal address"), "{message}");
    assert_eq!(registry.seen().len(), seen);
}

#[test]
fn requests_are_checked() {
    let (registry, _) = registry();
    let server = Server::new(&enforce_with(&[(
        "internal-hosts",
        "registries: ['127.0.0.1:*'], internal-hosts",
    )]));
    let good = request(&registry, HEALTHY_TAG);
    let with = |pointer: &str, value: Value| {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    for (wrong, word) in [
        (with("/registry/url", json!("")), "not a URL"),
        (with("/registry/url", json!("oci:/etc")), "begin with"),
        (with("/registry/url", json!("file:///etc")), "begin with"),
        (
            with("/registry/url", json!("https://a.example/x")),
            "a host and a port",
        ),
        (
            with("/registry/url", json!("https://other.example")),
            "is not listed",
        ),
        (
            with("/registry/authorization", json!("Bearer x")),
            "scheme Basic",
        ),
        (with("/registry/authorization", json!("Basic !")), "Base64"),
        (with("/artifact/repository", json!("")), "reference"),
        (
            with("/artifact/repository", json!("team/image:1")),
            "reference",
        ),
        (with("/artifact/repository", json!("../x")), ""),
        (with("/artifact/digest", json!("sha256:0")), "reference"),
        (with("/artifact/digest", json!(HEALTHY_TAG)), "reference"),
        (with("/artifact/tag", json!("1@sha256:0")), "reference"),
        (with("/artifact/tag", json!("a b")), ""),
    ] {
        let message = refused(&server.post("/api/v1/scan", &wrong), 422);
        assert!(message.contains(word), "{wrong}: {message}");
        assert!(
            !message.contains("Basic !") && message.len() < 600,
            "{message}"
        );
    }
    // What is valid, but none of the capabilities in the metadata.
    let index = json!("application/vnd.oci.image.index.v1+json");
    for (other, word) in [
        (with("/artifact/mime_type", index), "manifest"),
        (
            with("/enabled_capabilities/0/type", json!("sbom")),
            "vulnerability",
        ),
    ] {
        let message = refused(&server.post("/api/v1/scan", &other), 501);
        assert!(message.contains(word), "{other}: {message}");
    }
    let with_long_name = with("/artifact/repository", json!("a/".repeat(500_000)));
    refused(&server.post("/api/v1/scan", &with_long_name), 422);
    for body in [
        "",
        "x",
        "[]",
        "{}",
        "{\"registry\": 7}",
        r#"{"registry": ["https://a.example"], "artifact": {}}"#,
        "\u{0}",
    ] {
        refused(&server.send(Method::POST, "/api/v1/scan", body), 400);
    }
    for path in [
        "/api/v1/scan/1/report",
        "/api/v1/scan/%ff/report",
        "/api/v1/scan/..%2f/report",
    ] {
        refused(&server.get(path), 404);
    }
    let bill = "application/vnd.security.sbom.report+json; version=1.0";
    let answer = server.get_with("/api/v1/scan/1/report", "accept", bill);
    refused(&answer, 501);
    let open = client(&server.home);
    for path in ["/api/v1/metadata", "/api/v1/scan/1/report"] {
        let answer = server
            .send_with(&open, Method::GET, path, "", None)
            .unwrap();
        assert!(refused(&answer, 401).contains("token"));
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
    }
    assert_eq!(registry.seen().len(), 0);
    assert_eq!(server.metric("imgcheck_queue_jobs"), 0.0);
}
