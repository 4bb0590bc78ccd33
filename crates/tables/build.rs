//! Prepares the rules and knowledge tables of `rules/`, so that the program parses no built-in YAML when it starts:
//!
//! - `knowledge/**/*.json`: each table as JSON, embedded by `src/lib.rs`;
//! - `rules.json`: all rules without their tests;
//! - `vocabulary.rs`: the names of components, claims and details as constants.
//!
//! Invalid YAML, an unquoted version and a rule without an id fail the build.

#![allow(clippy::print_stdout)] // This is how a build script talks to cargo.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::{Value, json};

/// The folder of `rules/` that holds tables instead of rules.
const KNOWLEDGE: &str = "knowledge";

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Outcome {
    let rules = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../rules");
    println!("cargo::rerun-if-changed={}", rules.display());
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let tables = out.join(KNOWLEDGE);
    if tables.exists() {
        fs::remove_dir_all(&tables)?;
    }
    convert(&rules.join(KNOWLEDGE), &tables)?;
    fs::write(out.join("rules.json"), collect_rules(&rules)?.to_string())?;
    let table = |name: &str| read(&rules.join(KNOWLEDGE).join(name));
    let vocabulary = vocabulary(&table("vocabulary.yaml")?, &table("libraries.yaml")?)?;
    fs::write(out.join("vocabulary.rs"), vocabulary)?;
    Ok(())
}

/// The entries of a directory in alphabetical order.
fn children(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let children = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut children = children.collect::<std::io::Result<Vec<_>>>()?;
    children.sort();
    Ok(children)
}

fn is_yaml(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "yaml")
}

/// Reads a YAML file. A number with a fraction is an error: an unquoted `12.10` would become 12.1.
fn read(path: &Path) -> Outcome<Value> {
    let located = |problem: String| format!("{}: {problem}", path.display());
    let data: Value = serde_saphyr::from_str(&fs::read_to_string(path)?)
        .map_err(|error| located(error.to_string()))?;
    match fraction(&data) {
        Some(number) => Err(located(format!("{number} is a number: quote versions")).into()),
        None => Ok(data),
    }
}

/// Writes each table of a directory as JSON.
fn convert(from: &Path, to: &Path) -> Outcome {
    fs::create_dir_all(to)?;
    for path in children(from)? {
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            convert(&path, &target)?;
        } else if is_yaml(&path) {
            fs::write(target.with_extension("json"), read(&path)?.to_string())?;
        }
    }
    Ok(())
}

/// All rules as `[file, rule]`, by path. Their tests, half of the text, stay in the YAML files.
fn collect_rules(rules: &Path) -> Outcome<Value> {
    let mut collected = Vec::new();
    for folder in children(rules)?
        .iter()
        .filter(|folder| !folder.ends_with(KNOWLEDGE))
    {
        for path in children(folder)?.iter().filter(|path| is_yaml(path)) {
            let mut rule = read(path)?;
            let fields = rule
                .as_object_mut()
                .filter(|fields| fields.contains_key("id"));
            let fields = fields.ok_or_else(|| format!("{}: not a rule", path.display()))?;
            fields.remove("tests");
            let name = path.strip_prefix(rules)?.to_str().unwrap_or_default();
            // The path is that of Windows where it is built there.
            collected.push(json!([name.replace('\\', "/"), rule]));
        }
    }
    Ok(Value::Array(collected))
}

/// The constants of `src/vocabulary.rs`.
fn vocabulary(words: &Value, libraries: &Value) -> Outcome<String> {
    let list = |table: &Value, key: &str| -> Outcome<Vec<String>> {
        let items = table[key]
            .as_array()
            .ok_or_else(|| format!("no list `{key}`"))?;
        Ok(items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect())
    };
    let rows = libraries["libraries"]
        .as_array()
        .ok_or("no list `libraries`")?;
    let names = rows.iter().filter_map(|row| row["library"].as_str());
    let everywhere = libraries["everywhere"].as_array().into_iter().flatten();
    let readings = rows
        .iter()
        .filter_map(|row| row["readings"].as_array())
        .flatten();
    let facts = readings
        .chain(everywhere)
        .filter_map(|reading| reading["fact"].as_str());
    let components = list(words, "components")?;
    let versions = components.iter().cloned().chain(["cuda".to_owned()]);
    let sorted = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>();
    let unidentified = libraries["unidentified"]["library"].as_str();
    let mut text = String::new();
    for (name, meaning, words) in [
        ("COMPONENTS", "Components of a stack.", components.clone()),
        (
            "VERSIONS",
            "Components with a version, and `cuda`.",
            versions.collect(),
        ),
        (
            "CLAIM_SUBJECTS",
            "What a claim can be about.",
            list(words, "claim-subjects")?,
        ),
        ("DETAILS", "Facts of a component or library by name.", {
            let details = list(words, "details")?;
            sorted(
                details
                    .into_iter()
                    .chain(facts.map(str::to_owned))
                    .collect(),
            )
        }),
        (
            "LIBRARIES",
            "Libraries that are identified by their exports.",
            { sorted(names.chain(unidentified).map(str::to_owned).collect()) },
        ),
    ] {
        writeln!(
            text,
            "/// {meaning}\npub const {name}: &[&str] = &{words:?};"
        )?;
    }
    Ok(text)
}

/// The first number with a fraction.
fn fraction(data: &Value) -> Option<String> {
    match data {
        Value::Number(number) if number.is_f64() => Some(number.to_string()),
        Value::Array(items) => items.iter().find_map(fraction),
        Value::Object(fields) => fields.values().find_map(fraction),
        _ => None,
    }
}
