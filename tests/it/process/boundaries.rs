//! Releases on both sides of a boundary of `rules/knowledge/processes/`, with the files and dynamic sections of their wheels.

use imgcheck::Overlay;
use imgcheck_base::bounds::Bounds;
use imgcheck_elf::ElfFacts;
use imgcheck_model::finding::{Finding, Severity};
use imgcheck_model::process::LoaderFacts;
use imgcheck_model::process::cause::When;
use imgcheck_rules::rules::{Facts, ImageFacts, RuleSet};

use super::{names, symbol};
use crate::sample::{Image, SITE, elf};

/// PyTorch of a release, with the runtime of its wheels.
fn torch(version: &str) -> Image {
    let file = format!("__version__ = '{version}+cu128'\ncuda: Optional[str] = '12.8'\n");
    Image::python()
        .torch()
        .layer()
        .text(&format!("{SITE}/torch/version.py"), &file)
        .package("torch", version)
        .wheel("cuda_runtime", "libcudart.so.12")
}

/// torchaudio up to 2.10: `_torchaudio.so` needs `libtorchaudio.so`, and neither has a search path.
fn torchaudio(image: Image, version: &str, undefined: &[&str]) -> Image {
    let library = ElfFacts {
        soname: Some("libtorchaudio.so".to_owned()),
        imports: undefined.iter().map(|name| symbol(name)).collect(),
        ..elf(&["libtorch_cuda.so", "libcudart.so.12"])
    };
    let lib = format!("{SITE}/torchaudio/lib");
    image
        .package("torchaudio", version)
        .elf(&format!("{lib}/libtorchaudio.so"), library)
        .library(
            &lib,
            "_torchaudio.so",
            &["libtorchaudio.so", "libtorch_python.so", "libtorch_cuda.so"],
        )
}

/// What `torch-partner-version` says.
fn said(image: &Image) -> Vec<Finding> {
    let derived = image.derive(&Overlay::default()).unwrap();
    let facts = Facts {
        loader: Some(derived.loader.into()),
        ..Facts::of_image(ImageFacts::default(), vec![], &derived.stack.into())
    };
    let mut findings = RuleSet::builtin()
        .unwrap()
        .evaluate(&facts, &Bounds::default())
        .unwrap();
    findings.retain(|finding| finding.rule == "torch-partner-version");
    findings
}

fn faults(facts: &LoaderFacts) -> usize {
    let missing = facts
        .missing
        .iter()
        .filter(|it| it.context.when != When::Use);
    missing.count() + facts.undefined_symbols.len()
}

#[test]
fn torchaudio_opens_its_library_first_up_to_2_10_and_last_from_2_11() {
    let lib = format!("{SITE}/torchaudio/lib");
    let needed = ["libtorch_cuda.so", "libcudart.so.12"];
    let later = torch("2.11.0")
        .package("torchaudio", "2.11.0")
        .library(&lib, "_torchaudio.abi3.so", &needed)
        .library(&lib, "libtorchaudio.abi3.so", &needed);
    let first = ["libtorchaudio.so", "_torchaudio.so"];
    let last = ["_torchaudio.abi3.so", "libtorchaudio.abi3.so"];
    for (image, expected) in [
        (torchaudio(torch("2.9.1"), "2.9.1", &[]), first),
        (torchaudio(torch("2.10.0"), "2.10.0", &[]), first),
        (later, last),
    ] {
        assert_eq!(said(&image), []);
        let facts = image.loader();
        assert_eq!(faults(&facts), 0, "{facts:?}");
        let loaded = names(&facts.processes[0]);
        assert!(loaded.ends_with(&expected), "{loaded:?}");
    }
}

#[test]
fn torchaudio_for_another_pytorch_is_an_error() {
    let symbol = "_ZN3c1013MessageLoggerC1EPKciib";
    let help = |torch_version: &str, version: &str| {
        let findings = said(&torchaudio(torch(torch_version), version, &[symbol]));
        let [finding] = findings.as_slice() else {
            panic!("{findings:?}");
        };
        assert_eq!(finding.severity, Severity::Error);
        assert!(finding.message.contains(symbol), "{}", finding.message);
        finding.help.clone().unwrap_or_default()
    };
    let other = help("2.9.1", "2.10.0");
    assert!(
        other.starts_with("PyTorch 2.9.1 needs torchaudio 2.9.1: "),
        "{other}"
    );
    // What is installed is not what to install.
    let same = help("2.10.0", "2.10.0");
    assert!(
        same.starts_with("torchaudio 2.10.0 is the release for PyTorch 2.10.0, but "),
        "{same}"
    );
    assert!(!same.contains("--no-deps"), "{same}");
}

/// 2.5.0 looks for libcufile, which none of its requirements brings; 2.5.1 no longer does.
#[test]
fn torch_2_5_0_alone_looks_for_cufile() {
    let wheels = [
        ("cublas", "libcublas.so.12"),
        ("cudnn", "libcudnn.so.9"),
        ("cuda_nvrtc", "libnvrtc.so.12"),
        ("cuda_cupti", "libcupti.so.12"),
        ("cufft", "libcufft.so.11"),
        ("curand", "libcurand.so.10"),
        ("nvjitlink", "libnvJitLink.so.12"),
        ("cusparse", "libcusparse.so.12"),
        ("cusolver", "libcusolver.so.11"),
        ("nccl", "libnccl.so.2"),
        ("nvtx", "libnvToolsExt.so.1"),
    ];
    // Without a search path, so that the list is looked for.
    let library = elf(&["libcublas.so.12"]);
    let image = |version: &str| {
        let image = torch(version).elf(
            &format!("{SITE}/torch/lib/libtorch_global_deps.so"),
            library.clone(),
        );
        let add = |image: Image, (folder, name): &(&str, &str)| image.wheel(folder, name);
        wheels.iter().fold(image, add)
    };
    let shown = |image: Image| {
        let missing = image.loader().missing;
        let first = missing.into_iter().find(|it| it.context.when != When::Use);
        first.map_or_else(String::new, |it| it.context.shown)
    };
    let message = "ValueError: libcufile.so.*[0-9] not found in the system path";
    assert_eq!(shown(image("2.5.0")), message);
    assert_eq!(shown(image("2.5.0").wheel("cufile", "libcufile.so.0")), "");
    assert_eq!(shown(image("2.5.1")), "");
}

/// CTranslate2 is built for CUDA 12 since 4.0.
#[test]
fn ctranslate2_needs_cublas_12_since_4_0() {
    let misses = |version: &str| {
        let library = format!("libctranslate2-0123abcd.so.{version}");
        let module = ElfFacts {
            rpath: Some("$ORIGIN/../ctranslate2.libs".to_owned()),
            ..elf(&[&library])
        };
        let facts = Image::python()
            .wheel("cuda_runtime", "libcudart.so.12")
            .process(&["NVIDIA_VISIBLE_DEVICES=all"], &[])
            .package("numpy", "2.2.6")
            .text(&format!("{SITE}/numpy/__init__.py"), "")
            .package("ctranslate2", version)
            .library(&format!("{SITE}/ctranslate2.libs"), &library, &[])
            .elf(
                &format!("{SITE}/ctranslate2/_ext.cpython-311-x86_64-linux-gnu.so"),
                module,
            )
            .loader();
        let mut missing = facts.missing.iter();
        missing.any(|it| it.library == "libcublas.so.12")
    };
    assert_eq!(
        ["3.24.0", "4.0.0", "4.4.0", "4.8.5"].map(misses),
        [false, true, true, true]
    );
}
