//! A Kubernetes API server with etcd for one test: admission webhooks, RBAC, custom resources, nodes as objects. It has no scheduler and
//! no kubelet, so nothing runs.

use std::fs::{self, File};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tools::{required, say, tool};

/// A server that is not ready by then never is.
const READY: Duration = Duration::from_secs(120);
/// Users by token: an administrator, and the ServiceAccount `imgcheck` of the namespace `imgcheck`.
const TOKENS: &str = "admin,admin,admin,system:masters\nimgcheck,system:serviceaccount:imgcheck:imgcheck,imgcheck,system:serviceaccounts\n";

/// What is audited: Pods and custom kinds that start some, with the annotations of webhooks.
const AUDIT: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  resources:
  - {group: '', resources: [pods]}
  - {group: jobset.x-k8s.io}
  - {group: kubeflow.org}
  - {group: leaderworkerset.x-k8s.io}
  - {group: ray.io}
";

/// A running API server. It ends when this is dropped.
pub struct Kubernetes {
    scratch: TempDir,
    port: u16,
    etcd: Child,
    server: Child,
    store: u16,
}

impl Kubernetes {
    /// Starts a server; `None`, with a message, if `testdata/recipes/kube_apiserver.sh` was not run.
    ///
    /// # Panics
    /// It, etcd or openssl is missing and `IMGCHECK_REQUIRE_TOOLS=1`, or it does not start.
    #[must_use]
    pub fn start() -> Option<Self> {
        let built = program("kube-apiserver").is_file() && program("kubectl").is_file();
        if !built {
            let place = directory().display().to_string();
            let problem =
                format!("no API server in {place}: testdata/recipes/kube_apiserver.sh builds one");
            assert!(!required(), "{problem}, and IMGCHECK_REQUIRE_TOOLS=1");
            say(format_args!("skipped: {problem}"));
            return None;
        }
        if !tool("etcd") || !tool("openssl") {
            return None;
        }
        let scratch = tempfile::tempdir().unwrap();
        let [port, store, peers] = free_ports();
        let key = scratch.path().join("accounts.key");
        crate::tools::run(
            "openssl",
            &["genrsa", "-out", key.to_str().unwrap(), "2048"],
        );
        fs::write(scratch.path().join("tokens.csv"), TOKENS).unwrap();
        fs::write(scratch.path().join("audit.yaml"), AUDIT).unwrap();
        let kubernetes = Kubernetes {
            etcd: start_etcd(scratch.path(), store, peers),
            server: start_server(scratch.path(), port, store),
            scratch,
            port,
            store,
        };
        kubernetes.write_kubeconfig("admin", "default");
        kubernetes.write_kubeconfig("imgcheck", "imgcheck");
        kubernetes.wait_until_ready();
        Some(kubernetes)
    }

