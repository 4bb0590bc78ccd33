//! The cache of layer facts: what is kept and found again, what damage, crowds and killed runs do to it, and how it is shared.

use crate::program;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use testkit::tools::real_images;

use imgcheck::internals::cache::{Cache, CacheEntryKind, CacheOptions, Key};
use imgcheck::internals::digest::sha256;
use imgcheck::internals::elf::Depth;
use imgcheck::internals::layer::ReadContext;
use imgcheck::internals::layer::cache::FactsCache;
use imgcheck::internals::reference::transport::ImageReference;
use imgcheck::internals::source::{self, Request};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use testkit::tools::say;
use testkit::{Compression, Image, file, oci_layout, write_directory};

/// An OCI layout of compressed layers, and the directories of caches.
struct Case {
    scratch: TempDir,
}

impl Case {
    fn new() -> Self {
        let case = Case {
            scratch: tempdir().unwrap(),
        };
        let program = fs::read("/bin/sh").unwrap();
        let image = Image::new(
            "example/image:1",
            &[
                &[
                    file("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n"),
                    file("usr/bin/program", program),
                ],
                &[file("opt/data", vec![7; 100_000])],
            ],
        );
        write_directory(
            &case.image(),
            &oci_layout(&[image], Compression::Gzip, false),
        );
        case
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn image(&self) -> PathBuf {
        self.path("image")
    }

    /// The program, with the cache directory of this name.
    fn command(&self, cache: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_imgcheck"));
        for (name, _) in std::env::vars() {
            if name.starts_with("IMGCHECK_") || name.starts_with("AWS_") {
                command.env_remove(name);
            }
        }
        command
            .args(["check", "--no-progress", "-f", "json"])
            .arg(self.image())
            .env("IMGCHECK_CACHE_DIR", self.path(cache));
        command
    }

    fn run(&self, cache: &str, arguments: &[&str]) -> Run {
        Run::of(self.command(cache).args(arguments))
    }

    /// The files of a cache.
    fn files(&self, cache: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path(cache)).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

/// What one run said.
#[derive(Debug, PartialEq)]
struct Run {
    /// For each layer, whether its facts were there already.
    cached: Vec<bool>,
    /// All else of the report.
    report: Value,
    remarks: String,
}

impl Run {
    fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let remarks = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{remarks}");
        let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let image = &mut report["images"][0];
        image["elapsed_ms"] = Value::Null;
        let layers = image["layers"].as_array_mut().unwrap();
        let cached = layers
            .iter_mut()
            .map(|layer| layer["cached"].take() == Value::Bool(true))
            .collect();
        Run {
            cached,
            report,
            remarks,
        }
    }

    fn is_cached(&self) -> bool {
        self.cached == [true, true]
    }

    fn is_read(&self) -> bool {
        self.cached == [false, false]
    }
}

fn cache(directory: &Path, limit: u64) -> Cache {
    let places = CacheOptions {
        directory: Some(directory.to_owned()),
        limit,
        ..CacheOptions::default()
    };
    Cache::open(&places).unwrap()
}

/// A document of this many bytes and its key.
fn document(seed: usize, length: usize) -> (Key, Vec<u8>) {
    // Every document is different, and none can be compressed away.
    let bytes: Vec<u8> = (0..length / 64 + 1)
        .flat_map(|at| sha256(format!("{seed} {at}").as_bytes()).into_bytes())
        .take(length)
        .collect();
    let digest = sha256(&bytes);
    (Key::Document { digest }, bytes)
}

#[test]
fn layers_are_read_once() {
    let case = Case::new();
    let plain = case.run("cache", &["--no-cache"]);
    assert!(plain.is_read() && !case.path("cache").exists());
    let first = case.run("cache", &[]);
    let second = case.run("cache", &[]);
    assert!(first.is_read() && second.is_cached());
    assert_eq!(plain.report, first.report);
    assert_eq!(first.report, second.report);
    assert_eq!(case.files("cache").len(), 2);
    // Another depth, other facts.
    assert!(case.run("cache", &["--deep"]).is_read());
    assert_eq!(case.files("cache").len(), 4);
}

#[test]
fn facts_of_real_images_are_read_as_they_were_written() {
    for name in ["cuda-12.8-oci", "cuda-12.8-oci-zstd", "cuda-12.8.tar"] {
        let path = real_images().join(name);
        if !path.exists() {
            say(format_args!("skipped: {} is not there", path.display()));
            continue;
        }
        let scratch = tempdir().unwrap();
        let target = ImageReference::parse(path.to_str().unwrap());
        let images = source::open(&target, &Request::default()).unwrap();
        for depth in [Depth::Default, Depth::Deep] {
            let context = ReadContext::builtin(depth).unwrap();
            let cache = FactsCache::new(cache(scratch.path(), u64::MAX), depth, &context.limits);
            for blob in images.iter().flat_map(|image| &image.layers) {
                let facts = context.read_layer(blob).unwrap().facts;
                assert_eq!(cache.get(&blob.diff_id), None);
                cache.put(&blob.diff_id, &facts).unwrap();
                assert_eq!(cache.get(&blob.diff_id).as_ref(), Some(&*facts), "{name}");
            }
        }
    }
}

#[test]
fn a_damaged_entry_is_read_anew_and_replaced() {
    let case = Case::new();
    let expected = case.run("cache", &[]).report;
    for damage in ["byte", "cut", "empty", "exchanged"] {
        let [a, b] = case.files("cache").try_into().unwrap();
        for path in [&a, &b] {
            let mut bytes = fs::read(path).unwrap();
            match damage {
                "byte" => {
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 1;
                }
                "cut" => bytes.truncate(bytes.len() - 1),
                "empty" => bytes.clear(),
                _ => continue,
            }
            fs::write(path, bytes).unwrap();
        }
        if damage == "exchanged" {
            fs::rename(&a, case.path("other")).unwrap();
            fs::rename(&b, &a).unwrap();
            fs::rename(case.path("other"), &b).unwrap();
        }
        let anew = case.run("cache", &[]);
        assert!(anew.is_read(), "{damage}");
        assert_eq!((anew.report, anew.remarks.as_str()), (expected.clone(), ""));
        assert!(case.run("cache", &[]).is_cached(), "{damage}");
    }
}

#[test]
fn facts_of_another_version_are_not_read() {
    let scratch = tempdir().unwrap();
    let cache = cache(scratch.path(), u64::MAX);
    let key = |version: &str| Key::Facts {
        diff_id: sha256(b"layer"),
        version: version.to_owned(),
    };
    cache.put(&key("0123456789abcdef"), b"facts");
    assert_eq!(cache.get(&key("0123456789abcdef")).unwrap(), b"facts");
    assert_eq!(cache.get(&key("0123456789abcdee")), None);
}

#[test]
fn many_runs_share_a_directory() {
    let case = Case::new();
    let runs: Vec<Run> = thread::scope(|scope| {
        let runs: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| case.run("cache", &[])))
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for run in &runs {
        assert_eq!((&run.report, run.remarks.as_str()), (&runs[0].report, ""));
    }
    assert_eq!(case.files("cache").len(), 2);
    assert!(case.run("cache", &[]).is_cached());
}

#[test]
fn many_threads_put_get_and_evict() {
    const LIMIT: u64 = 100_000;
    let scratch = tempdir().unwrap();
    // Each its own cache, as a run of the program has.
    thread::scope(|scope| {
        for run in 0..4 {
            let directory = scratch.path();
            scope.spawn(move || {
                let cache = cache(directory, LIMIT);
                for seed in 0..200 {
                    let (key, bytes) = document(seed * (1 + run % 2), 3000);
                    if let Some(found) = cache.get(&key) {
                        assert_eq!(found, bytes);
                    }
                    cache.put(&key, &bytes);
                }
            });
        }
    });
    let cache = cache(scratch.path(), LIMIT);
    let (key, bytes) = document(1000, 3000);
    cache.put(&key, &bytes);
    let entries = cache.list().unwrap();
    let total: u64 = entries.iter().map(|entry| entry.bytes).sum();
    assert!((LIMIT / 2..=LIMIT).contains(&total), "{total}");
    assert_eq!(cache.get(&key), Some(bytes));
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), entries.len());
}

