//! The whole program on an image that has a hostile text wherever there can be one.

use std::fs;
use std::io::Read;
use std::path::Path;

use imgcheck_base::digest::sha256;
use serde_json::{Value, json};

use super::payloads::harmless;
use super::{Shape, compare, hidden, shape};
use crate::program::{imgcheck, repository};
use testkit::{Item, file, hex, symlink, write_archive};

/// Texts that an image can have in a name: neither zero bytes nor `..`.
const TEXTS: [&str; 3] = [
    "\u{1b}[2J\u{9b}1m\u{7}\u{202e}\u{200b}\u{e0041}\u{2028}\u{ffff}",
    "x\n::error::y\n  ::add-mask::z\nPASS  fine\n##[error]w",
    "<img src=x onerror=alert(1)>\"'`[a](javascript:b)`|@team {0} %0A",
];

/// A SONAME, as long as the one whose place it takes.
const SONAME: &[u8] = b"libcudart.so.12\0";
const HOSTILE_SONAME: &[u8] = b"\x1b[2J\n::error::z\0";

/// Arguments, and the check of their output.
type Run = (&'static [&'static str], Shape);

/// What is run in a directory with the image, and the format of what comes out.
const RUNS: [Run; 25] = [
    (&["check", "image.tar"], shape::lines),
    (&["check", "image.tar", "--color", "always"], shape::lines),
    (&["check", "image.tar", "-f", "json"], shape::json),
    (&["check", "image.tar", "-f", "sarif"], shape::sarif),
    (&["check", "image.tar", "-f", "junit"], shape::junit),
    (&["check", "image.tar", "-f", "github"], shape::github),
    (&["check", "image.tar", "-f", "gitlab"], shape::gitlab),
    (&["check", "image.tar", "-f", "markdown"], shape::markdown),
    (&["check", "image.tar", "-f", "cyclonedx"], shape::cyclonedx),
    (&["check", "image.tar", "--as", "TEXT"], shape::lines),
    (&["check", "TEXT"], shape::lines),
    (
        &["check", "image.tar", "no.tar", "-f", "markdown"],
        shape::markdown,
    ),
    (&["facts", "image.tar"], shape::lines),
    (&["facts", "image.tar", "-f", "json"], shape::json),
    (&["tree", "image.tar"], shape::lines),
    (&["tree", "image.tar", "-f", "dot"], shape::dot),
    (&["tree", "image.tar", "TEXT"], shape::lines),
    (&["diff", "other.tar", "image.tar"], shape::lines),
    (
        &["diff", "other.tar", "image.tar", "-f", "json"],
        shape::json,
    ),
    (
        &["diff", "other.tar", "image.tar", "-f", "markdown"],
        shape::markdown,
    ),
    (
        &["claims", "TEXT", "pytorch:TEXT"],
        shape::lines_without_help,
    ),
    (&["lint", "Dockerfile", "TEXT"], shape::lines),
    (&["rules", "show", "TEXT"], shape::lines),
    (&["cache", "info", "--cache-dir", "TEXT"], shape::lines),
    (&["check", "image.tar", "--format", "TEXT"], shape::lines),
];

/// What a run left: its exit code, its standard output and error, the summary of the step and the baseline.
struct Outcome {
    code: Option<i32>,
    output: String,
    error: String,
    summary: String,
    baseline: String,
}

fn run(text: &str, arguments: &[&str]) -> Outcome {
    let directory = tempfile::tempdir().unwrap();
    let scratch = directory.path();
    write_archive(&scratch.join("image.tar"), &archive(text));
    fs::copy(
        repository("testdata/sample/pytorch-cuda-v2.9.tar"),
        scratch.join("other.tar"),
    )
    .unwrap();
    let instruction = text.replace('\n', " ");
    let dockerfile = format!(
        "FROM pytorch/pytorch:2.8.0-cuda11.8-cudnn9-runtime\nRUN pip install torch==2.8.0 torchvision==0.20.0 # {instruction}\n"
    );
    fs::write(scratch.join("Dockerfile"), dockerfile).unwrap();
    let arguments = arguments.iter().map(|word| word.replace("TEXT", text));
    let arguments: Vec<String> = arguments.collect();
    let mut command = imgcheck();
    command
        .current_dir(scratch)
        .env("GITHUB_STEP_SUMMARY", "summary.md")
        .args(&arguments);
    if arguments[0] == "check" {
        command.args(["--write-baseline", "baseline.json"]);
    }
    let ran = command.output().unwrap();
    let utf8 = |bytes| String::from_utf8(bytes).unwrap();
    let written = |name| fs::read_to_string(scratch.join(name)).unwrap_or_default();
    Outcome {
        code: ran.status.code(),
        output: utf8(ran.stdout),
        error: utf8(ran.stderr),
        summary: written("summary.md"),
        baseline: written("baseline.json"),
    }
}

