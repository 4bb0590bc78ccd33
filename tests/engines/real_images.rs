//! Real images: what `testdata/recipes/real_images.py` makes out of published wheels.
//!
//! They are looked for in IMGCHECK_REAL, else in `testdata/real`. Absent ones are skipped with a message, or fail the test
//! when IMGCHECK_REQUIRE_REAL is `1`.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection};
use serde_json::{Value, json};

use crate::program::{check, faults, imgcheck, only_image, version};
use tempfile::tempdir;
use testkit::tools::{real_images, real_images_required, skip};

const HONEST: &str = "pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime";

/// The file or directory of a real image, or `None` if it has not been made.
fn real(name: &str) -> Option<PathBuf> {
    let path = real_images().join(name);
    if path.exists() {
        return Some(path);
    }
    let message = format!(
        "{} is not there; make it with: python3 testdata/recipes/real_images.py",
        path.display()
    );
    skip(message, real_images_required());
    None
}

/// The stack without layer numbers, which a plain directory does not have.
fn stack(report: &Value) -> Vec<Value> {
    let mut parts: Vec<Value> = only_image(report)["stack"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| {
            json!([
                part["name"],
                part["version"],
                part["path"],
                part["loaded"],
                part["evidence"]
            ])
        })
        .collect();
    parts.sort_by_key(Value::to_string);
    parts
}

#[test]
fn torch_2_8_called_2_9_fails() {
    let Some(image) = real("torch-2.8.0.tar") else {
        return;
    };
    let (code, report) = check(&image, &["--as", "pytorch-cuda:v2.9"]);
    assert_eq!(
        (code, faults(&report)),
        (1, vec!["claim-torch-version".to_owned()])
    );
}

#[test]
fn torch_for_cuda_12_called_11_fails_and_was_never_published() {
    let Some(image) = real("torch-2.8.0.tar") else {
        return;
    };
    let (code, report) = check(&image, &["--as", "pytorch/pytorch:2.8.0-cuda11.8"]);
    assert_eq!(code, 1);
    assert_eq!(faults(&report), ["claim-cuda-version", "claim-impossible"]);
}

#[test]
fn torch_with_its_honest_label_passes_without_error_or_warning() {
    let Some(image) = real("torch-2.8.0.tar") else {
        return;
    };
    let (code, report) = check(&image, &["--as", HONEST]);
    assert_eq!((code, faults(&report)), (0, vec![]));
}

#[test]
fn torch_is_read_as_its_own_python_prints_it() {
    let (Some(image), Some(printed)) = (real("torch-2.8.0.tar"), real("torch-2.8.0-import.txt"))
    else {
        return;
    };
    let (_, report) = check(&image, &["--as", HONEST]);
    let printed = std::fs::read_to_string(printed).unwrap();
    let mut lines = printed.lines();
    assert_eq!(version(&report, "torch").as_deref(), lines.next());
    assert_eq!(version(&report, "cuda-runtime").as_deref(), lines.next());
    assert_eq!(version(&report, "cudnn").as_deref(), Some("9.10.2"));
    assert_eq!(lines.next(), Some("91002"));
    assert_eq!(version(&report, "nccl").as_deref(), Some("2.27.3"));
    assert_eq!(lines.next(), Some("(2, 27, 3)"));
    let sass = [
        "sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120",
    ];
    assert_eq!(only_image(&report)["gpu"]["torch"]["sass"], json!(sass));
}

#[test]
fn torch_and_its_libraries_are_what_the_names_of_their_wheels_say() {
    let Some(image) = real("torch-2.8.0.tar") else {
        return;
    };
    let (_, report) = check(&image, &["--as", HONEST]);
    for (name, expected) in [
        ("torch", "2.8.0+cu128"),
        ("triton", "3.4.0"),
        ("cuda-runtime", "12.8"),
        ("cudnn", "9.10.2"),
        ("nccl", "2.27.3"),
        ("cublas", "12.8.4"),
        ("cublaslt", "12.8.4"),
        ("cufft", "11.3.3"),
        ("curand", "10.3.9"),
        ("cusolver", "11.7.3"),
        ("cusparse", "12.5.8"),
        ("cusparselt", "0.7.1"),
        ("nvrtc", "12.8.93"),
        ("nvjitlink", "12.8.93"),
        ("cupti", "12.8.90"),
        ("nvtx", "12.8.90"),
        ("python", "3.11.2"),
        ("glibc", "2.36"),
        ("libstdc++", "3.4.30"),
        ("os", "debian12"),
    ] {
        assert_eq!(version(&report, name).as_deref(), Some(expected), "{name}");
    }
    let stack = only_image(&report)["stack"].as_array().unwrap();
    let part = |name: &str| stack.iter().find(|part| part["name"] == name).unwrap();
    for (detail, expected) in [
        ("build", "cuda"),
        ("cuda", "12.8"),
        ("compiled-cuda", "12.8"),
        ("compiled-cudnn", "9.8.0"),
        ("compiled-nccl", "2.27.3"),
    ] {
        assert_eq!(part("torch")["details"][detail], expected, "{detail}");
    }
    for (name, kind) in [("cudnn", "code"), ("glibc", "string"), ("python", "string")] {
        assert_eq!(part(name)["evidence"][0]["kind"], kind, "{name}");
    }
}

