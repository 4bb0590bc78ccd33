//! A root directory with a loader and a program, what the loader really does there, and what the model says.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::layers::directory_facts;
use imgcheck::Overlay;
use imgcheck_elf::ElfFacts;
use imgcheck_image::{Credentials, RootFilesystem};
use imgcheck_launch::Launch;
use imgcheck_loader::{self as loader, Libc, Process, System};
use imgcheck_model::knowledge;
use oci_spec::image::ImageConfiguration;
use serde_json::json;
use testkit::tools::{say, tool};

/// Prints what is mapped.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <string.h>
extern int value(void);
static int show(struct dl_phdr_info *info, size_t size, void *data) {
    if (info->dlpi_name[0] && !strstr(info->dlpi_name, "vdso")) printf("%s\n", info->dlpi_name);
    return 0;
}
int main(void) { dl_iterate_phdr(show, 0); return value() < 0; }
"#;

/// Starts the program in the root directory that its argument names, as a user other than root. It is linked statically, since LD_*
/// must not count for it. The loader reads the origin of a program from /proc.
const LAUNCHER: &str = r#"
#define _GNU_SOURCE
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int count, char **arguments, char **environment) {
    char *alone[] = {"/app/main", 0};
    char **program = count > 2 ? arguments + 2 : alone;
    if (chdir(arguments[1]) || unshare(CLONE_NEWNS) || mount("none", "/", 0, MS_REC | MS_PRIVATE, 0)) return 100;
    if (mkdir("proc", 0755) || mount("/proc", "proc", 0, MS_BIND | MS_REC, 0) || chroot(".")) return 101;
    if (setgroups(0, 0) || setgid(12345) || setuid(12345)) return 102;
    execve(program[0], program, environment);
    return 103;
}
"#;

/// The user and group of the launcher.
pub const USER: u32 = 12345;

/// What is built into the loader of Debian, and what replaces it here: strings of the same lengths.
const BUILT_IN: [(&str, &str); 3] = [
    (
        "\0/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/usr/lib/\0",
        "\0/nix/store/glibcx/lib/\0/nix/store/glibcx/lib/mor/\0/nlb/\0/nix/lib/\0",
    ),
    ("\0/etc/ld.so.cache\0", "\0/nix/ld.so.cache\0"),
    ("\0/etc/ld.so.preload\0", "\0/nix/ld.so.preload\0"),
];
pub const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";
pub const STANDARD: &str = "/lib64/ld-linux-x86-64.so.2";
pub const RELOCATED: &str = "/nix/store/glibcx/lib/ld-linux-x86-64.so.2";

/// A root directory with one program, `/app/main`, that needs `libt.so`.
#[derive(Debug)]
pub struct Chroot {
    directory: tempfile::TempDir,
    environment: BTreeMap<String, String>,
    /// The loader as the command, with its arguments; empty to execute the program.
    command: Vec<String>,
    is_secure: bool,
    /// How the program is linked.
    #[expect(dead_code, reason = "for messages")]
    options: Vec<String>,
}

/// Whether this machine can run the tests.
pub fn can_run() -> bool {
    let loader = fs::read(Path::new(LIBRARIES).join("ld-linux-x86-64.so.2")).unwrap_or_default();
    let is_root = is_root();
    let is_known = BUILT_IN
        .iter()
        .all(|(old, _)| memchr::memmem::find(&loader, old.as_bytes()).is_some());
    if !is_root || !is_known {
        say(format_args!(
            "skipped: needs root's rights, and Debian's glibc for x86-64"
        ));
        return false;
    }
    ["cc", "ldconfig", "setcap"].into_iter().all(tool)
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout == b"0\n")
}

pub fn replaced(mut bytes: Vec<u8>) -> Vec<u8> {
    for (old, new) in BUILT_IN {
        assert_eq!(old.len(), new.len(), "{new}");
        let places: Vec<usize> = memchr::memmem::find_iter(&bytes, old).collect();
        for at in places {
            bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
        }
    }
    bytes
}

