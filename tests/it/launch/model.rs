//! What the model says of a case.

use std::collections::BTreeSet;

use imgcheck_base::gap::Gap;
use imgcheck_image::{Content, EntryKind};
use imgcheck_launch::{Launch, StartFailure};
use serde_json::{Value, json};

use super::case::{Case, File, Kind};
use crate::sample::{Derived, Image, elf, program};

/// A library that quiet ways load.
pub const OBJECT: &str = "/opt/evil.so";
/// The rules about modules that hide PyTorch, Pythons that do not start, programs that do not run or are missing, and files that Python may not read.
pub const RULES: [&str; 5] = [
    "python-package-shadowed",
    "python-does-not-start",
    "launch-program-not-run",
    "launch-program-missing",
    "python-file-unreadable",
];

/// The image of a case.
pub fn image(case: &Case) -> Image {
    let mut image = Image::new();
    for (directory, version) in &case.torch {
        for (name, text) in torch(version) {
            image = image.text(&format!("{directory}/torch/{name}"), &text);
        }
        for name in [
            "_C.cpython-311-x86_64-linux-gnu.so",
            "lib/libtorch_global_deps.so",
            "lib/libtorch_cuda.so",
        ] {
            image = image.elf(&format!("{directory}/torch/{name}"), elf(&[]));
        }
    }
    for (path, file) in &case.files {
        image = add(image, path, file);
    }
    image.config(case.config.to_json())
}

/// The modules of a PyTorch.
pub fn torch(version: &str) -> [(&'static str, String); 2] {
    let init = format!("__version__ = '{version}'\n");
    let build = format!("{init}cuda = '12.8'\ngit_version = 'abc'\n");
    [("__init__.py", init), ("version.py", build)]
}

fn add(image: Image, path: &str, file: &File) -> Image {
    let image = match (file.kind, &file.link, &file.text) {
        (Some(Kind::Program), ..) => image.elf(path, program(&[])),
        (Some(Kind::Library), ..) => image.elf(path, elf(&[])),
        (Some(Kind::Directory), ..) => image.directory(path),
        (Some(Kind::Unread | Kind::Zip), ..) => image.entry(path, EntryKind::File(Content::Unread)),
        (None, Some(target), _) => image.link(path, target),
        (None, None, text) => image.text(path, text.as_deref().unwrap_or_default()),
    };
    match file.mode() {
        Some(mode) => image.mode(mode),
        None => image,
    }
}

/// All that an expectation may name.
pub fn found(case: &Case) -> Value {
    let derived = image(case).derive(&case.overlay).unwrap();
    let reported = reported(&derived);
    let Launch {
        command,
        arguments,
        environment,
        library_path_from,
        working_directory,
        user,
        program,
        executable,
        chain,
        gaps,
        failures,
        ..
    } = derived.launch;
    let gaps = gaps.iter().chain(&derived.gaps);
    json!({
        "command": command,
        "arguments": arguments,
        "environment": environment,
        "library_path_from": library_path_from,
        "working_directory": working_directory,
        "user": &*user.written,
        "program": program.unwrap_or_default(),
        "executable": executable.unwrap_or_default(),
        "chain": Vec::from_iter(chain.iter().map(|it| &it.path)),
        "gaps": Vec::from_iter(gaps.map(|it: &Gap| &it.message)),
        "failures": Vec::from_iter(failures.iter().map(|it: &StartFailure| &it.message)),
        "reported": reported,
    })
}

/// The version of PyTorch or `none`, the library if it is loaded, codes of gaps, and ids of rules.
fn reported(derived: &Derived) -> BTreeSet<String> {
    let main = derived.loader.processes.first().filter(|it| it.main);
    let torch = main.and_then(|it| it.imports.iter().find(|it| it.package == "torch"));
    let mut objects = main.into_iter().flat_map(|it| &it.objects);
    let stack = &derived.stack;
    let mut shadowed = stack.shadowed_packages.iter();
    let failures = || derived.launch.failures.iter();
    let mut unreadable = derived.loader.unreadable.iter();
    let rules = [
        shadowed.any(|it| it.module == "torch" && it.certain),
        stack.start_refusals.iter().any(|it| it.certain),
        failures().any(|it| !["missing", "script", "directory"].contains(&it.kind.as_str())),
        failures().any(|it| it.kind == "missing"),
        unreadable.any(|it| it.main),
    ];
    let rules = RULES.iter().zip(rules).filter(|(_, applies)| *applies);
    let gaps = derived.gaps.iter().chain(&derived.other_gaps);
    gaps.map(|gap| gap.code.to_string())
        .chain(rules.map(|(rule, _)| (*rule).to_owned()))
        .chain([torch.map_or("none".to_owned(), |it| it.version.clone())])
        .chain(
            objects
                .any(|it| it.path == OBJECT)
                .then(|| OBJECT.to_owned()),
        )
        .collect()
}
