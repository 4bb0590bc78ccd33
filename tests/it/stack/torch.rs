//! PyTorch, and the libraries it gets.

use super::builder::*;
use imgcheck_base::error::ErrorCode;
use imgcheck_model::stack::EvidenceKind;
use serde_json::json;

#[test]
fn torch_with_cuda() {
    let image = torch(Image::new(), SITE, "2.8.0+cu128", "'12.8'");
    let stack = image
        .elf(
            &format!("{SITE}/torch/lib/libtorch_cuda.so"),
            libtorch_cuda(&[("sm_90", 4), ("sm_100", 4), ("sm_90a", 1)]),
        )
        .stack();
    let torch = only(&stack, "torch");
    assert_eq!(torch.version, "2.8.0+cu128");
    assert_eq!(torch.path, format!("/{SITE}/torch"));
    for (detail, value) in [
        ("build", "cuda"),
        ("cuda", "12.8"),
        ("compiled-cudnn", "9.8.0"),
        ("git", "abc"),
        ("environment", "/usr/local"),
    ] {
        assert_eq!(torch.details[detail], value, "{detail}");
    }
    assert_eq!(stack.gpu.torch.as_ref().unwrap().sass, ["sm_90", "sm_100"]);
    assert_eq!(
        stack.gpu.libraries[0].coverage.sass,
        ["sm_90", "sm_90a", "sm_100"]
    );
}

#[test]
fn old_torch_has_its_coverage_from_the_build_options() {
    let image = torch(Image::new(), SITE, "1.13.1+cu117", "'11.7'");
    let stack = image
        .elf(
            &format!("{SITE}/torch/lib/libtorch_cuda.so"),
            libtorch_cuda(&[("sm_90", 4)]),
        )
        .stack();
    assert_eq!(stack.gpu.torch.as_ref().unwrap().sass, ["sm_80", "sm_90"]);
}

#[test]
fn torch_for_the_cpu() {
    let image = torch(Image::new(), SITE, "2.8.0+cpu", "None");
    let stack = image
        .elf(
            &format!("{SITE}/torch/lib/libtorch_cpu.so"),
            library("torch-cpu", "libtorch_cpu.so", None),
        )
        .stack();
    let torch = only(&stack, "torch");
    assert_eq!(
        (torch.version.as_str(), torch.details["build"].as_str()),
        ("2.8.0+cpu", "cpu")
    );
    assert!(!torch.details.contains_key("cuda"));
    assert_eq!(stack.gpu.torch, None);
}

#[test]
fn torch_of_conda_forge_has_its_libraries_in_the_environment() {
    let site = "opt/conda/lib/python3.12/site-packages";
    let package = json!({"name": "pytorch", "version": "2.8.0", "build": "cuda128_py312", "files": ["lib/libtorch_cuda.so"]});
    let stack = torch(Image::new(), site, "2.8.0", "'12.8'")
        .text(
            "opt/conda/conda-meta/pytorch-2.8.0-cuda128_py312.json",
            &package.to_string(),
        )
        .elf(
            "opt/conda/lib/libtorch_cuda.so",
            libtorch_cuda(&[("sm_90", 4)]),
        )
        .stack();
    let torch = only(&stack, "torch");
    assert_eq!(torch.path, format!("/{site}/torch"));
    assert_eq!(torch.details["build"], "cuda");
    assert!(
        torch
            .evidence
            .iter()
            .any(|evidence| evidence.kind == EvidenceKind::Conda)
    );
}

#[test]
fn the_copy_that_torch_is_linked_to_is_loaded() {
    let system = "usr/local/cuda-12.4/targets/x86_64-linux/lib";
    let wheel = format!("{SITE}/nvidia/cuda_runtime/lib");
    let image = torch(Image::new(), SITE, "2.8.0+cu128", "'12.8'")
        .process(&["LD_LIBRARY_PATH=/usr/local/cuda/lib64"], &["python"])
        .link("usr/local/cuda", "cuda-12.4")
        .link("usr/local/cuda-12.4/lib64", "targets/x86_64-linux/lib")
        .elf(
            &format!("{SITE}/torch/lib/libtorch_cuda.so"),
            libtorch_cuda(&[]),
        )
        .elf(
            &format!("{system}/libcudart.so.12.4.127"),
            library("cuda-runtime", "libcudart.so.12", Some("12.4")),
        )
        .elf(
            &format!("{system}/old/libcudart.so.11.0"),
            library("cuda-runtime", "libcudart.so.11.0", Some("11.8")),
        );
    let with_wheel = image
        .clone()
        .elf(
            &format!("{wheel}/libcudart.so.12"),
            library("cuda-runtime", "libcudart.so.12", Some("12.8")),
        )
        .stack();
    assert_eq!(
        table(&with_wheel, "cuda-runtime"),
        [
            format!("*12.8 /{wheel}/libcudart.so.12"),
            format!("12.4 /{system}/libcudart.so.12.4.127"),
            format!("11.8 /{system}/old/libcudart.so.11.0"),
        ]
    );
    let without = image.stack();
    assert_eq!(
        table(&without, "cuda-runtime")[0],
        format!("*12.4 /{system}/libcudart.so.12.4.127")
    );
}

