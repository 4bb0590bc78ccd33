//! The Dockerfiles of a repository.

use std::fs::{self, FileType};
use std::path::Path;

use imgcheck::FileKind;

/// How many levels of directories are searched.
const DEPTH: usize = 4;

/// The Dockerfiles below a directory, relative to it: those nearest to it first, and on one level `Dockerfile` before `Dockerfile.dev`.
pub fn below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut level = vec![String::new()];
    for _ in 0..DEPTH {
        let mut files = named(directory, &level, |it| !it.is_dir());
        files.retain(|it| {
            FileKind::of_name(it) == Some(FileKind::Dockerfile) && directory.join(it).is_file()
        });
        files.sort_by_key(|it| (!is_main(it), it.clone()));
        found.extend(files);
        level = named(directory, &level, |it| it.is_dir());
        level.retain(|it| it != "node_modules" && !it.ends_with("/node_modules"));
        level.iter_mut().for_each(|it| it.push('/'));
    }
    found
}

/// The entries of directories below another, except those whose names shell or YAML could take for something else, and hidden ones.
fn named(directory: &Path, paths: &[String], takes: fn(FileType) -> bool) -> Vec<String> {
    let entries = |path: &String| {
        let entries = fs::read_dir(directory.join(path)).into_iter().flatten();
        let entries = entries.flatten();
        let entries = entries.filter(|it| it.file_type().is_ok_and(takes));
        let names = entries.filter_map(|it| it.file_name().into_string().ok());
        let names = names.filter(|it| is_simple(it));
        names.map(|it| format!("{path}{it}")).collect::<Vec<_>>()
    };
    paths.iter().flat_map(entries).collect()
}

/// Whether a name needs no more than quotes, and is not hidden.
fn is_simple(name: &str) -> bool {
    let is_simple = |it: char| it.is_alphanumeric() || "._- ".contains(it);
    name.chars().all(is_simple) && !name.starts_with(['.', '-', ' ']) && !name.ends_with(' ')
}

fn is_main(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    matches!(name, "Dockerfile" | "Containerfile")
}
