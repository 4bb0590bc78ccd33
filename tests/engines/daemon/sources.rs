//! One image through every way to it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::proxy::{self, Manner};
use testkit::engine::Daemon;
use testkit::tools::real_images;
use testkit::tools::{say, tool};
use testkit::{Image, directory, docker_archive, file, write_archive, write_directory};

use super::{essence, failure, report, run};

/// The storage, the stream, and the archive as a file and as a stream all say the same.
fn every_way_is_the_same(daemon: &Daemon, tag: &str) {
    let saved = daemon.path("saved.tar");
    daemon.run(&["save", "-o", saved.to_str().unwrap(), tag]);
    let archive = report(saved.to_str().unwrap(), &[]);
    let relay = proxy::start(&daemon.socket(), Manner::Honest);
    let before = state(daemon);
    for (host, access) in [(&daemon.host(), "storage"), (&relay, "stream")] {
        for target in [tag.to_owned(), format!("docker-daemon:{tag}")] {
            let held = report(&target, &[("DOCKER_HOST", host)]);
            assert_eq!(essence(&held), essence(&archive), "{host} {target}");
            let image = &held["images"][0];
            assert_eq!(image["reference"], tag);
            assert_eq!(image["source"], "docker-daemon");
            assert_eq!(image["access"], access);
        }
    }
    assert_eq!(state(daemon), before, "something was left behind");
    for target in ["-", "docker-archive:-", &format!("docker-archive:-:{tag}")] {
        let (_, piped, error) = run(target, &[], Some(&saved));
        assert!(piped.is_object(), "{target}: {error}");
        assert_eq!(essence(&piped), essence(&archive), "{target}");
    }
}