#[test]
fn torch_in_another_environment_than_the_python_on_path() {
    let image = Image::new()
        .elf("usr/bin/python3.10", plain(""))
        .elf("opt/conda/bin/python3.11", plain(""))
        .text(
            "opt/conda/conda-meta/python-3.11.9-h1.json",
            r#"{"name": "python", "version": "3.11.9", "files": []}"#,
        );
    let stack = torch(
        image,
        "opt/conda/lib/python3.11/site-packages",
        "2.8.0",
        "'12.8'",
    )
    .stack();
    assert_eq!(
        table(&stack, "python"),
        [
            "*3.10 /usr/bin/python3.10",
            "3.11.9 /opt/conda/bin/python3.11"
        ]
    );
    assert_eq!(only(&stack, "torch").details["environment"], "/opt/conda");
    let conda = stack
        .components
        .iter()
        .find(|component| component.path.contains("conda/bin"))
        .unwrap();
    assert_eq!(conda.details["environment"], "/opt/conda");
}

#[test]
fn bundled_libraries_are_requested_by_their_file_names() {
    let mut libtorch = libtorch_cuda(&[]);
    libtorch.needed = vec!["libcudart-e409450e.so.11.0".to_owned()];
    libtorch.rpath = None;
    libtorch.runpath = Some("$ORIGIN".to_owned());
    let stack = torch(Image::new(), SITE, "1.12.1+cu113", "'11.3'")
        .process(&["LD_LIBRARY_PATH=/usr/local/cuda/lib64"], &["python"])
        .elf(&format!("{SITE}/torch/lib/libtorch_cuda.so"), libtorch)
        .elf(
            &format!("{SITE}/torch/lib/libcudart-e409450e.so.11.0"),
            library("cuda-runtime", "libcudart.so.11.0", Some("11.3")),
        )
        .elf(
            "usr/local/cuda/lib64/libcudart.so.11.8.89",
            library("cuda-runtime", "libcudart.so.11.0", Some("11.8")),
        )
        .stack();
    assert!(table(&stack, "cuda-runtime")[0].starts_with("*11.3 "));
}

#[test]
fn torch_for_rocm_exports_the_names_of_cuda() {
    let image = torch(Image::new(), SITE, "2.8.0+rocm6.4", "None");
    let stack = image
        .elf(
            &format!("{SITE}/torch/lib/libtorch_hip.so"),
            libtorch_cuda(&[]),
        )
        .stack();
    assert_eq!(only(&stack, "torch").details["build"], "rocm");
}

#[test]
fn a_conda_environment_does_not_have_the_packages_of_the_base_installation() {
    let package =
        json!({"name": "pytorch", "version": "2.1.0", "build": "cuda121_py311", "files": []});
    let image = torch(
        Image::new(),
        "opt/conda/lib/python3.11/site-packages",
        "2.1.0",
        "'12.1'",
    )
    .text(
        "opt/conda/conda-meta/pytorch-2.1.0-cuda121_py311.json",
        &package.to_string(),
    );
    let environment = "opt/conda/envs/x/lib/python3.11/site-packages";
    let stack = torch(image, environment, "2.8.0", "'12.8'").stack();
    for (version, by_conda) in [("2.1.0", true), ("2.8.0", false)] {
        let copy = stack
            .components
            .iter()
            .find(|component| component.name == "torch" && component.version == version);
        let evidence = &copy.unwrap().evidence;
        let conda = evidence
            .iter()
            .any(|evidence| evidence.kind == EvidenceKind::Conda);
        assert_eq!(conda, by_conda, "{version}");
    }
}

/// PYTHONPATH may name a directory again and again.
#[test]
fn a_directory_counts_at_its_first_place() {
    for (python_path, version) in [
        ("/first:/late:/first/../late:/first", "0.22.0"),
        ("/late:/late/:/first:/late", "0.23.0"),
        ("/linked:/first:/linked:/late", "0.23.0"),
    ] {
        let stack = Image::python()
            .distribution("first", "torchvision", "0.22.0")
            .distribution("late", "torchvision", "0.23.0")
            .link("linked", "/late")
            .process(&[&format!("PYTHONPATH={python_path}")], &["bash"])
            .stack();
        let first = table(&stack, "torchvision")[0].clone();
        assert!(first.starts_with(&format!("*{version} ")), "{python_path}");
    }
}

#[test]
fn the_end_of_an_endless_rpath_is_an_error() {
    let image = |elements: usize| {
        let mut linked = libtorch_cuda(&[]);
        linked.rpath = Some("/none:".repeat(elements) + "/opt/behind");
        torch(Image::new(), SITE, "2.8.0+cu128", "'12.8'")
            .elf(&format!("{SITE}/torch/lib/libtorch_cuda.so"), linked)
            .elf(
                "opt/a/libcudart.so.12",
                library("cuda-runtime", "libcudart.so.12", Some("12.4")),
            )
            .elf(
                "opt/behind/libcudart.so.12",
                library("cuda-runtime", "libcudart.so.12", Some("12.8")),
            )
            .try_stack()
    };
    let stack = image(4000).unwrap();
    let loaded = &table(&stack, "cuda-runtime")[0];
    assert_eq!(loaded, "*12.8 /opt/behind/libcudart.so.12");
    assert_eq!(image(5000).unwrap_err().code(), ErrorCode::Limit);
}
