//! The distribution, its packages, CUDA toolkits, and nonsense.

use super::builder::*;
use imgcheck_layer::Capture;
use imgcheck_model::stack::EvidenceKind;
use imgcheck_model::stack::Stack;

#[test]
fn system_packages_own_what_is_on_their_lists() {
    let stanza = |name: &str, version: &str| {
        format!(
            "Package: {name}\nStatus: install ok installed\nArchitecture: amd64\nVersion: {version}\nDescription: x\n\n"
        )
    };
    let status = stanza("cuda-cudart-12-8", "12.8.90-1")
        + &stanza("libnccl2", "2.27.3-1+cuda12.8")
        + &stanza("libnccl-dev", "2.27.3-1+cuda12.8")
        + "Package: libcudnn8\nStatus: deinstall ok config-files\nVersion: 8.9.7.29-1\n";
    let stack = Image::new()
        .link("lib", "usr/lib")
        .text("var/lib/dpkg/status", &status)
        .text(
            "var/lib/dpkg/info/libnccl2:amd64.list",
            "/.\n/lib\n/lib/x86_64-linux-gnu/libnccl.so.2.27.3\n",
        )
        .text(
            "var/lib/dpkg/info/cuda-cudart-12-8.list",
            "/usr/local/cuda-12.8/lib64/libcudart.so.12.8.90\n",
        )
        .elf("usr/lib/x86_64-linux-gnu/libc.so.6", plain("libc.so.6"))
        .elf(
            "usr/lib/x86_64-linux-gnu/libnccl.so.2.27.3",
            library("nccl", "libnccl.so.2", Some("2.27.3")),
        )
        .elf(
            "opt/other/libnccl.so.2",
            library("nccl", "libnccl.so.2", Some("2.19.3")),
        )
        .stack();
    let system = stack
        .components
        .iter()
        .find(|component| component.path.contains("x86_64"))
        .unwrap();
    assert_eq!(system.evidence[1].kind, EvidenceKind::Dpkg);
    assert_eq!(system.evidence[1].detail, "libnccl2 2.27.3-1+cuda12.8");
    assert!(system.loaded);
    let other = stack
        .components
        .iter()
        .find(|component| component.path.contains("other"))
        .unwrap();
    assert!(
        other
            .evidence
            .iter()
            .all(|evidence| evidence.kind != EvidenceKind::Dpkg)
    );
    // Its library was removed.
    assert!(table(&stack, "cuda-runtime").is_empty());
    assert!(table(&stack, "cudnn").is_empty());
}

#[test]
fn the_distribution_and_its_c_libraries() {
    let mut libc = plain("libc.so.6");
    libc.version_definitions = ["GLIBC_2.4", "GLIBC_2.36", "GLIBC_2.9"]
        .map(str::to_owned)
        .to_vec();
    let mut libstdcxx = plain("libstdc++.so.6");
    libstdcxx.version_definitions = ["GLIBCXX_3.4.9", "GLIBCXX_3.4.30"]
        .map(str::to_owned)
        .to_vec();
    let stack = Image::new()
        .link("etc/os-release", "../usr/lib/os-release")
        .text(
            "usr/lib/os-release",
            "PRETTY_NAME=\"Debian\"\nID=debian\nVERSION_ID=\"12\"\n",
        )
        .text(
            "var/lib/dpkg/status.d/libc6",
            "Package: libc6\nVersion: 2.36-9+deb12u10\n",
        )
        .elf("usr/lib/x86_64-linux-gnu/libc.so.6", libc)
        .elf("usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", libstdcxx)
        .stack();
    assert_eq!(only(&stack, "os").version, "debian12");
    assert_eq!(only(&stack, "os").path, "/usr/lib/os-release");
    let glibc = only(&stack, "glibc");
    assert_eq!(glibc.version, "2.36");
    assert_eq!(glibc.evidence[0].kind, EvidenceKind::Dpkg);
    assert_eq!(only(&stack, "libstdc++").version, "3.4.30");
    for (id, number, expected) in [
        ("ubuntu", "22.04", "ubuntu22.04"),
        ("rhel", "8.9", "ubi8"),
        ("rocky", "8.9", "rockylinux8"),
        ("amzn", "2023", "amzn2023"),
        ("alpine", "3.20.1", "alpine3.20"),
        ("centos", "7", "centos7"),
    ] {
        let text = format!("ID=\"{id}\"\nVERSION_ID='{number}'\n");
        let stack = Image::new().text("etc/os-release", &text).stack();
        assert_eq!(only(&stack, "os").version, expected);
    }
}

#[test]
fn alpine_packages() {
    let stack = Image::new()
        .text(
            "lib/apk/db/installed",
            "C:Q1\nP:python3\nV:3.12.8-r1\nA:x86_64\n\nP:musl\nV:1.2.5-r8\n",
        )
        .elf("usr/bin/python3.12", plain(""))
        .stack();
    assert_eq!(only(&stack, "python").version, "3.12.8");
}

