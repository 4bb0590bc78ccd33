//! Answers that are no answers, and answers that want something.

use axum::body::{Body, Bytes};
use futures_util::stream;
use serde_json::json;

use super::run::{Run, check, image};
use testkit::registry::{Answer, Content, Server, error, respond, with};

/// A registry with one document.
fn document(text: impl Into<Vec<u8>>) -> Server {
    let mut content = Content::default();
    content.tag("1", text);
    content.serve()
}

#[test]
fn invalid_manifests_are_rejected() {
    for (text, problem) in [
        ("<html>welcome</html>", "is not valid JSON"),
        ("", "is not valid JSON"),
        ("[]", "is not valid JSON"),
        ("{}", "neither an image manifest nor an image index"),
        (r#"{"schemaVersion":1,"fsLayers":[]}"#, "Docker's schema 1"),
        (r#"{"manifests":[]}"#, "contains no image"),
        (
            r#"{"manifests":[{"mediaType":"x","digest":"sha256:../../x","size":1}]}"#,
            "JSON",
        ),
    ] {
        let server = document(text);
        check(&server.reference("1")).fails_with(&["team/image:1", problem]);
    }
}

#[test]
fn an_artifact_is_rejected() {
    let mut content = Content::of("1", &[image()], false);
    let mut manifest = content.manifest("1");
    manifest["config"]["mediaType"] = json!("application/vnd.cncf.helm.config.v1+json");
    content.tag("chart", manifest.to_string());
    let server = content.serve();
    check(&server.reference("chart")).fails_with(&["only an artifact (application/vnd.cncf.helm"]);
}

#[test]
fn an_endless_document_is_rejected() {
    let server = Server::new(|seen| match seen.part() {
        "manifests/1" => {
            let piece = Bytes::from(vec![b' '; 1 << 20]);
            let pieces = stream::repeat_with(move || Ok::<_, std::io::Error>(piece.clone()));
            respond(200, Body::from_stream(pieces))
        }
        _ => respond(200, "{}"),
    });
    check(&server.reference("1")).fails_with(&["the limit document-bytes"]);
}

#[test]
fn a_reason_cannot_control_the_terminal() {
    let server = Server::new(|seen| match seen.path.as_str() {
        "/v2/" => respond(200, "{}"),
        _ => error(
            418,
            "TEAPOT",
            "\u{1b}[2J\u{1b}[1;1Hall is well\n::add-mask::x\u{202e}##[error]",
        ),
    });
    let outcome = check(&server.reference("1"));
    outcome.fails_with(&["answered 418 I'm a teapot (TEAPOT:", "all is well"]);
    assert!(!outcome.stderr.contains(['\u{1b}', '\u{202e}']));
    assert!(
        outcome.stderr.contains("\\u{202e}\\u{23}#[error]"),
        "{}",
        outcome.stderr
    );
    assert!(!outcome.stderr.contains("\n::"), "{}", outcome.stderr);
}

const CONFIG: &str = r#"{"auths": {"127.0.0.1": {"auth": "dXNlcjpzZWNyZXQ="}}}"#;

fn with_credentials(server: &Server) -> Run {
    let config = CONFIG.replace("127.0.0.1", &server.address);
    Run::new(&server.reference("1")).home_file(".docker/config.json", &config)
}

fn unauthorized() -> Answer {
    with(
        error(401, "UNAUTHORIZED", "authentication required"),
        "www-authenticate",
        r#"Basic realm="registry""#,
    )
}

/// A registry behind a password whose blobs are elsewhere, and that other place.
fn redirecting(elsewhere: fn(&Content, &testkit::registry::Seen) -> Answer) -> (Server, Server) {
    let content = Content::of("1", &[image()], false);
    let own = content.clone();
    let store = Server::new(move |seen| elsewhere(&content, seen));
    let target = format!("http://{}", store.address);
    let server = Server::new(move |seen| match seen.authorization.as_deref() {
        _ if seen.path == "/v2/" => respond(200, "{}"),
        Some("Basic dXNlcjpzZWNyZXQ=") if seen.part().starts_with("blobs/") => {
            let location = format!("{target}{}?signature=hush", seen.path);
            with(respond(307, ""), "location", &location)
        }
        Some("Basic dXNlcjpzZWNyZXQ=") => own.answer(seen),
        _ => unauthorized(),
    });
    (server, store)
}

#[test]
fn a_redirect_drops_credentials() {
    let (server, store) = redirecting(Content::answer);
    with_credentials(&server).go().report();
    assert_eq!(store.seen().len(), 3);
    assert!(store.seen().iter().all(|seen| seen.authorization.is_none()));
}

#[test]
fn a_challenge_from_another_host_is_not_answered() {
    let (server, store) = redirecting(|_, _| unauthorized());
    let outcome = with_credentials(&server).go();
    outcome.fails_with(&[&format!("{} answered 401", store.address)]);
    assert!(store.seen().iter().all(|seen| seen.authorization.is_none()));
    // A URL of a blob store opens it.
    assert!(!outcome.stderr.contains("hush"), "{}", outcome.stderr);
}

#[test]
fn a_redirect_loop_is_an_error() {
    let server = Server::new(|seen| match seen.path.as_str() {
        "/v2/" => respond(200, "{}"),
        path => with(respond(307, ""), "location", path),
    });
    check(&server.reference("1")).fails_with(&["too many redirects"]);
}

#[test]
fn secrets_are_never_printed() {
    let server = Server::new(|seen| match seen.path.as_str() {
        "/v2/" => respond(200, "{}"),
        _ => unauthorized(),
    });
    let outcome = with_credentials(&server).go();
    outcome.fails_with(&[
        "answered 401 Unauthorized (UNAUTHORIZED: authentication required)",
        "rejected the user name or password from ~/.docker/config.json",
        "docker login",
    ]);
    for secret in ["dXNlcjpzZWNyZXQ=", "secret"] {
        assert!(!outcome.stderr.contains(secret), "{}", outcome.stderr);
    }
}
