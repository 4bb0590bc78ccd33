//! Runs the program against a registry, without the credentials and proxies of whoever runs the tests.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::program;
use testkit::{Compression, Image, file, oci_layout, write_directory};

/// A run of the program, to be told more before it goes.
pub struct Run {
    command: assert_cmd::Command,
    /// Its home directory.
    pub home: TempDir,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    pub code: i32,
    pub stderr: String,
    stdout: String,
}

impl Run {
    /// Fails early rather than late.
    pub fn new(reference: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut command = program::imgcheck();
        // The home directory has its own cache.
        for name in [
            "IMGCHECK_NO_CACHE",
            "DOCKER_CONFIG",
            "REGISTRY_AUTH_FILE",
            "XDG_RUNTIME_DIR",
            "XDG_CONFIG_HOME",
            "XDG_CACHE_HOME",
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "http_proxy",
            "https_proxy",
            "all_proxy",
        ] {
            command.env_remove(name);
        }
        command.env("HOME", home.path());
        command.args(["check", reference, "--format", "json"]);
        command.env("IMGCHECK_RETRIES", "1");
        Run { command, home }
    }

    pub fn arg(mut self, argument: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Writes a file below the home directory.
    pub fn home_file(self, path: &str, content: &str) -> Self {
        write_directory(self.home.path(), &[file(path, content)]);
        self
    }

    pub fn go(mut self) -> Outcome {
        let output = self.command.output().unwrap();
        Outcome {
            code: output.status.code().unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
        }
    }
}

/// Checks an image without anything special.
pub fn check(reference: &str) -> Outcome {
    Run::new(reference).go()
}

impl Outcome {
    /// The report of an image that was read whole.
    #[track_caller]
    pub fn report(&self) -> Value {
        assert_eq!(self.code, 0, "{}", self.stderr);
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// An image that could not be read: exit code 3, and a message with all of these.
    #[track_caller]
    pub fn fails_with(&self, texts: &[&str]) {
        assert_eq!(self.code, 3, "{}{}", self.stderr, self.stdout);
        for text in texts {
            assert!(
                self.stderr.contains(text),
                "`{text}` is not in: {}",
                self.stderr
            );
        }
    }
}

/// A small image with something to report, whose layer does not compress away.
pub fn image() -> Image {
    image_of(200_000)
}

/// One with so many words of noise, of which five bytes each are left when they are compressed.
pub fn image_of(words: u64) -> Image {
    let release = "ID=debian\nVERSION_ID=\"12\"\n";
    let noise: Vec<u8> = (0..words)
        .flat_map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24).to_le_bytes())
        .collect();
    let layers = [
        &[file("usr/lib/os-release", release)][..],
        &[file("opt/noise", noise)],
    ];
    Image::new("team/image:1", &layers)
}

/// The report of the same images in an OCI layout.
pub fn report_of_layout(images: &[Image]) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let items = oci_layout(images, Compression::Gzip, images.len() > 1);
    testkit::write_directory(directory.path(), &items);
    layout_report(directory.path())
}

/// The report of an OCI layout.
pub fn layout_report(path: &Path) -> Value {
    Run::new(&format!("oci:{}", path.display())).go().report()
}

/// A report without what must differ between two sources of one image.
pub fn alike(report: &Value) -> Value {
    let mut report = report.clone();
    for image in report["images"].as_array_mut().unwrap() {
        for name in ["source", "reference", "elapsed_ms", "claims", "findings"] {
            image.as_object_mut().unwrap().remove(name);
        }
    }
    report
}