impl Chroot {
    /// With a loader, its C library beside the loader's own directories, and a program linked with these options.
    pub fn new(interpreter: &str, options: &[&str]) -> Self {
        let chroot = Chroot {
            directory: tempfile::tempdir().unwrap(),
            environment: BTreeMap::new(),
            command: Vec::new(),
            is_secure: false,
            options: options.iter().map(|it| (*it).to_owned()).collect(),
        };
        let permissions = fs::Permissions::from_mode(0o755);
        fs::set_permissions(chroot.root(), permissions).unwrap();
        let real = |name: &str| fs::read(Path::new(LIBRARIES).join(name)).unwrap();
        let (loader, libc) = match interpreter {
            RELOCATED => (
                replaced(real("ld-linux-x86-64.so.2")),
                "/nix/store/glibcx/lib/libc.so.6".to_owned(),
            ),
            _ => (
                real("ld-linux-x86-64.so.2"),
                format!("{LIBRARIES}/libc.so.6"),
            ),
        };
        chroot.write(interpreter, &loader, 0o755);
        chroot.write(&libc, &real("libc.so.6"), 0o755);
        let source = chroot.root().join("main.c");
        fs::write(&source, PROGRAM).unwrap();
        chroot.library("/build/libt.so", 0o755);
        fs::create_dir_all(chroot.root().join("app")).unwrap();
        let built = Command::new("cc")
            .arg("-o")
            .arg(chroot.root().join("app/main"))
            .arg(&source)
            .arg(format!("-Wl,--dynamic-linker={interpreter}"))
            .args(options)
            .arg("-L")
            .arg(chroot.root().join("build"))
            .arg("-lt")
            .status()
            .unwrap();
        assert!(built.success());
        fs::remove_dir_all(chroot.root().join("build")).unwrap();
        let launcher = chroot.root().join("launcher.c");
        fs::write(&launcher, LAUNCHER).unwrap();
        let built = Command::new("cc")
            .args(["-static", "-o"])
            .arg(chroot.inside("/launcher"))
            .arg(launcher)
            .status()
            .unwrap();
        assert!(built.success());
        if Path::new("/lib").is_symlink() && interpreter == STANDARD {
            std::os::unix::fs::symlink("usr/lib", chroot.root().join("lib")).unwrap();
        }
        chroot
    }

    fn root(&self) -> &Path {
        self.directory.path()
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.root().join(path.trim_start_matches('/'))
    }

