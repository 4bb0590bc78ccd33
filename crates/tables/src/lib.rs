//! The rules and knowledge tables that are built into the program: the files of `rules/`. Only a change there makes them anew.

pub mod vocabulary;

use include_dir::{Dir, include_dir};
use serde::de::DeserializeOwned;

static RULES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../rules");
static TABLES: Dir<'static> = include_dir!("$OUT_DIR/knowledge");

/// All built-in rules without their tests, as a JSON list of `[file, rule]`.
pub const COMPILED_RULES: &str = include_str!(concat!(env!("OUT_DIR"), "/rules.json"));

/// A knowledge table as JSON, by its path below `rules/knowledge/` without an ending, such as `cuda` or `tags/aws`: the
/// same data as the YAML file, read ten times faster.
pub fn table(path: &str) -> Option<&'static str> {
    TABLES.get_file(format!("{path}.json"))?.contents_utf8()
}

/// A knowledge table as a value, by its path as in [`table`].
///
/// # Errors
/// There is no such table, or it is not one of these values, with the name of its file.
pub fn read<T: DeserializeOwned>(path: &str) -> Result<T, String> {
    let text = table(path).ok_or("the built-in table is missing".to_owned());
    let value = text.and_then(|it| serde_json::from_str(it).map_err(|error| error.to_string()));
    value.map_err(|problem| format!("rules/knowledge/{path}.yaml: {problem}"))
}

/// The names of the tables that are directly in `rules/knowledge/`.
pub fn tables() -> impl Iterator<Item = &'static str> {
    TABLES
        .files()
        .filter_map(|file| file.path().to_str()?.strip_suffix(".json"))
}

/// The paths of the tables that are directly in a directory of `rules/knowledge/`, as [`table`] takes them, in order of their names.
pub fn tables_in(directory: &str) -> Vec<&'static str> {
    let files = TABLES.get_dir(directory).into_iter().flat_map(Dir::files);
    let mut paths: Vec<&str> = files
        .filter_map(|file| file.path().to_str()?.strip_suffix(".json"))
        .collect();
    paths.sort_unstable();
    paths
}

/// The text of one file, by its path below `rules/`, such as `knowledge/cuda.yaml`.
pub fn text(path: &str) -> Option<&'static str> {
    RULES.get_file(path)?.contents_utf8()
}

/// All files below a directory of `rules/` (all there are, if it is empty), recursively, by path, in order of their
/// names.
pub fn files(directory: &str) -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    let start = match directory {
        "" => Some(&RULES),
        directory => RULES.get_dir(directory),
    };
    if let Some(start) = start {
        collect(start, &mut found);
    }
    found.sort_unstable();
    found
}

fn collect(directory: &Dir<'static>, found: &mut Vec<(&'static str, &'static str)>) {
    for file in directory.files() {
        if let (Some(path), Some(text)) = (file.path().to_str(), file.contents_utf8()) {
            found.push((path, text));
        }
    }
    for child in directory.dirs() {
        collect(child, found);
    }
}
