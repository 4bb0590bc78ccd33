//! Prints what a program of this machine loads, as `ldd` does, but without running anything:
//!
//!     cargo run -p imgcheck-loader --example loads -- /bin/ls

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use imgcheck_elf::{Depth, Recipes};
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts, RootFilesystem};
use imgcheck_loader::{Process, System};

/// Where the libraries of Debian and Fedora are. A root file system can be of any size; a part of one is enough here.
const DIRECTORIES: [&str; 5] = [
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
];

fn main() -> Result<(), Box<dyn Error>> {
    let program = std::env::args().nth(1).ok_or("which program?")?;
    let recipes = Recipes::parse("no libraries", "libraries: []")?;
    let mut layer = LayerFacts::default();
    for link in ["/bin", "/lib", "/lib64", "/usr/bin"] {
        add(&mut layer, &recipes, Path::new(link));
    }
    add(&mut layer, &recipes, Path::new(&program));
    add(&mut layer, &recipes, &fs::canonicalize(&program)?);
    add(&mut layer, &recipes, Path::new("/etc/ld.so.cache"));
    for directory in DIRECTORIES.map(fs::canonicalize).into_iter().flatten() {
        for file in fs::read_dir(directory)?.flatten() {
            if file.file_name().to_string_lossy().contains(".so") {
                add(&mut layer, &recipes, &file.path());
            }
        }
    }
    let root = RootFilesystem::merge([&layer]);
    let node = root.resolve(&program).map_err(|error| error.to_string())?;
    let elf = node.elf().ok_or("it is no ELF file")?;
    let system = System::of(&root, elf, BTreeMap::new(), "/").ok_or("it has no dynamic loader")?;
    let lines: Vec<String> = match Process::start(&system, &program)? {
        Ok(process) => process.objects().iter().map(|it| it.path.clone()).collect(),
        Err(failure) => failure
            .faults
            .iter()
            .map(|it| it.message(system.libc))
            .collect(),
    };
    #[allow(clippy::print_stdout)]
    {
        println!("{}", lines.join("\n"));
    }
    Ok(())
}

/// Adds a file of this machine: the facts of an ELF file, the bytes of the cache, a link as a link.
fn add(layer: &mut LayerFacts, recipes: &Recipes, path: &Path) {
    let Ok(metadata) = path.symlink_metadata() else {
        return;
    };
    let kind = if let Ok(target) = fs::read_link(path) {
        EntryKind::Symlink(target.to_string_lossy().into_owned())
    } else if metadata.is_dir() {
        EntryKind::Directory
    } else {
        let bytes = fs::read(path).unwrap_or_default();
        EntryKind::File(match imgcheck_elf::read(&bytes, recipes, Depth::Default) {
            Ok(elf) => Content::Elf(Box::new(elf)),
            Err(_) => Content::Bytes(bytes),
        })
    };
    layer.entries.push(Entry {
        path: path.to_string_lossy().trim_start_matches('/').to_owned(),
        kind,
        size: metadata.len(),
        mode: 0o755,
        owner: Default::default(),
    });
}