#[test]
fn toolkits() {
    let stack = Image::new()
        .link("usr/local/cuda", "cuda-12.8")
        .text(
            "usr/local/cuda-12.8/version.json",
            r#"{"cuda": {"name": "CUDA SDK", "version": "12.8.1"}}"#,
        )
        .text(
            "usr/local/cuda-12.8/targets/x86_64-linux/include/cuda_runtime_api.h",
            "#define CUDART_VERSION  12080\n",
        )
        .elf("usr/local/cuda-12.8/bin/nvcc", plain(""))
        .elf(
            "usr/local/cuda-12.8/targets/x86_64-linux/lib/libcudart.so.12.8.90",
            library("cuda-runtime", "libcudart.so.12", Some("12.8")),
        )
        .text(
            "usr/include/x86_64-linux-gnu/cudnn_version_v9.h",
            "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 10\n#define CUDNN_PATCHLEVEL 2\n",
        )
        .text("usr/local/cuda-10.2/version.txt", "CUDA Version 10.2.89\n")
        .stack();
    assert_eq!(
        table(&stack, "cuda-toolkit"),
        [
            "*12.8.1 /usr/local/cuda-12.8",
            "10.2.89 /usr/local/cuda-10.2"
        ]
    );
    let toolkit = &stack
        .components
        .iter()
        .find(|component| component.version == "12.8.1")
        .unwrap()
        .details;
    assert_eq!(toolkit["headers"], "12.8");
    assert_eq!(toolkit["cudnn-headers"], "9.10.2");
    assert!(toolkit.contains_key("nvcc"));
    let runtime = only(&stack, "cuda-runtime");
    assert!(
        runtime
            .evidence
            .iter()
            .any(|evidence| evidence.kind == EvidenceKind::HeaderFile)
    );
}

#[test]
fn the_files_that_are_kept() {
    let patterns = imgcheck_model::knowledge::file_patterns().unwrap();
    let capture = |path| patterns.capture_at(path, 1);
    for path in [
        "usr/local/lib/python3.11/site-packages/torch/version.py",
        "opt/conda/lib/python3.12/site-packages/nvidia_nccl_cu12-2.27.3.dist-info/METADATA",
        "usr/lib/python3/dist-packages/pip-23.0.1.egg-info/PKG-INFO",
        "usr/lib/python3/dist-packages/six-1.16.0.egg-info",
        "opt/venv/pyvenv.cfg",
        "usr/local/include/python3.11/patchlevel.h",
        "opt/conda/conda-meta/pytorch-2.8.0-cuda128_py312.json",
        "opt/conda/envs/x/conda-meta/python-3.11.9-h1.json",
        "var/lib/dpkg/status",
        "var/lib/dpkg/status.d/libc6",
        "lib/apk/db/installed",
        "etc/os-release",
        "usr/local/cuda-12.8/version.json",
        "usr/local/cuda/version.txt",
        "usr/local/cuda-12.8/targets/x86_64-linux/include/cuda_runtime_api.h",
        "usr/include/cuda.h",
        "usr/include/x86_64-linux-gnu/cudnn_version_v9.h",
        "usr/include/cudnn_version.h",
        "usr/include/x86_64-linux-gnu/NvInferVersion.h",
        "etc/ld.so.conf.d/nvidia.conf",
    ] {
        assert_eq!(capture(path), Capture::Text, "{path}");
    }
    assert_eq!(capture("etc/ld.so.cache"), Capture::Bytes);
    for path in [
        "usr/local/lib/python3.11/site-packages/torch-2.8.0.dist-info/RECORD",
        "var/lib/dpkg/info/libnccl2:amd64.list",
        "var/lib/dpkg/info/cuda-cudart-12-8.list",
    ] {
        assert_eq!(capture(path), Capture::FileList, "{path}");
    }
    for path in [
        "usr/local/lib/python3.11/site-packages/torch-2.8.0.dist-info/RECORD",
        "usr/local/lib/python3.11/site-packages/nvidia/cuda_runtime/include/cuda.h",
        "opt/conda/conda-meta/numpy-2.2.6-py312.json",
        "var/lib/dpkg/info/bash.list",
        "usr/share/doc/METADATA",
    ] {
        assert_ne!(capture(path), Capture::Text, "{path}");
    }
}

#[test]
fn an_empty_image() {
    let stack = Image::new().stack();
    let toolkit = stack.container_toolkit.clone();
    assert_eq!(toolkit.capabilities.enabled, ["utility", "compute"]);
    let empty = Stack {
        container_toolkit: toolkit,
        ..Stack::default()
    };
    assert_eq!(stack, empty);
}