/// The names of all that an engine holds.
fn state(daemon: &Daemon) -> Vec<String> {
    let lists = [
        &["ps", "-a", "-q"][..],
        &["images", "-a", "-q", "--no-trunc"],
        &["volume", "ls", "-q"],
    ];
    let text = lists.map(|list| daemon.run(list)).join("--\n");
    let mut names: Vec<String> = text.lines().map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn a_built_image_is_the_same_from_storage_stream_and_archive() {
    let Some(daemon) = Daemon::start(&[]) else {
        return;
    };
    let base = daemon.path("base.tar");
    let library = format!(
        "usr/local/lib/python3.11/site-packages/{}",
        "torch-2.8.0.dist-info/METADATA"
    );
    write_archive(
        &base,
        &[
            file("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n"),
            file(&library, "Name: torch\nVersion: 2.8.0\n"),
            file("bin/sh", fs::read("/bin/sh").unwrap()),
            file("opt/removed", "x"),
            directory("opt/replaced"),
            file("opt/replaced/inner", "x"),
        ],
    );
    daemon.run(&["import", base.to_str().unwrap(), "base:1"]);
    let context = daemon.path("context");
    write_directory(
        &context,
        &[
            file(
                "Dockerfile",
                "FROM base:1\nCOPY tree /\nWORKDIR /srv/app\nLABEL name=value\nENV KEY=value\n",
            ),
            file("tree/opt/added", "y"),
        ],
    );
    daemon.build(&context, "x/torch:2.7-cuda12.8");
    every_way_is_the_same(&daemon, "x/torch:2.7-cuda12.8");

    // An id names no tag, but the engine knows it.
    let id = daemon.run(&["images", "-q", "x/torch"]);
    let held = report(
        &format!("docker:{}", id.trim()),
        &[("DOCKER_HOST", &daemon.host())],
    );
    assert_eq!(held["images"][0]["reference"], "x/torch:2.7-cuda12.8");
}

#[test]
fn files_removed_by_build_steps_are_removed_from_every_source() {
    if !tool("busybox") {
        return;
    }
    let Some(daemon) = Daemon::start(&[]) else {
        return;
    };
    let context = daemon.path("context");
    let steps = r#"FROM scratch
COPY busybox /bin/busybox
COPY tree /
RUN ["/bin/busybox", "--install", "-s", "/bin"]
RUN rm /opt/a/removed && rm -r /opt/gone && rm -r /opt/replaced && mkdir /opt/replaced && echo new > /opt/replaced/new
RUN mv /opt/a /opt/moved && ln /opt/kept /opt/linked && chmod 600 /opt/kept
RUN true
"#;
    let metadata = |name: &str| {
        format!("tree/opt/{name}/lib/python3.11/site-packages/torch-2.8.0.dist-info/METADATA")
    };
    let text = "Name: torch\nVersion: 2.8.0\n";
    write_directory(
        &context,
        &[
            file("Dockerfile", steps),
            file("busybox", fs::read(path_of("busybox")).unwrap()),
            file("tree/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n"),
            file("tree/opt/a/removed", "x"),
            file("tree/opt/kept", "x"),
            file(&metadata("gone"), text),
            file(&metadata("replaced"), text),
            file(&metadata("a"), text),
        ],
    );
    make_executable(&context.join("busybox"));
    daemon.build(&context, "x/y:1");
    every_way_is_the_same(&daemon, "x/y:1");
    let held = report("x/y:1", &[("DOCKER_HOST", &daemon.host())]);
    let stack = held["images"][0]["stack"].to_string();
    assert!(stack.contains("opt/moved/lib"), "{stack}");
    for removed in ["opt/a/", "opt/gone/", "opt/replaced/"] {
        assert!(!stack.contains(removed), "{removed} in {stack}");
    }
}

fn path_of(program: &str) -> PathBuf {
    let paths = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&paths)
        .map(|path| path.join(program))
        .find(|path| path.is_file())
        .unwrap()
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_real_image_is_the_same_from_storage_stream_and_archive() {
    let archive = real_images().join("cuda-12.8.tar");
    if !archive.exists() {
        say(format_args!("skipped: {} is not there", archive.display()));
        return;
    }
    let Some(daemon) = Daemon::start(&[]) else {
        return;
    };
    daemon.run(&["load", "-i", archive.to_str().unwrap()]);
    let tag = daemon.run(&["images", "--format", "{{.Repository}}:{{.Tag}}"]);
    every_way_is_the_same(&daemon, tag.trim());
    let held = report(tag.trim(), &[("DOCKER_HOST", &daemon.host())]);
    let original = report(archive.to_str().unwrap(), &[]);
    assert_eq!(essence(&held), essence(&original));
}

#[test]
fn an_archive_in_a_pipe_is_streamed() {
    let real = real_images();
    for (name, targets) in [
        ("cuda-12.8-oci.tar", &["-", "oci-archive:-"][..]),
        ("cuda-12.8-blobs.tar", &["-", "docker-archive:-"]),
    ] {
        let archive = real.join(name);
        if !archive.exists() {
            say(format_args!("skipped: {} is not there", archive.display()));
            continue;
        }
        let at_rest = report(archive.to_str().unwrap(), &[]);
        for target in targets {
            let (_, piped, error) = run(target, &[], Some(&archive));
            assert!(piped.is_object(), "{target} {name}: {error}");
            assert_eq!(essence(&piped), essence(&at_rest), "{target} {name}");
            assert_eq!(piped["images"][0]["source"], at_rest["images"][0]["source"]);
        }
    }
}

#[test]
fn a_broken_pipe_is_never_a_pass() {
    let place = tempfile::tempdir().unwrap();
    let whole = place.path().join("whole.tar");
    let layer = [
        file("etc/os-release", "ID=debian\n"),
        file("opt/large", vec![7; 100_000]),
    ];
    let image = Image::new("x/y:1", &[&layer]);
    write_archive(&whole, &docker_archive(&[image]));
    let bytes = fs::read(&whole).unwrap();
    let cut = place.path().join("cut.tar");
    for (content, says) in [
        (&bytes[..bytes.len() / 2], "the archive is truncated"),
        (&b"not an archive"[..], "not a tar archive"),
        (&[][..], "standard input is empty"),
        // Between two members: all of the image is there, but who knows what else should be.
        (&bytes[..bytes.len() - 1024], "it has no end"),
        (&b"\x1f\x8b\x08compressed"[..], "cannot be decompressed"),
    ] {
        fs::write(&cut, content).unwrap();
        let (code, report, error) = run("-", &[], Some(&cut));
        assert_eq!(code, 3, "{error}");
        assert!(error.contains(says), "{says}: {error}");
        assert_eq!(report["images"], Value::Array(Vec::new()));
    }
    let (_, report, error) = run("-", &[], Some(&whole));
    assert!(report["images"][0].is_object(), "{error}");
}

#[test]
fn cached_layers_are_not_exported_again() {
    let Some(daemon) = Daemon::start(&[]) else {
        return;
    };
    let base = daemon.path("base.tar");
    let library = "usr/local/lib/python3.11/site-packages/torch-2.8.0.dist-info/METADATA";
    let files = [
        file("opt/large", vec![7; 4 << 20]),
        file(library, "Name: torch\nVersion: 2.8.0\n"),
    ];
    write_archive(&base, &files);
    daemon.run(&["import", base.to_str().unwrap(), "base:1"]);
    let cache = daemon.path("cache");
    let known = |manner| {
        let host = proxy::start(&daemon.socket(), manner);
        let environment = [
            ("DOCKER_HOST", host.as_str()),
            ("IMGCHECK_NO_CACHE", "false"),
            ("IMGCHECK_CACHE_DIR", cache.to_str().unwrap()),
        ];
        report("docker:base:1", &environment)
    };
    let first = known(Manner::Honest);
    assert_eq!(first["images"][0]["access"], "stream");
    assert_eq!(first["images"][0]["layers"][0]["cached"], false);
    let again = known(Manner::HangsUp(1 << 20));
    assert_eq!(again["images"][0]["access"], "cache");
    assert_eq!(again["images"][0]["layers"][0]["cached"], true);
    assert_eq!(essence(&again), essence(&first));
}

#[test]
fn an_engine_that_hangs_up_is_never_a_pass() {
    let Some(daemon) = Daemon::start(&[]) else {
        return;
    };
    let base = daemon.path("base.tar");
    write_archive(&base, &[file("opt/large", vec![7; 4 << 20])]);
    daemon.run(&["import", base.to_str().unwrap(), "base:1"]);
    let relay = proxy::start(&daemon.socket(), Manner::HangsUp(1 << 20));
    let error = failure("docker:base:1", &[("DOCKER_HOST", &relay)]);
    assert!(error.contains("the stream ended early"), "{error}");
}
