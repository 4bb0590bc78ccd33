//! The loader model against the glibc of this machine: small libraries with random names, paths, needs, versions and symbols are
//! linked, a program opens them in random order, and model and loader must agree on every answer, every message and on
//! what is mapped in which order. Skipped with a message where there is no C compiler.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::tools::say;

use imgcheck_elf::{self as elf, Depth};
use imgcheck_image::RootFilesystem;
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};
use imgcheck_loader::{Libc, OpenMode, Process, System};

/// Opens what its arguments name and tells how it went, then lists what is mapped. An argument is `CALLER MODE NAME`: `-` or the
/// name of a library whose function opens it; `g` or `l`.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
static int show(struct dl_phdr_info *info, size_t size, void *data) {
    if (info->dlpi_name[0] && !strstr(info->dlpi_name, "vdso")) printf("mapped %s\n", info->dlpi_name);
    return 0;
}
int main(int count, char **arguments) {
    for (int i = 1; i + 2 < count; i += 3) {
        int mode = arguments[i + 1][0] == 'g' ? RTLD_NOW | RTLD_GLOBAL : RTLD_NOW;
        void *(*opener)(const char *, int) = dlopen;
        if (arguments[i][0] != '-') {
            char symbol[64];
            void *caller = dlopen(arguments[i], RTLD_NOW | RTLD_NOLOAD);
            if (!caller) { printf("skipped\n"); continue; }
            snprintf(symbol, sizeof symbol, "open_by_%s", strstr(arguments[i], "/lib") ? strrchr(arguments[i], 'b') + 1 : "");
            *strchrnul(symbol, '.') = 0;
            opener = dlsym(caller, symbol);
        }
        void *handle = opener(arguments[i + 2], mode);
        printf("%s\n", handle ? "opened" : dlerror());
    }
    dl_iterate_phdr(show, 0);
    return 0;
}
"#;

/// Numbers that are the same in every run (Knuth's MMIX generator).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

const DIRECTORIES: [&str; 4] = ["a", "b", "c", "c/deep"];
const LIBRARIES: usize = 7;

