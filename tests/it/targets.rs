//! `--gpu` and `--driver` as a user meets them, and the rules about GPUs and drivers over images with real libraries.

mod named;

use std::fs;
use std::path::PathBuf;
use testkit::elf::SharedObject;
use testkit::tools::{real_images, real_images_required};

use serde_json::Value;

use crate::program::{check, faults, imgcheck, only_image, repository};

/// Its `libtorch_cuda.so` has containers with the architectures of the real one; its process loads CUDA 12.8.
const SAMPLE: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";
/// A GPU of each generation that PyTorch 2.8.0 for CUDA 12.8 was built for.
const COVERED: &str = "V100,T4,A100,A10,L4,RTX 4090,H100,H200,B200,B300,RTX 5090";

fn sample(arguments: &[&str]) -> (i32, Value) {
    check(&repository(SAMPLE), arguments)
}

fn target(report: &Value) -> &Value {
    let targets = only_image(report)["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 1);
    &targets[0]
}

/// For each GPU of the report, what PyTorch has for it.
fn torch_on(report: &Value) -> Vec<(String, String)> {
    let gpus = target(report)["gpus"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let row = |gpu: &Value| (text(&gpu["name"]), text(&gpu["torch"]["by"]));
    gpus.iter().map(row).collect()
}

fn messages(report: &Value) -> Vec<&str> {
    let findings = only_image(report)["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|finding| finding["message"].as_str().unwrap())
        .collect()
}

#[test]
fn gpus_that_are_covered_give_no_finding() {
    let (code, report) = sample(&["--gpu", COVERED]);
    assert_eq!((code, faults(&report)), (0, vec![]));
    let found = torch_on(&report);
    let of = |name: &str| {
        found
            .iter()
            .find(|(gpu, _)| gpu == name)
            .map(|(_, by)| by.as_str())
    };
    assert_eq!(found.len(), 11);
    assert_eq!(of("L4"), Some("sm_86"));
    assert_eq!(of("B300"), Some("sm_100"));
}

/// The code for it fits, and the image does not start.
#[test]
fn a_gpu_of_arm_machines_is_an_error_for_an_image_of_amd64() {
    let (code, report) = sample(&["--gpu", "GH200,DGX Spark"]);
    assert_eq!(
        (code, faults(&report)),
        (1, vec!["gpu-wrong-machine".to_owned()])
    );
    let found = torch_on(&report);
    let by = found.iter().map(|(_, by)| by.as_str());
    assert_eq!(by.collect::<Vec<_>>(), ["sm_90", "sm_120"]);
}

#[test]
fn a_gpu_without_code_is_an_error_with_the_way_out() {
    let (code, report) = sample(&["--gpu", "h100", "--gpu", "p100"]);
    assert_eq!(
        (code, faults(&report)),
        (1, vec!["gpu-not-covered".to_owned()])
    );
    let finding = &only_image(&report)["findings"][0];
    assert!(
        messages(&report)[0]
            .starts_with("PyTorch 2.8.0+cu128 has no code for P100 (sm_60): it has sm_70,")
    );
    let help = finding["help"].as_str().unwrap();
    assert!(
        help.contains("cu126") && help.contains("pip install torch=="),
        "{help}"
    );
    assert!(finding["path"].as_str().unwrap().ends_with("/torch"));
    assert_eq!(finding["layer"], 2);
}

#[test]
fn a_jetson_is_not_covered_by_code_for_other_gpus_of_its_generation() {
    let (code, report) = sample(&["--gpu", "jetson agx orin"]);
    assert_eq!(code, 1);
    assert!(
        only_image(&report)["findings"][0]["help"]
            .as_str()
            .unwrap()
            .contains("Jetson")
    );
}

#[test]
fn every_way_of_writing_a_gpu_means_the_same() {
    for gpu in [
        "h100",
        "NVIDIA H100 80GB HBM3",
        "sm_90",
        "sm90",
        "9.0",
        "90",
        "compute_90",
        "sm_90a",
    ] {
        let (code, report) = sample(&["--gpu", gpu]);
        assert_eq!(
            (code, torch_on(&report)[0].1.as_str()),
            (0, "sm_90"),
            "{gpu}"
        );
    }
}

#[test]
fn a_driver_satisfies_in_one_of_three_ways_or_not() {
    for (driver, how, code) in [
        ("580.65.06", "native", 0),
        ("570.26", "native", 0),
        ("535.183.06", "minor-version", 0),
        ("470.256.02", "none", 1),
    ] {
        let (got, report) = sample(&["--driver", driver]);
        assert_eq!(
            (got, target(&report)["driver"]["how"].as_str()),
            (code, Some(how)),
            "{driver}"
        );
        assert_eq!(target(&report)["driver"]["version"], driver);
    }
    let (_, report) = sample(&["--driver", "470.256.02", "--gpu", "a100"]);
    assert_eq!(faults(&report), ["driver-too-old"]);
    assert_eq!(
        messages(&report)[0],
        "the driver 470.256.02 is too old for CUDA 12.8, which needs 525.60.13 (minor-version compatibility), or 570.26 for everything"
    );
}

#[test]
fn without_targets_the_report_is_as_before() {
    let (code, report) = sample(&[]);
    assert_eq!((code, faults(&report)), (0, vec![]));
    assert_eq!(only_image(&report).get("targets"), None);
}

#[test]
fn an_architecture_that_is_newer_than_the_tables_is_judged_with_a_note() {
    let (code, report) = sample(&["--gpu", "sm_107", "--driver", "615.71.09"]);
    assert_eq!((code, faults(&report)), (0, vec![]));
    assert_eq!(
        torch_on(&report),
        [("sm_107".to_owned(), "sm_100".to_owned())]
    );
    assert_eq!(target(&report)["gpus"][0]["unlisted"], true);
    let findings = only_image(&report)["findings"].as_array().unwrap();
    let notes: Vec<&Value> = findings
        .iter()
        .filter(|it| it["rule"] == "gpu-not-in-tables")
        .collect();
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0]["severity"], "note");
    // Thor, whose name is near, has no machine code in the image, and is in the tables.
    let (_, report) = sample(&["--gpu", "sm_110"]);
    assert_eq!(target(&report)["gpus"][0].get("unlisted"), None);
    let findings = only_image(&report)["findings"].as_array().unwrap();
    assert!(findings.iter().all(|it| it["rule"] != "gpu-not-in-tables"));
}

#[test]
fn the_text_report_has_a_line_for_each_machine() {
    let output = imgcheck()
        .arg(repository(SAMPLE))
        .args(["--gpu", "rtx 4090,p100", "--driver", "535.183.06"])
        .output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let start = text.find(" RUNS ON").unwrap();
    let end = text[start..].find("\n\n").unwrap();
    insta::assert_snapshot!(&text[start..start + end], @r"
     RUNS ON
     GeForce RTX 4090 (sm_89)  PyTorch covered by sm_86
     P100 (sm_60)              PyTorch not covered
     driver 535.183.06         minor-version compatibility: native support for CUDA 12.8 starts at 570.26; machine code runs, PTX for CUDA 12.8 does not compile
    ");
}

/// The root of an image of published wheels, as `testdata/recipes/loader_images.py` makes it.
fn real_image(name: &str) -> Option<PathBuf> {
    let root = real_images().join("loader").join(name).join("root");
    if root.is_dir() {
        return Some(root);
    }
    eprintln!("skipped: {} is not there", root.display());
    None
}

/// torchvision and torchaudio have code of their own; the libraries of CUDA have parts for certain GPUs alone.
#[test]
fn a_real_pytorch_covers_what_it_was_built_for_and_nothing_else() {
    let root = real_image("torch-2.8.0");
    assert!(!real_images_required() || root.is_some());
    if let Some(root) = root {
        let (code, report) = check(&root, &["--gpu", COVERED, "--driver", "580.65.06"]);
        assert_eq!((code, faults(&report)), (0, vec![]));
        let gpus = target(&report)["gpus"].as_array().unwrap();
        for gpu in gpus {
            let packages = gpu["packages"].as_array().unwrap();
            let names: Vec<&str> = packages
                .iter()
                .map(|it| it["name"].as_str().unwrap())
                .collect();
            assert_eq!(names, ["torchaudio", "torchvision"]);
            assert!(
                packages.iter().all(|package| package["how"] == "sass"),
                "{gpu}"
            );
            assert!(gpu["libraries"].as_array().unwrap().len() > 10);
        }
        let (code, report) = check(&root, &["--gpu", "P100,Jetson AGX Orin,GTX 1080"]);
        // One of them is a note about the C compiler that Triton lacks.
        assert_eq!((code, messages(&report).len()), (1, 4));
        assert_eq!(faults(&report), ["gpu-not-covered"]);
    }
}

/// Its libraries have sm_75, sm_80, sm_90a and PTX for 8.0, written by CUDA 12.8.
#[test]
fn a_real_package_beside_pytorch_has_less_than_pytorch() {
    let Some(root) = real_image("xformers-0.0.32") else {
        return;
    };
    let (_, report) = check(&root, &["--gpu", "5090,v100,h100"]);
    let said = messages(&report);
    assert!(said.contains(&"xformers has only PTX for GeForce RTX 5090 (sm_120): compute_80 is compiled at the first start, which can take minutes, and fails with a driver older than that of CUDA 12.8"), "{said:?}");
    assert!(
        said.contains(&"xformers has no code for V100 (sm_70) (it begins with 7.5), PyTorch has"),
        "{said:?}"
    );
    assert!(
        !said
            .iter()
            .any(|message| message.starts_with("xformers") && message.contains("H100")),
        "{said:?}"
    );
    let (_, report) = check(&root, &["--gpu", "5090", "--driver", "550.54.14"]);
    let said = messages(&report);
    assert!(said.contains(&"xformers has only PTX that the driver cannot compile (compute_80) for GeForce RTX 5090 (sm_120), PyTorch has"), "{said:?}");
}

/// Whoever names a GPU wants the image to use it, though nothing in the image says so.
#[test]
fn what_only_a_gpu_misses_is_missing_with_a_target() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, bytes: &[u8]| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let needs = |libraries: &[&str]| SharedObject {
        needed: libraries.iter().map(|it| (*it).to_owned()).collect(),
        runpath: Some("$ORIGIN".to_owned()),
        ..SharedObject::default()
    };
    let site = "usr/local/lib/python3.11/dist-packages";
    let library = |name: &str| format!("{site}/torch/lib/{name}");
    let python = SharedObject {
        interpreter: Some("/lib64/ld-linux-x86-64.so.2".to_owned()),
        ..SharedObject::default()
    };
    write("lib64/ld-linux-x86-64.so.2", &needs(&[]).bytes());
    write("usr/bin/python3.11", &python.bytes());
    write(&format!("{site}/torch/__init__.py"), b"");
    write(
        &format!("{site}/torch-2.8.0.dist-info/METADATA"),
        b"Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0\n",
    );
    let global = needs(&["libtorch_cuda.so"]).bytes();
    write(&library("libtorch_global_deps.so"), &global);
    write(&library("libtorch_cuda.so"), &needs(&[]).bytes());
    let missing = |arguments: &[&str]| {
        let (_, report) = check(root.path(), arguments);
        let messages = messages(&report);
        let mut missing = messages.iter();
        missing.any(|it| it.contains("libtorch_cuda_linalg.so"))
    };
    assert!(!missing(&[]));
    assert!(missing(&["--gpu", "h100"]));
}
