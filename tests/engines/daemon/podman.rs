//! Podman, started for the test with its own store.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{essence, failure, failure_with, report, run};
use testkit::tools::tool;
use testkit::{Image, docker_archive, file, write_archive};

pub(super) struct Podman {
    process: Child,
    directory: tempfile::TempDir,
    driver: &'static str,
}

impl Podman {
    pub(super) fn start(driver: &'static str) -> Option<Self> {
        if !tool("podman") {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("podman.sock");
        let process = command(&directory, driver)
            .args(["system", "service", "--time=0"])
            .arg(format!("unix://{}", socket.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let podman = Podman {
            process,
            directory,
            driver,
        };
        let end = Instant::now() + Duration::from_secs(30);
        while Instant::now() < end {
            if std::os::unix::net::UnixStream::connect(podman.path("podman.sock")).is_ok() {
                return Some(podman);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("podman does not listen");
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn host(&self) -> String {
        format!("unix://{}", self.path("podman.sock").display())
    }

    /// All that it holds.
    fn state(&self) -> [String; 2] {
        [
            self.run(&["images", "-a", "--no-trunc", "-q"]),
            self.run(&["ps", "-a", "-q"]),
        ]
    }

    pub(super) fn run(&self, arguments: &[&str]) -> String {
        let output = command(&self.directory, self.driver)
            .args(arguments)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "podman {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }
}

fn command(directory: &tempfile::TempDir, driver: &str) -> Command {
    let mut command = Command::new("podman");
    command
        .arg("--root")
        .arg(directory.path().join("root"))
        .arg("--runroot")
        .arg(directory.path().join("run"))
        .args(["--storage-driver", driver]);
    command
}

impl Drop for Podman {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        // It mounts its own directory.
        let _ = Command::new("umount")
            .arg(self.path("root/overlay"))
            .stderr(Stdio::null())
            .status();
    }
}

#[test]
fn a_podman_image_equals_its_archive() {
    is_that_of_its_archive("vfs", "stream");
}

#[test]
fn a_podman_image_is_read_from_its_storage() {
    is_that_of_its_archive("overlay", "storage");
}

/// Loads an image, and returns its archive.
fn load(podman: &Podman) -> PathBuf {
    let archive = podman.path("image.tar");
    let lower = [
        file("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n"),
        file("opt/removed", "x"),
    ];
    let upper = [
        file("opt/.wh.removed", ""),
        file(
            "usr/local/lib/python3.11/site-packages/torch-2.8.0.dist-info/METADATA",
            "Name: torch\nVersion: 2.8.0\n",
        ),
    ];
    let image = Image::new("localhost/x/torch:2.7", &[&lower, &upper]);
    write_archive(&archive, &docker_archive(&[image]));
    podman.run(&["load", "-q", "-i", archive.to_str().unwrap()]);
    archive
}

fn is_that_of_its_archive(driver: &'static str, access: &str) {
    let Some(podman) = Podman::start(driver) else {
        return;
    };
    let archive = load(&podman);
    let before = podman.state();

    let host = podman.host();
    let environment = [("CONTAINER_HOST", host.as_str())];
    let held = report("podman:localhost/x/torch:2.7", &environment);
    assert_eq!(
        essence(&held),
        essence(&report(archive.to_str().unwrap(), &[]))
    );
    let image = &held["images"][0];
    assert_eq!(image["source"], "podman");
    assert_eq!(image["access"], access);
    // Podman finds it under its short name, too.
    report("podman:x/torch:2.7", &environment);
    // A machine with Podman only.
    let held = report("x/torch:2.7", &environment);
    assert_eq!(held["images"][0]["source"], "podman");
    assert_eq!(podman.state(), before, "something was left behind");

    let error = failure("podman:x/torch:2.6", &environment);
    assert!(
        error.contains(&format!("{host} (CONTAINER_HOST): image not found")),
        "{error}"
    );
}

#[test]
fn the_storage_of_podman_and_cri_o_needs_no_service() {
    let Some(podman) = Podman::start("overlay") else {
        return;
    };
    let archive = load(&podman);
    podman.run(&["tag", "localhost/x/torch:2.7", "localhost/x/torch:2.8"]);
    let configuration = podman.path("storage.conf");
    let configure = |text: String| fs::write(&configuration, text).unwrap();
    configure(format!(
        "[storage]\ngraphroot = {:?}\n",
        podman.path("root")
    ));
    let environment = [
        ("CONTAINERS_STORAGE_CONF", configuration.to_str().unwrap()),
        ("XDG_RUNTIME_DIR", "/no/such/directory"),
    ];
    let expected = essence(&report(archive.to_str().unwrap(), &[]));
    let held = report("containers-storage:localhost/x/torch:2.7", &environment);
    assert_eq!(essence(&held), expected);
    assert_eq!(held["images"][0]["source"], "podman");
    assert_eq!(held["images"][0]["access"], "storage");
    // Under its short name, and by its ID as `crictl images` shows it.
    let id = podman.run(&["images", "-q", "--no-trunc", "x/torch:2.7"]);
    let id = id.trim().trim_start_matches("sha256:");
    for (name, reference) in [
        ("x/torch:2.8", "x/torch:2.8"),
        (&id[..13], "localhost/x/torch:2.7"),
    ] {
        let held = report(&format!("podman:{name}"), &environment);
        assert_eq!(held["images"][0]["reference"], reference);
        assert_eq!(
            held["images"][0]["config_digest"],
            format!("sha256:{id}"),
            "{name}"
        );
    }
    let all = report("podman:", &environment);
    let all = all["images"].as_array().unwrap().iter();
    let mut names: Vec<_> = all
        .map(|image| image["reference"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["localhost/x/torch:2.7", "localhost/x/torch:2.8"]);

    let error = failure("podman:x/torch:2.6", &environment);
    assert!(error.contains("root: image not found"), "{error}");
    let error = failure_with(
        "podman:x/torch:2.7",
        &["--platform", "linux/arm64"],
        &environment,
    );
    assert!(error.contains("no image for linux/arm64"), "{error}");
    // Who names a service gets no other images.
    let named = [
        environment[0],
        ("CONTAINER_HOST", "unix:///no/such/podman.sock"),
    ];
    let error = failure("podman:x/torch:2.7", &named);
    assert!(error.contains("Podman could not be reached"), "{error}");
    configure("[storage\n".to_owned());
    let (code, _, error) = run("podman:x/torch:2.7", &environment, None);
    assert!(code == 2 && error.contains("storage.conf: "), "{error}");
    let layer = podman.path("root/overlay-layers/layers.json");
    configure(format!(
        "[storage]\ngraphroot = {:?}\n",
        podman.path("root")
    ));
    fs::write(layer, "[]").unwrap();
    let error = failure("podman:x/torch:2.7", &environment);
    assert!(error.contains("its layers cannot be read"), "{error}");
    fs::write(podman.path("root/overlay-images/images.json"), "[{").unwrap();
    failure("podman:", &environment);
}
