//! `--strict` on images with the entrypoints that half the field uses.

mod images;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::tempdir;
use testkit::{Item, file, sha256, symlink, tar};

use crate::program::{check, only_image, repository};
use images::Case;

/// An image without faults: Python 3.11 and PyTorch 2.8 as stubs.
const SAMPLE: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";

/// Tools of a distribution that the scripts call.
const TOOLS: &[&str] = &[
    "bash",
    "dash",
    "env",
    "tini",
    "mkdir",
    "cat",
    "id",
    "dirname",
    "basename",
    "readlink",
    "sleep",
    "cp",
    "ln",
    "rm",
    "date",
    "grep",
    "sed",
    "awk",
    "find",
    "ls",
    "df",
    "tr",
    "cut",
    "sort",
    "head",
    "printenv",
    "nohup",
    "ssh-keygen",
    "chmod",
    "whoami",
    "curl",
    "jq",
    "usermod",
];

/// The members of a tar archive.
fn members(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = ::tar::Archive::new(bytes);
    let mut members = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut content).unwrap();
        members.insert(name, content);
    }
    members
}

/// Writes the sample with a further layer and this `config`, as a docker archive.
pub fn write(path: &Path, config: &Value, layer: &[Item]) {
    let sample = members(&fs::read(repository(SAMPLE)).unwrap());
    let manifest: Value = serde_json::from_slice(&sample["manifest.json"]).unwrap();
    let mut names: Vec<String> = serde_json::from_value(manifest[0]["Layers"].clone()).unwrap();
    let mut document: Value =
        serde_json::from_slice(&sample[manifest[0]["Config"].as_str().unwrap()]).unwrap();
    let mut layers: Vec<Vec<u8>> = names.iter().map(|name| sample[name].clone()).collect();
    layers.push(tar(layer));
    names.push("entry/layer.tar".to_owned());
    document["config"] = config.clone();
    document["rootfs"]["diff_ids"] = layers.iter().map(|it| sha256(it)).collect();
    document["history"] = layers
        .iter()
        .map(|_| json!({"created_by": "COPY"}))
        .collect();
    let document = document.to_string();
    let name = format!(
        "{}.json",
        sha256(document.as_bytes()).replace("sha256:", "")
    );
    let manifest = json!([{"Config": name, "RepoTags": ["team/app:1"], "Layers": names}]);
    let mut items = vec![
        file("manifest.json", manifest.to_string()),
        file(&name, document),
    ];
    items.extend(
        names
            .iter()
            .zip(layers)
            .map(|(name, layer)| file(name, layer)),
    );
    fs::write(path, tar(&items)).unwrap();
}

fn build(path: &Path, case: &Case, extra: Option<(&str, &str)>) {
    let sample = members(&fs::read(repository(SAMPLE)).unwrap());
    let python = sample
        .iter()
        .filter(|(name, _)| name.ends_with("layer.tar"));
    let stub = python
        .map(|(_, layer)| members(layer))
        .find_map(|mut layer| layer.remove("usr/local/bin/python3.11"))
        .unwrap();
    let mut items: BTreeMap<String, Item> = BTreeMap::new();
    let mut add = |path: &str, item: Item| {
        items.insert(path.to_owned(), item);
    };
    for tool in TOOLS {
        let path = format!("usr/bin/{tool}");
        add(&path, file(&path, &stub));
    }
    add("usr/bin/sh", symlink("usr/bin/sh", "dash"));
    add("usr/sbin/ldconfig", file("usr/sbin/ldconfig", &stub));
    for program in &case.programs {
        // The Python of a virtual environment is a link, beside which it finds its library.
        let item = match program.contains("/.venv/") {
            true => symlink(program, "/usr/local/bin/python3.11"),
            false => file(program, &stub),
        };
        add(program, item);
    }
    for (path, text) in case.files.iter().copied().chain(extra) {
        add(path, file(path, text));
    }
    let items: Vec<Item> = items.into_values().collect();
    write(path, &case.config, &items);
}

/// What a report says of the start, if it is not what starts.
fn difference(case: &Case, launch: &Value) -> Option<String> {
    let changes = launch["changes"].as_array().unwrap();
    let after = |name: &str| {
        let change = changes.iter().find(|it| it["variable"] == name)?;
        Some(change["after"].as_str().unwrap_or_default())
    };
    let has = |(name, value): &(&str, &str)| after(name) == Some(*value);
    let agrees = launch["arguments"] == json!(case.starts) && case.environment.iter().all(has);
    (!agrees).then(|| format!("{}: {launch:#}", case.name))
}

#[test]
fn strict_is_silent_on_known_entrypoints() {
    let scratch = tempdir().unwrap();
    let path = scratch.path().join("image.tar");
    let mut problems = Vec::new();
    for case in images::all() {
        build(&path, &case, None);
        let (code, report) = check(&path, &["--strict", "--no-config"]);
        let image = only_image(&report);
        let gaps = &image["judged"]["gaps"];
        if code != 0 || gaps.as_array().is_some_and(|it| !it.is_empty()) {
            problems.push(format!(
                "{}: exit code {code}, {gaps:#} {}",
                case.name, image["findings"]
            ));
        }
        problems.extend(difference(&case, &image["launch"]));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_hostile_variation_of_a_known_entrypoint_is_a_gap() {
    let scratch = tempdir().unwrap();
    let path = scratch.path().join("image.tar");
    let mut problems = Vec::new();
    for case in images::all() {
        let (file, text, named) = case.hostile;
        build(&path, &case, Some((file, text)));
        let (code, report) = check(&path, &["--strict", "--no-config"]);
        let gaps = only_image(&report)["judged"]["gaps"].to_string();
        if code != 3 || !gaps.contains(named) {
            problems.push(format!("{}: exit code {code}, {gaps}", case.name));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
