//! Engines that keep images in containerd: the blobs as they were pulled, and indexes of several platforms.

use std::fs;

use super::proxy::{self, Manner};
use super::{essence, report_with};
use testkit::engine::Daemon;
use testkit::tools::say;
use testkit::{Compression, Image, file, oci_layout, write_archive};

/// `None` where the engine is too old to do so.
fn start(place: &tempfile::TempDir) -> Option<Daemon> {
    let configuration = place.path().join("daemon.json");
    fs::write(
        &configuration,
        r#"{"features": {"containerd-snapshotter": true}}"#,
    )
    .unwrap();
    let daemon = Daemon::start(&["--config-file", configuration.to_str().unwrap()])?;
    let status = daemon.run(&["info", "--format", "{{.DriverStatus}}"]);
    if status.contains("io.containerd.snapshotter") {
        return Some(daemon);
    }
    say(format_args!(
        "skipped: this engine does not keep images in containerd (Docker 25 can)"
    ));
    None
}

#[test]
fn an_index_is_read_from_the_content_store_the_stream_and_the_cache() {
    let place = tempfile::tempdir().unwrap();
    let Some(daemon) = start(&place) else {
        return;
    };
    let images = ["amd64", "arm64"].map(|architecture| {
        let metadata = format!("Name: torch\nVersion: 2.8.0+{architecture}\n");
        let path = "usr/local/lib/python3.11/site-packages/torch-2.8.0.dist-info/METADATA";
        let lower = [file("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n")];
        let upper = [file(path, metadata), file("opt/large", vec![7; 100_000])];
        Image {
            architecture: architecture.to_owned(),
            ..Image::new("docker.io/x/torch:2.7", &[&lower, &upper])
        }
    });
    let archive = place.path().join("image.tar");
    write_archive(&archive, &oci_layout(&images, Compression::Gzip, true));
    daemon.run(&["load", "-i", archive.to_str().unwrap()]);
    let name = daemon.run(&["images", "--format", "{{.Repository}}:{{.Tag}}"]);
    let held = format!("docker:{}", name.trim());
    let archive = archive.to_str().unwrap();
    let cache = place.path().join("cache");
    let cached = [
        ("IMGCHECK_NO_CACHE", "false"),
        ("IMGCHECK_CACHE_DIR", cache.to_str().unwrap()),
    ];
    let relay = proxy::start(&daemon.socket(), Manner::Honest);
    for platform in ["linux/amd64", "linux/arm64"] {
        let arguments = ["--platform", platform];
        let expected = report_with(archive, &arguments, &[]);
        for (host, environment, access) in [
            (&daemon.host(), &[][..], "storage"),
            (&relay, &[], "stream"),
            (&relay, &cached, "stream"),
            (&relay, &cached, "cache"),
        ] {
            let environment = [&[("DOCKER_HOST", host.as_str())], environment].concat();
            let found = report_with(&held, &arguments, &environment);
            assert_eq!(found["images"][0]["access"], access, "{host} {platform}");
            assert_eq!(found["images"][0]["platform"], platform);
            for part in ["stack", "layers", "config_digest"] {
                let stripped = |report: &serde_json::Value| match part {
                    "layers" => essence(report)[0].clone(),
                    part => report["images"][0][part].clone(),
                };
                assert_eq!(stripped(&found), stripped(&expected), "{host} {part}");
            }
        }
    }
    // What Docker unpacked for a container is read from there: no blob of a layer is needed.
    daemon.run(&["create", "--platform", "linux/amd64", name.trim(), "/x"]);
    let blobs = daemon.path("data/containerd/daemon/io.containerd.content.v1.content/blobs/sha256");
    for blob in fs::read_dir(blobs).unwrap() {
        let blob = blob.unwrap().path();
        let content = fs::read(&blob).unwrap();
        if content.starts_with(b"\x1f\x8b") {
            fs::write(&blob, vec![0; content.len()]).unwrap();
        }
    }
    let (arguments, environment) = (
        ["--platform", "linux/amd64"],
        [("DOCKER_HOST", &*daemon.host())],
    );
    let unpacked = report_with(&held, &arguments, &environment);
    assert_eq!(unpacked["images"][0]["access"], "storage");
    let expected = report_with(archive, &arguments, &[]);
    assert_eq!(
        unpacked["images"][0]["stack"],
        expected["images"][0]["stack"]
    );
    let error = super::failure_with(
        &held,
        &["--platform", "linux/s390x"],
        &[("DOCKER_HOST", &daemon.host())],
    );
    assert!(
        error.contains("only for linux/amd64, linux/arm64"),
        "{error}"
    );
}
