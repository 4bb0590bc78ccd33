//! Where the bytes of an image are, as the command shows it.

use std::io::Read;
use std::path::Path;

use serde_json::Value;
use tempfile::tempdir;

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
