//! Images of a real containerd, compared with the archives that they come from.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use testkit::engine::Containerd;
use testkit::{Compression, Image, file, oci_layout, write_archive};

use crate::program::{imgcheck, only_image, repository};

const SAMPLE: &str = "testdata/sample/pytorch-cuda-v2.9.tar";
const NAME: &str = "docker.io/library/pytorch-cuda:v2.9";
const SNAPSHOTS: &str = "io.containerd.snapshotter.v1.overlayfs/snapshots";
const BLOBS: &str = "io.containerd.content.v1.content/blobs/sha256";

fn report(containerd: &Containerd, reference: &str, arguments: &[&str]) -> Value {
    let mut command = imgcheck();
    command.env("IMGCHECK_CONTAINERD_ROOT", containerd.root());
    command.env_remove("CONTAINERD_NAMESPACE");
    let output = command
        .args([reference, "-f", "json"])
        .args(arguments)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a report says of the files of an image.
fn files(report: &Value) -> [&Value; 4] {
    let image = only_image(report);
    ["stack", "gpu", "driver", "loader"].map(|key| &image[key])
}

fn sample() -> String {
    repository(SAMPLE).display().to_string()
}

fn entries(directory: PathBuf) -> Vec<PathBuf> {
    let entries = fs::read_dir(&directory).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn is_layer(path: &Path) -> bool {
    fs::read(path).unwrap().get(257..262) == Some(b"ustar")
}

#[test]
fn its_files_and_its_blobs_are_those_of_the_archive() {
    let Some(containerd) = Containerd::start() else {
        return;
    };
    containerd
        .ctr(&["-n", "k8s.io", "images", "import", &sample()])
        .unwrap();
    let expected = report(&containerd, &sample(), &[]);
    let unpacked = report(&containerd, &format!("containerd:{NAME}"), &[]);
    assert_eq!(files(&unpacked), files(&expected));
    let image = only_image(&unpacked);
    assert_eq!(
        (&image["source"], &image["access"]),
        (&"containerd".into(), &"storage".into())
    );
    assert_eq!(image["reference"], NAME);

    // What `discard_unpacked_layers` leaves.
    let layers: Vec<(PathBuf, Vec<u8>)> = entries(containerd.root().join(BLOBS))
        .into_iter()
        .filter(|path| is_layer(path))
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    assert_eq!(layers.len(), 3);
    for (path, _) in &layers {
        fs::remove_file(path).unwrap();
    }
    assert_eq!(
        files(&report(&containerd, &format!("containerd:{NAME}"), &[])),
        files(&expected)
    );
    for (path, content) in &layers {
        fs::write(path, content).unwrap();
    }

    for snapshot in entries(containerd.root().join(SNAPSHOTS)) {
        fs::rename(&snapshot, snapshot.with_file_name("rm-1")).unwrap();
        fs::remove_dir_all(snapshot.with_file_name("rm-1")).unwrap();
    }
    let packed = report(&containerd, &format!("containerd:{NAME}"), &[]);
    assert_eq!(files(&packed), files(&expected));
    assert!(only_image(&packed)["layers"][0]["digest"].is_string());
}

#[test]
fn the_platform_of_an_index_is_chosen() {
    let Some(containerd) = Containerd::start() else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let images = ["amd64", "arm64"].map(|architecture| Image {
        architecture: architecture.to_owned(),
        ..Image::new(
            "docker.io/x/torch:2.8.0",
            &[&[file("etc/os-release", format!("ID={architecture}\n"))]],
        )
    });
    let archive = place.path().join("image.tar");
    write_archive(&archive, &oci_layout(&images, Compression::Gzip, true));
    let archive = archive.to_str().unwrap();
    containerd
        .ctr(&[
            "images",
            "import",
            "--all-platforms",
            "--no-unpack",
            archive,
        ])
        .unwrap();
    for platform in ["linux/amd64", "linux/arm64"] {
        let arguments = ["--platform", platform];
        let found = report(&containerd, "containerd:x/torch:2.8.0", &arguments);
        assert_eq!(
            files(&found),
            files(&report(&containerd, archive, &arguments))
        );
        assert_eq!(only_image(&found)["platform"], platform);
    }
}

#[test]
fn it_is_read_while_containerd_writes() {
    let Some(containerd) = Containerd::start() else {
        return;
    };
    containerd.ctr(&["images", "import", &sample()]).unwrap();
    let is_over = AtomicBool::new(false);
    let (read, written) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut written = 0;
            while !is_over.load(Ordering::Relaxed) {
                let name = format!("docker.io/x/torch:{written}");
                containerd.ctr(&["images", "tag", NAME, &name]).unwrap();
                containerd.ctr(&["images", "rm", &name]).unwrap();
                written += 1;
            }
            written
        });
        let read = (0..10).map(|_| report(&containerd, &format!("containerd:{NAME}"), &[]));
        let read: Vec<Value> = read.collect();
        is_over.store(true, Ordering::Relaxed);
        (read, writer.join().unwrap())
    });
    for found in read {
        assert_eq!(found["errors"], Value::Null);
        assert_eq!(only_image(&found)["reference"], NAME);
    }
    assert!(written > 5, "{written} names were written meanwhile");
}
