//! Quiet ways to start a different PyTorch, or to load a different library, than an image seems to: what the real Python, bash and dash of
//! this machine do in a chroot, and what imgcheck says. It never passes the wrong one.

mod starts;
mod table;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use imgcheck_image::{Content, EntryKind};
use serde_json::json;
use testkit::tools::{say, tool};

use crate::program::repository;
use crate::sample::{Image, LOADER, elf, program};
use table::ways;

const SITE: &str = "usr/local/lib/python3.11/dist-packages";
const PATH: &str = "PATH=/usr/local/bin:/usr/bin:/bin:/opt/venv/bin";
const MAIN: &str = "import torch\nprint(torch.__version__)\n";
const PROGRAMS: [&str; 20] = [
    "bash", "dash", "env", "cat", "dirname", "nice", "timeout", "chmod", "cp", "ln", "sed", "sort",
    "tee", "uniq", "chown", "setpriv", "xargs", "prlimit", "perl", "true",
];
/// The rules that name a module which hides PyTorch, and a setting with which Python does not start.
const SHADOWED: &str = "python-package-shadowed";
const REFUSED: &str = "python-does-not-start";
const OBJECT: &str = "/opt/evil.so";
/// The rules about a program that does not run, and about files that Python may not read.
const NOT_RUN: &str = "launch-program-not-run";
const UNREADABLE: &str = "python-file-unreadable";
/// The versions of the PyTorch that is installed, and of the one that is hidden somewhere.
const GOOD: &str = "2.8.0";
const EVIL: &str = "2.6.0";