/// One library: number, and in which directories copies lie.
fn make_libraries(root: &Path, random: &mut Random) -> Vec<PathBuf> {
    for directory in DIRECTORIES {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    let mut made: Vec<PathBuf> = Vec::new();
    for number in 0..LIBRARIES {
        let directory = DIRECTORIES[random.below(DIRECTORIES.len())];
        let path = root.join(directory).join(format!("lib{number}.so"));
        link_library(root, &path, number, &made, random);
        // Sometimes another library of the same name and SONAME elsewhere, or a link to it.
        let other = root
            .join(DIRECTORIES[random.below(DIRECTORIES.len())])
            .join(format!("lib{number}.so"));
        if other != path && random.chance(30) {
            match random.below(4) {
                0 => symlink(&path, &other).unwrap(),
                1 => fs::write(&other, "").unwrap(),
                2 => fs::write(&other, "INPUT(-lc) /* a linker script, which is no library at all: long enough for a header */").unwrap(),
                _ => link_library(root, &other, number, &made, random),
            }
            made.push(other);
        }
        made.push(path);
    }
    made
}

fn link_library(root: &Path, path: &Path, number: usize, others: &[PathBuf], random: &mut Random) {
    let source = root.join("source.c");
    let mut code = format!(
        "#include <dlfcn.h>\nvoid *open_by_{number}(const char *name, int mode) {{ return dlopen(name, mode); }}\n"
    );
    for symbol in 0..8 {
        if random.chance(30) {
            writeln!(code, "int s{symbol}(void) {{ return {symbol}; }}").unwrap();
        } else if random.chance(6) {
            writeln!(code, "extern int s{symbol}(void); int use{symbol}_{number}(void) {{ return s{symbol}(); }}").unwrap();
        }
    }
    fs::write(&source, code).unwrap();
    let mut command = Command::new("cc");
    command.args([
        "-shared",
        "-fPIC",
        "-nostartfiles",
        "-Wl,--no-as-needed",
        "-Wl,--unresolved-symbols=ignore-all",
        "-Wl,--allow-multiple-definition",
        "-o",
    ]);
    command.arg(path).arg(&source);
    if random.chance(70) {
        command.arg(format!("-Wl,-soname,lib{number}.so"));
    }
    if random.chance(60) {
        let tags = ["-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"][random.below(2)];
        let texts = [
            "$ORIGIN",
            "$ORIGIN/../a",
            "$ORIGIN/deep",
            "${ORIGIN}/../b",
            "/nowhere",
        ];
        let first = texts[random.below(texts.len())];
        let second = root.join(DIRECTORIES[random.below(DIRECTORIES.len())]);
        command
            .arg(tags)
            .arg(format!("-Wl,-rpath,{first}:{}", second.display()));
    }
    if random.chance(25) {
        let script = root.join("versions");
        fs::write(&script, format!("V{} {{ s0; s1; s2; }};", random.below(2))).unwrap();
        command.arg(format!("-Wl,--version-script={}", script.display()));
    }
    let usable = |path: &&PathBuf| fs::metadata(path).is_ok_and(|it| it.len() > 1000);
    let usable: Vec<&PathBuf> = others.iter().filter(usable).collect();
    for _ in 0..random.below(3) {
        if !usable.is_empty() {
            command.arg(usable[random.below(usable.len())]);
        }
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The files below a directory, and the C library of this machine, as a layer would have them.
fn layer(root: &Path) -> LayerFacts {
    let mut entries = vec![link("lib", "usr/lib"), link("lib64", "usr/lib64")];
    for path in [
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
    ] {
        let real = path.replacen("/lib", "/usr/lib", 1);
        entries.push(entry(Path::new(&real)));
    }
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for found in fs::read_dir(directory).unwrap() {
            let path = found.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                pending.push(path);
            } else {
                entries.push(entry(&path));
            }
        }
    }
    LayerFacts { entries }
}

fn link(path: &str, target: &str) -> Entry {
    Entry {
        path: path.to_owned(),
        kind: EntryKind::Symlink(target.to_owned()),
        size: 0,
        mode: 0o777,
        owner: Default::default(),
    }
}

fn entry(path: &Path) -> Entry {
    let inside = path.to_str().unwrap().trim_start_matches('/').to_owned();
    if let Ok(target) = fs::read_link(path) {
        return link(&inside, target.to_str().unwrap());
    }
    let bytes = fs::read(path).unwrap();
    let recipes = imgcheck_model::knowledge::recipes().unwrap();
    let content = match bytes.starts_with(b"\x7fELF") {
        true => Content::Elf(Box::new(
            elf::read(&bytes, &recipes, Depth::Default).unwrap(),
        )),
        false => Content::Unread,
    };
    Entry {
        path: inside,
        kind: EntryKind::File(content),
        size: bytes.len() as u64,
        mode: 0o755,
        owner: Default::default(),
    }
}

/// What the program prints, said by the model.
fn modeled(
    root: &RootFilesystem,
    program: &Path,
    library_path: Option<&str>,
    requests: &[[String; 3]],
) -> String {
    let environment: BTreeMap<String, String> = library_path
        .map(|path| ("LD_LIBRARY_PATH".to_owned(), path.to_owned()))
        .into_iter()
        .collect();
    let path = program.to_str().unwrap();
    let elf = root.resolve(path).unwrap().elf().unwrap();
    let system = System::of(root, elf, environment, "/").unwrap();
    let mut process = Process::start(&system, path)
        .unwrap()
        .map_err(|failure| failure.faults)
        .unwrap();
    let mut out = String::new();
    for [caller, mode, name] in requests {
        let caller = match caller.as_str() {
            "-" => 0,
            caller => {
                let file = root.resolve(caller).unwrap().identity();
                match process
                    .objects()
                    .iter()
                    .position(|object| object.node.identity() == file)
                {
                    Some(id) => id,
                    None => {
                        out.push_str("skipped\n");
                        continue;
                    }
                }
            }
        };
        let mode = OpenMode {
            global: mode == "g",
            lazy: false,
        };
        match process.open(name, caller, mode).unwrap() {
            Ok(_) => out.push_str("opened\n"),
            Err(failure) => writeln!(out, "{}", failure.faults[0].message(Libc::Glibc)).unwrap(),
        }
    }
    for object in &process.objects()[1..] {
        writeln!(out, "mapped {}", object.path).unwrap();
    }
    out
}

#[test]
fn random_libraries_load_as_with_glibc() {
    if Command::new("cc").arg("--version").output().is_err() {
        assert!(
            std::env::var_os("IMGCHECK_REQUIRE_TOOLS").is_none(),
            "there is no C compiler"
        );
        say(format_args!("skipped: there is no C compiler"));
        return;
    }
    let scenarios = std::env::var("IMGCHECK_SCENARIOS")
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(25);
    let mut answers = 0;
    for seed in 0..scenarios {
        let mut random = Random(seed);
        random.below(2);
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        let program = root.join("program");
        fs::write(root.join("program.c"), PROGRAM).unwrap();
        let built = Command::new("cc")
            .arg("-o")
            .arg(&program)
            .arg(root.join("program.c"))
            .status()
            .unwrap();
        assert!(built.success());
        let libraries = make_libraries(&root, &mut random);
        let library_path = random
            .chance(50)
            .then(|| format!("{}:{}", root.join("b").display(), root.join("c").display()));
        let requests: Vec<[String; 3]> = (0..8)
            .map(|_| {
                let pick = |random: &mut Random| {
                    libraries[random.below(libraries.len())]
                        .to_str()
                        .unwrap()
                        .to_owned()
                };
                let caller = if random.chance(50) {
                    pick(&mut random)
                } else {
                    "-".to_owned()
                };
                let mode = ["g", "l"][random.below(2)].to_owned();
                let name = if random.chance(60) {
                    pick(&mut random)
                } else {
                    format!("lib{}.so", random.below(LIBRARIES))
                };
                [caller, mode, name]
            })
            .collect();
        let mut command = Command::new(&program);
        command.args(requests.iter().flatten()).env_clear();
        if let Some(path) = &library_path {
            command.env("LD_LIBRARY_PATH", path);
        }
        let output = command.output().unwrap();
        let real = String::from_utf8(output.stdout).unwrap();
        let layer = layer(&root);
        let merged = RootFilesystem::merge([&layer]);
        let modeled = modeled(&merged, &program, library_path.as_deref(), &requests);
        if std::env::var_os("IMGCHECK_KEEP").is_some() && modeled != real {
            std::mem::forget(directory);
        }
        assert_eq!(
            modeled, real,
            "seed {seed}, {requests:#?}, LD_LIBRARY_PATH {library_path:?}"
        );
        answers += real.lines().count();
    }
    say(format_args!(
        "{scenarios} scenarios, {answers} answers equal"
    ));
}
