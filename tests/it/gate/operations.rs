//! Certificates, configuration, signals, probes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use reqwest::{Identity, Method};
use serde_json::json;

use super::images::{ENFORCE, create, enforce_with, image, pod, registry};
use super::server::{Home, PATIENCE, Server, builder, client};

#[test]
fn the_log_says_at_the_start_what_is_judged() {
    let server = Server::new(&enforce_with(&[
        (
            "mode: enforce",
            "mode: enforce, namespaces: {'dev-*': audit}",
        ),
        (
            "clusters:",
            "targets: [{name: old, gpus: [a100], driver: '535.183.06'}]\nclusters:",
        ),
    ]));
    let [judging] = server.logged("judging").try_into().unwrap();
    let file = server.home.path("imgcheck.yaml").display().to_string();
    for (key, value) in [
        ("configuration", json!(file)),
        ("mode", json!("enforce")),
        ("namespaces", json!("dev-*: audit")),
        ("targets", json!("old (a100, driver 535.183.06)")),
        ("node_classes", json!("h100 (h100, driver 570.86.10)")),
        ("watches_cluster", json!(false)),
    ] {
        assert_eq!(judging[key], value, "{judging}");
    }
    let [listening] = server.logged("listening").try_into().unwrap();
    assert_eq!(listening["metrics"], format!("{}/metrics", server.url));
    assert_eq!(listening["tokens"], true);
    // A new configuration is said, too.
    server.home.write(
        "imgcheck.yaml",
        &enforce_with(&[("mode: enforce", "mode: warn")]),
    );
    server.signal("HUP");
    server.wait_for("the new mode", |it| {
        it.logged("judging")
            .last()
            .is_some_and(|line| line["mode"] == "warn" && line["targets"] == "none")
    });
}

#[test]
fn a_new_certificate_is_used_and_a_broken_one_is_not() {
    let server = Server::new(ENFORCE);
    let trusted = |server: &Server| {
        let client = client(&server.home);
        server
            .send_with(&client, Method::GET, "/livez", "", None)
            .is_ok()
    };
    assert!(trusted(&server));
    assert!(server.metric("imgcheck_certificate_expiry_timestamp_seconds") > 1.6e9);
    let before = std::fs::read(server.home.path("tls.crt")).unwrap();
    server.home.write_certificate();
    assert!(!trusted(&server));
    server.signal("HUP");
    server.wait_for("the new certificate", trusted);
    assert_ne!(before, std::fs::read(server.home.path("tls.crt")).unwrap());
    // A certificate without its key: the last one stays.
    let good = client(&server.home);
    server.home.write("tls.crt", "nonsense");
    server.signal("HUP");
    server.wait_for("the failure", |server| {
        let text = server
            .send_with(
                &good,
                Method::GET,
                "/metrics",
                "",
                Some(super::server::TOKEN),
            )
            .unwrap()
            .text;
        text.contains("imgcheck_reloads_total{file=\"certificate\",outcome=\"failure\"} 1")
    });
    assert_eq!(
        server
            .send_with(&good, Method::GET, "/livez", "", None)
            .unwrap()
            .status,
        200
    );
}

#[test]
fn a_wrong_configuration_leaves_the_last_in_use() {
    let registry = registry();
    let server = Server::new(&enforce_with(&[("mode: enforce", "mode: audit")]));
    let review = create(&pod(&image(&registry)));
    let mode = |server: &Server| server.validate(&review)["auditAnnotations"]["mode"].clone();
    assert_eq!(mode(&server), "audit");
    server.home.write("imgcheck.yaml", "gate: {mode: enforced}");
    server.signal("HUP");
    server.wait_for("the failure", |server| {
        server.metric("imgcheck_reloads_total{file=\"configuration\",outcome=\"failure\"}") == 1.0
    });
    let failed = |server: &Server| server.metric("imgcheck_reload_failed{file=\"configuration\"}");
    assert_eq!((mode(&server), failed(&server)), ("audit".into(), 1.0));
    // Without a signal it is noticed after some seconds.
    server.home.write("imgcheck.yaml", ENFORCE);
    server.wait_for("the new mode", |server| mode(server) == "enforce");
    assert_eq!(failed(&server), 0.0);
}

