//! Where the bytes of an image are, as the command shows it.

use std::io::Read;
use std::path::Path;

use serde_json::Value;
use tempfile::tempdir;

use testkit::{Image, docker_archive, file, write_archive};

use crate::program::{imgcheck, repository};

const SAMPLE: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";

/// Exit code and standard output.
fn run(arguments: &[&str]) -> (i32, String) {
    let output = imgcheck().args(arguments).output().unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

/// Bytes of the files in the layers of an archive, as `tar` counts them.
fn bytes_of(archive: &Path) -> u64 {
    let mut outer = tar::Archive::new(std::fs::File::open(archive).unwrap());
    let mut bytes = 0;
    for entry in outer.entries().unwrap() {
        let mut entry = entry.unwrap();
        let is_layer = entry
            .path()
            .unwrap()
            .to_str()
            .unwrap()
            .contains("blobs/sha256")
            || entry.path().unwrap().ends_with("layer.tar");
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        if !is_layer || content.len() < 512 {
            continue;
        }
        for file in tar::Archive::new(&content[..]).entries().unwrap() {
            match file {
                Ok(file) if file.header().entry_type().is_file() => bytes += file.size(),
                Ok(_) => {}
                // A configuration.
                Err(_) => break,
            }
        }
    }
    bytes
}

#[test]
fn all_bytes_are_counted_once() {
    let archive = repository(SAMPLE);
    let (code, text) = run(&[
        "size",
        archive.to_str().unwrap(),
        "-f",
        "json",
        "--gpu",
        "h100",
    ]);
    assert_eq!(code, 0);
    let report: Value = serde_json::from_str(&text).unwrap();
    let image = &report["images"][0];
    let sum = |of: &Value, key: &str| {
        of.as_array()
            .unwrap()
            .iter()
            .map(|it| it[key].as_u64().unwrap())
            .sum::<u64>()
    };
    let bytes = image["bytes"].as_u64().unwrap();
    assert_eq!(bytes, bytes_of(&archive));
    assert_eq!(sum(&image["layers"], "bytes"), bytes);
    let seen = sum(&image["packages"], "bytes") + image["rest"].as_u64().unwrap();
    assert_eq!(seen + sum(&image["layers"], "replaced"), bytes);
    let unused = &image["causes"][0];
    assert_eq!(unused["cause"], "gpu-code");
    assert!(unused["bytes"].as_u64() < image["gpu_code"]["bytes"].as_u64());
    assert_eq!(image["gpu_code"]["gpus"][0], "H100");
}

#[test]
fn a_policy_limits_the_size() {
    let directory = tempdir().unwrap();
    let config = directory.path().join("imgcheck.yaml");
    let archive = repository(SAMPLE);
    let check = |text: &str| {
        std::fs::write(&config, text).unwrap();
        run(&[
            archive.to_str().unwrap(),
            "--config",
            config.to_str().unwrap(),
        ])
    };
    let (code, text) = check("max-size: 10kB\n");
    assert_eq!(code, 1);
    assert!(
        text.contains("error[policy-size]: the files of all layers have"),
        "{text}"
    );
    assert_eq!(check("max-size: 1GB\nmax-duplicate: 0\n").0, 0);
    assert_eq!(check("max-size: large\n").0, 2);
}

/// Files that a build leaves behind, each with the cause and the number of bytes.
const LEFT: [(&str, &str, usize); 9] = [
    ("root/.cache/pip/http/a", "cache", 1001),
    ("home/me/.cache/uv/b", "cache", 1002),
    ("opt/conda/pkgs/c", "cache", 1003),
    ("root/.conda/pkgs/d", "cache", 1004),
    ("var/cache/apt/archives/e.deb", "cache", 1005),
    ("var/lib/apt/lists/f", "cache", 1006),
    ("usr/local/lib/libcublas_static.a", "static", 1007),
    ("app/replaced", "replaced", 1008),
    ("app/kept", "", 1009),
];

#[test]
fn each_cause_has_its_bytes() {
    let directory = tempdir().unwrap();
    let archive = directory.path().join("left.tar");
    let first: Vec<_> = LEFT
        .iter()
        .map(|(path, _, bytes)| file(path, vec![b'x'; *bytes]))
        .collect();
    let second = [file("app/replaced", "new")];
    let image = Image::new("team/left:1", &[&first[..], &second]);
    write_archive(&archive, &docker_archive(&[image]));
    let (code, text) = run(&["size", archive.to_str().unwrap(), "-f", "json"]);
    assert_eq!(code, 0, "{text}");
    let report: Value = serde_json::from_str(&text).unwrap();
    let image = &report["images"][0];
    let of = |cause: &str| {
        let left = LEFT.iter().filter(|it| it.1 == cause);
        left.map(|it| it.2).sum::<usize>()
    };
    let causes = image["causes"].as_array().unwrap().iter();
    let mut causes: Vec<(String, usize)> = causes
        .map(|it| {
            let name = it["cause"].as_str().unwrap().to_owned();
            (
                name,
                usize::try_from(it["bytes"].as_u64().unwrap()).unwrap(),
            )
        })
        .collect();
    causes.sort();
    let all: usize = LEFT.iter().map(|it| it.2).sum();
    assert_eq!(image["bytes"], all + "new".len());
    assert_eq!(
        causes,
        [
            ("cache".to_owned(), of("cache")),
            ("replaced".to_owned(), of("replaced")),
            ("static-library".to_owned(), of("static")),
        ]
    );
    assert_eq!(image["layers"][0]["replaced"], of("replaced"));
    // The same from facts, without the archive.
    let facts = directory.path().join("left.facts");
    let arguments = ["facts", "-f", "facts", "-o", facts.to_str().unwrap()];
    let (code, _) = run(&[&arguments[..], &[archive.to_str().unwrap()]].concat());
    assert_eq!(code, 0);
    std::fs::remove_file(&archive).unwrap();
    let (code, from_facts) = run(&["size", facts.to_str().unwrap(), "-f", "json"]);
    assert_eq!(code, 0);
    let from_facts: Value = serde_json::from_str(&from_facts).unwrap();
    assert_eq!(from_facts["images"][0]["causes"], image["causes"]);
    assert_eq!(from_facts["images"][0]["layers"], image["layers"]);
}

/// Every package that the table names is an area of the picture.
#[test]
fn the_page_has_a_picture_of_the_packages() {
    let archive = repository(SAMPLE);
    let page = tempdir().unwrap();
    let page = page.path().join("page.html");
    let to_page = format!("html={}", page.display());
    let arguments = [archive.to_str().unwrap(), "--gpu", "h100", "-o", &to_page];
    assert_eq!(run(&arguments).0, 0);
    let text = std::fs::read_to_string(page).unwrap();
    let picture = text
        .split("<svg")
        .find(|it| it.starts_with(" class=\"treemap\""))
        .unwrap();
    let picture = picture.split("</svg>").next().unwrap();
    assert!(picture.matches("<rect").count() >= 5, "{picture}");
    for package in ["torch", "nvidia-cudnn-cu12"] {
        assert!(picture.contains(package), "{package}: {picture}");
    }
}