#[test]
fn a_killed_run_leaves_nothing_that_is_believed() {
    let case = Case::new();
    let expected = case.run("elsewhere", &[]).report;
    for delay in 0..24 {
        let mut run = case
            .command("cache")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(4 * delay));
        run.kill().unwrap();
        run.wait().unwrap();
        if case.path("cache").exists() {
            let good = cache(&case.path("cache"), u64::MAX).list().unwrap();
            let names = case.files("cache").into_iter();
            let left = names.filter(|path| is_temporary(path)).count();
            assert_eq!(case.files("cache").len(), good.len() + left);
        }
        if delay % 4 == 3 {
            assert_eq!(case.run("cache", &[]).report, expected);
            assert!(case.run("cache", &[]).is_cached());
            fs::remove_dir_all(case.path("cache")).unwrap();
        }
    }
}

fn is_temporary(path: &Path) -> bool {
    path.file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .starts_with(".tmp-")
}

#[test]
fn an_impossible_directory_is_a_remark_if_it_was_named() {
    let case = Case::new();
    fs::write(case.path("file"), "no directory").unwrap();
    let named = case.run("file/cache", &[]);
    assert!(named.is_read());
    assert_eq!(named.remarks.lines().count(), 1, "{}", named.remarks);
    assert!(named.remarks.contains("file/cache"), "{}", named.remarks);
    let mut unnamed = case.command("");
    unnamed
        .env_remove("IMGCHECK_CACHE_DIR")
        .env("XDG_CACHE_HOME", case.path("file"));
    let unnamed = Run::of(&mut unnamed);
    assert!(unnamed.is_read());
    assert_eq!(
        (unnamed.remarks.as_str(), unnamed.report),
        ("", named.report)
    );
}

