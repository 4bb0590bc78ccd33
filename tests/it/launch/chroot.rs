//! Runs a case with the real Python, bash and dash of this machine in a chroot.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::tools::tool;

use super::case::{Case, Kind};
use super::model::{OBJECT, torch};

/// A directory in memory, as far as programs can be executed there: on disk, most of the time of these tests goes into making files.
fn in_memory() -> tempfile::TempDir {
    const MEMORY: &str = "/dev/shm";
    let is_executable = rustix::fs::statvfs(MEMORY)
        .is_ok_and(|it| !it.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC));
    match is_executable {
        true => tempfile::tempdir_in(MEMORY).unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}

/// A root directory with Python, bash, dash and a few tools of this machine, to be copied for each case.
pub struct Chroot {
    scratch: tempfile::TempDir,
}

impl Chroot {
    /// A root with these programs; none where this machine cannot make it.
    pub fn new(programs: &[&str]) -> Option<Self> {
        let python = fs::canonicalize("/usr/bin/python3").ok()?;
        if !python.ends_with("python3.11")
            || !rustix::process::geteuid().is_root()
            || !tool("chroot")
        {
            return None;
        }
        let chroot = Chroot {
            scratch: in_memory(),
        };
        let script = format!(
            "set -e; R={root}; mkdir -p $R/usr/bin $R/usr/lib/python3/dist-packages $R/root $R/opt $R/dev; ln -s usr/bin $R/bin; ln -s usr/lib $R/lib; mkdir $R/usr/lib64; ln -s usr/lib64 $R/lib64; \
             : > $R/dev/null; ln -s python3.11 $R/usr/bin/python3; ln -s dash $R/usr/bin/sh; ln -s bash $R/usr/bin/rbash; \
             for p in {programs}; do cp /$p $R/usr/bin/; done; \
             ldd $R/usr/bin/* 2>/dev/null | grep -o '/[^ ]*' | grep -v ':$' | sort -u | while read l; do mkdir -p $R$(dirname $l); cp -L $l $R$l; done; \
             mkdir -p $R/usr/lib/python3.11; cd /usr/lib/python3.11; cp -r *.py collections encodings importlib json re email urllib zipfile* logging ctypes $R/usr/lib/python3.11/ 2>/dev/null || true; \
             /usr/bin/python3 -m compileall -q $R/usr/lib/python3.11 >/dev/null || true; \
             cp -L /usr/lib/x86_64-linux-gnu/libz.so.1 $R{OBJECT}",
            root = chroot.path("root").display(),
            programs = programs.join(" "),
        );
        let status = Command::new("bash").args(["-c", &script]).status().ok()?;
        status.success().then_some(chroot)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// The version of PyTorch that the program prints last, or `none`; and the library if it is loaded.
    pub fn run(&self, case: &Case) -> BTreeSet<String> {
        let copy = self.path("case");
        let status = Command::new("cp")
            .arg("-a")
            .args([&self.path("root"), &copy])
            .status()
            .unwrap();
        assert!(status.success());
        self.fill(&copy, case);
        let loaded = start(&copy, case);
        fs::remove_dir_all(copy).unwrap();
        loaded
    }

    /// Adds the files of a case. Of those that the image has, the real ones stay.
    fn fill(&self, root: &Path, case: &Case) {
        for (directory, version) in &case.torch {
            for (name, text) in torch(version) {
                write(
                    &root.join(directory).join("torch").join(name),
                    text.as_bytes(),
                );
            }
        }
        for (path, file) in &case.files {
            let is_own = case.base.get(path) != Some(file);
            let path = root.join(path);
            if !is_own && path.symlink_metadata().is_ok() {
                continue;
            }
            match (file.kind, &file.link, &file.text) {
                (Some(Kind::Directory), ..) => fs::create_dir_all(path).unwrap(),
                (Some(Kind::Zip), _, Some(text)) => write(&path, &self.zip(text)),
                (None, Some(target), _) => {
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    symlink(target, path).unwrap();
                }
                (None, None, Some(text)) => write(&path, text.as_bytes()),
                _ => {}
            }
        }
        for (path, file) in &case.files {
            if let Some(mode) = file.mode() {
                fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
            }
        }
    }

    /// A zip archive with the other PyTorch and a program.
    fn zip(&self, main: &str) -> Vec<u8> {
        let directory = self.path("zipped");
        let [(init, text), _] = torch("2.6.0");
        write(&directory.join("__main__.py"), main.as_bytes());
        write(&directory.join("torch").join(init), text.as_bytes());
        let target = self.path("zipped.zip");
        let status = Command::new("/usr/bin/python3")
            .args(["-m", "zipapp", "-o"])
            .args([&target, &directory])
            .status()
            .unwrap();
        assert!(status.success());
        fs::read(target).unwrap()
    }
}

fn write(path: &Path, text: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn start(root: &Path, case: &Case) -> BTreeSet<String> {
    let config = &case.config;
    let output = Command::new("chroot")
        .arg(format!("--userspec={0}:{0}", config.user()))
        .arg(root)
        .args([
            "/usr/bin/env",
            "-i",
            "-C",
            config.directory(),
            "LD_DEBUG=files",
        ])
        .args(config.variables())
        .args(config.command())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.lines().last().filter(|it| it.starts_with('2'));
    let version = version.unwrap_or("none").to_owned();
    let loaded = String::from_utf8_lossy(&output.stderr).contains(OBJECT);
    let loaded = loaded.then(|| OBJECT.to_owned());
    [version].into_iter().chain(loaded).collect()
}
