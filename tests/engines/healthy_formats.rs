//! Healthy images give no error and no warning, in any format.
//!
//! The images are those of `testdata/recipes/real_images.py`, `loader_images.py` and `threads.py`, looked for in IMGCHECK_REAL, else
//! in `testdata/real`; beside them stands the small sample of the repository, which is always there.

use crate::formats;
use std::fs;
use std::path::{Path, PathBuf};
use testkit::tools::say;
use testkit::tools::{real_images, real_images_required};

use tempfile::tempdir;

use crate::program::{imgcheck, repository};

const SAMPLE: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";
/// Images of `threads.py` that nothing is wrong with.
const HEALTHY_LAYOUTS: [&str; 1] = ["healthy"];

/// Every healthy image that is there: the name of a source, as the command line takes it.
fn healthy() -> Vec<String> {
    let real = real_images();
    let mut images = vec![repository(SAMPLE).display().to_string()];
    // Docker archives and OCI layouts of real_images.py are side by side.
    images.extend(
        entries(&real)
            .iter()
            .filter(|path| {
                path.extension().is_some_and(|it| it == "tar") || path.join("index.json").exists()
            })
            .map(|path| path.display().to_string()),
    );
    images.extend(
        entries(&real.join("loader"))
            .iter()
            .filter(|path| path.join("observed.json").exists())
            .map(|path| format!("dir:{}", path.join("root").display())),
    );
    images.extend(
        HEALTHY_LAYOUTS
            .iter()
            .map(|name| real.join("threads").join(name))
            .filter(|path| path.join("index.json").exists())
            .map(|path| format!("oci:{}", path.display())),
    );
    images
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn a_healthy_image_gives_no_error_and_no_warning_in_any_format() {
    let images = healthy();
    if images.len() == 1 {
        let message = "there are no real images; see docs/src/real-images.md";
        assert!(!real_images_required(), "{message}");
        say(format_args!("only the sample is looked at: {message}"));
    }
    // Layers that several images share are read once.
    let cache = tempdir().unwrap();
    let formats = formats::offered();
    let mut wrong = Vec::new();
    for image in &images {
        let reports = tempdir().unwrap();
        let path = |format: &String| reports.path().join(format);
        let outputs = formats
            .iter()
            .map(|format| format!("--output={format}={}", path(format).display()));
        let output = imgcheck()
            .args(["check", image])
            .args(outputs)
            .env_remove("IMGCHECK_NO_CACHE")
            .env("IMGCHECK_CACHE_DIR", cache.path())
            .output()
            .unwrap();
        if output.status.code() != Some(0) {
            let error = String::from_utf8_lossy(&output.stderr);
            wrong.push(format!("{image}: {}: {error}", output.status));
        }
        for format in &formats {
            let report = fs::read_to_string(path(format)).unwrap();
            let alarms = formats::alarms(format, &report).into_iter();
            wrong.extend(alarms.map(|alarm| format!("{image} as {format}: {alarm}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    say(format_args!(
        "{} healthy images are silent in {}",
        images.len(),
        formats.join(", ")
    ));
}

/// The same functions find the alarms of an image that is not what it says.
#[test]
fn alarms_are_seen_in_every_format_with_findings() {
    let image = repository("testdata/sample/pytorch-cuda-v2.9.tar");
    for format in formats::offered() {
        if format == "cyclonedx" {
            continue; // a list of parts, which tells no findings
        }
        let output = imgcheck()
            .arg("check")
            .arg(&image)
            .args(["--format", &format])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{format}");
        let report = String::from_utf8(output.stdout).unwrap();
        assert!(
            report.contains("claim-torch-version"),
            "{format} does not name the rule: {report}"
        );
        if format != "html" {
            assert_ne!(
                formats::alarms(&format, &report),
                Vec::<String>::new(),
                "{format}"
            );
        }
    }
}
