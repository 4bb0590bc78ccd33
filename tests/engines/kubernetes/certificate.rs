//! `imgcheck serve --self-signed`: a certificate that replicas share and webhooks trust.

use std::fs;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use imgcheck::Connection;
use imgcheck_cluster::{Certificate, certificate};
use serde_json::Value;
use testkit::kubernetes::Kubernetes;

use super::server;

fn account(server: &Kubernetes) -> Connection {
    Connection::Kubeconfig {
        file: Some(server.kubeconfig("imgcheck")),
        context: None,
    }
}

/// The authorities that the webhooks trust.
fn bundles(server: &Kubernetes) -> Vec<String> {
    let path = "jsonpath={.webhooks[*].clientConfig.caBundle}";
    let kind = "validatingwebhookconfiguration";
    let get = server.kubectl(&["get", kind, "imgcheck", "-o", path], "");
    let text = String::from_utf8(get.stdout).unwrap();
    let decode = |text: &str| String::from_utf8(STANDARD.decode(text).unwrap()).unwrap();
    text.split(' ').map(decode).collect()
}

/// Whether openssl accepts the certificate for the name of the Service.
fn is_trusted(server: &Kubernetes, certificate: &str, authorities: &str) -> bool {
    let path = |name: &str, text: &str| {
        let path = server.directory().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let mut command = Command::new("openssl");
    command.args(["verify", "-purpose", "sslserver"]);
    command.args(["-verify_hostname", "imgcheck.imgcheck.svc", "-CAfile"]);
    command.arg(path("ca.pem", authorities));
    command.arg(path("server.pem", certificate));
    command.output().unwrap().status.success()
}

#[test]
fn replicas_share_a_certificate_and_renew_it_in_time() {
    let Some(server) = server() else { return };
    let provide = || -> Certificate { certificate(&account(&server)).unwrap() };
    let (one, other) = std::thread::scope(|scope| {
        let (one, other) = (scope.spawn(provide), scope.spawn(provide));
        (one.join().unwrap(), other.join().unwrap())
    });
    assert!(one == other);
    assert!(is_trusted(&server, &one.certificate, &one.authorities));
    assert_eq!(bundles(&server), [one.authorities.as_str(); 3]);

    // Somebody applied the configuration again, with another bundle.
    let kind = "validatingwebhookconfiguration";
    let patch = r#"[{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": ""}]"#;
    let patch = server.kubectl(&["patch", kind, "imgcheck", "--type=json", "-p", patch], "");
    assert!(patch.status.success());
    assert!(provide() == one);
    assert_eq!(bundles(&server), [one.authorities.as_str(); 3]);

    // It ends soon: what is served until then stays trusted.
    let soon = "imgcheck.io/last-day=2026-01-01";
    let secret = ["-n", "imgcheck", "annotate", "--overwrite", "secret"];
    let annotate = [&secret[..], &["imgcheck-tls", soon]].concat();
    assert!(server.kubectl(&annotate, "").status.success());
    let renewed = provide();
    assert!(renewed != one);
    for certificate in [&one.certificate, &renewed.certificate] {
        assert!(is_trusted(&server, certificate, &renewed.authorities));
    }
    let get = [
        "-n",
        "imgcheck",
        "get",
        "secret",
        "imgcheck-tls",
        "-o",
        "json",
    ];
    let secret: Value = serde_json::from_slice(&server.kubectl(&get, "").stdout).unwrap();
    assert_eq!(secret["type"], "kubernetes.io/tls");
}

#[test]
fn without_webhooks_there_is_no_name_for_a_certificate() {
    let Some(server) = server() else { return };
    let delete = ["delete", "validatingwebhookconfiguration", "imgcheck"];
    assert!(server.kubectl(&delete, "").status.success());
    let error = certificate(&account(&server)).unwrap_err();
    assert!(
        error.help().unwrap().contains("--print-webhook"),
        "{error:?}"
    );
}
