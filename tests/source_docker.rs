//! Archives and layouts as Docker and skopeo really write them. The tests start a daemon of their own, without network; they are
//! skipped where the programs are missing, or fail there if `IMGCHECK_REQUIRE_TOOLS=1`.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{file, hard_link, run, symlink, tool, write_archive};
use imgcheck::elf::Depth;
use imgcheck::layer::{self, EntryKind, LayerFacts, Wanted};
use imgcheck::reference::transport::Target;
use imgcheck::source::{self, Access, Image, Selection};

/// A Docker daemon of our own; it ends with the test.
struct Daemon {
    process: Child,
    directory: tempfile::TempDir,
}

impl Daemon {
    /// `None` where Docker cannot run, unless it must.
    fn start() -> Option<Self> {
        if !tool("docker") || !tool("dockerd") || !tool("skopeo") {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let below = |name: &str| directory.path().join(name).display().to_string();
        let process = Command::new("dockerd")
            .args(["--iptables=false", "--ip6tables=false", "--bridge=none"])
            .args([
                "--data-root",
                &below("data"),
                "--exec-root",
                &below("exec"),
                "--pidfile",
                &below("pid"),
            ])
            .args(["-H", &format!("unix://{}", below("sock"))])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut daemon = Daemon { process, directory };
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end && daemon.process.try_wait().unwrap().is_none() {
            if daemon.docker(&["info"]).output().unwrap().status.success() {
                return Some(daemon);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        let required = std::env::var("IMGCHECK_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
        assert!(
            !required,
            "dockerd does not start, and IMGCHECK_REQUIRE_TOOLS=1"
        );
        common::say::line(format_args!(
            "skipped: dockerd does not start here (it needs root)"
        ));
        None
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn docker(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command
            .arg("-H")
            .arg(format!("unix://{}", self.path("sock").display()))
            .args(arguments);
        command.env("DOCKER_BUILDKIT", "0");
        command
    }

    fn run(&self, arguments: &[&str]) {
        let output = self.docker(arguments).output().unwrap();
        assert!(
            output.status.success(),
            "docker {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // SIGTERM, so that it unmounts what it has mounted.
        let _ = Command::new("kill")
            .arg(self.process.id().to_string())
            .status();
        let _ = self.process.wait();
    }
}

fn facts(images: &[Image]) -> Vec<LayerFacts> {
    let [image] = images else {
        panic!("{} images", images.len())
    };
    let wanted = Wanted::builtin(Depth::Default).unwrap();
    image
        .layers
        .iter()
        .map(|blob| layer::scan(blob, &wanted, &|_| {}).unwrap().facts)
        .collect()
}

fn open(path: &Path) -> Vec<Image> {
    source::open(
        &Target::Path(path.to_owned()),
        &Selection::default(),
        &Access::default(),
    )
    .unwrap()
}

#[test]
fn one_image_in_every_storage_has_the_same_facts() {
    let Some(daemon) = Daemon::start() else {
        return;
    };
    let base = daemon.path("base.tar");
    write_archive(
        &base,
        &[
            file("etc/os-release", "ID=debian\n"),
            file("bin/sh", std::fs::read("/bin/sh").unwrap()),
            hard_link("bin/dash", "bin/sh"),
            symlink("lib", "usr/lib"),
            file("opt/removed", "x"),
            file("opt/directory/inner", "x"),
        ],
    );
    daemon.run(&["import", base.to_str().unwrap(), "base:1"]);
    let context = daemon.path("context");
    common::write_directory(
        &context,
        &[
            file(
                "Dockerfile",
                "FROM base:1\nCOPY tree /\nLABEL name=value\nENV KEY=value\n",
            ),
            file("tree/opt/added", "y"),
        ],
    );
    daemon.run(&[
        "build",
        "-q",
        "--network",
        "none",
        "-t",
        "x/y:1",
        "-t",
        "x/y:latest",
        context.to_str().unwrap(),
    ]);
    let saved = daemon.path("saved.tar");
    daemon.run(&["save", "-o", saved.to_str().unwrap(), "x/y:1"]);
    let both = daemon.path("both.tar");
    daemon.run(&["save", "-o", both.to_str().unwrap(), "x/y:1", "base:1"]);

    let images = open(&saved);
    assert_eq!(images[0].reference.as_deref(), Some("x/y:1"));
    assert_eq!(
        images[0]
            .config
            .config()
            .as_ref()
            .unwrap()
            .env()
            .as_ref()
            .unwrap()
            .last()
            .unwrap(),
        "KEY=value"
    );
    let expected = facts(&images);
    assert_eq!(expected.len(), 2);
    assert!(
        expected[1]
            .entries
            .iter()
            .any(|entry| entry.path == "opt/added")
    );
    assert!(
        expected[0]
            .entries
            .iter()
            .any(|entry| entry.kind == EntryKind::HardLink("bin/sh".into()))
    );

    let text = saved.to_str().unwrap();
    for (kind, options) in [
        ("oci:", &[][..]),
        ("oci-archive:", &[]),
        ("docker-archive:", &[]),
        ("oci:", &["--dest-compress-format", "zstd"]),
        ("oci:", &["--dest-compress-format", "gzip"]),
        ("oci-archive:", &["--dest-compress-format", "zstd"]),
    ] {
        let target = daemon.path(&format!(
            "copy-{}-{}",
            kind.trim_end_matches(':'),
            options.last().unwrap_or(&"")
        ));
        let place = format!("{kind}{}:x/y:1", target.display());
        let arguments = [
            &["copy", "--insecure-policy", "-q"],
            options,
            &[&format!("docker-archive:{text}"), place.as_str()],
        ];
        run("skopeo", &arguments.concat());
        let images = open(&target);
        assert!(
            images[0].reference.as_deref().unwrap().contains("x/y:1"),
            "{place} {options:?}: {:?}",
            images[0].reference
        );
        assert!(facts(&images) == expected, "{place} {options:?}");
    }

    let mut references: Vec<_> = open(&both)
        .into_iter()
        .filter_map(|image| image.reference)
        .collect();
    references.sort();
    assert_eq!(references, ["base:1", "x/y:1"]);
    let chosen = Target::parse(&format!(
        "docker-archive:{}:docker.io/x/y:1",
        both.display()
    ));
    assert!(
        facts(&source::open(&chosen, &Selection::default(), &Access::default()).unwrap())
            == expected
    );
}