#[test]
fn the_directory_of_the_user_is_the_default() {
    let case = Case::new();
    let run = || {
        let mut command = case.command("");
        command
            .env_remove("IMGCHECK_CACHE_DIR")
            .env("XDG_CACHE_HOME", case.path("xdg"));
        Run::of(&mut command)
    };
    assert!(run().is_read() && run().is_cached());
    assert_eq!(case.files("xdg/imgcheck").len(), 2);
}

#[test]
fn a_directory_is_shared() {
    let case = Case::new();
    let url = format!("file://{}", case.path("shared").display());
    share(&case, &url, |command| command);
    assert_eq!(case.files("shared").len(), 2);
    // Damaged entries are ignored and replaced.
    for path in case.files("shared") {
        fs::write(path, "damaged").unwrap();
    }
    let third = case.run("third", &["--cache", &url]);
    assert!(third.is_read() && third.remarks.is_empty());
    assert!(case.run("fourth", &["--cache", &url]).is_cached());
}

/// Two machines on one shared cache, the second of which then works without it.
fn share(case: &Case, url: &str, environment: impl Fn(&mut Command) -> &mut Command) {
    let run = |cache| Run::of(environment(&mut case.command(cache)).args(["--cache", url]));
    let (first, second) = (run("first"), run("second"));
    assert_eq!((first.remarks.as_str(), second.remarks.as_str()), ("", ""));
    assert!(first.is_read() && second.is_cached());
    assert_eq!(first.report, second.report);
    assert!(case.run("second", &[]).is_cached());
}

#[test]
fn a_bucket_is_shared() {
    let Some(server) = S3::start() else {
        return;
    };
    assert!(server.request("PUT").contains(" 200 "));
    let case = Case::new();
    share(&case, "s3://facts/of/layers", |command| {
        command
            .env("AWS_ENDPOINT", &server.address)
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ACCESS_KEY_ID", "key")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
    });
    let listed = server.request("GET");
    assert_eq!(
        listed.matches("<Key>of/layers/facts-").count(),
        2,
        "{listed}"
    );
}

/// A server that speaks S3 on this machine.
struct S3 {
    process: Child,
    address: String,
}

