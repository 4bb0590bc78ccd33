//! Programs that unpack images, each with its own store, which is deleted after the test.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::listing::{Listing, real};
use testkit::engine::{Containerd, Daemon};
use testkit::tools::{say, tool};
use testkit::{Compression, Image, docker_archive, oci_layout, write_archive, write_directory};

/// An engine that can run here.
pub struct Engine {
    pub name: &'static str,
    place: tempfile::TempDir,
    kind: Kind,
    count: Cell<u32>,
}

enum Kind {
    Docker(Daemon),
    Containerd(Containerd),
    Podman,
    Umoci,
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Podman mounts its own directory.
        if matches!(self.kind, Kind::Podman) {
            let _ = Command::new("umount")
                .arg(self.path("root/overlay"))
                .stderr(Stdio::null())
                .status();
        }
    }
}

/// The engines with an overlay, and umoci last.
pub fn all() -> Vec<Engine> {
    if !rustix::process::geteuid().is_root() {
        say(format_args!(
            "skipped: engines need root to mount an overlay"
        ));
        return Vec::new();
    }
    [docker(), containerd(), podman(), umoci()]
        .into_iter()
        .flatten()
        .collect()
}

fn engine(name: &'static str, place: tempfile::TempDir, kind: Kind) -> Option<Engine> {
    let found = Engine {
        name,
        place,
        kind,
        count: Cell::new(0),
    };
    fs::create_dir(found.path("mount")).unwrap();
    fs::create_dir(found.path("empty")).unwrap();
    Some(found)
}

fn docker() -> Option<Engine> {
    let daemon = Daemon::start(&["--storage-driver", "overlay2"])?;
    engine("docker", tempfile::tempdir().unwrap(), Kind::Docker(daemon))
}

fn podman() -> Option<Engine> {
    if !tool("podman") {
        return None;
    }
    engine("podman", tempfile::tempdir().unwrap(), Kind::Podman)
}

fn umoci() -> Option<Engine> {
    if !tool("umoci") {
        return None;
    }
    engine("umoci", tempfile::tempdir().unwrap(), Kind::Umoci)
}

fn containerd() -> Option<Engine> {
    let containerd = Containerd::start()?;
    engine(
        "containerd",
        tempfile::tempdir().unwrap(),
        Kind::Containerd(containerd),
    )
}

impl Engine {
    /// Whether it shows an image by the kernel's overlay.
    pub fn has_overlay(&self) -> bool {
        !matches!(self.kind, Kind::Umoci)
    }

    /// Whether it gives directories that a layer does not list the permissions that they have in the layer below.
    pub fn keeps_modes(&self) -> bool {
        matches!(self.kind, Kind::Containerd(_) | Kind::Umoci)
    }

    /// The tree of an image of these layers. `Err` says why the engine refuses it.
    pub fn unpack(&self, layers: &[Vec<u8>]) -> Result<Listing, String> {
        self.count.set(self.count.get() + 1);
        let reference = format!("localhost/overlay:{}", self.count.get());
        let image = Image {
            reference: Some(reference.clone()),
            layers: layers.to_vec(),
            ..Image::new("", &[])
        };
        let archive = self.path("image.tar");
        write_archive(&archive, &docker_archive(std::slice::from_ref(&image)));
        match &self.kind {
            Kind::Docker(daemon) => self.docker(daemon, &reference),
            Kind::Containerd(containerd) => self.containerd(containerd, &reference),
            Kind::Podman => self.podman(&reference),
            Kind::Umoci => self.umoci(image),
        }
    }

    fn docker(&self, daemon: &Daemon, reference: &str) -> Result<Listing, String> {
        let docker = |arguments: &[&str]| self.try_run(&mut daemon.docker(arguments));
        docker(&["load", "-q", "-i", &self.text("image.tar")])?;
        let format = "{{.GraphDriver.Data.UpperDir}}:{{.GraphDriver.Data.LowerDir}}";
        let layers = docker(&["image", "inspect", "--format", format, reference]).unwrap();
        // An overlay has at least two directories.
        let layers = layers.trim().replace("<no value>", &self.text("empty"));
        let options = format!("ro,lowerdir={layers}");
        let mount = self.text("mount");
        self.run(
            "mount",
            &["-t", "overlay", "overlay", "-o", &options, &mount],
        );
        let listing = real(&self.path("mount"));
        self.run("umount", &[&mount]);
        docker(&["rmi", "-f", reference]).unwrap();
        Ok(listing)
    }

    fn containerd(&self, containerd: &Containerd, reference: &str) -> Result<Listing, String> {
        let ctr = |arguments: &[&str]| containerd.ctr(arguments);
        let mount = self.text("mount");
        let archive = self.text("image.tar");
        let unpacked = ctr(&["images", "import", &archive])
            .and_then(|_| ctr(&["images", "mount", "--rw=false", reference, &mount]))
            .map(|_| real(&self.path("mount")));
        if unpacked.is_ok() {
            ctr(&["images", "unmount", "--rm", &mount]).unwrap();
        }
        let _ = ctr(&["images", "rm", "--sync", reference]);
        unpacked
    }

    fn podman(&self, reference: &str) -> Result<Listing, String> {
        let store = ["--root", &self.text("root"), "--runroot", &self.text("run")];
        let podman = |arguments: &[&str]| {
            let mut command = Command::new("podman");
            command.args(store).args(["--storage-driver", "overlay"]);
            self.try_run(command.args(arguments))
        };
        podman(&["load", "-q", "-i", &self.text("image.tar")])?;
        let mount = podman(&["image", "mount", reference]).unwrap();
        let listing = real(Path::new(mount.trim()));
        podman(&["image", "unmount", reference]).unwrap();
        podman(&["rmi", "-f", reference]).unwrap();
        Ok(listing)
    }

    fn umoci(&self, image: Image) -> Result<Listing, String> {
        for name in ["layout", "bundle"] {
            let _ = fs::remove_dir_all(self.path(name));
        }
        let image = Image {
            reference: Some("image".to_owned()),
            ..image
        };
        write_directory(
            &self.path("layout"),
            &oci_layout(&[image], Compression::Plain, false),
        );
        let layout = format!("{}:image", self.text("layout"));
        let mut command = Command::new("umoci");
        self.try_run(command.args(["unpack", "--image", &layout, &self.text("bundle")]))?;
        Ok(real(&self.path("bundle/rootfs")))
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        self.try_run(Command::new(program).args(arguments)).unwrap();
    }

    /// What a program prints; `Err` with what it complains of.
    fn try_run(&self, command: &mut Command) -> Result<String, String> {
        let output = command.output().unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }
}