/// The sample image, with the text in place of names and versions.
fn archive(text: &str) -> Vec<Item> {
    let line = text.replace('\n', "\r");
    let layers: Vec<Vec<u8>> = layers(&repository("testdata/sample/pytorch-cuda-v2.9.tar"))
        .into_iter()
        .map(|items| {
            let items: Vec<Item> = items
                .into_iter()
                .map(|item| hostile(item, text, &line))
                .collect();
            testkit::tar(&items)
        })
        .collect();
    let diff_ids: Vec<String> = layers.iter().map(|layer| sha256(layer)).collect();
    let history: Vec<Value> = layers.iter().map(|_| json!({"created_by": text})).collect();
    let mut labels = json!({"org.opencontainers.image.title": "pytorch", "org.opencontainers.image.version": text});
    labels[text] = json!(text);
    let env = [
        format!("PYTORCH_VERSION={text}"),
        "CUDA_VERSION=11.8".to_owned(),
        format!("LD_LIBRARY_PATH=/{}", text.replace(':', "_")),
        text.to_owned(),
    ];
    let config = json!({
        "architecture": "amd64", "os": "linux", "author": text,
        "config": {"Labels": labels, "Env": env, "Cmd": ["python3", text]},
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
        "history": history,
    });
    let config = config.to_string().into_bytes();
    let names: Vec<String> = layers
        .iter()
        .map(|layer| format!("{}/layer.tar", hex(layer)))
        .collect();
    let config_name = format!("{}.json", hex(&config));
    let manifest =
        json!([{"Config": config_name, "RepoTags": ["pytorch-cuda:v2.9"], "Layers": names}]);
    let layers = names
        .iter()
        .zip(&layers)
        .map(|(name, layer)| file(name, layer));
    let mut items: Vec<Item> = layers.collect();
    items.push(file(&config_name, config));
    items.push(file("manifest.json", manifest.to_string()));
    items
}

/// One entry, with the text in its name or in its content.
fn hostile(item: Item, text: &str, line: &str) -> Item {
    let Item::File(path, content) = item else {
        return item;
    };
    if path.ends_with("METADATA") && path.contains("nccl") {
        return file(
            &path,
            String::from_utf8(content).unwrap().replace("2.27.3", line),
        );
    }
    if path.ends_with("libtorch_cuda.so") && !text.starts_with('X') {
        return Item::File(path, replaced(&content, SONAME, HOSTILE_SONAME));
    }
    if path.ends_with("libtorch_cuda.so") {
        return Item::File(path, replaced(&content, SONAME, b"YYYYYYYYYYYYYYY\0"));
    }
    if path.ends_with("libnccl.so.2") {
        return Item::File(path.replace("libnccl", &format!("{text}/libnccl")), content);
    }
    Item::File(path, content)
}

fn replaced(bytes: &[u8], what: &[u8], with: &[u8]) -> Vec<u8> {
    assert_eq!(what.len(), with.len());
    let at = bytes.windows(what.len()).position(|window| window == what);
    let at = at.expect("the sample needs this library");
    [&bytes[..at], with, &bytes[at + what.len()..]].concat()
}

/// The layers of a docker archive, lowest first.
fn layers(path: &Path) -> Vec<Vec<Item>> {
    let mut files = std::collections::HashMap::new();
    for entry in tar::Archive::new(fs::File::open(path).unwrap())
        .entries()
        .unwrap()
    {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        files.insert(name, bytes);
    }
    let manifest: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    let names = manifest[0]["Layers"].as_array().unwrap().iter();
    names
        .map(|name| items(&files[name.as_str().unwrap()]))
        .collect()
}

fn items(layer: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    for entry in tar::Archive::new(layer).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let target = entry.link_name().unwrap();
        let target = target.map(|target| target.display().to_string());
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        match entry.header().entry_type() {
            tar::EntryType::Regular => items.push(file(&path, bytes)),
            tar::EntryType::Symlink => items.push(symlink(&path, &target.unwrap())),
            tar::EntryType::Directory => items.push(testkit::directory(&path)),
            other => panic!("{other:?} in the sample"),
        }
    }
    items
}

#[test]
fn a_text_of_an_image_stays_a_text_in_all_that_is_printed() {
    let mut wrong = Vec::new();
    for text in TEXTS {
        for (arguments, shape) in RUNS {
            let tried = std::panic::catch_unwind(|| check(text, arguments, shape));
            wrong.extend(tried.err().map(|_| format!("{arguments:?} of {text:?}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn check(text: &str, arguments: &[&str], shape: Shape) {
    let (name, letters) = (arguments.join(" "), harmless(text));
    let (outcome, expected) = (run(text, arguments), run(&letters, arguments));
    let error = &outcome.error;
    assert_eq!(outcome.code, expected.code, "{name}: {error}");
    assert!(!error.contains("panicked"), "{name}: {error}");
    if !outcome.output.is_empty() {
        compare(&name, text, &outcome.output, &expected.output, shape);
    }
    compare(&name, text, error, &expected.error, shape::lines);
    if !outcome.summary.is_empty() {
        compare(
            &name,
            text,
            &outcome.summary,
            &expected.summary,
            shape::markdown,
        );
    }
    assert_eq!(hidden(&outcome.baseline), "", "{name}");
}
