//! Libraries, their sets and their packages.

use super::builder::*;
use imgcheck_model::stack::EvidenceKind;

#[test]
fn a_library_and_the_wheel_that_owns_it() {
    let stack = Image::new()
        .layer()
        .distribution(SITE, "nvidia-nccl-cu12", "2.27.3")
        .distribution(SITE, "nvidia-cuda-runtime-cu12", "12.8.90")
        .elf(
            &format!("{SITE}/nvidia/nccl/lib/libnccl.so.2"),
            library("nccl", "libnccl.so.2", Some("2.27.3")),
        )
        .elf(
            &format!("{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12"),
            library("cuda-runtime", "libcudart.so.12", Some("12.8")),
        )
        .stack();
    let nccl = only(&stack, "nccl");
    let kinds: Vec<_> = nccl.evidence.iter().map(|evidence| evidence.kind).collect();
    assert_eq!(
        kinds,
        [
            EvidenceKind::Code,
            EvidenceKind::PythonMetadata,
            EvidenceKind::Soname
        ]
    );
    assert_eq!(
        (nccl.version.as_str(), nccl.layer, nccl.loaded),
        ("2.27.3", Some(1), false),
        "no program finds it"
    );
    // The third number of the package is a build number of the library.
    let runtime = only(&stack, "cuda-runtime");
    assert_eq!(runtime.version, "12.8");
    assert_eq!(runtime.evidence[1].value, "12.8");
    assert_eq!(
        runtime.evidence[1].detail,
        "nvidia-cuda-runtime-cu12 12.8.90"
    );
}

#[test]
fn a_swapped_library_keeps_its_own_version_and_the_evidence_against_it() {
    let stack = Image::new()
        .distribution(SITE, "nvidia-nccl-cu12", "2.27.3")
        .elf(
            &format!("{SITE}/nvidia/nccl/lib/libnccl.so.2"),
            library("nccl", "libnccl.so.2", Some("2.19.3")),
        )
        .stack();
    let nccl = only(&stack, "nccl");
    assert_eq!(nccl.version, "2.19.3");
    assert_eq!(nccl.evidence[1].value, "2.27.3");
}

#[test]
fn cudnn_is_one_set_a_directory_and_major() {
    let directory = "usr/lib/x86_64-linux-gnu";
    let stack = Image::new()
        .elf(
            &format!("{directory}/libcudnn.so.9.10.2"),
            part("cudnn", Some("dispatcher"), "libcudnn.so.9", Some("9.1.0")),
        )
        .elf(
            &format!("{directory}/libcudnn_graph.so.9.10.2"),
            part(
                "cudnn",
                Some("graph"),
                "libcudnn_graph.so.9",
                Some("9.10.2"),
            ),
        )
        .elf(
            &format!("{directory}/libcudnn_ops_infer.so.8"),
            part(
                "cudnn",
                Some("ops_infer"),
                "libcudnn_ops_infer.so.8",
                Some("8.9.7"),
            ),
        )
        .stack();
    let found: Vec<_> = stack
        .components
        .iter()
        .filter(|component| component.name == "cudnn")
        .collect();
    assert_eq!(found.len(), 2);
    let nine = found
        .iter()
        .find(|component| component.path.contains("graph"))
        .unwrap();
    assert_eq!(nine.version, "9.10.2");
    assert_eq!(nine.details["mixed"], "9.1.0 9.10.2");
    assert_eq!(nine.details["parts"], "graph dispatcher");
    let eight = found
        .iter()
        .find(|component| component.path.contains("infer"))
        .unwrap();
    assert_eq!(eight.version, "8.9.7");
    assert!(!eight.details.contains_key("mixed"));
}

#[test]
fn cublas_takes_the_version_of_its_cublaslt() {
    let stack = Image::new()
        .elf(
            "opt/lib/libcublas.so.12",
            library("cublas", "libcublas.so.12", None),
        )
        .elf(
            "opt/lib/libcublasLt.so.12",
            library("cublaslt", "libcublasLt.so.12", Some("12.8.4")),
        )
        .stack();
    assert_eq!(only(&stack, "cublas").version, "12.8.4");
}

#[test]
fn numbers_in_other_names_are_not_versions() {
    let stack = Image::new()
        .elf(
            &format!("{SITE}/ctranslate2.libs/libctranslate2-bc15bf3f.so.4.5.0"),
            library("cublas", "libctranslate2-bc15bf3f.so.4.5.0", None),
        )
        .elf(
            "opt/lib/libcublas.so.12.8.4.1",
            library("cublas", "libcublas.so.12", None),
        )
        .stack();
    let versions = |path: &str| {
        let mut found = stack.components.iter();
        let found = found.find(|component| component.path.contains(path));
        found.unwrap().version.clone()
    };
    assert_eq!(versions("ctranslate2"), "");
    assert_eq!(versions("opt/lib"), "12.8.4");
}

#[test]
fn renamed_copies_stubs_and_compatibility_drivers() {
    let mut stub = part("driver", Some("stub"), "libcuda.so.1", None);
    stub.machine = 183;
    let stack = Image::new()
        .elf(
            &format!("{SITE}/torchvision.libs/libcudart.45e7f3ed.so.12"),
            library("cuda-runtime", "libcudart.so.12", Some("12.4")),
        )
        .elf("usr/local/cuda-12.8/lib64/stubs/libcuda.so", stub)
        .elf(
            "usr/local/cuda-12.8/compat/libcuda.so.570.86",
            library("driver", "libcuda.so.1", Some("570.86.15")),
        )
        .elf(
            "opt/bin/tool",
            part("cuda-runtime", Some("static"), "", Some("12.1")),
        )
        .stack();
    assert_eq!(only(&stack, "cuda-runtime").version, "12.4");
    let driver = only(&stack, "driver");
    assert_eq!(
        (driver.details["kind"].as_str(), driver.loaded),
        ("stub", false)
    );
    let compat = only(&stack, "cuda-compat");
    assert_eq!(
        (compat.version.as_str(), compat.loaded),
        ("570.86.15", false)
    );
    assert_eq!(stack.machines["x86_64"], 3);
    assert_eq!(stack.machines["aarch64"], 1);
}

#[test]
fn packages_of_one_project_are_one_component() {
    let stack = Image::new()
        .distribution(SITE, "tensorrt", "10.7.0")
        .distribution(SITE, "tensorrt-cu12", "10.7.0")
        .distribution(
            "opt/venv/lib/python3.12/site-packages",
            "tensorrt",
            "10.7.0",
        )
        .stack();
    let copies: Vec<_> = stack
        .components
        .iter()
        .filter(|component| component.name == "tensorrt")
        .collect();
    assert_eq!(copies.len(), 2);
    assert_eq!(
        copies.iter().map(|copy| copy.evidence.len()).sum::<usize>(),
        3
    );
}
