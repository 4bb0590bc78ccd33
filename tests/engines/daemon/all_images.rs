//! All images of an engine in one report.

use serde_json::Value;
use testkit::engine::Daemon;
use testkit::{Image, docker_archive, file, write_archive};

use super::podman::Podman;
use super::{failure, run};

/// Two images: one of them with two tags, the other without a name.
fn archive(path: &std::path::Path) {
    let layer = [file("etc/os-release", "ID=debian\n")];
    let other = [file("etc/os-release", "ID=ubuntu\n")];
    let named = Image::new("localhost/x/torch:2.7", &[&layer]);
    let unnamed = Image::new("localhost/x/unnamed:1", &[&other]);
    write_archive(path, &docker_archive(&[named, unnamed]));
}

fn references(report: &Value) -> Vec<Option<&str>> {
    let images = report["images"].as_array().unwrap();
    let references = images.iter().map(|image| image["reference"].as_str());
    references.collect()
}

/// What is reported of [`archive`].
fn each_is_judged_under_every_name(report: &Value, id: &str) {
    let names = [
        None,
        Some("localhost/x/torch:2.7"),
        Some("localhost/x/torch:2.8"),
    ];
    assert_eq!(references(report), names);
    let digests = [0, 1, 2].map(|at| &report["images"][at]["config_digest"]);
    assert_eq!(digests[0], id);
    assert_ne!(digests[0], digests[1]);
    assert_eq!(digests[1], digests[2]);
}

#[test]
fn docker_is_checked_whole() {
    let Some(daemon) = Daemon::start(&[]) else {
        return;
    };
    let host = daemon.host();
    let environment = [("DOCKER_HOST", host.as_str())];
    let error = failure("docker-daemon:", &environment);
    assert!(error.contains("there are no images"), "{error}");

    let saved = daemon.path("saved.tar");
    archive(&saved);
    daemon.run(&["load", "-i", saved.to_str().unwrap()]);
    daemon.run(&["tag", "localhost/x/torch:2.7", "localhost/x/torch:2.8"]);
    // Replaced by another image of its name, as a build does it.
    let id = daemon.run(&["images", "-q", "--no-trunc", "localhost/x/unnamed:1"]);
    daemon.run(&["tag", "localhost/x/torch:2.7", "localhost/x/unnamed:1"]);
    daemon.run(&["rmi", "localhost/x/unnamed:1"]);
    for target in ["docker-daemon:", "docker:", "--all-images"] {
        let (_, report, error) = run(target, &environment, None);
        assert!(report.is_object(), "{error}");
        each_is_judged_under_every_name(&report, id.trim());
    }

    let nowhere = format!("unix://{}", daemon.path("nowhere").display());
    let error = failure("docker-daemon:", &[("DOCKER_HOST", &nowhere)]);
    assert!(error.contains("Docker could not be reached"), "{error}");
}

#[test]
fn podman_is_checked_whole() {
    let Some(podman) = Podman::start("overlay") else {
        return;
    };
    let saved = podman.path("saved.tar");
    archive(&saved);
    podman.run(&["load", "-q", "-i", saved.to_str().unwrap()]);
    podman.run(&["tag", "localhost/x/torch:2.7", "localhost/x/torch:2.8"]);
    let id = podman.run(&["images", "-q", "--no-trunc", "localhost/x/unnamed:1"]);
    podman.run(&["untag", "localhost/x/unnamed:1"]);
    let host = podman.host();
    let (_, report, error) = run("podman:", &[("CONTAINER_HOST", &host)], None);
    assert!(report.is_object(), "{error}");
    each_is_judged_under_every_name(&report, id.trim());
}
