//! Images of a real containerd, compared with the archives that they come from.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

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

/// The names of all images of a report.
fn names(report: &Value) -> Vec<&str> {
    let images = report["images"].as_array().unwrap();
    let names = images
        .iter()
        .map(|image| image["reference"].as_str().unwrap());
    names.collect()
}

#[test]
fn each_image_is_read_once_under_every_tag() {
    let Some(containerd) = Containerd::start_for_kubernetes() else {
        return;
    };
    containerd
        .ctr(&["-n", "k8s.io", "images", "import", &sample()])
        .unwrap();
    let other = "docker.io/x/torch:2.8.0";
    containerd
        .ctr(&["-n", "k8s.io", "images", "tag", NAME, other])
        .unwrap();
    let id = image_id(&containerd);
    let all = report(&containerd, "containerd:", &[]);
    assert_eq!(names(&all), [NAME, other]);

    // One that cannot be read hides none of the others.
    let place = tempfile::tempdir().unwrap();
    let archive = place.path().join("image.tar");
    let broken = Image::new("docker.io/x/broken:1", &[&[file("a", "b")]]);
    write_archive(&archive, &oci_layout(&[broken], Compression::Gzip, true));
    let archive = archive.to_str().unwrap();
    containerd
        .ctr(&["images", "import", "--no-unpack", archive])
        .unwrap();
    let broken = report(&containerd, "containerd:x/broken:1", &[]);
    let layer = only_image(&broken)["layers"][0]["digest"].as_str().unwrap();
    let layer = layer.strip_prefix("sha256:").unwrap();
    fs::remove_file(containerd.root().join(BLOBS).join(layer)).unwrap();
    let all = report(&containerd, "containerd:", &[]);
    assert_eq!(names(&all), [NAME, other]);
    let errors = all["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].to_string().contains("x/broken:1"), "{errors:?}");

    // Kubernetes, nerdctl and ctr each show another ID of an image.
    let manifest = only_image(&report(&containerd, &format!("containerd:{NAME}"), &[]))["digest"]
        .as_str()
        .unwrap()
        .to_owned();
    let digits = |digest: &str, count: usize| digest["sha256:".len()..][..count].to_owned();
    for shown in [
        id.clone(),
        digits(&id, 13),
        manifest.clone(),
        digits(&manifest, 12),
    ] {
        let found = report(&containerd, &format!("containerd:{shown}"), &[]);
        assert_eq!(only_image(&found)["config_digest"], id, "{shown}");
        assert!([NAME, other].contains(&only_image(&found)["reference"].as_str().unwrap()));
    }
    let unknown = report(&containerd, "containerd:0123456789abc", &[]);
    assert!(unknown["errors"][0].to_string().contains("no such image"));
}

/// The ID under which Kubernetes stores the sample.
fn image_id(containerd: &Containerd) -> String {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let names = containerd
            .ctr(&["-n", "k8s.io", "images", "ls", "-q"])
            .unwrap();
        if let Some(id) = names.lines().find(|name| name.starts_with("sha256:")) {
            return id.to_owned();
        }
        assert!(
            Instant::now() < end,
            "Kubernetes' plugin gives no ID: {names}"
        );
        sleep(Duration::from_millis(100));
    }
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
