//! A cluster that calls a gate, over TLS.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::kubernetes::Kubernetes;
use testkit::registry;

use super::{images, node, server};
use crate::gate_server::{Home, PATIENCE, Server};

/// The gate's configuration: nodes come from the cluster.
const WATCHED: &str = "gate: {mode: warn, internal-hosts: [127.0.0.1]}";

/// A cluster, a registry with the healthy image, and a gate that the cluster calls.
pub struct Scene {
    pub cluster: Kubernetes,
    pub registry: registry::Server,
    pub gate: Server,
    pub home: Home,
}

impl Scene {
    /// A cluster with two nodes, one namespace for each mode, and what `prepare` adds before the gate starts.
    pub fn new(prepare: impl FnOnce(&Kubernetes)) -> Option<Self> {
        let cluster = server()?;
        prepare(&cluster);
        let mut objects = node("old", "NVIDIA-A100-SXM4-80GB", "470.82.01") + &node("cpu", "", "");
        for mode in ["audit", "warn", "enforce"] {
            objects += &format!(
                "---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {mode}, labels: {{imgcheck.io/mode: {mode}, kubernetes.io/metadata.name: {mode}}}}}\n"
            );
        }
        cluster.apply(&objects);
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
        scene.point(&scene.gate.url, "Fail", &scene.authority(), 10);
        Some(scene)
    }

    /// The authority that signed the certificate of the gate.
    pub fn authority(&self) -> String {
        fs::read_to_string(self.home.path("tls.crt")).unwrap()
    }

    /// Lets the API server call the gate at this address for two seconds, with a certificate of these authorities, and waits until it
    /// does.
    pub fn point_webhooks(&self, url: &str, policy: &str, authorities: &str) {
        self.point(url, policy, authorities, 2);
    }

    fn point(&self, url: &str, policy: &str, authorities: &str, seconds: u32) {
        let webhook = |it: &Value| {
            let mut it = it.clone();
            it["clientConfig"] = json!({"url": format!("{url}/admission/validate"), "caBundle": base64(authorities.as_bytes())});
            it["failurePolicy"] = json!(policy);
            it["timeoutSeconds"] = json!(seconds);
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
        let patch = json!([{"op": "replace", "path": "/webhooks", "value": webhooks}]);
        self.cluster.patch_webhooks("imgcheck", &patch);
        std::thread::sleep(Duration::from_secs(2));
    }

    /// Creates an object; whether it was accepted, and what kubectl wrote to standard error.
    pub fn create(&self, namespace: &str, object: &Value, arguments: &[&str]) -> (bool, String) {
        let mut object = object.clone();
        object["metadata"]["namespace"] = json!(namespace);
        let arguments = [&["create", "--validate=false", "-f", "-"], arguments].concat();
        let output = self.cluster.kubectl(&arguments, &object.to_string());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), text)
    }

    /// Creates many objects, as [`create`](Self::create).
    pub fn create_all(&self, namespace: &str, objects: Vec<Value>) -> (bool, String) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let arguments = ["create", "--validate=false", "-n", namespace, "-f", "-"];
        let output = self.cluster.kubectl(&arguments, &list.to_string());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), text)
    }

    /// A Pod with a name of its own.
    pub fn pod(&self, name: &str) -> Value {
        let mut pod = images::pod(&images::image(&self.registry));
        pod["metadata"] = json!({"name": name});
        pod
    }

    /// Asks again until the image was read.
    pub fn create_read(
        &self,
        namespace: &str,
        object: &Value,
        arguments: &[&str],
    ) -> (bool, String) {
        let start = Instant::now();
        loop {
            let (accepted, text) = self.create(namespace, object, arguments);
            let is_late = text.contains("are being loaded");
            if !text.contains("was not read yet") && !is_late {
                return (accepted, text);
            }
            assert!(start.elapsed() < PATIENCE, "{text}");
            if accepted {
                self.delete(namespace, object);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    pub fn delete(&self, namespace: &str, object: &Value) {
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
