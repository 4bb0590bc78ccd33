//! Whether the files that a package lists are there, and whole.

use crate::stack::catalogue::{Catalogue, PackageRow};
use crate::stack::inventory::Inventory;
use imgcheck_base::lexical::{directory_of, name_of};
use imgcheck_elf::Refusal;
use imgcheck_image::{Content, Node};

/// Directories that images leave out to be smaller, and that nothing imports.
pub(super) const LEFT_OUT: [&str; 9] = [
    "test",
    "tests",
    "doc",
    "docs",
    "example",
    "examples",
    "benchmark",
    "benchmarks",
    "__pycache__",
];

/// Whether a list has files of the component of a row, and none of them can be used.
pub(super) fn is_removed(
    inventory: &Inventory,
    catalogue: &Catalogue,
    row: &PackageRow,
    paths: impl Iterator<Item = impl AsRef<str>>,
) -> bool {
    let mut own = paths.filter(|path| catalogue.is_file_of(&row.component, path.as_ref()));
    let is_missing = |path: &str| match path.ends_with(".py") {
        true => is_missing_module(inventory, path),
        false => match inventory.root.resolve(path) {
            Ok(file) => is_damaged(file),
            Err(_) => true,
        },
    };
    own.next()
        .is_some_and(|first| is_missing(first.as_ref()) && own.all(|it| is_missing(it.as_ref())))
}

/// Whether a file is a library that no loader can use: empty, or cut off.
pub(super) fn is_damaged(file: Node) -> bool {
    match file.content() {
        Some(Content::BrokenElf { .. }) => true,
        Some(Content::Elf(elf)) => elf.refusal == Some(Refusal::Truncated),
        _ => !file.is_directory() && file.size() == 0,
    }
}

/// Whether a module has neither its file nor another one in place of it, such as a compiled one.
pub(super) fn is_missing_module(inventory: &Inventory, path: &str) -> bool {
    if inventory.root.resolve(path).is_ok() {
        return false;
    }
    let stem = name_of(path).split('.').next().unwrap_or_default();
    let directory = inventory.root.resolve(directory_of(path));
    let is_same = |name: &str| name.split('.').next() == Some(stem) && name != stem;
    !directory.is_ok_and(|it| it.children().any(|it| is_same(it.name())))
}
