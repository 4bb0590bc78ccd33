//! Turns the YAML tables of `rules/knowledge/` into JSON, which is read ten times faster when the program starts, and
//! builds the program again when a rule or table is added or removed. `src/embedded.rs` embeds what it writes.
//!
//! And computes the version of the layer facts, under which they are cached.

#![allow(clippy::print_stdout)] // it is how a build script talks to cargo

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use xxhash_rust::xxh3::Xxh3;

/// All that decides what the facts of a layer are and how they are written: the code, its crates and its data. Facts that were
/// kept by a program that differs in any of it are not read, so that nobody has to remember to say so. That a comment changes
/// the version, too, costs one reading of each layer. `tests/layering.rs` sees to it that no module is missing.
const FACTS: [&str; 8] = [
    "Cargo.lock",
    "rules/knowledge/files.yaml",
    "rules/knowledge/libraries.yaml",
    "src/archive",
    "src/elf",
    "src/embedded.rs",
    "src/layer",
    "src/yaml.rs",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=rules");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?).join("knowledge");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    convert(&root.join("rules/knowledge"), &out)?;
    facts_version(&root)
}

/// Gives the program a hash of all files of [`FACTS`] as the environment variable `IMGCHECK_FACTS_CODE`.
fn facts_version(root: &Path) -> Result<(), Box<dyn Error>> {
    let mut hasher = Xxh3::new();
    for path in FACTS {
        println!("cargo::rerun-if-changed={path}");
        hash(&root.join(path), &mut hasher).map_err(|error| format!("{path}: {error}"))?;
    }
    println!(
        "cargo::rustc-env=IMGCHECK_FACTS_CODE={:032x}",
        hasher.digest128()
    );
    Ok(())
}

/// Takes a file, or all files of a directory in the order of their names.
fn hash(path: &Path, hasher: &mut Xxh3) -> std::io::Result<()> {
    if path.is_dir() {
        let children = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
        let mut children = children.collect::<std::io::Result<Vec<_>>>()?;
        children.sort();
        return children.iter().try_for_each(|child| hash(child, hasher));
    }
    let content = fs::read(path)?;
    hasher.update(&(content.len() as u64).to_le_bytes());
    hasher.update(&content);
    Ok(())
}

fn convert(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else {
            continue;
        };
        if path.is_dir() {
            convert(&path, &to.join(name))?;
        } else if path.extension().is_some_and(|end| end == "yaml") {
            let place = |problem: String| format!("{}: {problem}", path.display());
            let data: serde_json::Value = serde_saphyr::from_str(&fs::read_to_string(&path)?)
                .map_err(|error| place(error.to_string()))?;
            if let Some(number) = fraction(&data) {
                return Err(place(format!("{number} is read as a number: quote versions")).into());
            }
            fs::write(to.join(name).with_extension("json"), data.to_string())?;
        }
    }
    Ok(())
}

/// A number with a fraction: a version that nobody quoted, of which `12.10` would become 12.1.
fn fraction(data: &serde_json::Value) -> Option<String> {
    match data {
        serde_json::Value::Number(number) if number.is_f64() => Some(number.to_string()),
        serde_json::Value::Array(items) => items.iter().find_map(fraction),
        serde_json::Value::Object(fields) => fields.values().find_map(fraction),
        _ => None,
    }
}
