//! The stack of small images, one of each kind.

#![allow(clippy::unwrap_used)]

use imgcheck::elf::ElfFacts;
use imgcheck::elf::facts::{GpuCode, Identity, Reading, ReadingKind};
use imgcheck::image::RootFilesystem;
use imgcheck::layer::{Content, Entry, EntryKind, LayerFacts};
use imgcheck::stack::{self, Catalogue, Component, EvidenceKind, Stack};
use oci_spec::image::ImageConfiguration;
use serde_json::json;

/// An image under construction.
#[derive(Default)]
struct Image {
    layers: Vec<LayerFacts>,
    config: serde_json::Value,
}

impl Image {
    fn new() -> Self {
        Image {
            layers: vec![LayerFacts::default()],
            config: json!({}),
        }
    }

    fn layer(mut self) -> Self {
        self.layers.push(LayerFacts::default());
        self
    }

    fn entry(mut self, path: &str, kind: EntryKind) -> Self {
        self.layers.last_mut().unwrap().entries.push(Entry {
            path: path.to_owned(),
            kind,
            size: 0,
            mode: 0o755,
        });
        self
    }

    fn text(self, path: &str, text: &str) -> Self {
        self.entry(path, EntryKind::File(Content::Text(text.to_owned())))
    }

    fn link(self, path: &str, target: &str) -> Self {
        self.entry(path, EntryKind::Symlink(target.to_owned()))
    }

    fn elf(self, path: &str, facts: ElfFacts) -> Self {
        self.entry(path, EntryKind::File(Content::Elf(Box::new(facts))))
    }

    fn distribution(self, site: &str, name: &str, version: &str) -> Self {
        let path = format!(
            "{site}/{}-{version}.dist-info/METADATA",
            name.replace('-', "_")
        );
        self.text(
            &path,
            &format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nText\n"),
        )
    }

    /// Environment variables and command of the process.
    fn process(mut self, env: &[&str], command: &[&str]) -> Self {
        self.config = json!({"Env": env, "Cmd": command});
        self
    }

    fn stack(self) -> Stack {
        let config: ImageConfiguration = serde_json::from_value(json!({
            "architecture": "amd64", "os": "linux", "config": self.config,
            "rootfs": {"type": "layers", "diff_ids": []},
        }))
        .unwrap();
        let root = RootFilesystem::merge(&self.layers);
        stack::read(&root, &config, &Catalogue::builtin().unwrap())
    }
}

/// An ELF file of x86-64 that no recipe knows.
fn plain(soname: &str) -> ElfFacts {
    ElfFacts {
        machine: 62,
        soname: Some(soname.to_owned()).filter(|soname| !soname.is_empty()),
        ..ElfFacts::default()
    }
}

/// An ELF file of x86-64 that was identified as a library.
fn library(library: &str, soname: &str, version: Option<&str>) -> ElfFacts {
    part(library, None, soname, version)
}

fn part(library: &str, part: Option<&str>, soname: &str, version: Option<&str>) -> ElfFacts {
    ElfFacts {
        identity: Some(Identity {
            library: library.to_owned(),
            part: part.map(str::to_owned),
            readings: version
                .map(|value| reading("version", value))
                .into_iter()
                .collect(),
        }),
        ..plain(soname)
    }
}

fn reading(fact: &str, value: &str) -> Reading {
    Reading {
        fact: fact.to_owned(),
        value: value.to_owned(),
        kind: ReadingKind::Code,
        detail: "test".to_owned(),
    }
}

/// `name version path`, with `*` in front of what is loaded.
fn table(stack: &Stack, name: &str) -> Vec<String> {
    let rows = stack
        .components
        .iter()
        .filter(|component| component.name == name);
    rows.map(|row| {
        format!(
            "{}{} {}",
            if row.loaded { "*" } else { "" },
            row.version,
            row.path
        )
    })
    .collect()
}

fn only<'s>(stack: &'s Stack, name: &str) -> &'s Component {
    let found: Vec<_> = stack
        .components
        .iter()
        .filter(|component| component.name == name)
        .collect();
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found[0]
}

const SITE: &str = "usr/local/lib/python3.11/site-packages";

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
        ("2.27.3", Some(1), true)
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

fn torch(image: Image, site: &str, version: &str, cuda: &str) -> Image {
    let version_py = format!(
        "__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {cuda}\ngit_version = 'abc'\n"
    );
    let release = version.split('+').next().unwrap();
    image
        .text(&format!("{site}/torch/version.py"), &version_py)
        .distribution(site, "torch", release)
        .elf(
            &format!("{site}/torch/lib/libtorch_python.so"),
            library("torch-python", "libtorch_python.so", Some(release)),
        )
}

