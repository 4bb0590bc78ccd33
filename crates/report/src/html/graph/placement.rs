//! The card of the picture that a file belongs to, by its origin.

use imgcheck_base::lexical::{self, name_of};
use imgcheck_model::process::cause::FoundBy;
use imgcheck_model::process::facts::ObjectFacts;
use imgcheck_model::process::tree::ProcessTree;

/// The columns of the picture, left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Column {
    /// The program and system libraries.
    Program,
    /// Imported packages.
    Imports,
    /// Libraries of packages, such as torch/lib.
    Packages,
    /// CUDA, cuDNN, NCCL and other NVIDIA libraries.
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

    pub fn heading(self) -> &'static str {
        match self {
            Column::Program => "Program and system",
            Column::Imports => "Imports",
            Column::Packages => "Package libraries",
            Column::Cuda => "CUDA libraries",
        }
    }
}

/// The identity and title of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placement {
    pub kind: CardKind,
    pub column: Column,
    pub title: String,
    /// The directory of its files.
    pub origin: String,
}

/// The contents of a card. Files with equal kinds share a card.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum CardKind {
    /// The executable, its library and its own modules.
    Program,
    /// Libraries of the distribution.
    System,
    /// The modules of an imported package.
    Import(String),
    /// The libraries of an imported package.
    Package(String),
    /// Packages that are not imported directly.
    OtherPackages,
    /// A library made of several files, such as cuDNN, in any directory.
    Set(String),
    /// CUDA libraries from one package or directory.
    Cuda(String),
    /// Other libraries in one directory.
    Directory(String),
    /// Copies in one directory that are not loaded because others are found first.
    Shadowed(String),
    /// Libraries that could not be loaded for the same reason and the same requester.
    Missing {
        reason: LoadFailure,
        /// Path of the file that needs them; empty if Python or the program opens them.
        needed_by: String,
        /// The package whose import leads there.
        package: String,
    },
    /// Missing libraries that the program can do without.
    Optional,
}

/// Why a library could not be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum LoadFailure {
    /// No file with its name was found.
    NotFound,
    /// Only files for a different architecture were found.
    WrongArchitecture,
    /// The file that was found is not a usable library.
    Unusable,
    /// A library opened by its path could not be loaded.
    Unloadable,
}

impl LoadFailure {
    pub fn text(self) -> &'static str {
        match self {
            LoadFailure::NotFound => "not found",
            LoadFailure::WrongArchitecture => "wrong architecture",
            LoadFailure::Unusable => "cannot be used",
            LoadFailure::Unloadable => "cannot be loaded",
        }
    }
}

/// The directory of a path.
pub(super) fn directory_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((directory, _)) => directory,
        None => "",
    }
}

/// A path without `.` and `..`; links are not followed.
pub(super) fn normal_path(path: &str) -> String {
    match path.contains("/.") {
        true => format!("/{}", lexical::normalized(path)),
        false => path.to_owned(),
    }
}

/// The last three components of a directory: `…/nvidia/cudnn/lib`.
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
pub(super) fn of(process: &ProcessTree, object: &ObjectFacts, prefix: &str) -> Placement {
    let path = object.path.as_str();
    let directory = directory_of(path);
    let place = |kind, column, title: &str, origin: &str| Placement {
        kind,
        column,
        title: title.to_owned(),
        origin: origin.to_owned(),
    };
    if object.found_by == FoundBy::Executable
        || object.library == "python"
        || directory.ends_with("/lib-dynload")
    {
        return place(CardKind::Program, Column::Program, &process.name, directory);
    }
    if is_part(object) {
        let title = display_name(&object.library);
        let kind = CardKind::Set(object.library.clone());
        return place(kind, Column::Cuda, title, directory);
    }
    let package = object.directory.split('/').next().unwrap_or_default();
    if is_cuda(object) {
        return match package {
            "nvidia" => place(
                CardKind::Cuda("nvidia".to_owned()),
                Column::Cuda,
                "NVIDIA packages",
                &upwards(path, "/nvidia/"),
            ),
            "" => place(
                CardKind::Cuda(directory.to_owned()),
                Column::Cuda,
                "CUDA libraries",
                directory,
            ),
            package => place(
                CardKind::Cuda(directory.to_owned()),
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
                CardKind::Directory(directory.to_owned()),
                Column::Packages,
                "program libraries",
                directory,
            ),
            false => place(
                CardKind::System,
                Column::Program,
                "System libraries",
                directory,
            ),
        };
    }
    in_package(process, object, package)
}

/// The card of a package's own file.
fn in_package(process: &ProcessTree, object: &ObjectFacts, package: &str) -> Placement {
    let is_imported = |name: &str| process.imports.iter().any(|it| it.package == name);
    let own = is_imported(&object.package) && related(&object.package, package);
    let of_another = process.imports.iter().any(|it| same(&it.package, package));
    let is_module = object.found_by == FoundBy::Path && !name_of(&object.path).starts_with("lib");
    let (kind, column, title) = match own {
        true if is_module => (
            CardKind::Import(object.package.clone()),
            Column::Imports,
            format!("import {}", object.package),
        ),
        own if own || of_another => (
            CardKind::Package(package.to_owned()),
            Column::Packages,
            package.to_owned(),
        ),
        _ => (
            CardKind::OtherPackages,
            Column::Packages,
            "other packages".to_owned(),
        ),
    };
    let origin = match kind {
        CardKind::OtherPackages => "",
        _ => directory_of(&object.path),
    };
    Placement {
        kind,
        column,
        title,
        origin: origin.to_owned(),
    }
}

/// Normalizes the name of a distribution or package directory.
fn normal(name: &str) -> String {
    name.to_lowercase().replace(['-', '.'], "_")
}

/// Whether a package directory belongs to a distribution: `flash_attn` of `flash-attn`.
fn same(distribution: &str, directory: &str) -> bool {
    normal(distribution) == normal(directory)
}

/// Whether a package directory is related to a distribution: `onnxruntime` of `onnxruntime-gpu`, `jaxlib` of `jax`.
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

/// Whether the file is part of a library made of several files; a stub is not.
fn is_part(object: &ObjectFacts) -> bool {
    object.library == "cudnn" && object.part != "stub"
}

/// Known libraries that are not NVIDIA's.
const OF_OTHERS: [&str; 9] = [
    "glibc",
    "glibc-loader",
    "hip",
    "libfabric",
    "libstdc++",
    "mpi",
    "python",
    "rccl",
    "ucx",
];

/// Whether it is an NVIDIA library: a known one, or one that belongs to a CUDA release.
fn is_cuda(object: &ObjectFacts) -> bool {
    let library = object.library.as_str();
    let is_known =
        !library.is_empty() && !library.starts_with("torch") && !OF_OTHERS.contains(&library);
    let name = normal(name_of(&object.path));
    let is_own = !object.directory.is_empty() && name.contains(&normal(&object.directory));
    let belongs = !object.cuda.is_empty()
        && !library.starts_with("torch")
        && name.starts_with("lib")
        && !is_own;
    is_known || belongs || object.directory.starts_with("nvidia/")
}

/// The official spelling of a library name.
fn display_name(library: &str) -> &str {
    match library {
        "cudnn" => "cuDNN",
        library => library,
    }
}

/// A path up to and including `part`: `/…/site-packages/nvidia`.
fn upwards(path: &str, part: &str) -> String {
    match path.find(part) {
        Some(at) => path[..at + part.len() - 1].to_owned(),
        None => directory_of(path).to_owned(),
    }
}
