//! Container engines for one test, without network. Each ends with the test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::tools::{required, say, tool};

/// A Docker daemon with its own data directory.
pub struct Daemon {
    process: Child,
    directory: tempfile::TempDir,
}

impl Daemon {
    /// Starts it; `None` if Docker cannot run here.
    ///
    /// # Panics
    /// Docker cannot run, and `IMGCHECK_REQUIRE_TOOLS=1`.
    pub fn start(arguments: &[&str]) -> Option<Self> {
        if !tool("docker") || !tool("dockerd") {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let below = |name: &str| directory.path().join(name).display().to_string();
        let process = Command::new("dockerd")
            .args(["--iptables=false", "--ip6tables=false", "--bridge=none"])
            .args(["--data-root", &below("data")])
            .args(["--exec-root", &below("exec")])
            .args(["--pidfile", &below("pid")])
            .args(["-H", &format!("unix://{}", below("sock"))])
            .args(arguments)
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
        assert!(
            !required(),
            "dockerd does not start, and IMGCHECK_REQUIRE_TOOLS=1"
        );
        say("skipped: dockerd does not start here (it needs root)");
        None
    }

    /// A path in its directory, for the test's own use.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.path("sock")
    }

    /// The value of `DOCKER_HOST`.
    pub fn host(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// A `docker` command for it.
    pub fn docker(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command.arg("-H").arg(self.host()).args(arguments);
        command.env("DOCKER_BUILDKIT", "0");
        command
    }

    /// Standard output of a `docker` command, which must succeed.
    ///
    /// # Panics
    /// It fails.
    pub fn run(&self, arguments: &[&str]) -> String {
        let output = self.docker(arguments).output().unwrap();
        assert!(
            output.status.success(),
            "docker {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Builds the `Dockerfile` in a directory.
    pub fn build(&self, directory: &Path, tag: &str) {
        let directory = directory.to_str().unwrap();
        self.run(&["build", "-q", "--network", "none", "-t", tag, directory]);
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

/// A containerd with its own directories.
pub struct Containerd {
    process: Child,
    directory: tempfile::TempDir,
}

impl Containerd {
    /// Starts it; `None` if containerd is not installed.
    ///
    /// # Panics
    /// It does not answer; it is not installed, and `IMGCHECK_REQUIRE_TOOLS=1`.
    pub fn start() -> Option<Self> {
        Containerd::start_with("disabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n")
    }

    /// The same as Kubernetes has it: its plugin gives each image in the namespace `k8s.io` more names.
    ///
    /// # Panics
    /// Same as [`start`](Self::start).
    pub fn start_for_kubernetes() -> Option<Self> {
        Containerd::start_with("")
    }

    fn start_with(configuration: &str) -> Option<Self> {
        if !tool("containerd") || !tool("ctr") {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let below = |name: &str| directory.path().join(name).display().to_string();
        let configuration = format!(
            "version = 2\nroot = {:?}\nstate = {:?}\n{configuration}\
             [grpc]\naddress = {:?}\n[ttrpc]\naddress = {:?}\n",
            below("root"),
            below("state"),
            below("socket"),
            below("socket.ttrpc"),
        );
        fs::write(below("config.toml"), configuration).unwrap();
        let process = Command::new("containerd")
            .args(["--config", &below("config.toml")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let containerd = Containerd { process, directory };
        let end = Instant::now() + Duration::from_secs(30);
        while containerd.ctr(&["version"]).is_err() {
            assert!(Instant::now() < end, "containerd does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(containerd)
    }

    /// Its root directory.
    pub fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    /// Standard output of a `ctr` command; `Err` with what it complains of.
    pub fn ctr(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new("ctr")
            .arg("--address")
            .arg(self.directory.path().join("socket"))
            .args(arguments)
            .output()
            .unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }
}

impl Drop for Containerd {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

/// Sends SIGTERM, so that an engine unmounts what it has mounted.
fn end(process: &mut Child) {
    let _ = Command::new("kill").arg(process.id().to_string()).status();
    let _ = process.wait();
}
