//! Registries that never answer, and API servers that give up.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::Value;

use super::images::{ENFORCE, create, pod};
use super::server::{Server, client};

/// A review of a Pod whose registry accepts connections and never answers, with the registry.
fn hanging() -> (TcpListener, String, Value) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let review = create(&pod(&format!("{address}/team/image:1")));
    (listener, address, review)
}

#[test]
fn a_request_whose_client_gave_up_is_logged_and_counted() {
    let (_registry, _, review) = hanging();
    let server = Server::new(ENFORCE);
    let url = format!("{}/admission/validate?timeout=10s", server.url);
    let request = client(&server.home).post(url).body(review.to_string());
    let request = request.timeout(Duration::from_secs(3));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let error = runtime
        .block_on(async { request.send().await })
        .unwrap_err();
    assert!(error.is_timeout(), "{error}");
    let message = "the client disconnected before the answer";
    server.wait_for("a line in the log", |it| !it.logged(message).is_empty());
    let line = &server.logged(message)[0];
    assert_eq!(line["path"], "/admission/validate");
    assert_eq!(line["status"], 499);
    assert!(line["id"].is_string(), "{line}");
    let counter = r#"imgcheck_http_requests_total{path="/admission/validate",status="499"}"#;
    assert_eq!(server.metric(counter), 1.0);
}

#[test]
fn the_registry_that_does_not_answer_is_named() {
    let (_registry, address, review) = hanging();
    let server = Server::new(ENFORCE);
    // Shorter and longer than the server waits for a registry; the third request finds what the second learned.
    for timeout in ["1s", "30s", "1s"] {
        let path = format!("/admission/validate?timeout={timeout}");
        let response = server.admit(&path, &review);
        let message = response["status"]["message"].as_str().unwrap();
        let named = format!("the registry {address} did not answer in time");
        assert!(message.contains(&named), "{timeout}: {message}");
        assert!(!message.contains("deadline"), "{timeout}: {message}");
    }
}
