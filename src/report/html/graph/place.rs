//! Which card of the picture a file belongs to, by where it comes from.

use crate::process::facts::ObjectFacts;
use crate::process::tree::ProcessTree;

/// The columns of the picture, from left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Column {
    /// The program, and what the system brings.
    Program,
    /// What it imports.
    Imports,
    /// Libraries of packages, such as torch/lib.
    Packages,
    /// CUDA, cuDNN, NCCL ….
    Cuda,
}

impl Column {
    /// All of them, in order.
    pub const ALL: [Column; 4] = [
        Column::Program,
        Column::Imports,
        Column::Packages,
        Column::Cuda,
    ];

    /// What stands above it.
    pub fn heading(self) -> &'static str {
        match self {
            Column::Program => "Program and system",
            Column::Imports => "Imports",
            Column::Packages => "Package libraries",
            Column::Cuda => "CUDA libraries",
        }
    }
}

/// The card of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// What kind of card it is.
    pub kind: Kind,
    /// The column that the card stands in.
    pub column: Column,
    /// The heading of the card.
    pub title: String,
    /// The directory that its files come from.
    pub origin: String,
}

/// What a card holds. Two files are on the same card if their kinds are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// The executable, its own library and modules.
    Program,
    /// What the distribution brings.
    System,
    /// What the import of a package opens by itself.
    Import(String),
    /// The libraries of a package that is imported.
    Package(String),
    /// Packages that nobody asked for by name.
    OtherPackages,
    /// A library that consists of several files, wherever they lie.
    Set(String),
    /// CUDA libraries of one origin.
    Cuda(String),
    /// Other libraries of one directory.
    Directory(String),
    /// Copies of one directory that are not loaded because others are.
    Shadowed(String),
    /// Libraries that one file asks for and that are not there or cannot be used; how, and who asks.
    Missing(String),
    /// Libraries that the program goes on without.
    Optional,
}

/// The last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The directory of a path.
pub(super) fn directory_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((directory, _)) => directory,
        None => "",
    }
}

/// A path without `.` and `..`, as it is written.
pub(super) fn normal_path(path: &str) -> String {
    if !path.contains("/.") {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').skip(1) {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The last parts of a directory: `…/nvidia/cudnn/lib`.
pub(super) fn short_directory(directory: &str) -> String {
    let parts: Vec<&str> = directory
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    match parts.len() {
        0..=3 => directory.to_owned(),
        count => format!("…/{}", parts[count - 3..].join("/")),
    }
}

/// The card of an object. `prefix` is the Python environment of the process, empty for other programs.
pub(super) fn of(process: &ProcessTree, object: &ObjectFacts, prefix: &str) -> Place {
    let path = object.path.as_str();
    let directory = directory_of(path);
    let place = |kind, column, title: &str, origin: &str| Place {
        kind,
        column,
        title: title.to_owned(),
        origin: origin.to_owned(),
    };
    if object.found_by == "executable"
        || object.library == "python"
        || directory.ends_with("/lib-dynload")
    {
        return place(Kind::Program, Column::Program, &process.name, directory);
    }
    if is_part(object) {
        let title = display_name(&object.library);
        let kind = Kind::Set(object.library.clone());
        return place(kind, Column::Cuda, title, directory);
    }
    let package = object.directory.split('/').next().unwrap_or_default();
    if is_cuda(object) {
        return match package {
            "nvidia" => place(
                Kind::Cuda("nvidia".to_owned()),
                Column::Cuda,
                "NVIDIA packages",
                &upwards(path, "/nvidia/"),
            ),
            "" => place(
                Kind::Cuda(directory.to_owned()),
                Column::Cuda,
                "CUDA libraries",
                directory,
            ),
            package => place(
                Kind::Cuda(directory.to_owned()),
                Column::Cuda,
                &format!("bundled with {package}"),
                directory,
            ),
        };
    }
    if package.is_empty() {
        let is_own = ["/opt/", "/usr/local/", "/app/", "/workspace/"]
            .iter()
            .any(|own| path.starts_with(own));
        let is_environment = !prefix.is_empty() && directory == format!("{prefix}/lib");
        return match is_own && !is_environment {
            true => place(
                Kind::Directory(directory.to_owned()),
                Column::Packages,
                "libraries of the program",
                directory,
            ),
            false => place(Kind::System, Column::Program, "System libraries", directory),
        };
    }
    in_package(process, object, package)
}

/// The card of a package's own file.
fn in_package(process: &ProcessTree, object: &ObjectFacts, package: &str) -> Place {
    let is_imported = |name: &str| process.imports.iter().any(|it| it.package == name);
    let own = is_imported(&object.package) && related(&object.package, package);
    let of_another = process.imports.iter().any(|it| same(&it.package, package));
    let is_module = object.found_by == "path" && !file_name(&object.path).starts_with("lib");
    let (kind, column, title) = match own {
        true if is_module => (
            Kind::Import(object.package.clone()),
            Column::Imports,
            format!("import {}", object.package),
        ),
        own if own || of_another => (
            Kind::Package(package.to_owned()),
            Column::Packages,
            package.to_owned(),
        ),
        _ => (
            Kind::OtherPackages,
            Column::Packages,
            "other packages".to_owned(),
        ),
    };
    let origin = match kind {
        Kind::OtherPackages => "",
        _ => directory_of(&object.path),
    };
    Place {
        kind,
        column,
        title,
        origin: origin.to_owned(),
    }
}

/// The name of a distribution or package directory in one way of writing.
fn normal(name: &str) -> String {
    name.to_lowercase().replace(['-', '.'], "_")
}

/// Whether a package directory is the one of a distribution: `flash_attn` of `flash-attn`.
fn same(distribution: &str, directory: &str) -> bool {
    normal(distribution) == normal(directory)
}

/// Whether it is at least one of its: `onnxruntime` of `onnxruntime-gpu`, `jaxlib` of `jax`.
fn related(distribution: &str, directory: &str) -> bool {
    let first = |name: &str| {
        normal(name)
            .split('_')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let (a, b) = (first(distribution), first(directory));
    !a.is_empty() && !b.is_empty() && (a.starts_with(&b) || b.starts_with(&a))
}

/// Whether it is one of several files that make up one library; a stub is a library of its own.
fn is_part(object: &ObjectFacts) -> bool {
    object.library == "cudnn" && object.part != "stub"
}

/// Whether it is a library of NVIDIA's: one that a recipe knows, or that belongs to a CUDA release.
fn is_cuda(object: &ObjectFacts) -> bool {
    let library = object.library.as_str();
    let is_known = !library.is_empty()
        && !library.starts_with("torch")
        && !matches!(library, "python" | "glibc" | "libstdc++");
    let name = normal(file_name(&object.path));
    let is_own = !object.directory.is_empty() && name.contains(&normal(&object.directory));
    let belongs = !object.cuda.is_empty()
        && !library.starts_with("torch")
        && name.starts_with("lib")
        && !is_own;
    is_known || belongs || object.directory.starts_with("nvidia/")
}

/// How a library is written by its maker.
fn display_name(library: &str) -> &str {
    match library {
        "cudnn" => "cuDNN",
        library => library,
    }
}

/// A path up to a part of it, that part included: `/…/site-packages/nvidia`.
fn upwards(path: &str, part: &str) -> String {
    match path.find(part) {
        Some(at) => path[..at + part.len() - 1].to_owned(),
        None => directory_of(path).to_owned(),
    }
}
