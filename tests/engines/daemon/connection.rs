//! How imgcheck finds Docker and Podman, and what it reports if neither runs.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use imgcheck_base::digest;

use super::proxy::{self, Manner};
use super::{failure, failure_with, report, run};
use testkit::engine::Daemon;
use testkit::{file, write_archive};

fn with_image() -> Option<Daemon> {
    let daemon = Daemon::start(&[])?;
    let base = daemon.path("base.tar");
    write_archive(&base, &[file("etc/os-release", "ID=debian\n")]);
    daemon.run(&["import", base.to_str().unwrap(), "base:1"]);
    Some(daemon)
}

/// Writes a context as `docker context create` does.
fn context(configuration: &Path, name: &str, host: &str) {
    let hashed = digest::sha256(name.as_bytes());
    let directory = configuration
        .join("contexts/meta")
        .join(hashed.trim_start_matches("sha256:"));
    fs::create_dir_all(&directory).unwrap();
    let meta = serde_json::json!({"Name": name, "Metadata": {}, "Endpoints": {"docker": {"Host": host, "SkipTLSVerify": false}}});
    fs::write(directory.join("meta.json"), meta.to_string()).unwrap();
}

#[test]
fn an_engine_is_found_by_host_context_and_socket() {
    let Some(daemon) = with_image() else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let configuration = place.path().to_str().unwrap();
    context(place.path(), "mine", &daemon.host());
    fs::write(
        place.path().join("config.json"),
        r#"{"currentContext": "mine"}"#,
    )
    .unwrap();
    let nowhere = ("HOME", "/no/such/home");
    let host = daemon.host();
    for environment in [
        vec![("DOCKER_HOST", host.as_str())],
        vec![("DOCKER_CONFIG", configuration)],
        vec![("DOCKER_CONFIG", configuration), ("DOCKER_CONTEXT", "mine")],
    ] {
        let environment = [environment, vec![nowhere]].concat();
        let report = report("docker:base:1", &environment);
        assert_eq!(report["images"][0]["access"], "storage", "{environment:?}");
    }
    // The rootless engine of a user.
    let home = place.path().join("home");
    fs::create_dir_all(home.join(".docker/run")).unwrap();
    std::os::unix::fs::symlink(daemon.socket(), home.join(".docker/run/docker.sock")).unwrap();
    let report = report("docker:base:1", &[("HOME", home.to_str().unwrap())]);
    assert_eq!(report["images"][0]["source"], "docker-daemon");
}

#[test]
fn without_an_engine_all_attempts_are_listed() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().to_str().unwrap();
    let nobody = format!("unix://{path}/nobody.sock");
    let error = failure("docker:x:1", &[("DOCKER_HOST", &nobody)]);
    assert!(
        error.contains(&format!(
            "{nobody} (DOCKER_HOST): no such file or directory"
        )),
        "{error}"
    );
    assert!(error.contains("systemctl start docker"), "{error}");

    let refused = "tcp://127.0.0.1:1";
    let error = failure("docker:x:1", &[("DOCKER_HOST", refused)]);
    assert!(
        error.contains("tcp://127.0.0.1:1 (DOCKER_HOST): connection refused"),
        "{error}"
    );

    let error = failure("docker:x:1", &[("DOCKER_HOST", "fd://")]);
    assert!(
        error.contains("only unix://, tcp:// and ssh:// are supported"),
        "{error}"
    );

    let environment = [("XDG_RUNTIME_DIR", path), ("CONTAINER_HOST", "")];
    let error = failure("podman:x:1", &environment);
    let own = format!("unix://{path}/podman/podman.sock: no such file or directory");
    assert!(error.contains(&own), "{error}");
    assert!(
        error.contains("unix:///run/podman/podman.sock: "),
        "{error}"
    );
    assert!(
        error.contains("systemctl --user start podman.socket"),
        "{error}"
    );

    let environment = [("DOCKER_CONFIG", path), ("DOCKER_CONTEXT", "far")];
    let error = failure("docker:x:1", &environment);
    assert!(
        error.contains("Docker context far: context not found"),
        "{error}"
    );
}

