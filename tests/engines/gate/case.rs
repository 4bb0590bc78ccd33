//! The image that is checked, and how a check may end.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::sample_image::mislabelled;
use testkit::{Compression, Image, file, oci_layout, tar, write_directory};

/// An image with a wrong label, whose layers are plain.
pub const MISLABELLED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/testdata/sample/pytorch-cuda-v2.9.tar"
);
/// The exit code of a whole check of it.
pub const FOUND: i32 = 1;
/// A run that is not over by then hangs.
const NEVER: Duration = Duration::from_secs(240);

/// A directory with an image of many compressed layers.
pub struct Case {
    scratch: TempDir,
    expected: Value,
}

/// What became of a run.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    /// The report is true.
    Whole,
    /// It ended without a verdict, with this message.
    Failed(String),
}

impl Case {
    /// An OCI layout of the mislabelled image with this many bytes more in each of four layers.
    pub fn new(bytes: usize) -> Self {
        let case = Case {
            scratch: tempfile::tempdir().unwrap(),
            expected: Value::Null,
        };
        let image = image(bytes);
        write_directory(
            &case.image(),
            &oci_layout(&[image], Compression::Gzip, false),
        );
        let expected = essence(&case.command().output().unwrap());
        Case { expected, ..case }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// The OCI layout.
    pub fn image(&self) -> PathBuf {
        self.path("image")
    }

    /// The blobs of the layers that were added, which are the largest files.
    pub fn layers(&self) -> Vec<PathBuf> {
        let blobs = fs::read_dir(self.image().join("blobs/sha256")).unwrap();
        let mut blobs: Vec<PathBuf> = blobs.map(|blob| blob.unwrap().path()).collect();
        blobs.sort_by_key(|blob| std::cmp::Reverse(blob.metadata().unwrap().len()));
        blobs.truncate(4);
        blobs
    }

    /// A check of the image without a cache.
    pub fn command(&self) -> Command {
        check(&[self.image().to_str().unwrap()])
    }

    /// A check of the image with this directory as its cache.
    pub fn cached(&self, cache: &Path) -> Command {
        let mut command = self.command();
        command
            .env_remove("IMGCHECK_NO_CACHE")
            .env("IMGCHECK_CACHE_DIR", cache);
        command
    }

    /// What became of a run of [`Case::command`].
    pub fn ending(&self, output: &Output) -> Ending {
        ending(output, &self.expected)
    }
}

/// The mislabelled image, with layers of files that cannot be compressed and a program in each.
pub fn image(bytes: usize) -> Image {
    let sample = mislabelled();
    let program = fs::read("/bin/sh").unwrap();
    let added = (0..4_u8).map(|at| {
        tar(&[
            file(&format!("opt/data-{at}"), noise(bytes, at)),
            file(&format!("opt/program-{at}"), &program),
        ])
    });
    Image {
        layers: sample.layers.iter().cloned().chain(added).collect(),
        ..sample
    }
}

/// Bytes that no compressor makes fewer (xorshift).
fn noise(length: usize, seed: u8) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ u64::from(seed);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..length / 8).flat_map(|_| next()).collect()
}

/// The program.
pub fn program() -> &'static str {
    env!("CARGO_BIN_EXE_imgcheck")
}

/// A check that reports in JSON, without the environment variables of the tests.
pub fn check(arguments: &[&str]) -> Command {
    check_by(&[program()], arguments)
}

/// The same by a program that starts another one, such as one that sets limits, with the words before the arguments.
pub fn check_by(words: &[&str], arguments: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("IMGCHECK_")) {
        command.env_remove(name);
    }
    command
        .args(&words[1..])
        .args(["check", "--no-progress"])
        .args(arguments)
        .env("IMGCHECK_FORMAT", "json")
        .env("IMGCHECK_NO_CACHE", "true")
        .env("IMGCHECK_NO_CONFIG", "true")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a command that must end.
pub fn run(command: &mut Command) -> Output {
    let child = command.spawn().unwrap();
    let id = child.id();
    let (sender, receiver) = std::sync::mpsc::channel();
    let waiting = thread::spawn(move || {
        let output = child.wait_with_output().unwrap();
        let _ = sender.send(());
        output
    });
    if receiver.recv_timeout(NEVER).is_err() {
        let id = rustix::process::Pid::from_raw(id.try_into().unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
        panic!("it hangs: {command:?}");
    }
    waiting.join().unwrap()
}

/// Runs a command while its input changes, after a pause.
pub fn run_while(command: &mut Command, pause: Duration, happens: impl FnOnce() + Send) -> Output {
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(pause);
            happens();
        });
        run(command)
    })
}

/// How long a command takes.
pub fn duration(command: &mut Command) -> Duration {
    let begun = Instant::now();
    run(command);
    begun.elapsed()
}

/// What became of a run whose report should be this one.
pub fn ending(output: &Output, expected: &Value) -> Ending {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = format!("{:?} {error}", output.status);
    match output.status.code() {
        Some(FOUND) => {
            assert_eq!(essence(output), *expected, "{said}");
            Ending::Whole
        }
        Some(0) => panic!("it passed: {said}"),
        Some(_) => Ending::Failed(said),
        None => {
            assert!(output.status.signal().is_some());
            Ending::Failed(said)
        }
    }
}

/// A report without what changes from run to run.
pub fn essence(output: &Output) -> Value {
    let error = String::from_utf8_lossy(&output.stderr);
    let mut report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|it| panic!("{it}: {error}"));
    for image in report["images"].as_array_mut().unwrap() {
        for changing in ["elapsed_ms", "named", "access"] {
            image[changing] = Value::Null;
        }
        for layer in image["layers"].as_array_mut().unwrap() {
            layer["cached"] = Value::Null;
        }
        // It depends on the name that was typed.
        for finding in image["findings"].as_array_mut().unwrap() {
            finding["fingerprint"] = Value::Null;
        }
    }
    report
}
