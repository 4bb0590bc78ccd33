//! Starts docker-registry over a directory of images.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::AUTH;
use crate::registry::run::{Run, image};
use testkit::{Compression, oci_layout};

/// A running docker-registry.
pub struct Registry {
    process: Child,
    pub address: String,
    /// Its access log: a line for each request that it has answered.
    pub log: PathBuf,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Images that several registries serve one after the other.
pub struct Storage(TempDir);

impl Storage {
    /// `None` where the programs are not installed.
    pub fn new() -> Option<Self> {
        let there = testkit::tools::tool("docker-registry") & testkit::tools::tool("skopeo");
        there.then(|| Storage(tempfile::tempdir().unwrap()))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Starts a registry over the storage. `http` and `auth` are sections of its configuration.
    pub fn serve(&self, http: Value, auth: Value) -> Registry {
        self.serve_with(http, [("auth", auth)], &[])
    }

    /// With other sections, and variables.
    pub fn serve_with<const N: usize>(
        &self,
        http: Value,
        sections: [(&str, Value); N],
        environment: &[(&str, &Path)],
    ) -> Registry {
        let address = free_address();
        let mut http = http;
        http["addr"] = json!(address);
        let mut configuration = json!({
            "version": 0.1, "log": {"level": "error"}, "http": http,
            "storage": {"filesystem": {"rootdirectory": self.path("data")}},
        });
        for (name, section) in sections.into_iter().filter(|(_, it)| !it.is_null()) {
            configuration[name] = section;
        }
        // JSON is YAML.
        let file = self.path(&address);
        fs::write(&file, configuration.to_string()).unwrap();
        let log = self.path(&format!("{address}.log"));
        let process = Command::new("docker-registry")
            .arg("serve")
            .arg(file)
            .envs(environment.iter().copied())
            .stdout(fs::File::create(&log).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let registry = Registry {
            process,
            address,
            log,
        };
        let start = Instant::now();
        while TcpStream::connect(&registry.address).is_err() {
            assert!(start.elapsed() < Duration::from_secs(60), "no registry");
            std::thread::sleep(Duration::from_millis(20));
        }
        registry
    }

    pub fn open(&self) -> Registry {
        self.serve(json!({}), Value::Null)
    }

    /// Puts the small image into it, with an open registry.
    pub fn fill(&self) {
        let layout = self.path("layout");
        let items = oci_layout(&[image()], Compression::Gzip, false);
        testkit::write_directory(&layout, &items);
        let registry = self.open();
        push(&layout, &registry, "team/image:1");
    }
}

fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// Copies a layout into the registry.
pub fn push(layout: &Path, registry: &Registry, name: &str) {
    let from = format!("oci:{}", layout.display());
    let to = format!("docker://{}/{name}", registry.address);
    testkit::tools::run(
        "skopeo",
        &["copy", "-q", "--dest-tls-verify=false", &from, &to],
    );
}

impl Registry {
    pub fn reference(&self, name: &str) -> String {
        format!("docker://{}/{name}", self.address)
    }

    /// A run with the password, as `docker login` keeps it.
    pub fn logged_in(&self, name: &str) -> Run {
        let config = format!(
            r#"{{"auths": {{"{}": {{"auth": "{AUTH}"}}}}}}"#,
            self.address
        );
        Run::new(&self.reference(name)).home_file(".docker/config.json", &config)
    }
}
