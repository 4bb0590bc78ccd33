//! Images with more of two things that could be compared in pairs.

use std::path::Path;

use super::super::elf::cudart;
use super::super::forge::*;
use super::super::loader::program;
use super::{Series, numbered, series};
use testkit::{Image, Item, directory, docker_archive, file, symlink};

const INTERPRETER: &[u8] = b"/lib64/ld-linux-x86-64.so.2\0";

/// The series of images with more of two things.
pub fn all() -> Vec<Series> {
    vec![
        series(
            "copies of glibc, and twice as many glibc packages",
            250,
            libc_and_packages,
        ),
        series(
            "virtual environments that share one directory, and as many distributions in it that require PyTorch",
            100,
            environments_and_distributions,
        ),
        series(
            "NVIDIA wheel directories, and their parent 25 times as often on `PYTHONPATH`",
            100,
            one_python_path_and_wheels,
        ),
        series(
            "directories on `PYTHONPATH`, and as many distributions elsewhere",
            1_000,
            python_path_and_distributions,
        ),
        series(
            "symbol versions that a library defines, and as many that others need from it",
            500,
            versions,
        ),
        series(
            "Python interpreters, each in its own directory",
            1_000,
            interpreters,
        ),
    ]
}

fn libc_and_packages(scratch: &Path, count: usize) -> Vec<String> {
    let mut libc = Elf::new();
    libc.strings(b"\0libc.so.6\0").tag(DT_SONAME, 1).symbols([]);
    let library = libc.build();
    let mut items = numbered(count, |it| file(&format!("usr/lib/l{it}.so"), &library));
    let status: String = (0..2 * count)
        .map(|it| {
            let status = "Status: install ok installed";
            format!("Package: libc6\nArchitecture: a{it}\n{status}\nVersion: 2.{it}-1\n\n")
        })
        .collect();
    items.push(file("var/lib/dpkg/status", status));
    image(scratch, "", items)
}

fn environments_and_distributions(scratch: &Path, count: usize) -> Vec<String> {
    let site = "srv/lib/python3.11/site-packages";
    let requirements = "Requires-Dist: torch>=1\nRequires-Dist: torch>=2\n";
    let mut items = numbered(count, |it| {
        distribution(site, &format!("p{it}"), "1", requirements)
    });
    items.push(distribution(site, "torch", "3", ""));
    items.push(file("usr/bin/python3.11", interpreter()));
    for it in 0..count {
        let configuration = "home = /usr/bin\nversion = 3.11.1\n";
        items.push(file(&format!("v/{it}/pyvenv.cfg"), configuration));
        let links = [("bin/python3", "/usr/bin/python3.11"), ("lib", "/srv/lib")];
        items.extend(links.map(|(name, target)| symlink(&format!("v/{it}/{name}"), target)));
    }
    image(scratch, "", items)
}

fn one_python_path_and_wheels(scratch: &Path, count: usize) -> Vec<String> {
    let items = numbered(count, |it| directory(&format!("a/nvidia/p{it}/lib")));
    let path = "/a:".repeat(25 * count);
    image(scratch, &format!("PYTHONPATH={path}"), items)
}

fn python_path_and_distributions(scratch: &Path, count: usize) -> Vec<String> {
    let site = "opt/x/lib/python3.11/site-packages";
    let mut items = numbered(count, |it| {
        distribution(site, "torchvision", &format!("0.{it}"), "")
    });
    items.extend((0..count).map(|it| directory(&format!("a/{it}"))));
    let path: String = (0..count).map(|it| format!("/a/{it}:")).collect();
    image(scratch, &format!("PYTHONPATH={path}"), items)
}

/// Each name of a version has 10 bytes with its end, and all stand behind each other.
fn versions(scratch: &Path, count: usize) -> Vec<String> {
    let names = |kind| -> String { (0..count).map(|it| format!("{kind}.{it:05}\0")).collect() };
    let next = |at, length| if at + 1 < count { length } else { 0 };

    let mut library = Elf::new();
    library.strings(format!("\0{}", names("V_1")).as_bytes());
    let definition = |at| {
        let index = at as u32 + 2;
        let name = 1 + 10 * at as u32;
        words(&[1, 1 << 16 | index, 0, 20, next(at, 28), name, 0])
    };
    let definitions = library.put(&numbered(count, definition).concat());
    library.tag(DT_VERDEF, definitions);
    library.tag(DT_VERDEFNUM, count as u64).symbols([]);

    let mut server = Elf::new();
    let strings = format!("\0libv.so\0libcudart.so.12\0{}", names("V_2"));
    server.strings(strings.as_bytes());
    server.tag(DT_NEEDED, 1).tag(DT_NEEDED, 9);
    let need = |at| words(&[0, (at as u32 + 2) << 16, 25 + 10 * at as u32, next(at, 16)]);
    let mut needs = words(&[(count as u32) << 16 | 1, 1, 16, 0]);
    needs.extend(numbered(count, need).concat());
    let needs = server.put(&needs);
    server.tag(DT_VERNEED, needs).tag(DT_VERNEEDNUM, 1);
    let at = server.put(INTERPRETER);
    server.segment(PT_INTERP, at, INTERPRETER.len() as u64);
    server.symbols([]);

    let mut items = program(&[]);
    items[0] = file("usr/bin/server", server.build());
    items.push(file("usr/lib64/libv.so", library.build()));
    image(scratch, "", items)
}

fn interpreters(scratch: &Path, count: usize) -> Vec<String> {
    let interpreter = interpreter();
    let path = |it| format!("u{it}/bin/python3.11");
    image(
        scratch,
        "",
        numbered(count, |it| file(&path(it), &interpreter)),
    )
}

fn interpreter() -> Vec<u8> {
    let mut interpreter = Elf::new();
    let at = interpreter.put(INTERPRETER);
    interpreter.segment(PT_INTERP, at, INTERPRETER.len() as u64);
    interpreter.strings(b"\0").symbols([]).build()
}

fn distribution(site: &str, name: &str, version: &str, more: &str) -> Item {
    let text = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{more}\n");
    file(&format!("{site}/{name}-{version}.dist-info/METADATA"), text)
}

/// A docker archive of one layer with CUDA 12.8, and a variable of its configuration; gives the arguments to show it.
fn image(scratch: &Path, variable: &str, mut items: Vec<Item>) -> Vec<String> {
    items.push(file("usr/lib64/libcudart.so.12", cudart().build()));
    let mut image = Image::new("hostile:1", &[&items]);
    image
        .env
        .extend(Some(variable.to_owned()).filter(|it| !it.is_empty()));
    shown(scratch, &docker_archive(&[image]))
}