    /// A directory that is removed at the end.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.scratch.path()
    }

    /// The kubeconfig of the user with this token: `admin`, or `imgcheck` for the ServiceAccount.
    #[must_use]
    pub fn kubeconfig(&self, token: &str) -> PathBuf {
        self.directory().join(format!("{token}.kubeconfig"))
    }

    /// The kubeconfig of the administrator, acting as another user: `system:serviceaccount:NAMESPACE:NAME`.
    ///
    /// # Panics
    /// It cannot be written.
    #[must_use]
    pub fn kubeconfig_as(&self, user: &str) -> PathBuf {
        let text = fs::read_to_string(self.kubeconfig("admin")).unwrap();
        let mut config: Value = serde_json::from_str(&text).unwrap();
        config["users"][0]["user"]["as"] = json!(user);
        let path = self.kubeconfig(&user.replace(':', "-"));
        fs::write(&path, config.to_string()).unwrap();
        path
    }

    /// Writes a kubeconfig; before anybody uses it, since kubectl runs in several threads.
    fn write_kubeconfig(&self, token: &str, namespace: &str) {
        let authority = self.directory().join("certificates/apiserver.crt");
        let server = format!("https://127.0.0.1:{}", self.port);
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority": authority}}],
            "users": [{"name": token, "user": {"token": token}}],
            "contexts": [{"name": token, "context": {"cluster": "test", "user": token, "namespace": namespace}}],
            "current-context": token,
        });
        fs::write(self.kubeconfig(token), config.to_string()).unwrap();
    }

    /// Runs kubectl as administrator.
    ///
    /// # Panics
    /// It cannot be started.
    #[must_use]
    pub fn kubectl(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = kubectl()
            .arg("--kubeconfig")
            .arg(self.kubeconfig("admin"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // kubectl may end without reading.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        child.wait_with_output().unwrap()
    }

    /// Changes a webhook configuration by a JSON Patch.
    ///
    /// # Panics
    /// The server refuses it.
    pub fn patch_webhooks(&self, name: &str, patch: &Value) {
        let kind = "validatingwebhookconfiguration";
        let patch = patch.to_string();
        let output = self.kubectl(&["patch", kind, name, "--type=json", "-p", &patch], "");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
    }

    /// What kubectl prints with `-o json`.
    ///
    /// # Panics
    /// It fails.
    #[must_use]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.kubectl(&[arguments, &["-o", "json"]].concat(), "");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The events of the audit log.
    ///
    /// # Panics
    /// A line is not JSON.
    #[must_use]
    pub fn audit(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.directory().join("audit.log")).unwrap_or_default();
        let whole = log.lines().filter(|it| it.ends_with('}'));
        whole.map(|it| serde_json::from_str(it).unwrap()).collect()
    }

    /// Applies objects.
    ///
    /// # Panics
    /// The server refuses them.
    pub fn apply(&self, objects: &str) {
        let output = self.kubectl(&["apply", "--validate=false", "-f", "-"], objects);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}\n{objects}");
    }

    /// Applies definitions of custom kinds, and waits until the server accepts objects of these.
    ///
    /// # Panics
    /// The server refuses them.
    pub fn define(&self, definitions: &str) {
        self.apply(definitions);
        let wait = ["wait", "--for=condition=Established", "crd", "--all"];
        let output = self.kubectl(&wait, "");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
    }

    /// Stops the server; clients see that their connection is gone.
    ///
    /// # Panics
    /// The process cannot be ended.
    pub fn stop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }

    /// Starts the server again after [`Kubernetes::stop`].
    ///
    /// # Panics
    /// It does not start.
    pub fn restart(&mut self) {
        self.server = start_server(self.directory(), self.port, self.store);
        self.wait_until_ready();
    }

    fn wait_until_ready(&self) {
        let started = Instant::now();
        loop {
            let ready = self.kubectl(&["get", "--raw", "/readyz"], "");
            if ready.stdout == b"ok" {
                return;
            }
            let log =
                || fs::read_to_string(self.directory().join("server.log")).unwrap_or_default();
            assert!(
                started.elapsed() < READY,
                "the API server does not start:\n{}",
                log()
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Kubernetes {
    fn drop(&mut self) {
        for child in [&mut self.server, &mut self.etcd] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The kubectl of the recipe.
#[must_use]
pub fn kubectl() -> Command {
    Command::new(program("kubectl"))
}

fn program(name: &str) -> PathBuf {
    directory().join(name)
}

/// Where the recipe puts its programs: IMGCHECK_KUBE, or `imgcheck/kube` in the user's cache, which outlives a checkout.
fn directory() -> PathBuf {
    let path = |variable: &str| {
        let value = std::env::var_os(variable).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let cache = || path("XDG_CACHE_HOME").or_else(|| Some(path("HOME")?.join(".cache")));
    let cached = || Some(cache()?.join("imgcheck/kube"));
    path("IMGCHECK_KUBE").or_else(cached).unwrap_or_default()
}

/// Ports that nobody uses now.
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    listeners.map(|it| it.local_addr().unwrap().port())
}

fn start_etcd(directory: &Path, port: u16, peers: u16) -> Child {
    let (clients, peers) = (
        format!("http://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{peers}"),
    );
    let mut command = Command::new("etcd");
    command.arg("--data-dir").arg(directory.join("etcd"));
    command.args([
        "--listen-client-urls",
        &clients,
        "--advertise-client-urls",
        &clients,
    ]);
    command.args(["--listen-peer-urls", &peers]);
    spawn(command, &directory.join("etcd.log"))
}

fn start_server(directory: &Path, port: u16, store: u16) -> Child {
    let key = directory.join("accounts.key");
    let mut command = Command::new(program("kube-apiserver"));
    command
        .arg(format!("--etcd-servers=http://127.0.0.1:{store}"))
        .arg(format!("--secure-port={port}"))
        .arg("--bind-address=127.0.0.1")
        .arg("--cert-dir")
        .arg(directory.join("certificates"))
        .arg("--service-account-key-file")
        .arg(&key)
        .arg("--service-account-signing-key-file")
        .arg(&key)
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg("--token-auth-file")
        .arg(directory.join("tokens.csv"))
        .arg("--authorization-mode=RBAC")
        .arg("--service-cluster-ip-range=10.0.0.0/24")
        .arg("--audit-policy-file")
        .arg(directory.join("audit.yaml"))
        .arg("--audit-log-path")
        .arg(directory.join("audit.log"))
        // No controller makes the token of the account.
        .arg("--disable-admission-plugins=ServiceAccount");
    spawn(command, &directory.join("server.log"))
}

fn spawn(mut command: Command, log: &Path) -> Child {
    let log = File::options().create(true).append(true).open(log).unwrap();
    command.stdin(Stdio::null());
    command.stdout(log.try_clone().unwrap()).stderr(log);
    command.spawn().unwrap()
}
