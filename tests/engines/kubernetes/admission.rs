//! The gate as a webhook of a real API server, over TLS. Kubernetes 1.20 ignores `matchConditions`: all Pods reach the gate.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::kubernetes::Kubernetes;
use testkit::registry;

use super::images;
use super::{node, server as cluster};
use crate::gate_server::{Home, PATIENCE, Server};

/// The gate's configuration: nodes come from the cluster.
const WATCHED: &str = "gate: {mode: warn, internal-hosts: [127.0.0.1]}";

/// A cluster, a registry with the healthy image, and a gate that the cluster calls.
struct Scene {
    cluster: Kubernetes,
    registry: registry::Server,
    gate: Server,
    home: Home,
}

impl Scene {
    fn new() -> Option<Self> {
        let cluster = cluster()?;
        for (name, product, driver) in [
            ("old", "NVIDIA-A100-SXM4-80GB", "470.82.01"),
            ("cpu", "", ""),
        ] {
            cluster.apply(&node(name, product, driver));
        }
        for mode in ["audit", "warn", "enforce"] {
            cluster.apply(&format!(
                "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {mode}, labels: {{imgcheck.io/mode: {mode}, kubernetes.io/metadata.name: {mode}}}}}\n"
            ));
        }
        let home = Home::new(WATCHED);
        let kubeconfig = cluster.kubeconfig("imgcheck").display().to_string();
        let gate = Server::start(&home, &["--kubeconfig", &kubeconfig]);
        gate.wait_for("ready", |it| it.get("/readyz").status == 200);
        let scene = Scene {
            registry: images::registry(),
            cluster,
            gate,
            home,
        };
        scene.point_webhooks(&scene.gate.url, "Fail", "");
        Some(scene)
    }

    /// Lets the API server call the gate at this address, and waits until it does.
    fn point_webhooks(&self, url: &str, policy: &str, other_authority: &str) {
        let authority = fs::read_to_string(self.home.path("tls.crt")).unwrap();
        let authority = format!("{authority}{other_authority}").into_bytes();
        let webhook = |it: &Value| {
            let mut it = it.clone();
            it["clientConfig"] =
                json!({"url": format!("{url}/admission/validate"), "caBundle": base64(&authority)});
            it["failurePolicy"] = json!(policy);
            it["timeoutSeconds"] = json!(2);
            it
        };
        let configuration =
            self.cluster
                .json(&["get", "validatingwebhookconfiguration", "imgcheck"]);
        let webhooks: Vec<Value> = configuration["webhooks"]
            .as_array()
            .unwrap()
            .iter()
            .map(webhook)
            .collect();
        let patch = json!([{"op": "replace", "path": "/webhooks", "value": webhooks}]).to_string();
        let patch = self.cluster.kubectl(
            &[
                "patch",
                "validatingwebhookconfiguration",
                "imgcheck",
                "--type=json",
                "-p",
                &patch,
            ],
            "",
        );
        assert!(
            patch.status.success(),
            "{}",
            String::from_utf8_lossy(&patch.stderr)
        );
        std::thread::sleep(Duration::from_secs(2));
    }

