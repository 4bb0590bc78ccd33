//! `imgcheck attest` and `imgcheck verify` against a registry that stores what is pushed to it.

mod false_facts;
mod interleaved;
mod keys;
mod many_writers;
mod other_programs;
mod suppressed;
mod tampering;
mod two_tags;
mod written;

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::registry::{Content, Server};
use testkit::writable::Writable;
use testkit::{Image, file};

use crate::program::imgcheck;

/// A registry with an image, and a directory with keys.
struct Place {
    registry: Writable,
    server: Server,
    keys: TempDir,
}

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// The schema of what `verify` prints.
static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
    let schema = imgcheck()
        .args(["rules", "schema", "--verify"])
        .output()
        .unwrap();
    let schema: Value = serde_json::from_slice(&schema.stdout).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
});

/// The reference without its transport.
const TAG: &str = "1";

impl Place {
    /// An image for one platform, in a registry with the referrers API or without.
    fn new(has_referrers: bool) -> Self {
        Place::of(&[image("amd64")], has_referrers)
    }

    fn of(images: &[Image], has_referrers: bool) -> Self {
        let content = Content::of(TAG, images, images.len() > 1);
        let registry = Writable::new(content, has_referrers);
        let keys = tempfile::tempdir().unwrap();
        for name in ["own", "other"] {
            make_keys(keys.path(), name);
        }
        Place {
            server: registry.serve(),
            registry,
            keys,
        }
    }

    fn reference(&self) -> String {
        format!("{}/team/image:{TAG}", self.server.address)
    }

    fn digest(&self) -> String {
        self.registry.digest(TAG)
    }

    fn key(&self, name: &str) -> PathBuf {
        self.keys.path().join(name)
    }

    /// Attests the image with a key, and returns what was printed.
    fn attest(&self, key: &str, arguments: &[&str]) -> String {
        let output = self.run("attest", &format!("{key}.pem"), arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Verifies the image with a key: the exit code, the document and standard error.
    fn verify(&self, key: &str, arguments: &[&str]) -> (i32, Value, String) {
        let arguments = [&["-f", "json"], arguments].concat();
        let output = self.run("verify", &format!("{key}.pub"), &arguments);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if !document.is_null() {
            let faults: Vec<String> = SCHEMA
                .iter_errors(&document)
                .map(|it| it.to_string())
                .collect();
            assert_eq!(faults, [""; 0], "{document:#}");
        }
        (
            output.status.code().unwrap(),
            document,
            text(&output.stderr),
        )
    }

    fn run(&self, command: &str, key: &str, arguments: &[&str]) -> Output {
        let mut program = imgcheck();
        program.args([command, &self.reference(), "--key"]);
        program.arg(self.key(key)).args(arguments);
        program.env("HOME", self.keys.path());
        // Long enough where a test does not depend on it.
        program.env("IMGCHECK_SETTLE_TIME", "0.1");
        program.output().unwrap()
    }
}

/// A small image for an architecture.
fn image(architecture: &str) -> Image {
    let release = format!("ID=debian\nVERSION_ID=\"12\"\nNAME={architecture}\n");
    let layers = [
        &[file("usr/lib/os-release", &*release)][..],
        &[file("opt/notes", "nothing to judge")],
    ];
    Image {
        architecture: architecture.to_owned(),
        ..Image::new("team/image:1", &layers)
    }
}

/// A pair of keys in files.
pub fn make_keys(directory: &Path, name: &str) {
    let pair = rcgen::KeyPair::generate().unwrap();
    let write = |ending: &str, text: String| {
        std::fs::write(directory.join(format!("{name}.{ending}")), text).unwrap();
    };
    write("pem", pair.serialize_pem());
    write("pub", pair.public_key_pem());
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Replaces all referrers by one bundle of a stranger.
fn push_bundle(place: &Place, subject: &str, bundle: &[u8]) {
    let blob = place.registry.put_blob(bundle);
    let config = place.registry.put_blob(b"{}");
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": BUNDLE,
        "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": config, "size": 2},
        "layers": [{"mediaType": BUNDLE, "digest": blob, "size": bundle.len()}],
        "subject": {"mediaType": MANIFEST, "digest": subject, "size": 1},
    });
    place.registry.put("stranger", manifest.to_string());
}

/// The statement in an envelope or bundle.
fn statement(bytes: &[u8]) -> Value {
    use base64::Engine;
    let document: Value = serde_json::from_slice(bytes).unwrap();
    let envelope = match &document["dsseEnvelope"] {
        Value::Null => &document,
        envelope => envelope,
    };
    let payload = envelope["payload"].as_str().unwrap();
    let payload = base64::engine::general_purpose::STANDARD.decode(payload);
    serde_json::from_slice(&payload.unwrap()).unwrap()
}
