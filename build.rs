//! Turns the YAML tables of `rules/knowledge/` into JSON, which is read ten times faster when the program starts, and
//! builds the program again when a rule or table is added or removed. `src/embedded.rs` embeds what it writes.

#![allow(clippy::print_stdout)] // it is how a build script talks to cargo

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=rules");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("rules/knowledge");
    let out = PathBuf::from(env::var("OUT_DIR")?).join("knowledge");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    convert(&root, &out)
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