    /// Creates an object; whether it was accepted, and what kubectl wrote to standard error.
    fn create(&self, namespace: &str, object: &Value, arguments: &[&str]) -> (bool, String) {
        let mut object = object.clone();
        object["metadata"]["namespace"] = json!(namespace);
        let arguments = [&["create", "--validate=false", "-f", "-"], arguments].concat();
        let output = self.cluster.kubectl(&arguments, &object.to_string());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), text)
    }

    /// A Pod with a name of its own.
    fn pod(&self, name: &str) -> Value {
        let mut pod = images::pod(&images::image(&self.registry));
        pod["metadata"]["name"] = json!(name);
        pod
    }

    /// Asks again until the image was read.
    fn create_read(&self, namespace: &str, object: &Value, arguments: &[&str]) -> (bool, String) {
        let start = Instant::now();
        loop {
            let (accepted, text) = self.create(namespace, object, arguments);
            if !text.contains("was not read yet") {
                return (accepted, text);
            }
            assert!(start.elapsed() < PATIENCE, "{text}");
            if accepted {
                self.delete(namespace, object);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn delete(&self, namespace: &str, object: &Value) {
        let (kind, name) = (
            object["kind"].as_str().unwrap(),
            object["metadata"]["name"].as_str().unwrap(),
        );
        let delete = [
            "-n",
            namespace,
            "delete",
            "--force",
            "--grace-period=0",
            kind,
            name,
        ];
        let _ = self.cluster.kubectl(&delete, "");
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[test]
fn namespaces_audit_warn_and_enforce() {
    let Some(scene) = Scene::new() else { return };
    // The first request finds nothing read, and has it read.
    let (accepted, text) = scene.create_read("enforce", &scene.pod("p"), &[]);
    assert!(!accepted, "{text}");
    assert!(
        text.contains("admission webhook \"gpu-pods.imgcheck.io\" denied"),
        "{text}"
    );
    assert!(text.contains("470.82.01"), "{text}");
    let (accepted, text) = scene.create("warn", &scene.pod("p"), &[]);
    assert!(
        accepted && text.contains("Warning: imgcheck: trainer"),
        "{text}"
    );
    let (accepted, text) = scene.create("audit", &scene.pod("p"), &[]);
    assert!(accepted && !text.contains("Warning: imgcheck"), "{text}");
    // Whoever applies a Deployment is warned of what its Pods will meet.
    let deployment = images::deployment(&images::image(&scene.registry));
    let mut deployment = deployment;
    deployment["spec"]["selector"] = json!({"matchLabels": {"app": "x"}});
    deployment["spec"]["template"]["metadata"] = json!({"labels": {"app": "x"}});
    let (accepted, text) = scene.create("enforce", &deployment, &[]);
    assert!(accepted && text.contains("Warning: imgcheck"), "{text}");
    // A dry run is answered in the same way, and stores nothing.
    let (accepted, text) = scene.create("enforce", &scene.pod("dry"), &["--dry-run=server"]);
    assert!(!accepted && text.contains("470.82.01"), "{text}");
    let log = scene.cluster.audit();
    let audited = |namespace: &str, key: &str| {
        let key = format!("gpu-pods.imgcheck.io/{key}");
        log.iter().any(|it| {
            it["objectRef"]["namespace"] == namespace && it["annotations"].get(&key).is_some()
        })
    };
    for namespace in ["audit", "warn", "enforce"] {
        for key in ["verdict", "mode", "digest", "rules", "classes"] {
            assert!(audited(namespace, key), "{namespace} {key}");
        }
    }
    // A node on which it runs: the watch tells the gate, and Pods are let in.
    scene
        .cluster
        .apply(&node("new", "NVIDIA-H100-80GB-HBM3", "570.124.06"));
    let start = Instant::now();
    while !scene.create("enforce", &scene.pod("q"), &[]).0 {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_gate_that_is_away_stops_what_fails_closed_and_nothing_else() {
    let Some(scene) = Scene::new() else { return };
    let point = |url: &str, policy: &str| scene.point_webhooks(url, policy, "");
    // Nobody listens there.
    let gone = "https://127.0.0.1:9";
    point(gone, "Fail");
    let (accepted, text) = scene.create("enforce", &scene.pod("p"), &[]);
    assert!(
        !accepted && text.contains("failed calling webhook"),
        "{text}"
    );
    point(gone, "Ignore");
    let (accepted, text) = scene.create("enforce", &scene.pod("p"), &[]);
    assert!(accepted, "{text}");
    // Somebody accepts, and never answers: the time of the webhook passes.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", silent.local_addr().unwrap());
    point(&url, "Fail");
    let (accepted, text) = scene.create("enforce", &scene.pod("q"), &[]);
    assert!(
        !accepted && text.contains("failed calling webhook"),
        "{text}"
    );
    point(&url, "Ignore");
    assert!(scene.create("enforce", &scene.pod("q"), &[]).0);
    // The namespace of the gate, and the one of the cluster, are never matched.
    point(gone, "Fail");
    for namespace in ["imgcheck", "kube-system"] {
        let label = format!("kubernetes.io/metadata.name={namespace}");
        // Kubernetes has this label since 1.21.
        let _ = scene.cluster.kubectl(
            &["label", "--overwrite", "namespace", namespace, &label],
            "",
        );
        let (accepted, text) = scene.create(namespace, &scene.pod("p"), &[]);
        assert!(accepted, "{namespace}: {text}");
    }
}

#[test]
fn certificates_are_replaced_while_requests_run() {
    let Some(scene) = Scene::new() else { return };
    scene.create_read("enforce", &scene.pod("p"), &[]);
    let failures = std::thread::scope(|scope| {
        let requests = scope.spawn(|| {
            let one = |at: usize| {
                let (accepted, text) = scene.create("warn", &scene.pod(&format!("p{at}")), &[]);
                (!accepted).then_some(text)
            };
            (0..60).filter_map(one).collect::<Vec<String>>()
        });
        // First the new authority beside the old one, then the new certificate.
        let new = Home::new("");
        let read = |name: &str| fs::read_to_string(new.path(name)).unwrap();
        scene.point_webhooks(&scene.gate.url, "Fail", &read("tls.crt"));
        scene.home.write("tls.key", &read("tls.key"));
        scene.home.write("tls.crt", &read("tls.crt"));
        requests.join().unwrap()
    });
    assert_eq!(failures, Vec::<String>::new());
    let reloaded = |it: &Server| {
        let read = it.logged("read again");
        read.iter().any(|it| it["file"] == "certificate")
    };
    scene.gate.wait_for("the new certificate", reloaded);
    let (accepted, text) = scene.create("warn", &scene.pod("after"), &[]);
    assert!(accepted, "{text}");
}
