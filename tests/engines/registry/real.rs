//! docker-registry itself, filled by skopeo: open, behind a password, behind TLS, behind tokens.

mod storage;

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SigningKey};
use serde_json::{Value, json};

use super::run::{Run, alike, check, layout_report};
pub use storage::{Storage, push};
use testkit::registry::{Server, respond};

/// `secret`, by bcrypt.
const HTPASSWD: &str = "user:$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";
/// `user:secret`.
const AUTH: &str = "dXNlcjpzZWNyZXQ=";

#[test]
fn an_open_registry() {
    let Some(storage) = Storage::new() else {
        return;
    };
    storage.fill();
    let registry = storage.open();
    let report = check(&registry.reference("team/image:1")).report();
    let layout = layout_report(&storage.path("layout"));
    assert_eq!(alike(&report), alike(&layout));
    check(&registry.reference("team/image:2")).fails_with(&["the nearest tags are 1\n"]);
    check(&registry.reference("team/imago:1")).fails_with(&["repository not found"]);
}

#[test]
fn a_real_image() {
    let Some(storage) = Storage::new() else {
        return;
    };
    let layout = testkit::tools::real_images().join("cuda-12.8-oci");
    if !layout.exists() {
        testkit::tools::say(format_args!("skipped: {} is not there", layout.display()));
        return;
    }
    let registry = storage.open();
    push(&layout, &registry, "nvidia/cuda:12.8.1");
    let run = Run::new(&registry.reference("nvidia/cuda:12.8.1"));
    let report = run.arg("--fail-on=never").go().report();
    let run = Run::new(&format!("oci:{}", layout.display()));
    let expected = run.arg("--fail-on=never").go().report();
    assert_eq!(alike(&report), alike(&expected));
}

#[test]
fn a_registry_with_passwords() {
    let Some(storage) = Storage::new() else {
        return;
    };
    storage.fill();
    let file = storage.path("htpasswd");
    fs::write(&file, HTPASSWD).unwrap();
    let registry = storage.serve(
        json!({}),
        json!({"htpasswd": {"realm": "tests", "path": file}}),
    );
    registry.logged_in("team/image:1").go().report();
    check(&registry.reference("team/image:1")).fails_with(&[
        "requires a login, and no credentials were found in ~/.docker/config.json",
        &format!("help: log in: docker login {}", registry.address),
    ]);
    let wrong = format!(
        r#"{{"auths": {{"{}": {{"auth": "dXNlcjp3cm9uZw=="}}}}}}"#,
        registry.address
    );
    let run =
        Run::new(&registry.reference("team/image:1")).home_file(".docker/config.json", &wrong);
    run.go().fails_with(&[
        "answered 401 Unauthorized (UNAUTHORIZED: ",
        "rejected the user name or password from ",
    ]);
}

/// A certificate for this machine, its key, and the authority that signed it, as files.
fn certificates(storage: &Storage) -> (PathBuf, PathBuf, PathBuf) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().unwrap();
    let authority_certificate = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let names = vec!["127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names)
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let write = |name: &str, text: String| {
        let path = storage.path(name);
        fs::write(&path, text).unwrap();
        path
    };
    (
        write("certificate.pem", certificate.pem()),
        write("key.pem", key.serialize_pem()),
        write("authority.pem", authority_certificate.pem()),
    )
}

#[test]
fn a_registry_with_tls() {
    let Some(storage) = Storage::new() else {
        return;
    };
    storage.fill();
    let (certificate, key, authority) = certificates(&storage);
    let tls = json!({"tls": {"certificate": certificate, "key": key}});
    let registry = storage.serve(tls, Value::Null);
    let run = || Run::new(&registry.reference("team/image:1"));
    run().arg("--ca-cert").arg(&authority).go().report();
    run().env("SSL_CERT_FILE", &authority).go().report();
    run().arg("--insecure").go().report();
    run().go().fails_with(&[
        "is not trusted: ",
        "help: add the certificate authority with --ca-cert FILE, or trust any certificate with --insecure",
    ]);
    let bare = || {
        let nowhere = storage.path("nowhere");
        run()
            .env("SSL_CERT_FILE", &nowhere)
            .env("SSL_CERT_DIR", nowhere)
    };
    bare().go().fails_with(&[
        "this machine has no certificate authorities",
        "--ca-cert FILE",
    ]);
    bare().arg("--ca-cert").arg(&authority).go().report();

    for (file, problem) in [
        (storage.path("nowhere"), "No such file"),
        (key, "certificate"),
    ] {
        let outcome = run().arg("--ca-cert").arg(file).go();
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(problem), "{}", outcome.stderr);
    }
}

/// A certificate that a server made for itself, and its key, as files.
fn self_signed(storage: &Storage, name: &str, params: CertificateParams) -> (PathBuf, PathBuf) {
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let write = |end: &str, text: String| {
        let path = storage.path(&format!("{name}.{end}"));
        fs::write(&path, text).unwrap();
        path
    };
    (
        write("pem", certificate.pem()),
        write("key", key.serialize_pem()),
    )
}

