//! A Docker engine for one test, without network.
#![allow(dead_code)] // each test file uses its part

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{say, tool};

/// A Docker engine of our own; it ends with the test.
pub struct Daemon {
    process: Child,
    directory: tempfile::TempDir,
}

impl Daemon {
    /// `None` where Docker cannot run, unless it must.
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
        let required = std::env::var("IMGCHECK_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
        assert!(
            !required,
            "dockerd does not start, and IMGCHECK_REQUIRE_TOOLS=1"
        );
        say::line(format_args!(
            "skipped: dockerd does not start here (it needs root)"
        ));
        None
    }

    /// A path in the directory of the engine, for the test's own use.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Where the engine listens.
    pub fn socket(&self) -> PathBuf {
        self.path("sock")
    }

    /// The same, as `DOCKER_HOST` wants it.
    pub fn host(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// A command for the engine.
    pub fn docker(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command.arg("-H").arg(self.host()).args(arguments);
        command.env("DOCKER_BUILDKIT", "0");
        command
    }

    /// Runs a command that must succeed, and gives what it printed.
    pub fn run(&self, arguments: &[&str]) -> String {
        let output = self.docker(arguments).output().unwrap();
        assert!(
            output.status.success(),
            "docker {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Builds the directory, whose `Dockerfile` is there.
    pub fn build(&self, directory: &Path, tag: &str) {
        let directory = directory.to_str().unwrap();
        self.run(&["build", "-q", "--network", "none", "-t", tag, directory]);
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
