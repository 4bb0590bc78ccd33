//! `ld.so.cache`, `ldconfig` and the processors' subdirectories, against the real ldconfig and the real loader of this machine.
//!
//! IMGCHECK_LOADER_ROOTS may name more root directories, separated by colons, each with an ldconfig of its own: with root's rights,
//! what it would write there is compared as well.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::layers::directory_facts;
use imgcheck_image::RootFilesystem;
use imgcheck_loader::abi::Abi;
use imgcheck_loader::cache::{Cache, Entry, Format, Hwcap};
use imgcheck_loader::hwcaps::{CpuLevel, GlibcVersion, Hwcaps};
use imgcheck_loader::ldconfig::{self, CacheState};
use testkit::tools::{say, tool};

const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// What a command prints; empty if it fails or is not there.
fn output(command: &mut Command) -> String {
    let output = command.output();
    output.map_or_else(
        |_| String::new(),
        |output| {
            let errors = String::from_utf8_lossy(&output.stderr);
            String::from_utf8_lossy(&output.stdout).into_owned() + &errors
        },
    )
}

/// The release of this machine's glibc; `None` (and a word about it) where the tests cannot run.
fn this_glibc() -> Option<GlibcVersion> {
    if !cfg!(target_arch = "x86_64") || !tool("ldconfig") {
        return None;
    }
    glibc_of(&output(Command::new("ldconfig").arg("--version")))
}

/// The release in the first line of `ldconfig --version`, such as `ldconfig (Debian GLIBC 2.36-9+deb12u14) 2.36`.
fn glibc_of(version: &str) -> Option<GlibcVersion> {
    let first = version.lines().next()?;
    GlibcVersion::parse(first.rsplit(' ').next()?)
}

fn is_root() -> bool {
    let root = output(Command::new("id").arg("-u")).trim() == "0";
    if !root {
        say(format_args!("skipped: needs root's rights"));
    }
    root
}

/// An entry as `ldconfig -p` prints it.
fn printed(cache: &Cache, entry: &Entry) -> String {
    let kind = ["libc4", "ELF", "libc5", "libc6"][(entry.flags & 3) as usize];
    let machine = match entry.flags >> 8 {
        3 => ",x86-64",
        8 => ",x32",
        0xa => ",AArch64",
        _ => "",
    };
    let hwcap = match (entry.hwcap, cache.subdirectory(entry)) {
        (_, Some(name)) => format!(", hwcap: \"{name}\""),
        (Hwcap::Bits(bits), _) if bits != 0 => format!(", hwcap: {bits:#018x}"),
        _ => String::new(),
    };
    format!(
        "\t{} ({kind}{machine}{hwcap}) => {}",
        entry.name, entry.path
    )
}

fn all_printed(cache: &Cache) -> Vec<String> {
    let entries = cache.entries.iter();
    entries.map(|entry| printed(cache, entry)).collect()
}

/// The lines of `ldconfig -p`, without the system version that glibc before 2.36 knew.
fn lines(listing: &str) -> Vec<String> {
    listing
        .lines()
        .filter(|line| line.starts_with('\t'))
        .map(|line| match (line.find(", OS ABI:"), line.find(") =>")) {
            (Some(start), Some(end)) => format!("{}{}", &line[..start], &line[end..]),
            _ => line.to_owned(),
        })
        .collect()
}

/// Compares lists, and shows the first that differ.
fn same(ours: &[String], theirs: &[String], what: &str) {
    let wrong: Vec<_> = ours
        .iter()
        .zip(theirs)
        .filter(|(a, b)| a != b)
        .take(5)
        .collect();
    assert!(
        wrong.is_empty() && ours.len() == theirs.len(),
        "{what}: {} against {}: {wrong:#?}",
        ours.len(),
        theirs.len()
    );
    say(format_args!(
        "{what}: {} entries compared, 0 differences",
        ours.len()
    ));
}

#[test]
fn the_cache_of_this_machine_and_each_format() {
    if this_glibc().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut files = vec![(PathBuf::from("/etc/ld.so.cache"), None)];
    if is_root() {
        let formats = [
            ("old", Format::Old),
            ("compat", Format::Compatible),
            ("new", Format::New),
        ];
        for (name, format) in formats {
            let file = directory.path().join(name);
            let mut ldconfig = Command::new("ldconfig");
            ldconfig.args(["-X", "-c", name, "-C"]).arg(&file);
            output(&mut ldconfig);
            files.push((file, Some(format)));
        }
    }
    for (file, format) in files {
        let Ok(bytes) = fs::read(&file) else {
            say(format_args!("skipped: no {}", file.display()));
            continue;
        };
        let cache = Cache::parse(&bytes).unwrap();
        assert!(format.is_none_or(|format| cache.format == format));
        let theirs = lines(&output(
            Command::new("ldconfig").arg("-p").arg("-C").arg(&file),
        ));
        same(&all_printed(&cache), &theirs, &file.display().to_string());
    }
}