#[test]
fn a_registry_with_a_certificate_of_its_own() {
    let Some(storage) = Storage::new() else {
        return;
    };
    storage.fill();
    let named = || CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    // As `openssl req -x509` makes it.
    let mut authority = named();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    for (name, params) in [("leaf", named()), ("authority", authority)] {
        let (certificate, key) = self_signed(&storage, name, params);
        let tls = json!({"tls": {"certificate": certificate, "key": key}});
        let registry = storage.serve(tls, Value::Null);
        let run = || Run::new(&registry.reference("team/image:1"));
        run().arg("--ca-cert").arg(&certificate).go().report();
        run().go().fails_with(&["is not trusted: "]);
        let (other, _) = self_signed(&storage, "other", named());
        let outcome = run().arg("--ca-cert").arg(other).go();
        outcome.fails_with(&["is not trusted: "]);
        // Where Docker and Podman have it.
        let text = fs::read_to_string(&certificate).unwrap();
        let place = format!(".config/containers/certs.d/{}/ca.crt", registry.address);
        run().home_file(&place, &text).go().report();
        let place = ".config/containers/certs.d/127.0.0.1/ca.crt";
        run()
            .home_file(place, &text)
            .go()
            .fails_with(&["is not trusted: "]);
    }
    let wrong = CertificateParams::new(vec!["other.example".to_owned()]).unwrap();
    let mut expired = named();
    expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
    for (name, params, problem) in [
        ("wrong", wrong, "not valid for name"),
        ("expired", expired, "expired"),
    ] {
        let (certificate, key) = self_signed(&storage, name, params);
        let tls = json!({"tls": {"certificate": certificate, "key": key}});
        let registry = storage.serve(tls, Value::Null);
        let run = Run::new(&registry.reference("team/image:1"));
        run.arg("--ca-cert")
            .arg(&certificate)
            .go()
            .fails_with(&[problem]);
    }
}

#[test]
fn a_registry_that_asks_for_a_client_certificate() {
    let Some(storage) = Storage::new() else {
        return;
    };
    storage.fill();
    let (certificate, key, authority) = certificates(&storage);
    let tls = json!({"tls": {"certificate": certificate, "key": key, "clientcas": [authority]}});
    let registry = storage.serve(tls, Value::Null);
    let run = || Run::new(&registry.reference("team/image:1"));
    let place = |name: &str| format!(".config/docker/certs.d/{}/{name}", registry.address);
    let text = |path: &PathBuf| fs::read_to_string(path).unwrap();
    let run = || run().home_file(&place("ca.crt"), &text(&authority));
    assert_eq!(run().go().code, 3);
    // The server's own certificate serves as that of a client, too.
    run()
        .home_file(&place("client.cert"), &text(&certificate))
        .home_file(&place("client.key"), &text(&key))
        .go()
        .report();
}

/// A server of tokens, and the section of docker-registry's configuration that trusts it.
fn token_server(storage: &Storage) -> (Server, Value) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(Vec::new())
        .unwrap()
        .self_signed(&key)
        .unwrap();
    let bundle = storage.path("tokens.pem");
    fs::write(&bundle, certificate.pem()).unwrap();
    let server = Server::new(move |seen| {
        let expected = format!("Basic {AUTH}");
        if seen.authorization.as_deref() != Some(&expected) {
            return respond(
                401,
                r#"{"errors":[{"code":"UNAUTHORIZED","message":"who are you"}]}"#,
            );
        }
        let token = sign(&key, certificate.der());
        respond(200, json!({"token": token, "expires_in": 300}).to_string())
    });
    let auth = json!({"token": {
        "realm": format!("http://{}/token", server.address), "service": "registry",
        "issuer": "tests", "rootcertbundle": bundle,
    }});
    (server, auth)
}

/// A token to pull (distribution project, "Token Authentication Implementation").
fn sign(key: &KeyPair, certificate: &[u8]) -> String {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let header = json!({"typ": "JWT", "alg": "ES256", "x5c": [STANDARD.encode(certificate)]});
    let claims = json!({
        "iss": "tests", "sub": "user", "aud": "registry", "jti": "1",
        "iat": now - 60, "nbf": now - 60, "exp": now + 300,
        "access": [{"type": "repository", "name": "team/image", "actions": ["pull"]}],
    });
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(&header), part(&claims));
    let signature = fixed(&key.sign(text.as_bytes()).unwrap());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// The two numbers of an ECDSA signature, out of their DER sequence.
fn fixed(der: &[u8]) -> Vec<u8> {
    let mut rest = &der[2..];
    let mut numbers = Vec::new();
    for _ in 0..2 {
        let length = usize::from(rest[1]);
        let number = &rest[2..2 + length];
        let start = number.iter().position(|&byte| byte != 0).unwrap();
        let mut padded = vec![0; 32 - (length - start)];
        padded.extend(&number[start..]);
        numbers.extend(padded);
        rest = &rest[2 + length..];
    }
    numbers
}

#[test]
fn a_registry_with_tokens() {
    let Some(storage) = Storage::new() else {
        return;
    };
    storage.fill();
    let (server, auth) = token_server(&storage);
    let registry = storage.serve(json!({}), auth);
    registry.logged_in("team/image:1").go().report();
    assert_eq!(server.count("token"), 1);
    registry.logged_in("team/other:1").go().fails_with(&[
        "answered 401 Unauthorized (UNAUTHORIZED: ",
        "repository not found, or access denied with the credentials from ~/.docker/config.json",
    ]);
    check(&registry.reference("team/image:1"))
        .fails_with(&["requires a login, and no credentials were found in"]);
}

#[test]
fn passwords_are_not_sent_without_tls() {
    let Some(storage) = Storage::new() else {
        return;
    };
    storage.fill();
    let (certificate, key, authority) = certificates(&storage);
    let (server, auth) = token_server(&storage);
    let tls = json!({"tls": {"certificate": certificate, "key": key}});
    let registry = storage.serve(tls, auth);
    let run = || {
        registry
            .logged_in("team/image:1")
            .arg("--ca-cert")
            .arg(&authority)
    };
    run().go().fails_with(&[
        "names the token server `http://127.0.0.1:",
        "which does not use TLS",
    ]);
    assert_eq!(server.count("token"), 0);
    run().arg("--insecure").go().report();
}