#[test]
fn torch_has_the_same_stack_however_it_is_stored() {
    same_stack("torch-2.8.0.tar", &["torch-2.8.0-oci"]);
}

#[test]
fn a_small_image_has_the_same_stack_in_every_storage() {
    same_stack(
        "cuda-12.8.tar",
        &[
            "cuda-12.8-blobs.tar",
            "cuda-12.8-oci",
            "cuda-12.8-oci-zstd",
            "cuda-12.8-oci.tar",
            "cuda-12.8-root",
        ],
    );
}

fn same_stack(archive: &str, others: &[&str]) {
    let Some(archive) = real(archive) else { return };
    let (_, expected) = check(&archive, &["--as", HONEST]);
    for other in others {
        let Some(path) = real(other) else { continue };
        let (_, report) = check(&path, &["--as", HONEST]);
        assert_eq!(stack(&report), stack(&expected), "{other}");
        assert_eq!(faults(&report), faults(&expected), "{other}");
    }
}

#[test]
fn five_cuda_runtimes_tell_their_version() {
    for expected in ["11.8", "12.1", "12.4", "12.8", "13.0"] {
        let Some(image) = real(&format!("cuda-{expected}.tar")) else {
            continue;
        };
        let (code, report) = check(&image, &["--as", &format!("local/image:cuda{expected}")]);
        assert_eq!(version(&report, "cuda-runtime").as_deref(), Some(expected));
        assert_eq!((code, faults(&report)), (0, vec![]), "{expected}");
        let (code, report) = check(&image, &["--as", "local/image:cuda10.2"]);
        assert_eq!(
            (code, faults(&report)),
            (1, vec!["claim-cuda-version".to_owned()]),
            "{expected}"
        );
    }
}

#[test]
fn the_version_of_cudnn_8_is_read() {
    let Some(image) = real("cudnn-8.tar") else {
        return;
    };
    let (code, report) = check(&image, &["--as", "local/image:1"]);
    assert_eq!(version(&report, "cudnn").as_deref(), Some("8.9.7"));
    assert_eq!((code, faults(&report)), (0, vec![]));
}

