//! `imgcheck preflight` as a user meets it: manifests, images, nodes, places of findings, exit codes.

mod certain_failures;
mod config_maps;
mod gpu_counts;
mod kinds;
mod kubelet;
mod kubernetes;
mod node_classes;
mod not_understood;
mod refused;
mod refused_fields;
mod related;
mod reports;
mod slurm;
mod volumes;

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::program::{imgcheck, repository};

/// Healthy, for amd64; its process loads CUDA 12.8.
const SAMPLE: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";
const IMAGE: &str = "registry.example/ml/pytorch:2.8.0-cuda12.8";

/// A directory with a manifest and the sources of its images.
pub struct Input(pub TempDir);

impl Input {
    /// A manifest whose `IMAGE` is the sample.
    pub fn new(manifest: &str) -> Self {
        let scratch = tempdir().unwrap();
        let sample = repository(SAMPLE).display().to_string();
        fs::write(
            scratch.path().join("images.yaml"),
            format!("{IMAGE}: {sample}\n"),
        )
        .unwrap();
        let input = Input(scratch);
        input.write("deploy.yaml", manifest);
        input
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text.replace("IMAGE", IMAGE)).unwrap();
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Exit code, standard output and standard error.
    pub fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = imgcheck();
        command.current_dir(self.path()).arg("preflight");
        command.args(["--offline", "--images", "images.yaml"]);
        let output = command.args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let error = text(&output.stderr);
        assert!(!error.contains("panicked"), "{error}");
        (output.status.code().unwrap(), text(&output.stdout), error)
    }

    /// Exit code and JSON report on `deploy.yaml`.
    pub fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let arguments = [&["-f", "json", "deploy.yaml"], arguments].concat();
        let (code, text, error) = self.run(&arguments);
        let report = serde_json::from_str(&text);
        (code, report.unwrap_or_else(|_| panic!("{text}\n{error}")))
    }
}

/// The containers of all workloads.
pub fn containers(report: &Value) -> Vec<&Value> {
    let workloads = report["workloads"].as_array().unwrap().iter();
    let all = workloads.flat_map(|it| it["containers"].as_array().unwrap());
    all.collect()
}

/// `rule line:column` of each finding of a container.
pub fn findings(container: &Value) -> Vec<String> {
    let findings = container["findings"].as_array().unwrap().iter();
    let text = |it: &Value| {
        let at = &it["location"];
        let rule = it["rule"].as_str().unwrap();
        format!("{rule} {}:{}", at["line"], at["column"])
    };
    findings.map(text).collect()
}

/// `name verdict` of each node class of a container.
pub fn classes(container: &Value) -> Vec<String> {
    let classes = container["node_classes"].as_array().unwrap().iter();
    let text = |it: &Value| {
        format!(
            "{} {}",
            it["name"].as_str().unwrap(),
            it["verdict"].as_str().unwrap()
        )
    };
    classes.map(text).collect()
}