/// Compares the cache that ldconfig writes in a root directory with the one that imgcheck predicts.
fn compare_rebuilt(root: &Path, glibc: GlibcVersion, ldconfig: &mut Command) {
    let facts = directory_facts(root);
    let image = RootFilesystem::merge([&facts]);
    let rebuilt = ldconfig::rebuild(&image, Abi::X86_64, glibc);
    assert!(rebuilt.complete && rebuilt.configuration.unread.is_empty());
    let written = "/ld.so.cache.imgcheck";
    output(ldconfig.args(["-X", "-i", "-C", written]));
    let file = root.join(&written[1..]);
    let theirs = Cache::parse(&fs::read(&file).unwrap()).unwrap();
    fs::remove_file(file).unwrap();
    let what = format!("{}, glibc {}.{}", root.display(), glibc.major, glibc.minor);
    same(&all_printed(&rebuilt.cache), &all_printed(&theirs), &what);
}

#[test]
fn rebuilt_as_ldconfig_does() {
    let Some(glibc) = this_glibc() else { return };
    if !is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    if !strange_tree(root) {
        return;
    }
    compare_rebuilt(root, glibc, Command::new("ldconfig").arg("-r").arg(root));
    for root in std::env::var("IMGCHECK_LOADER_ROOTS")
        .unwrap_or_default()
        .split(':')
    {
        if root.is_empty() {
            continue;
        }
        let chroot = || {
            let mut command = Command::new("chroot");
            command.args([root, "/sbin/ldconfig"]);
            command
        };
        let glibc = glibc_of(&output(chroot().arg("--version"))).unwrap();
        compare_rebuilt(Path::new(root), glibc, &mut chroot());
        is_current(Path::new(root), glibc);
    }
}

/// A root directory as its distribution made it has the cache that ldconfig would write.
fn is_current(root: &Path, glibc: GlibcVersion) {
    let facts = directory_facts(root);
    let image = RootFilesystem::merge([&facts]);
    let rebuilt = ldconfig::rebuild(&image, Abi::X86_64, glibc);
    let found = ldconfig::staleness(&image, &rebuilt);
    assert_eq!(found.state, CacheState::Current, "{found:?}");
}

/// A root directory with real libraries in all the places that ldconfig treats in its own way. False where this machine has
/// other places.
fn strange_tree(root: &Path) -> bool {
    let Ok(real) = fs::read_dir(Path::new("/").join(LIBRARIES)) else {
        say(format_args!("skipped: no /{LIBRARIES}"));
        return false;
    };
    let put = |from: &Path, to: &str| {
        let to = root.join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    };
    let link = |target: &str, at: &str| {
        let at = root.join(at);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(target, at).unwrap();
    };
    let mut count = 0;
    for file in real.flatten() {
        let (name, path) = (file.file_name(), file.path());
        let name = name.to_str().unwrap();
        let small = path
            .metadata()
            .is_ok_and(|file| file.is_file() && file.len() < 1 << 20);
        if count < 150 && name.contains(".so") && small {
            put(&path, &format!("{LIBRARIES}/{name}"));
            count += 1;
        }
    }
    let library = |name: &str| Path::new("/").join(LIBRARIES).join(name);
    let (z, m, c) = (
        library("libz.so.1"),
        library("libm.so.6"),
        library("libc.so.6"),
    );
    put(&c, &format!("{LIBRARIES}/libc.so.6"));
    put(
        &library("ld-linux-x86-64.so.2"),
        "lib64/ld-linux-x86-64.so.2",
    );
    put(Path::new("/bin/true"), "bin/true");
    put(Path::new("/usr/bin/env"), "bin/env");
    link("usr/lib", "lib");
    // Several files of one SONAME, links of each kind, and what is no library.
    for name in [
        "libz.so.1.9",
        "libz.so.1.10",
        "libz.so.1",
        "zlib.so",
        "libz.so.1;5f0a",
        "libz.txt",
    ] {
        put(&z, &format!("opt/many/{name}"));
    }
    link("libz.so.1.9", "opt/many/libz.so");
    link("libz.so.1.9", "opt/many/libother.so");
    link("nowhere", "opt/many/libgone.so.3");
    fs::write(root.join("opt/many/libtext.so"), "GROUP ( libz.so.1 )").unwrap();
    fs::write(root.join("opt/many/libempty.so.1"), "").unwrap();
    fs::write(
        root.join("opt/many/libcut.so.1"),
        &fs::read(&z).unwrap()[..40],
    )
    .unwrap();
    fs::create_dir_all(root.join("opt/many/libdirectory.so.1")).unwrap();
    link("/opt/many/libz.so.1.10", "opt/linked/libz.so.1");
    // Below glibc-hwcaps, and in the older directories for processors.
    for name in ["x86-64-v2", "x86-64-v3", "x86-64-v4", "valgrind", ".hidden"] {
        put(
            &m,
            &format!("{LIBRARIES}/glibc-hwcaps/{name}/libm-of-{name}.so"),
        );
    }
    put(&z, &format!("{LIBRARIES}/glibc-hwcaps/x86-64-v2/libz.so.1"));
    for name in [
        "haswell",
        "haswell/x86_64",
        "tls",
        "xeon_phi",
        "avx512_1",
        "aarch64",
    ] {
        put(&z, &format!("{LIBRARIES}/{name}/libz.so.1"));
    }
    put(&z, "opt/x86_64/libz.so.1");
    let etc = root.join("etc/ld.so.conf.d");
    fs::create_dir_all(&etc).unwrap();
    let main =
        "include /etc/ld.so.conf.d/*.conf\n/opt/many/ # many\n/opt/many=libc6\n/opt/absent\n";
    fs::write(root.join("etc/ld.so.conf"), main).unwrap();
    fs::write(etc.join("b.conf"), "include ?x.conf\n\t/opt/x86_64  \n").unwrap();
    fs::write(etc.join("a.conf"), "#/opt/comment\nhwcap 0 nosegneg\n").unwrap();
    fs::write(etc.join("ax.conf"), "/opt/linked").unwrap();
    true
}

