//! Checks the image of a case with the program: a docker archive of the layers of a healthy image with PyTorch, and one more layer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{Item, file, sha256, symlink, tar};

use super::case::{Case, Kind};
use crate::program::{check, only_image, repository};

/// An image without faults: Python 3.11 and PyTorch 2.8 as stubs.
const SAMPLE: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";

/// The library of its Python.
const LIBRARY: &str = "/usr/local/lib/libpython3.11.so.1.0";

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

fn sample() -> BTreeMap<String, Vec<u8>> {
    members(&fs::read(repository(SAMPLE)).unwrap())
}

/// Writes the sample with a further layer and this `config`, as a docker archive.
pub fn write(path: &Path, config: &Value, layer: &[Item]) {
    let sample = sample();
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
    let layers = names.iter().zip(layers);
    items.extend(layers.map(|(name, layer)| file(name, layer)));
    fs::write(path, tar(&items)).unwrap();
}

/// The Python of the sample, which stands for every program.
fn stub() -> Vec<u8> {
    let sample = sample();
    let mut layers = sample
        .iter()
        .filter(|(name, _)| name.ends_with("layer.tar"));
    layers
        .find_map(|(_, layer)| members(layer).remove("usr/local/bin/python3.11"))
        .unwrap()
}

/// A program that starts, and its library.
pub fn program(path: &str) -> Vec<Item> {
    let library = library_beside(path).map(|it| symlink(&it, LIBRARY));
    std::iter::once(file(path, stub())).chain(library).collect()
}

/// Where a copy of the stub finds its library: `$ORIGIN/../lib`.
fn library_beside(program: &str) -> Option<String> {
    let prefix = Path::new(program).parent()?.parent()?;
    let library = prefix.join("lib").join(Path::new(LIBRARY).file_name()?);
    let library = library.to_str()?.to_owned();
    (!LIBRARY.ends_with(&library)).then_some(library)
}

/// What a strict check says of a case: all that an expectation may name.
pub fn found(case: &Case) -> Value {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("image.tar");
    let stub = stub();
    let item = |(path, it): (&String, &super::case::File)| match (it.kind, &it.link, &it.text) {
        (Some(Kind::Program), ..) => file(path, &stub),
        (None, Some(target), _) => symlink(path, target),
        (None, None, Some(text)) => file(path, text),
        _ => panic!(
            "{}: {path}: a strict check has programs, links and texts",
            case.title
        ),
    };
    let mut items: Vec<Item> = case.files.iter().map(item).collect();
    let programs = case
        .files
        .iter()
        .filter(|it| it.1.kind == Some(Kind::Program));
    let libraries: BTreeSet<String> = programs.filter_map(|it| library_beside(it.0)).collect();
    items.extend(libraries.iter().map(|it| symlink(it, LIBRARY)));
    write(&path, &case.config.to_json(), &items);
    let (code, report) = check(&path, &["--strict", "--no-config"]);
    let image = only_image(&report);
    let launch = &image["launch"];
    let gaps = image["judged"]["gaps"].as_array().into_iter().flatten();
    let gaps: Vec<&Value> = gaps.map(|it| &it["message"]).collect();
    let mut environment = json!(case.config.env);
    for change in launch["changes"].as_array().into_iter().flatten() {
        environment[change["variable"].as_str().unwrap()] = change["after"].clone();
    }
    json!({
        "strict": code,
        "command": launch["command"],
        "arguments": launch["arguments"],
        "program": launch["program"].as_str().unwrap_or_default(),
        "working_directory": launch["working_directory"],
        "user": launch["user"],
        "environment": environment,
        "gaps": gaps,
    })
}