/// A way to start something, and what really happens.
#[derive(Clone)]
struct Way {
    name: &'static str,
    /// The version that is imported, `none`, or the path of a library that is loaded.
    truth: &'static str,
    /// What imgcheck says: the same, or the code of a gap.
    says: &'static str,
    files: Vec<(String, String)>,
    links: Vec<(String, String)>,
    torch: Vec<(String, &'static str)>,
    env: Vec<String>,
    directory: &'static str,
    command: Vec<&'static str>,
    /// The user id.
    user: u32,
    /// Permission bits of files and directories.
    modes: Vec<(&'static str, u32)>,
    /// Whether the programs that it needs are here.
    runs: bool,
    /// Nothing is wrong with it, and imgcheck says nothing else.
    is_silent: bool,
}

fn way(name: &'static str, truth: &'static str, says: &'static str) -> Way {
    Way {
        name,
        truth,
        says,
        files: vec![("app/main.py".into(), MAIN.into())],
        links: Vec::new(),
        torch: vec![(SITE.to_owned(), GOOD)],
        env: vec![PATH.to_owned(), "HOME=/root".to_owned()],
        directory: "/",
        command: vec!["python3", "/app/main.py"],
        user: 0,
        modes: Vec::new(),
        runs: true,
        is_silent: false,
    }
}

impl Way {
    fn file(mut self, path: &str, text: &str) -> Self {
        self.files.push((path.into(), text.into()));
        self
    }

    fn link(mut self, path: &str, target: &str) -> Self {
        self.links.push((path.into(), target.into()));
        self
    }

    /// The other PyTorch, in this directory.
    fn evil(mut self, directory: &str) -> Self {
        self.torch.push((directory.into(), EVIL));
        self
    }

    fn torch_at(mut self, directory: &str, version: &'static str) -> Self {
        self.torch.push((directory.into(), version));
        self
    }

    fn without_good(mut self) -> Self {
        self.torch.retain(|(directory, _)| directory != SITE);
        self
    }

    fn env(mut self, variable: &str) -> Self {
        self.env.push(variable.into());
        self
    }

    fn user(mut self, user: u32) -> Self {
        self.user = user;
        self
    }

    fn mode(mut self, path: &'static str, mode: u32) -> Self {
        self.modes.push((path, mode));
        self
    }

    fn at(mut self, directory: &'static str) -> Self {
        self.directory = directory;
        self
    }

    fn command(mut self, command: &[&'static str]) -> Self {
        self.command = command.to_vec();
        self
    }

    fn sh(self, script: &'static str) -> Self {
        self.command(&["sh", "-c", script])
    }

    fn bash(self, script: &'static str) -> Self {
        self.command(&["bash", "-c", script])
    }

    /// A virtual environment with the other PyTorch.
    fn venv(self) -> Self {
        let activate =
            "export VIRTUAL_ENV=/opt/venv\nPATH=\"$VIRTUAL_ENV/bin:$PATH\"\nexport PATH\n";
        self.evil("opt/venv/lib/python3.11/site-packages")
            .file(
                "opt/venv/pyvenv.cfg",
                "home = /usr/bin\ninclude-system-site-packages = false\n",
            )
            .file("opt/venv/bin/activate", activate)
            .link("opt/venv/bin/python", "/usr/bin/python3.11")
            .link("opt/venv/bin/python3", "python")
    }

    /// The row of the page in the book.
    fn row(&self) -> String {
        let happens = match (self.truth, self.runs) {
            (GOOD, _) => "the PyTorch that is installed".to_owned(),
            (EVIL, _) => "the other PyTorch".to_owned(),
            ("none", _) => "no PyTorch".to_owned(),
            (OBJECT, _) => "the library is loaded".to_owned(),
            (other, _) => other.to_owned(),
        };
        let compared = if self.runs {
            ""
        } else {
            " (not run in the tests)"
        };
        let says = match self.says {
            says if says == self.truth => "the same".to_owned(),
            SHADOWED | REFUSED | NOT_RUN | UNREADABLE => {
                format!("error [{0}](rules/{0}.md)", self.says)
            }
            gap => format!("gap `{gap}`"),
        };
        format!("| {} | {happens}{compared} | {says} |", self.name)
    }

    /// The healthy variant of a way.
    fn silent(mut self) -> Self {
        self.is_silent = true;
        self
    }

    fn not_run(mut self) -> Self {
        self.runs = false;
        self
    }

    /// What imgcheck says.
    fn judged(&self) -> BTreeSet<String> {
        let mut image = Image::new()
            .elf(LOADER, elf(&[]))
            .elf("usr/bin/python3.11", program(&[]))
            .elf(OBJECT.trim_start_matches('/'), elf(&[]))
            .link("usr/bin/python3", "python3.11")
            .link("usr/bin/sh", "dash")
            .link("usr/bin/rbash", "bash")
            .link("bin", "usr/bin")
            .text(
                "usr/lib/python3.11/encodings/__init__.py",
                "import codecs\n",
            )
            .directory("usr/lib/python3/dist-packages")
            .directory("root")
            .directory("data/app");
        for name in PROGRAMS.iter().chain(&["tini", "dumb-init", "gosu", "uv"]) {
            image = image.elf(&format!("usr/bin/{name}"), program(&[]));
        }
        for (directory, version) in &self.torch {
            image = image.text(&format!("{directory}/torch/__init__.py"), &init(version));
            image = image.text(
                &format!("{directory}/torch/version.py"),
                &version_py(version),
            );
            for name in [
                "_C.cpython-311-x86_64-linux-gnu.so",
                "lib/libtorch_global_deps.so",
                "lib/libtorch_cuda.so",
            ] {
                image = image.elf(&format!("{directory}/torch/{name}"), elf(&[]));
            }
        }
        for (path, text) in &self.files {
            image = match path.ends_with(".zip") || path.ends_with(".pyz") {
                true => image.entry(path, EntryKind::File(Content::Unread)),
                false => image.text(path, text),
            };
        }
        for (path, target) in &self.links {
            image = image.link(path, target);
        }
        for (path, mode) in &self.modes {
            let text = self.files.iter().find(|(it, _)| it == path);
            image = match text {
                Some((_, text)) => image.text(path, text),
                None => image.directory(path),
            };
            image = image.mode(*mode);
        }
        let user = self.user.to_string();
        let config = json!({"Env": self.env, "Cmd": self.command, "WorkingDir": self.directory, "User": user});
        let derived = image.config(config).derive(&Default::default()).unwrap();
        let mut says: BTreeSet<String> = derived
            .gaps
            .iter()
            .chain(&derived.other_gaps)
            .map(|gap| gap.code.to_string())
            .collect();
        let mut shadowed = derived.stack.shadowed_packages.iter();
        if shadowed.any(|it| it.module == "torch" && it.certain) {
            says.insert(SHADOWED.to_owned());
        }
        if derived.stack.start_refusals.iter().any(|it| it.certain) {
            says.insert(REFUSED.to_owned());
        }
        let main = derived.loader.processes.first().filter(|it| it.main);
        let torch = main.and_then(|it| it.imports.iter().find(|it| it.package == "torch"));
        says.insert(torch.map_or("none".to_owned(), |it| it.version.clone()));
        says.extend(derived.launch.failures.iter().map(|_| NOT_RUN.to_owned()));
        let unreadable = derived.loader.unreadable.iter();
        says.extend(
            unreadable
                .filter(|it| it.main)
                .map(|_| UNREADABLE.to_owned()),
        );
        let mut objects = main.into_iter().flat_map(|it| &it.objects);
        if objects.any(|object| object.path == OBJECT) {
            says.insert(OBJECT.to_owned());
        }
        says
    }

    /// What really happens in a chroot.
    fn real(&self, root: &Path) -> BTreeSet<String> {
        let write = |path: &str, text: &[u8]| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        for (directory, version) in &self.torch {
            write(
                &format!("{directory}/torch/__init__.py"),
                init(version).as_bytes(),
            );
            write(
                &format!("{directory}/torch/version.py"),
                version_py(version).as_bytes(),
            );
        }
        for (path, text) in &self.files {
            match path.ends_with(".zip") || path.ends_with(".pyz") {
                true => write(path, &zip(root, text)),
                false => write(path, text.as_bytes()),
            }
        }
        for (path, target) in &self.links {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(target, path).unwrap();
        }
        for (path, mode) in &self.modes {
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(*mode)).unwrap();
        }
        fs::create_dir_all(root.join("data/app")).unwrap();
        let output = Command::new("chroot")
            .arg(format!("--userspec={0}:{0}", self.user))
            .arg(root)
            .args(["/usr/bin/env", "-i", "-C", self.directory, "LD_DEBUG=files"])
            .args(&self.env)
            .args(&self.command)
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
}

fn init(version: &str) -> String {
    format!("__version__ = '{version}'\n")
}

fn version_py(version: &str) -> String {
    format!("__version__ = '{version}'\ncuda = '12.8'\ngit_version = 'abc'\n")
}

/// A zip archive with the other PyTorch and a program.
fn zip(scratch: &Path, main: &str) -> Vec<u8> {
    let directory = scratch.join("zipped");
    fs::create_dir_all(directory.join("torch")).unwrap();
    fs::write(directory.join("__main__.py"), main).unwrap();
    fs::write(directory.join("torch/__init__.py"), init(EVIL)).unwrap();
    let target = scratch.join("zipped.zip");
    let status = Command::new("/usr/bin/python3")
        .args(["-m", "zipapp", "-o"])
        .args([&target, &directory])
        .status()
        .unwrap();
    assert!(status.success());
    fs::read(target).unwrap()
}

/// A root directory with Python, bash, dash and a few tools of this machine.
fn root(scratch: &Path) -> Option<PathBuf> {
    let python = fs::canonicalize("/usr/bin/python3").ok()?;
    if !python.ends_with("python3.11") || !rustix::process::geteuid().is_root() || !tool("chroot") {
        return None;
    }
    let root = scratch.join("root");
    let script = format!(
        "set -e; R={root}; mkdir -p $R/usr/bin $R/usr/lib/python3/dist-packages $R/root $R/opt $R/dev; ln -s usr/bin $R/bin; ln -s usr/lib $R/lib; mkdir $R/usr/lib64; ln -s usr/lib64 $R/lib64; \
         : > $R/dev/null; cp /usr/bin/python3.11 $R/usr/bin/; ln -s python3.11 $R/usr/bin/python3; ln -s dash $R/usr/bin/sh; ln -s bash $R/usr/bin/rbash; \
         for p in {programs}; do cp /usr/bin/$p $R/usr/bin/; done; \
         ldd $R/usr/bin/* 2>/dev/null | grep -o '/[^ ]*' | grep -v ':$' | sort -u | while read l; do mkdir -p $R$(dirname $l); cp -L $l $R$l; done; \
         mkdir -p $R/usr/lib/python3.11; cd /usr/lib/python3.11; cp -r *.py collections encodings importlib json re email urllib zipfile* logging ctypes $R/usr/lib/python3.11/ 2>/dev/null || true; \
         /usr/bin/python3 -m compileall -q $R/usr/lib/python3.11 >/dev/null || true; \
         cp -L /usr/lib/x86_64-linux-gnu/libz.so.1 $R{OBJECT}",
        root = root.display(),
        programs = PROGRAMS.join(" "),
    );
    let status = Command::new("bash").args(["-c", &script]).status().ok()?;
    status.success().then_some(root)
}

#[test]
fn no_quiet_way_passes() {
    let scratch = tempfile::tempdir().unwrap();
    let root = root(scratch.path());
    if root.is_none() {
        say(format_args!(
            "not compared with real programs: that needs root, x86-64 and /usr/bin/python3 3.11"
        ));
    }
    let (mut wrong, mut compared) = (Vec::new(), 0);
    let page = fs::read_to_string(repository("docs/src/quiet-ways.md")).unwrap_or_default();
    for way in ways() {
        let says = way.judged();
        let listed = says
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        // A version or library that imgcheck reports beside a gap is not a pass.
        let is_gap = |said: &&String| !said.starts_with(['2', '1', '/', 'n']);
        let is_sound = says.iter().any(|said| is_gap(&said)) || says.contains(way.truth);
        let is_noisy = way.is_silent && says.len() > 1;
        if !is_sound || is_noisy || !says.contains(way.says) {
            wrong.push(format!(
                "{}: really {}, imgcheck says {listed}, not {}",
                way.name, way.truth, way.says
            ));
        }
        if let Some(root) = root.as_ref().filter(|_| way.runs) {
            let copy = scratch.path().join("way");
            let status = Command::new("cp")
                .arg("-a")
                .args([root, &copy])
                .status()
                .unwrap();
            assert!(status.success());
            let real = way.real(&copy);
            if !real.contains(way.truth) {
                wrong.push(format!("{}: really {real:?}, not {}", way.name, way.truth));
            }
            fs::remove_dir_all(copy).unwrap();
            compared += 1;
        }
        let row = way.row();
        if !page.contains(&row) {
            wrong.push(format!("docs/src/quiet-ways.md has no row\n{row}"));
        }
    }
    say(format_args!(
        "{} ways, {compared} compared with real programs",
        ways().len()
    ));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
