//! What Harbor is told where another scanner has its say, too.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use testkit::registry::respond;

use super::{HEALTHY_TAG, ask, refused, registry, request, wait};
use crate::gate::images::enforce_with;
use crate::gate::server::{Home, Server};

/// A scanner that finds one vulnerability, and is asked twice before it is ready.
fn other() -> registry::Server {
    let polls = AtomicUsize::new(0);
    registry::Server::new(move |seen| match (&*seen.method, &*seen.path) {
        ("POST", "/base/api/v1/scan") => respond(202, json!({"id": "their/id"}).to_string()),
        ("GET", "/base/api/v1/scan/their%2Fid/report") => {
            match polls.fetch_add(1, Ordering::SeqCst) {
                0 => respond(302, ""),
                _ => respond(
                    200,
                    json!({"severity": "Critical", "vulnerabilities": [
                        {"id": "CVE-2026-1", "package": "zlib", "version": "1", "severity": "Critical", "extra": 7},
                    ]})
                    .to_string(),
                ),
            }
        }
        _ => respond(400, ""),
    })
}

fn forwarding(address: &str) -> String {
    enforce_with(&[(
        "mode: enforce",
        &format!("mode: enforce, harbor: {{forward: 'http://{address}/base/'}}"),
    )])
}

#[test]
fn another_scanner_has_its_say() {
    let ((registry, _), other) = (registry(), other());
    let server = Server::new(&forwarding(&other.address));
    let asked = request(&registry, "2.8.0-cuda11.8-cudnn9-runtime");
    let report = wait(&server, &ask(&server, &asked)).json();
    assert_eq!(report["severity"], "Critical");
    let found = report["vulnerabilities"].as_array().unwrap();
    let of = |id: &str| found.iter().find(|it| it["id"] == id);
    assert!(of("claim-cuda-version").is_some(), "{report}");
    assert_eq!(of("CVE-2026-1").unwrap()["extra"], 7);
    // It was asked as Harbor would, once.
    let handed: Vec<Value> = other
        .seen()
        .iter()
        .filter(|seen| seen.method == "POST")
        .map(|seen| serde_json::from_str(&seen.body).unwrap())
        .collect();
    assert_eq!(handed, [asked]);
    assert_eq!(
        server.metric("imgcheck_forwards_total{outcome=\"success\"}"),
        1.0
    );
}

#[test]
fn a_report_is_never_half_of_two() {
    let (registry, _) = registry();
    let request = request(&registry, HEALTHY_TAG);
    let failing = registry::Server::new(|seen| match &*seen.method {
        "POST" => respond(202, r#"{"id": "1"}"#),
        _ => respond(500, r#"{"error": {"message": "it broke"}}"#),
    });
    let server = Server::new(&forwarding(&failing.address));
    let message = refused(&wait(&server, &ask(&server, &request)), 500);
    assert!(message.contains("it broke"), "{message}");
    let lying = registry::Server::new(|seen| match &*seen.method {
        "POST" => respond(202, r#"{"id": "1"}"#),
        _ => respond(200, "[7]"),
    });
    let server = Server::new(&forwarding(&lying.address));
    let message = refused(&wait(&server, &ask(&server, &request)), 500);
    assert!(
        message.contains("no report on vulnerabilities"),
        "{message}"
    );
    // Nobody listens there: it may come back, but not for ever.
    let address = lying.address.clone();
    drop((server, lying));
    let server = Server::new(&forwarding(&address));
    let path = ask(&server, &request);
    assert_eq!(server.get(&path).status, 302);
    let message = refused(&wait(&server, &path), 500);
    assert!(message.contains("the scanner under `forward`"), "{message}");
    assert!(server.metric("imgcheck_forwards_total{outcome=\"failure\"}") >= 1.0);
}

#[test]
fn the_address_of_the_other_scanner_is_checked() {
    for address in ["trivy", "ftp://trivy", "http://", "http://a?b"] {
        let home = Home::new(&format!("gate: {{harbor: {{forward: '{address}'}}}}"));
        let message = home.failure(&[]);
        assert!(
            message.contains("is not the address of a scanner"),
            "{message}"
        );
    }
}