/// The best level of x86-64 that the loader finds on this processor, as `ld.so --help` tells since glibc 2.33.
fn this_level() -> CpuLevel {
    let help = output(Command::new("/lib64/ld-linux-x86-64.so.2").arg("--help"));
    let has = |level: &str| help.contains(&format!("{level} (supported"));
    match () {
        () if has("x86-64-v4") => CpuLevel::V4,
        () if has("x86-64-v3") => CpuLevel::V3,
        () if has("x86-64-v2") => CpuLevel::V2,
        () => CpuLevel::V1,
    }
}

#[test]
fn the_loader_searches_these_subdirectories() {
    let Some(glibc) = this_glibc() else { return };
    let intel = fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains("GenuineIntel"));
    if glibc < GlibcVersion::new(2, 33) || (glibc < GlibcVersion::new(2, 37) && !intel) {
        say(format_args!("skipped: the processor's level is not known"));
        return;
    }
    let mut program = Command::new("/bin/true");
    program.env("LD_DEBUG", "libs").env("LD_LIBRARY_PATH", "/x");
    let said = output(&mut program);
    let path = said.split("search path=").nth(1).unwrap();
    let searched: Vec<&str> = path.split_whitespace().next().unwrap().split(':').collect();
    let mut ours: Vec<String> = Hwcaps::new(Abi::X86_64, glibc, this_level())
        .subdirectories()
        .iter()
        .map(|name| format!("/x/{name}"))
        .collect();
    ours.push("/x".to_owned());
    assert_eq!(ours, searched);
}

/// What the loader takes from its cache, by name, when it looks for these. `env` starts `env`.
fn taken(env: &mut Command, names: &[&str]) -> BTreeMap<String, String> {
    env.args(["LD_DEBUG=libs", "LD_TRACE_LOADED_OBJECTS=1"]); // nothing of the libraries runs
    let said = output(
        env.arg(format!("LD_PRELOAD={}", names.join(" ")))
            .arg("/bin/true"),
    );
    let mut found = BTreeMap::new();
    let (mut name, mut in_cache) = (String::new(), false);
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("find library=") {
            name = rest.split(' ').next().unwrap().to_owned();
            in_cache = false;
        } else if line.contains("search cache=") || line.contains("search path=") {
            in_cache = line.contains("cache=");
        } else if let Some((_, file)) = line.split_once("trying file=")
            && in_cache
        {
            found.entry(name.clone()).or_insert_with(|| file.to_owned());
        }
    }
    found
}

fn compare_lookups(cache: &Cache, glibc: GlibcVersion, env: impl Fn() -> Command, what: &str) {
    let hwcaps = Hwcaps::new(Abi::X86_64, glibc, this_level());
    let mut names: Vec<&str> = cache
        .entries
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    names.dedup();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for some in names.chunks(20) {
        for (name, path) in taken(&mut env(), some) {
            let entry = cache.lookup(&name, &hwcaps);
            ours.push(format!("{name} {:?}", entry.map(|entry| &entry.path)));
            theirs.push(format!("{name} {:?}", Some(path)));
        }
    }
    same(&ours, &theirs, what);
    assert!(
        ours.len() > 10,
        "the loader was asked for {} names only",
        ours.len()
    );
}

#[test]
fn the_loader_takes_the_same_entries() {
    let Some(glibc) = this_glibc() else { return };
    if glibc < GlibcVersion::new(2, 33) {
        return;
    }
    let Ok(bytes) = fs::read("/etc/ld.so.cache") else {
        return;
    };
    let cache = Cache::parse(&bytes).unwrap();
    compare_lookups(
        &cache,
        glibc,
        || Command::new("env"),
        "lookups on this machine",
    );
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    if !is_root() || !strange_tree(root) {
        return;
    }
    output(Command::new("ldconfig").arg("-r").arg(root));
    let cache = Cache::parse(&fs::read(root.join("etc/ld.so.cache")).unwrap()).unwrap();
    let env = || {
        let mut command = Command::new("chroot");
        command.arg(root).arg("/bin/env");
        command
    };
    compare_lookups(
        &cache,
        glibc,
        env,
        "lookups in a tree with subdirectories for processors",
    );
}