fn libtorch_cuda(sass: &[(&str, u32)]) -> ElfFacts {
    let mut facts = library("torch-cuda", "libtorch_cuda.so", None);
    facts.needed = vec!["libcudart.so.12".to_owned(), "libcudnn.so.9".to_owned()];
    facts.rpath = Some("$ORIGIN/../../nvidia/cuda_runtime/lib:$ORIGIN".to_owned());
    facts.gpu = Some(GpuCode {
        containers: 4,
        sass: sass
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect(),
        ..GpuCode::default()
    });
    let readings = &mut facts.identity.as_mut().unwrap().readings;
    readings.push(reading("compiled-cudnn", "9.8.0"));
    readings.push(reading("arch-list", "sm_80 sm_90"));
    facts
}

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
    let with_wheel = Image {
        config: image.config.clone(),
        layers: image.layers.clone(),
    }
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
fn pythons_and_the_environment_of_the_process() {
    let interpreter = || plain("");
    let base = || {
        Image::new()
            .elf("usr/bin/python3.11", interpreter())
            .link("usr/bin/python3", "python3.11")
            .text("var/lib/dpkg/status", "Package: python3.11-minimal\nStatus: install ok installed\nVersion: 3.11.2-6+deb12u6\n")
            .elf("usr/local/bin/python3.12", interpreter())
            .link("usr/local/bin/python3", "python3.12")
            .text("usr/local/include/python3.12/patchlevel.h", "#define PY_VERSION \"3.12.4\"\n")
            .link("opt/venv/bin/python", "/usr/bin/python3")
            .text("opt/venv/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n")
            .distribution("opt/venv/lib/python3.11/site-packages", "vllm", "0.9.1")
            .distribution("usr/local/lib/python3.12/site-packages", "vllm", "0.8.0")
    };
    let system = "3.11.2 /usr/bin/python3.11";
    let local = "3.12.4 /usr/local/bin/python3.12";
    let by_default = base().stack();
    assert_eq!(
        table(&by_default, "python"),
        [format!("*{local}"), system.to_owned()]
    );
    assert!(table(&by_default, "vllm")[0].starts_with("*0.8.0 "));
    for (env, command) in [
        (
            vec!["PATH=/opt/venv/bin:/usr/local/bin:/usr/bin"],
            vec!["serve"],
        ),
        (vec![], vec!["/opt/venv/bin/python", "app.py"]),
        (vec![], vec!["/opt/venv/bin/vllm", "serve"]),
    ] {
        let stack = base().process(&env, &command).stack();
        assert_eq!(
            table(&stack, "python"),
            [format!("*{system}"), local.to_owned()],
            "{command:?}"
        );
        assert!(
            table(&stack, "vllm")[0].starts_with("*0.9.1 "),
            "{command:?}"
        );
    }
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
fn the_variable_of_the_official_image_adds_the_patch_release_only() {
    let python = |version: &str| {
        Image::new()
            .elf("usr/local/bin/python3.11", plain(""))
            .process(&[version], &["python3"])
            .stack()
    };
    assert_eq!(
        only(&python("PYTHON_VERSION=3.11.9"), "python").version,
        "3.11.9"
    );
    assert_eq!(
        only(&python("PYTHON_VERSION=3.10.14"), "python").version,
        "3.11"
    );
}

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
    // Its library is not there: nothing but the package speaks for it.
    assert_eq!(only(&stack, "cuda-runtime").evidence.len(), 1);
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
fn distributions_keep_their_pins() {
    let stack = Image::new()
        .text(
            &format!("{SITE}/torch-2.8.0.dist-info/METADATA"),
            "Name: Torch\nVersion: 2.8.0\nRequires-Dist: triton==3.4.0; platform_system == \"Linux\"\n\nRequires-Dist: no\n",
        )
        .text(&format!("{SITE}/old.egg-info/PKG-INFO"), "Name: jax\nVersion: 0.4.1\n")
        .stack();
    let torch = stack
        .distributions
        .iter()
        .find(|distribution| distribution.name == "torch")
        .unwrap();
    assert_eq!(
        torch.requires,
        ["triton==3.4.0; platform_system == \"Linux\""]
    );
    assert_eq!(torch.site, format!("/{SITE}"));
    assert_eq!(only(&stack, "jax").version, "0.4.1");
}

#[test]
fn nonsense_is_no_evidence() {
    let stack = Image::new()
        .text(
            &format!("{SITE}/torch/version.py"),
            &"x = '".repeat(2_000_000),
        )
        .text(
            &format!("{SITE}/torch-1.dist-info/METADATA"),
            "\u{fffd}\u{fffd}",
        )
        .text(
            &format!("{SITE}/jax-1.dist-info/METADATA"),
            "Name: jax\nVersion: <script>\n",
        )
        .text("opt/conda/conda-meta/python-3.json", "{\"name\": 3")
        .text("usr/local/cuda-12/version.json", "[]")
        .text("usr/local/cuda-12/version.txt", "CUDA Version unknown")
        .text(
            "var/lib/dpkg/status",
            "Package: libc6\nVersion:\n\n\n\n:\nPackage\n",
        )
        .text("lib/apk/db/installed", "P:\nV:\n")
        .text("etc/os-release", "ID=\nVERSION_ID")
        .text(
            "usr/include/cudnn_version.h",
            "#define CUDNN_MAJOR 99999999999999999999999\n#define",
        )
        .text("opt/venv/pyvenv.cfg", "=\n==")
        .link("opt/venv/bin/python", "python")
        .stack();
    let names: Vec<_> = stack
        .components
        .iter()
        .map(|component| (&component.name, &component.version))
        .collect();
    assert_eq!(names, [(&"torch".to_owned(), &String::new())]);
}

#[test]
fn an_empty_image() {
    assert_eq!(Image::new().stack(), Stack::default());
}