impl S3 {
    /// Sends a request for the bucket; returns the whole response.
    fn request(&self, method: &str) -> String {
        let host = self.address.trim_start_matches("http://");
        let mut stream = std::net::TcpStream::connect(host).unwrap();
        write!(
            stream,
            "{method} /facts HTTP/1.0\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n"
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    /// `None` where moto is not installed.
    fn start() -> Option<Self> {
        let installed = Command::new("python3")
            .args(["-c", "import moto.server, flask"])
            .stderr(Stdio::null())
            .status();
        if !installed.is_ok_and(|status| status.success()) {
            let required = std::env::var("IMGCHECK_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
            assert!(!required, "moto[server] is not installed");
            say(format_args!(
                "skipped: moto[server] for Python is not installed"
            ));
            return None;
        }
        let port = free_port();
        let process = Command::new("python3")
            .args([
                "-m",
                "moto.server",
                "-H",
                "127.0.0.1",
                "-p",
                &port.to_string(),
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = S3 {
            process,
            address: format!("http://127.0.0.1:{port}"),
        };
        for _ in 0..300 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(server);
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("moto does not answer");
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn a_shared_cache_that_does_not_answer_is_a_remark() {
    let case = Case::new();
    // The kernel accepts connections, but nothing reads from them.
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let silent = silent.local_addr().unwrap();
    let closed = free_port();
    for url in [
        format!("http://user:pass-word@127.0.0.1:{closed}/facts"),
        format!("http://{silent}/facts"),
    ] {
        let cache = url.rsplit(':').next().unwrap().replace('/', "-");
        let run = case.run(&cache, &["--cache", &url]);
        assert!(run.is_read());
        assert_eq!(run.remarks.lines().count(), 1, "{}", run.remarks);
        assert!(run.remarks.contains("127.0.0.1") && !run.remarks.contains("pass-word"));
        // Its own directory still serves.
        assert!(case.run(&cache, &["--cache", &url]).is_cached());
    }
}

#[test]
fn an_invalid_store_is_an_error() {
    let case = Case::new();
    for url in ["nonsense", "ftp://server/facts", "s3://", "/a/directory"] {
        let output = case
            .command("cache")
            .args(["--cache", url])
            .output()
            .unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{url}: {message}");
        assert!(message.contains("s3://BUCKET/PREFIX"), "{message}");
    }
}

/// `imgcheck cache` on a directory.
fn cache_command(directory: &Path, arguments: &[&str]) -> String {
    let mut command = program::imgcheck();
    command
        .arg("cache")
        .args(arguments)
        .arg("--cache-dir")
        .arg(directory);
    let output = command.output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), message.as_str()), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_cache_is_shown_and_emptied() {
    let case = Case::new();
    case.run("cache", &[]);
    case.run("cache", &["--deep"]);
    let directory = case.path("cache");
    fs::write(directory.join("notes.txt"), "not ours").unwrap();
    let cache = cache(&directory, u64::MAX);
    let (key, bytes) = document(1, 100);
    cache.put(&key, &bytes);
    let version = "0123456789abcdef".to_owned();
    let diff_id = sha256(b"layer");
    cache.put(&Key::Facts { diff_id, version }, b"facts");

    let info: Value =
        serde_json::from_str(&cache_command(&directory, &["info", "-f", "json"])).unwrap();
    let counts = ["total", "facts", "stale", "documents"].map(|it| info[it]["entries"].clone());
    assert_eq!(counts, [6, 4, 1, 1]);
    assert_eq!(info["directory"], directory.to_str().unwrap());
    assert_eq!(info["limit"], 2_000_000_000);
    let sum: u64 = cache.list().unwrap().iter().map(|entry| entry.bytes).sum();
    assert_eq!(info["total"]["bytes"], sum);
    assert!(cache_command(&directory, &["info"]).contains("6 entries"));

    let removed = |arguments: &[&str]| cache_command(&directory, arguments);
    assert!(removed(&["clean", "--older-than", "1"]).starts_with("removed 0 entries"));
    assert!(removed(&["clean", "--stale"]).starts_with("removed 1 entry"));
    let kinds = cache.list().unwrap().into_iter().map(|entry| entry.kind);
    assert_eq!(
        kinds
            .filter(|kind| *kind == CacheEntryKind::Document)
            .count(),
        1
    );
    assert!(removed(&["clean"]).starts_with("removed 5 entries"));
    assert!(directory.join("notes.txt").exists());
    assert!(removed(&["clean"]).starts_with("removed 0 entries"));
    assert!(cache_command(&case.path("nowhere"), &["info"]).contains("0 entries"));
}

#[test]
fn a_directory_that_cannot_be_read_is_an_error_when_it_is_asked_for() {
    let case = Case::new();
    fs::write(case.path("file"), "no directory").unwrap();
    let mut command = program::imgcheck();
    command
        .args(["cache", "info", "--cache-dir"])
        .arg(case.path("file"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stderr).unwrap().contains("file"));
}