#[test]
fn a_missing_image_is_reported() {
    let Some(daemon) = with_image() else {
        return;
    };
    let host = daemon.host();
    for name in ["docker:base:2", "docker:no/such", "docker:0123456789ab"] {
        let error = failure(name, &[("DOCKER_HOST", &host)]);
        assert!(
            error.contains(&format!("{host} (DOCKER_HOST): image not found")),
            "{error}"
        );
        assert!(error.contains("docker pull"), "{error}");
    }
}

#[test]
fn a_forbidden_socket_is_reported() {
    let Some(daemon) = with_image() else {
        return;
    };
    // A copy where everybody may run it.
    let program = daemon.path("imgcheck");
    fs::copy(env!("CARGO_BIN_EXE_imgcheck"), &program).unwrap();
    Command::new("chmod")
        .arg("755")
        .arg(daemon.path(""))
        .status()
        .unwrap();
    let output = Command::new(program)
        .args(["docker:base:1", "--no-progress"])
        .env("DOCKER_HOST", daemon.host())
        .stdin(Stdio::null())
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("permission denied"), "{error}");
    assert!(error.contains("the group docker"), "{error}");
}

#[test]
fn an_engine_with_tls_receives_a_client_certificate() {
    let place = tempfile::tempdir().unwrap();
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = parameters.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(parameters, authority_key);
    let write = |name: &str, text: String| fs::write(place.path().join(name), text).unwrap();
    write("ca.pem", authority.pem());
    for name in ["server-", ""] {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        parameters.extended_key_usages = vec![
            rcgen::ExtendedKeyUsagePurpose::ServerAuth,
            rcgen::ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let certificate = parameters.signed_by(&key, &issuer).unwrap();
        write(&format!("{name}cert.pem"), certificate.pem());
        write(&format!("{name}key.pem"), key.serialize_pem());
    }
    let path = |name: &str| place.path().join(name).display().to_string();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let Some(daemon) = Daemon::start(&[
        "--tlsverify",
        "--tlscacert",
        &path("ca.pem"),
        "--tlscert",
        &path("server-cert.pem"),
        "--tlskey",
        &path("server-key.pem"),
        "-H",
        &format!("tcp://127.0.0.1:{port}"),
    ]) else {
        return;
    };
    let base = daemon.path("base.tar");
    write_archive(&base, &[file("etc/os-release", "ID=debian\n")]);
    daemon.run(&["import", base.to_str().unwrap(), "base:1"]);
    let host = format!("tcp://localhost:{port}");
    let certificates = place.path().to_str().unwrap();
    let environment = [
        ("DOCKER_HOST", host.as_str()),
        ("DOCKER_TLS_VERIFY", "1"),
        ("DOCKER_CERT_PATH", certificates),
    ];
    let found = report("docker:base:1", &environment);
    assert_eq!(found["images"][0]["access"], "stream");

    let error = failure("docker:base:1", &environment[..1]);
    assert!(
        error.contains(&format!("{host} (DOCKER_HOST): ")),
        "{error}"
    );
    let nothing = tempfile::tempdir().unwrap();
    let environment = [
        environment[0],
        environment[1],
        ("DOCKER_CERT_PATH", nothing.path().to_str().unwrap()),
    ];
    let error = failure("docker:base:1", &environment);
    assert!(error.contains("ca.pem"), "{error}");
}

#[test]
fn a_missing_platform_is_reported() {
    let Some(daemon) = with_image() else {
        return;
    };
    let relay = proxy::start(&daemon.socket(), Manner::Honest);
    for host in [&daemon.host(), &relay] {
        let arguments = ["--platform", "linux/s390x"];
        let error = failure_with("docker:base:1", &arguments, &[("DOCKER_HOST", host)]);
        assert!(error.contains("has the image only for linux/"), "{error}");
    }
}

#[test]
fn a_word_is_an_image_only_if_an_engine_has_it() {
    let Some(daemon) = with_image() else {
        return;
    };
    let host = daemon.host();
    daemon.run(&["tag", "base:1", "base"]);
    let found = report("base", &[("DOCKER_HOST", &host)]);
    assert_eq!(found["images"][0]["source"], "docker-daemon");
    let (code, _, error) = run("bass", &[("DOCKER_HOST", &host)], None);
    assert_eq!(code, 2, "{error}");
    assert!(
        error.contains(&format!(
            "`bass`: no such command or file, and no such image in a container engine ({host} (DOCKER_HOST): image not found)"
        )),
        "{error}"
    );
}
