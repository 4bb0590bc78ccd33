//! cosign and oras themselves read what `imgcheck attest` writes, and imgcheck what cosign signs.

mod attached_requirements;
mod attached_sboms;
mod cosign;
mod manipulated;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::imgcheck;

const VERDICT: &str = "https://github.com/imgcheck/imgcheck/predicate/verdict/v1";
const FACTS: &str = "https://github.com/imgcheck/imgcheck/predicate/facts/v1";
const SUMMARY: &str = "https://slsa.dev/verification_summary/v1";

/// cosign and oras, and keys for them.
struct Tools {
    directory: PathBuf,
    home: TempDir,
}

impl Tools {
    /// `None`, with a message, if `testdata/recipes/attestation_tools.sh` was not run.
    fn find() -> Option<Self> {
        let directory = testkit::tools::real_images().join("tools/usr/bin");
        if !directory.join("cosign").is_file() {
            let problem = "no cosign: testdata/recipes/attestation_tools.sh fetches it";
            assert!(!testkit::tools::required(), "{problem}");
            testkit::tools::say(format_args!("skipped: {problem}"));
            return None;
        }
        if !testkit::tools::tool("openssl") {
            return None;
        }
        let tools = Tools {
            directory,
            home: tempfile::tempdir().unwrap(),
        };
        for name in ["own", "other"] {
            tools.make_keys(name);
        }
        Some(tools)
    }

    fn make_keys(&self, name: &str) {
        let (private, public) = (self.key(name, "pem"), self.key(name, "pub"));
        let curve = "ec_paramgen_curve:P-256";
        let generate = [
            "genpkey",
            "-algorithm",
            "EC",
            "-pkeyopt",
            curve,
            "-out",
            &private,
        ];
        testkit::tools::run("openssl", &generate);
        testkit::tools::run(
            "openssl",
            &["pkey", "-in", &private, "-pubout", "-out", &public],
        );
    }

    fn key(&self, name: &str, ending: &str) -> String {
        let path = self.home.path().join(format!("{name}.{ending}"));
        path.display().to_string()
    }

    /// Runs one of the programs in the home directory.
    fn run(&self, program: &str, arguments: &[&str]) -> Output {
        Command::new(self.directory.join(program))
            .args(arguments)
            .current_dir(self.home.path())
            .env("HOME", self.home.path())
            .env("COSIGN_PASSWORD", "")
            .env_remove("DOCKER_CONFIG")
            .output()
            .unwrap()
    }

    /// Has oras attach a file of the home directory, written `FILE:MEDIA-TYPE`, to an image.
    fn oras_attaches(&self, reference: &str, kind: &str, file: &str) {
        let options = ["attach", "--plain-http", "--artifact-type", kind];
        let output = self.run("oras", &[&options[..], &[reference, file]].concat());
        assert!(output.status.success(), "{output:?}");
    }

    /// Whether cosign accepts a statement of this type.
    fn cosign_verifies(&self, reference: &str, key: &str, kind: &str, more: &[&str]) -> bool {
        self.cosign(reference, key, kind, more).status.success()
    }

    /// The statement of this type that cosign accepts.
    fn cosign_prints(&self, reference: &str, key: &str, kind: &str) -> Value {
        let output = self.cosign(reference, key, kind, &[]);
        statement(&serde_json::from_slice(&output.stdout).unwrap())
    }

    fn cosign(&self, reference: &str, key: &str, kind: &str, more: &[&str]) -> Output {
        let key = self.key(key, "pub");
        let arguments = [
            "verify-attestation",
            "--key",
            &key,
            "--type",
            kind,
            "--insecure-ignore-tlog=true",
            "--allow-http-registry",
            "--allow-insecure-registry",
        ];
        self.run("cosign", &[&arguments, more, &[reference]].concat())
    }

    /// Signs a predicate with cosign.
    fn cosign_attests(&self, reference: &str, key: &str, kind: &str, predicate: &Value) {
        let file = self.home.path().join("predicate.json");
        std::fs::write(&file, predicate.to_string()).unwrap();
        let prefix = format!("cosign-{key}");
        if !self.home.path().join(format!("{prefix}.key")).is_file() {
            let private = self.key(key, "pem");
            let arguments = ["import-key-pair", "--key", &private, "-y"];
            let output = self.run(
                "cosign",
                &[&arguments[..], &["--output-key-prefix", &prefix]].concat(),
            );
            assert!(output.status.success(), "{output:?}");
        }
        let own = format!("{prefix}.key");
        let arguments = [
            "attest",
            "-y",
            "--key",
            &own,
            "--type",
            kind,
            "--predicate",
            "predicate.json",
            "--use-signing-config=false",
            "--tlog-upload=false",
            "--allow-http-registry",
            "--allow-insecure-registry",
            reference,
        ];
        let output = self.run("cosign", &arguments);
        assert!(output.status.success(), "{output:?}");
    }
}

/// Runs `imgcheck attest` or `imgcheck verify`: its exit code and its output.
fn run(command: &str, reference: &str, key: &str, arguments: &[&str]) -> (i32, String) {
    let output = imgcheck()
        .args([command, reference, "--key", key])
        .args(arguments)
        .env("HOME", Path::new("/nonexistent"))
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// The statement in an envelope or bundle.
fn statement(document: &Value) -> Value {
    use base64::Engine;
    let envelope = match &document["dsseEnvelope"] {
        Value::Null => document,
        envelope => envelope,
    };
    let payload = envelope["payload"].as_str().unwrap();
    let payload = base64::engine::general_purpose::STANDARD.decode(payload);
    serde_json::from_slice(&payload.unwrap()).unwrap()
}