    pub fn write(&self, path: &str, bytes: &[u8], mode: u32) {
        let path = self.inside(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// A library that defines `value`.
    fn library(&self, path: &str, mode: u32) {
        self.write(path, b"", mode);
        let source = self.root().join("value.c");
        fs::write(&source, "int value(void) { return 1; }\n").unwrap();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-nostdlib", "-o"])
            .arg(self.inside(path))
            .arg(&source)
            .status()
            .unwrap();
        assert!(built.success());
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(self.inside(path), permissions).unwrap();
    }

    pub fn with(self, path: &str) -> Self {
        self.library(path, 0o755);
        self
    }

    pub fn with_set_user_id(self, path: &str) -> Self {
        self.library(path, 0o4755);
        self
    }

    pub fn text(self, path: &str, text: &str) -> Self {
        self.write(path, text.as_bytes(), 0o644);
        self
    }

    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    pub fn set_user_id(self) -> Self {
        self.owned(0o4755, (0, 0), true)
    }

    /// Gives the program permissions and an owner.
    pub fn owned(mut self, mode: u32, (uid, gid): (u32, u32), is_secure: bool) -> Self {
        let program = self.inside("/app/main");
        chown(&program, Some(uid), Some(gid)).unwrap();
        fs::set_permissions(program, fs::Permissions::from_mode(mode)).unwrap();
        self.is_secure = is_secure;
        self
    }

    pub fn capabilities(mut self, text: &str) -> Self {
        let set = Command::new("setcap")
            .arg(text)
            .arg(self.inside("/app/main"))
            .status();
        assert!(set.unwrap().success());
        self.is_secure = true;
        self
    }

    /// The cache of directories, where the loader expects it.
    pub fn cache(self, path: &str, directories: &[&str]) -> Self {
        let configuration = directories.join("\n") + "\n";
        let this = self.text("/etc/ld.so.conf", &configuration);
        let made = Command::new("ldconfig")
            .args(["-X", "-C", path, "-r"])
            .arg(this.root())
            .status();
        assert!(made.unwrap().success());
        this
    }

    /// What the program prints: mapped files, or the loader's message; with the number of libraries that were not preloaded.
    fn real(&self) -> (Vec<String>, usize) {
        let output = Command::new(self.inside("/launcher"))
            .arg(self.root())
            .args(&self.command)
            .env_clear()
            .envs(&self.environment)
            .output()
            .unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        let skipped = errors.matches("cannot be preloaded").count();
        let failed = errors
            .lines()
            .find_map(|line| line.split_once("error while loading shared libraries: "));
        let lines = match failed {
            Some((_, message)) => vec![message.to_owned()],
            None => {
                assert!(output.status.success(), "{errors}");
                let text = String::from_utf8(output.stdout).unwrap();
                text.lines().map(str::to_owned).collect()
            }
        };
        (lines, skipped)
    }

    /// The same by the model.
    fn modeled(&self) -> (Vec<String>, usize) {
        let facts = directory_facts(self.root());
        let root = RootFilesystem::merge([&facts]);
        let program = root.resolve("/app/main").unwrap();
        let user = Credentials {
            uid: USER,
            gids: vec![USER],
        };
        let is_secure = program.is_secure_for(&user);
        assert_eq!(is_secure, self.is_secure);
        let environment = self.environment.clone();
        let mut system = match self.command.is_empty() {
            true => System::of(&root, program.elf().unwrap(), environment, "/").unwrap(),
            false => self.by_command(&root, program.elf().unwrap()),
        };
        if is_secure {
            system = system.in_secure_mode();
        }
        match Process::start(&system, "/app/main").unwrap() {
            Ok(process) => {
                let objects = process.objects()[1..].iter();
                let paths = objects.map(|it| it.path.clone()).collect();
                (paths, process.warnings().len())
            }
            Err(failure) => (vec![failure.faults[0].message(Libc::Glibc)], usize::MAX),
        }
    }

    /// The loader as the command, as the model of the container's start reads it.
    fn by_command<'r>(&self, root: &'r RootFilesystem<'r>, program: &ElfFacts) -> System<'r> {
        let variables = self.environment.iter();
        let variables: Vec<String> = variables.map(|(name, it)| format!("{name}={it}")).collect();
        let config: ImageConfiguration = serde_json::from_value(json!({
            "architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []},
            "config": {"Env": variables, "Cmd": self.command, "User": "12345"},
        }))
        .unwrap();
        let launch = Launch::of(
            root,
            &config,
            &Overlay::default(),
            &knowledge::launch().unwrap(),
        );
        assert_eq!(launch.gaps, [], "{self:?}");
        let command = launch.loader.clone().unwrap();
        let program = ElfFacts {
            interpreter: Some(command.loader.clone()),
            ..program.clone()
        };
        let system = System::of(root, &program, launch.environment.clone(), "/").unwrap();
        system.by_command(loader::Command {
            loader: command.loader,
            program: launch.absolute(&command.program),
            inhibit_rpath: command.inhibit_rpath,
            inhibits_cache: command.inhibits_cache,
        })
    }

    pub fn command(mut self, words: &[&str]) -> Self {
        self.command = words.iter().map(|it| (*it).to_owned()).collect();
        self
    }

    pub fn link(self, path: &str, target: &str) -> Self {
        let path = self.inside(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
        self
    }

    /// Model and loader agree; `expected` is the library that answers, or what the message says.
    pub fn check(self, expected: &str) {
        let (real, skipped) = self.real();
        let (modeled, warnings) = self.modeled();
        assert_eq!(modeled, real, "{self:?}");
        assert!(
            warnings == usize::MAX || warnings == skipped,
            "{warnings} {skipped}"
        );
        assert!(
            real.iter().any(|it| it.contains(expected)),
            "{real:?} {self:?}"
        );
    }
}