#[test]
fn a_question_that_an_image_cannot_answer_is_not_a_pass() {
    let Some(image) = real("cuda-12.8.tar") else {
        return;
    };
    let (code, report) = check(&image, &["--gpu", "orin", "--driver", "540.4.0"]);
    let found: Vec<[&str; 2]> = only_image(&report)["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| ["severity", "rule"].map(|key| finding[key].as_str().unwrap()))
        .collect();
    // An Orin has a processor for ARM, and the image is for amd64.
    let expected = [
        ["error", "driver-unknown"],
        ["error", "gpu-wrong-machine"],
        ["note", "gpu-unknown"],
    ];
    assert_eq!((code, found.as_slice()), (1, expected.as_slice()));
}

/// Bytes of the sections with nothing but GPU code.
fn gpu_sections(bytes: &[u8]) -> u64 {
    let file = object::File::parse(bytes).unwrap();
    let sections = file.sections();
    let named = sections.filter(|it| matches!(it.name(), Ok(".nv_fatbin" | "__nv_relfatbin")));
    named.map(|it| it.size()).sum()
}

/// The layers of a docker archive, which are not compressed.
fn layers_of(archive: &Path) -> impl Iterator<Item = tar::Archive<Take<File>>> {
    let mut outer = tar::Archive::new(File::open(archive).unwrap());
    let entries = outer.entries_with_seek().unwrap().map(Result::unwrap);
    let layers = entries.filter(|it| it.path().unwrap().ends_with("layer.tar"));
    let places: Vec<_> = layers
        .map(|it| (it.raw_file_position(), it.size()))
        .collect();
    places.into_iter().map(move |(start, size)| {
        let mut file = File::open(archive).unwrap();
        file.seek(SeekFrom::Start(start)).unwrap();
        tar::Archive::new(file.take(size))
    })
}

/// The first file with a name in the layers of a docker archive.
fn file_of(archive: &Path, name: &str) -> Option<Vec<u8>> {
    layers_of(archive).find_map(|mut layer| {
        let found =
            layer.entries().unwrap().map(Result::unwrap).find(|it| {
                it.header().entry_type().is_file() && it.path().unwrap().ends_with(name)
            });
        let mut bytes = Vec::new();
        found?.read_to_end(&mut bytes).unwrap();
        Some(bytes)
    })
}

/// Bytes of the files in the layers of a docker archive.
fn bytes_of_files(archive: &Path) -> u64 {
    let bytes = layers_of(archive).map(|mut layer| {
        let files = layer.entries().unwrap().map(Result::unwrap);
        let files = files.filter(|it| it.header().entry_type().is_file());
        files.map(|it| it.size()).sum::<u64>()
    });
    bytes.sum()
}

/// What `imgcheck size` says of the image for these GPUs: all bytes, those of GPU code, and those of GPU code that none of them can select.
fn sizes(image: &Path, gpus: &str) -> (u64, u64, u64) {
    let output = imgcheck()
        .args(["size", "-f", "json", "--gpu", gpus])
        .arg(image)
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let image = &report["images"][0];
    let bytes = image["bytes"].as_u64().unwrap();
    let sum = |key: &str| {
        let rows = image[key].as_array().unwrap().iter();
        rows.map(|it| it["bytes"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(sum("layers"), bytes);
    let causes = image["causes"].as_array().unwrap();
    let unused = causes.iter().find(|it| it["cause"] == "gpu-code");
    let unused = unused.map_or(0, |it| it["bytes"].as_u64().unwrap());
    (bytes, image["gpu_code"]["bytes"].as_u64().unwrap(), unused)
}

#[test]
fn the_bytes_of_a_real_image_are_counted_once() {
    let Some(image) = real("torch-2.8.0.tar") else {
        return;
    };
    let (bytes, code, unused) = sizes(&image, "h100");
    assert_eq!(bytes, bytes_of_files(&image));
    // PyTorch 2.8 for CUDA 12.8 has code for seven generations: more than half of it is GPU code, of which a GPU can select less than a third.
    assert!(code > bytes / 2, "{code} of {bytes}");
    assert!(unused > code * 2 / 3 && unused < code, "{unused} of {code}");
    // What no GPU of two can select, neither of them can.
    let (_, _, of_both) = sizes(&image, "h100,a100");
    let (_, _, of_other) = sizes(&image, "a100");
    assert!(of_both < unused && of_both < of_other);
    assert!(code - of_both <= (code - unused) + (code - of_other));
}

/// Triton brings CUPTI a second time, which no process loads: 57 MB.
#[test]
fn a_policy_limits_further_copies() {
    let Some(image) = real("torch-2.8.0.tar") else {
        return;
    };
    let directory = tempdir().unwrap();
    let config = directory.path().join("imgcheck.yaml");
    for (limit, expected) in [("10MB", true), ("100MB", false)] {
        fs::write(&config, format!("max-duplicate: {limit}\n")).unwrap();
        let (code, report) = check(&image, &["--config", config.to_str().unwrap()]);
        let findings = only_image(&report)["findings"].as_array().unwrap();
        let is_too_large = findings.iter().any(|it| it["rule"] == "policy-size");
        assert_eq!(
            (is_too_large, code),
            (expected, i32::from(expected)),
            "{limit}"
        );
    }
}

#[test]
fn the_bytes_of_gpu_code_fill_their_sections() {
    let Some(image) = real("torch-2.8.0.tar") else {
        return;
    };
    let directory = tempdir().unwrap();
    let library = file_of(&image, "libcurand.so.10").unwrap();
    fs::create_dir_all(directory.path().join("usr/lib")).unwrap();
    fs::write(directory.path().join("usr/lib/libcurand.so.10"), &library).unwrap();
    let output = imgcheck()
        .args(["size", "-f", "json"])
        .arg(directory.path())
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let image = &report["images"][0];
    assert_eq!(image["bytes"], library.len());
    let (counted, sections) = (
        image["gpu_code"]["bytes"].as_u64().unwrap(),
        gpu_sections(&library),
    );
    assert!(sections > 50_000_000);
    assert!(
        counted <= sections && counted > sections * 99 / 100,
        "{counted} of {sections}"
    );
}