#[test]
fn mistakes_are_reported_before_anything_is_served() {
    let home = Home::new("gate: {mode: enforced}");
    assert!(home.failure(&[]).contains("did you mean `enforce`?"));
    for (configuration, message) in [
        ("gate: {cluster: prod}", "declares no cluster `prod`"),
        (
            "clusters: {a: {nodes: []}, b: {nodes: []}}",
            "several clusters",
        ),
        (
            "gate: {exemptions: [{image: x, reason: ' '}]}",
            "the reason is empty",
        ),
        ("gate: {exemptions: [{image: x}]}", "`reason` is missing"),
        (
            "gate: {exemptions: [{image: x, reason: y, expires: soon}]}",
            "invalid date",
        ),
        ("gate: {on-miss: pass}", "invalid value of on-miss"),
        ("gate: {modus: audit}", "unknown key `modus`"),
    ] {
        home.write("imgcheck.yaml", configuration);
        let error = home.failure(&[]);
        assert!(error.contains(message), "{configuration}: {error}");
    }
    home.write("imgcheck.yaml", ENFORCE);
    home.write("tokens", "# none\n");
    assert!(home.failure(&[]).contains("no token found"));
    home.write("tokens", "x\n");
    home.write("tls.key", "nonsense");
    assert!(home.failure(&[]).contains("no private key"));
    let other = Home::new(ENFORCE);
    let key = std::fs::read_to_string(other.path("tls.key")).unwrap();
    home.write("tls.key", &key);
    assert!(home.failure(&[]).contains("tls.crt"));
    std::fs::remove_file(home.path("tls.crt")).unwrap();
    let error = home.failure(&[]);
    assert!(
        error.contains("--tls-cert ") && error.contains("tls.crt: the file does not exist"),
        "{error}"
    );
}

#[test]
fn requests_end_before_the_server_does() {
    // A registry that answers after a while.
    let slow = testkit::registry::Server::new(|_| {
        std::thread::sleep(Duration::from_millis(1500));
        testkit::registry::respond(404, "{}")
    });
    let mut server = Server::new(ENFORCE);
    let review = create(&pod(&image(&slow)));
    let answers = std::thread::scope(|scope| {
        let asking = scope.spawn(|| server.validate(&review));
        let start = Instant::now();
        while slow.seen().is_empty() {
            assert!(start.elapsed() < PATIENCE, "the registry was never asked");
            std::thread::sleep(Duration::from_millis(10));
        }
        server.signal("TERM");
        asking.join().unwrap()
    });
    assert_eq!(answers["allowed"], false);
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn a_client_that_sends_nothing_or_too_much_is_let_go() {
    let home = Home::new(ENFORCE);
    let server = Server::start(&home, &[]);
    let address = server.url.trim_start_matches("https://").to_owned();
    // Never finishes the handshake.
    let mut idle = TcpStream::connect(&address).unwrap();
    idle.write_all(b"\x16\x03\x01").unwrap();
    let start = Instant::now();
    let mut rest = Vec::new();
    let _ = idle.read_to_end(&mut rest);
    assert!(start.elapsed() < Duration::from_secs(20));
    let headers = (0..200).fold(
        client(&home).get(format!("{}/livez", server.url)),
        |request, at| request.header(format!("x-{at}"), "y"),
    );
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let status = runtime
        .block_on(headers.send())
        .map(|it| it.status().as_u16());
    assert_eq!(status.unwrap(), 431);
    let long = client(&home)
        .get(format!("{}/livez", server.url))
        .header("x", "y".repeat(100_000));
    let status = runtime.block_on(long.send()).map(|it| it.status().as_u16());
    assert_eq!(status.unwrap(), 431);
    assert_eq!(server.get("/livez").status, 200);
}

#[test]
fn a_client_certificate_takes_the_place_of_a_token() {
    let home = Home::new(ENFORCE);
    let (authority_key, mut params) = (KeyPair::generate().unwrap(), CertificateParams::default());
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&authority_key).unwrap();
    home.write("clients.crt", &authority.pem());
    let issuer = Issuer::new(params, authority_key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["ci".to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let path = home.path("clients.crt").display().to_string();
    let server = Server::start(&home, &["--client-ca", &path]);
    let identity = format!("{}{}", certificate.pem(), key.serialize_pem());
    let identity = Identity::from_pem(identity.as_bytes()).unwrap();
    let known = builder(&home.path("tls.crt"))
        .identity(identity)
        .build()
        .unwrap();
    let get =
        |client: &reqwest::Client| server.send_with(client, Method::GET, "/metrics", "", None);
    assert_eq!(get(&known).unwrap().status, 200);
    assert_eq!(get(&client(&home)).unwrap().status, 401);
    let stranger = KeyPair::generate().unwrap();
    let own = CertificateParams::new(["ci".to_owned()])
        .unwrap()
        .self_signed(&stranger)
        .unwrap();
    let identity = format!("{}{}", own.pem(), stranger.serialize_pem());
    let identity = Identity::from_pem(identity.as_bytes()).unwrap();
    let stranger = builder(&home.path("tls.crt"))
        .identity(identity)
        .build()
        .unwrap();
    assert!(get(&stranger).is_err());
}

#[test]
fn a_request_has_an_id_in_the_answer_and_the_log() {
    let server = Server::new(ENFORCE);
    let id = |answer: &super::server::Answer| {
        answer.headers["x-request-id"].to_str().unwrap().to_owned()
    };
    let (first, second) = (id(&server.get("/livez")), id(&server.get("/livez")));
    assert_ne!(first, second);
    server.wait_for("the log", |server| {
        let logged = server.logged("request");
        logged.iter().any(|line| {
            line["id"] == json!(first) && line["path"] == "/livez" && line["status"] == 200
        })
    });
}
