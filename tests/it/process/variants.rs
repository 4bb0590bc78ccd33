//! Packages that have the same extension for several releases of FFmpeg, PyTorch or CUDA, and packages whose own import loads a broken
//! one.

use imgcheck_elf::ElfFacts;
use imgcheck_model::process::LoaderFacts;
use imgcheck_model::process::cause::{When, Without};

use super::{names, pytorch, symbol};
use crate::sample::{Image, SITE, elf};

/// PyTorch 2.8 for CUDA 12.8 that can be imported.
fn healthy() -> Image {
    pytorch().wheel("cuda_runtime", "libcudart.so.12")
}

fn undefined(name: &str, needed: &[&str]) -> ElfFacts {
    ElfFacts {
        imports: [symbol(name)].into_iter().collect(),
        ..elf(needed)
    }
}

/// The process, package and outcome of each missing library: required or not, and without what the program goes on.
fn missing(facts: &LoaderFacts) -> Vec<(&str, &str, bool, Without)> {
    let missing = facts.missing.iter();
    let missing = missing.filter(|it| it.context.when != When::Use && !it.host_provided);
    missing
        .map(|it| {
            let context = &it.context;
            let library = it.library.rsplit('/').next().unwrap();
            (
                context.package.as_str(),
                library,
                context.optional,
                context.without,
            )
        })
        .collect()
}

fn is_clean(facts: &LoaderFacts) -> bool {
    missing(facts).is_empty()
        && facts.undefined_symbols.is_empty()
        && facts.unmet_versions.is_empty()
        && facts.processes[0].imports.iter().all(|it| it.succeeds)
}

fn succeeds(facts: &LoaderFacts, package: &str) -> bool {
    let imports = &facts.processes[0].imports;
    let import = imports.iter().find(|it| it.package == package);
    import.unwrap_or_else(|| panic!("{imports:?}")).succeeds
}

/// torchcodec 0.9.1 as its wheels are: a set of three files for each FFmpeg, of which one needs libpython. `core5` is that of FFmpeg 5.
fn torchcodec(core5: ElfFacts) -> Image {
    let directory = format!("{SITE}/torchcodec");
    let mut image = healthy().package("torchcodec", "0.9.1");
    for (ffmpeg, avutil) in [(8, 60), (7, 59), (6, 58), (5, 57), (4, 56)] {
        let core = format!("libtorchcodec_core{ffmpeg}.so");
        let avutil = format!("libavutil.so.{avutil}");
        image = match ffmpeg {
            5 => image.elf(
                &format!("{directory}/{core}"),
                ElfFacts {
                    soname: Some(core.clone()),
                    ..core5.clone()
                },
            ),
            _ => image.library(&directory, &core, &[&avutil, "libtorch_python.so"]),
        };
        let needed = [&core, "libpython3.11.so.1.0", &avutil];
        image = image
            .library(
                &directory,
                &format!("libtorchcodec_custom_ops{ffmpeg}.so"),
                &needed,
            )
            .library(
                &directory,
                &format!("libtorchcodec_pybind_ops{ffmpeg}.so"),
                &[&core, &avutil],
            );
    }
    image
}

fn with_ffmpeg_5(image: Image) -> Image {
    image.library("usr/lib64", "libavutil.so.57", &[])
}

fn with_libpython(image: Image) -> Image {
    image.library("usr/lib64", "libpython3.11.so.1.0", &[])
}

const CORE5: [&str; 2] = ["libavutil.so.57", "libtorch_python.so"];

#[test]
fn torchcodec_loads_the_files_for_the_ffmpeg_that_is_there() {
    let facts = with_libpython(with_ffmpeg_5(torchcodec(elf(&CORE5)))).loader();
    assert!(is_clean(&facts), "{:?}", facts.missing);
    let names = names(&facts.processes[0]);
    for (name, is_loaded) in [("core8", false), ("core5", true), ("pybind_ops5", true)] {
        let name = format!("libtorchcodec_{name}.so");
        assert_eq!(names.contains(&name.as_str()), is_loaded, "{name}");
    }
}

/// Seen with torchcodec 0.9.1 on PyTorch 2.10: the message is about FFmpeg 5, and those about the others and about libpython would hide it.
#[test]
fn the_failure_of_the_ffmpeg_that_is_there_comes_first_and_hides_no_other() {
    let core5 = undefined("_ZN3c1013MessageLoggerC1EPKcii", &CORE5);
    let facts = with_ffmpeg_5(torchcodec(core5.clone())).loader();
    let [fault] = facts.undefined_symbols.as_slice() else {
        panic!("{:?}", facts.undefined_symbols);
    };
    assert!(fault.object.path.ends_with("/libtorchcodec_core5.so"));
    assert_eq!(fault.symbols[0].name, "_ZN3c1013MessageLoggerC1EPKcii");
    let context = &fault.context;
    assert!(context.first && !context.optional);
    assert_eq!(context.shown, "RuntimeError: Could not load libtorchcodec.");
    let tried = context.tried.iter();
    let tried: Vec<(&str, &str)> = tried
        .map(|it| (it.file.as_str(), it.message.split(':').next().unwrap()))
        .collect();
    assert_eq!(
        tried,
        [
            ("libtorchcodec_core8.so", "libavutil.so.60"),
            ("libtorchcodec_core7.so", "libavutil.so.59"),
            ("libtorchcodec_core6.so", "libavutil.so.58"),
            ("libtorchcodec_core4.so", "libavutil.so.56"),
        ]
    );
    // What would fail next, of the same set only.
    let libpython = (
        "torchcodec",
        "libpython3.11.so.1.0",
        false,
        Without::Unknown,
    );
    assert_eq!(missing(&facts), [libpython]);
    let facts = with_libpython(with_ffmpeg_5(torchcodec(core5))).loader();
    assert_eq!(missing(&facts), []);
    assert_eq!(facts.undefined_symbols.len(), 1);
    assert!(!succeeds(&facts, "torchcodec"));
}

#[test]
fn a_missing_libpython_is_the_failure_where_all_else_fits() {
    let facts = with_ffmpeg_5(torchcodec(elf(&CORE5))).loader();
    assert_eq!(
        missing(&facts),
        [(
            "torchcodec",
            "libpython3.11.so.1.0",
            false,
            Without::Unknown
        )]
    );
    assert_eq!(facts.missing[0].context.tried.len(), 4);
}

#[test]
fn without_ffmpeg_the_first_set_stands_for_all() {
    let facts = with_libpython(torchcodec(elf(&CORE5))).loader();
    assert_eq!(
        missing(&facts),
        [("torchcodec", "libavutil.so.60", false, Without::Unknown)]
    );
    assert_eq!(facts.missing[0].context.tried.len(), 4);
    assert!(!succeeds(&facts, "torchcodec"));
}

/// Since 0.16 FFmpeg is optional, and libheif is needed by a file that is opened when a program decodes such an image.
#[test]
fn libheif_and_ffmpeg_are_optional_for_torchcodec_0_16() {
    let directory = format!("{SITE}/torchcodec");
    let image = |image_library: ElfFacts| {
        healthy()
            .package("torchcodec", "0.17.0")
            .elf(
                &format!("{directory}/libtorchcodec_image.so"),
                image_library,
            )
            .library(&directory, "libtorchcodec_pybind_ops.so", &[])
            .library(
                &directory,
                "libtorchcodec_heic.so",
                &["libheif.so.1", "libtorch_python.so"],
            )
            .library(&directory, "libtorchcodec_core5.so", &CORE5)
            .library(&directory, "libtorchcodec_custom_ops5.so", &CORE5)
    };
    let fits = || elf(&["libtorch_python.so"]);
    assert!(is_clean(&with_ffmpeg_5(image(fits())).loader()));
    let without = image(fits()).loader();
    assert_eq!(
        missing(&without),
        [("torchcodec", "libavutil.so.57", true, Without::Feature)]
    );
    assert!(succeeds(&without, "torchcodec"));
    let other = undefined("_ZN3c103fooEv", &["libtorch_python.so"]);
    let facts = with_ffmpeg_5(image(other)).loader();
    assert_eq!(facts.undefined_symbols.len(), 1);
    assert!(!succeeds(&facts, "torchcodec"));
}

/// nixl-cu12 and nixl-cu13, of which each has nixl_ep for some releases of PyTorch.
fn nixl(cuda: &[u32], torch: &[&str]) -> Image {
    let mut image = healthy();
    for cuda in cuda {
        let bindings = format!("{SITE}/nixl_cu{cuda}");
        let ep = format!("{SITE}/nixl_ep_cu{cuda}");
        let runtime = format!("libcudart.so.{cuda}");
        image = image.package(&format!("nixl-cu{cuda}"), "1.5.1").library(
            &bindings,
            "_bindings.cpython-311-x86_64-linux-gnu.so",
            &[],
        );
        for torch in torch {
            let own = match *torch {
                "28" => elf(&[&runtime, "libtorch_python.so"]),
                _ => undefined("_ZN3c103fooEv", &[&runtime, "libtorch_python.so"]),
            };
            let file = format!("{ep}/nixl_ep_cpp_torch{torch}.cpython-311-x86_64-linux-gnu.so");
            image = image.elf(&file, own);
        }
    }
    image
}

#[test]
fn only_the_extension_for_the_installed_pytorch_counts() {
    assert!(is_clean(&nixl(&[12], &["27", "28", "29"]).loader()));
    let none = nixl(&[12], &["27", "29"]).loader();
    assert_eq!(
        missing(&none),
        [("nixl-cu12", "nixl_ep_cpp_torch28", true, Without::Module)]
    );
    let fault = &none.missing[0];
    assert_eq!(
        fault.context.message,
        "ModuleNotFoundError: No module named 'nixl_ep_cu12.nixl_ep_cpp_torch28'"
    );
    assert_eq!(fault.variants.len(), 2, "{:?}", fault.variants);
    assert!(none.undefined_symbols.is_empty());
    // A package that was built without any of them lacks none.
    assert!(is_clean(&nixl(&[12], &[]).loader()));
    // The one that fits can be broken as well.
    let broken = nixl(&[13], &["27", "28"]).loader();
    assert_eq!(
        missing(&broken),
        [("nixl-cu13", "libcudart.so.13", true, Without::Module)]
    );
}

/// `pip install nixl` brings both, and the CUDA of PyTorch decides.
#[test]
fn the_backend_for_another_cuda_is_not_imported() {
    let with_meta = |image: Image| {
        let file = format!("{SITE}/nixl/__init__.py");
        image.package("nixl", "1.5.1").text(&file, "").loader()
    };
    let version = "__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\ngit_version = 'x'\n";
    let meta = |cuda: &[u32]| {
        let file = format!("{SITE}/torch/version.py");
        with_meta(nixl(cuda, &["27", "28"]).layer().text(&file, version))
    };
    for cuda in [&[12, 13][..], &[12]] {
        let facts = meta(cuda);
        assert!(is_clean(&facts), "{:?}", facts.missing);
        assert!(succeeds(&facts, "nixl") && succeeds(&facts, "nixl-cu12"));
    }
    let other = meta(&[13]);
    assert_eq!(
        missing(&other),
        [("nixl", "nixl_cu12", false, Without::Unknown)]
    );
    assert_eq!(
        other.missing[0].context.message,
        "ImportError: detected CUDA 12 but nixl-cu12 is not installed"
    );
    assert!(!succeeds(&other, "nixl"));
    // Where nothing says which CUDA it is, each backend is imported.
    let mut unknown = Image::python();
    for cuda in [12, 13] {
        let directory = format!("{SITE}/nixl_cu{cuda}");
        let needed = if cuda == 12 {
            "libgone.so"
        } else {
            "libcuda.so.1"
        };
        unknown = unknown.package(&format!("nixl-cu{cuda}"), "1.5.1").library(
            &directory,
            "_bindings.abi3.so",
            &[needed],
        );
    }
    let gone = ("nixl-cu12", "libgone.so", false, Without::Unknown);
    assert_eq!(missing(&with_meta(unknown)), [gone]);
}

#[test]
fn sgl_kernel_fails_where_no_gpu_has_an_extension_that_loads() {
    let image = |sm90: &str, sm100: &str| {
        let directory = format!("{SITE}/sgl_kernel");
        let file = "common_ops.abi3.so";
        healthy()
            .package("sgl-kernel", "0.3.21")
            .library(&format!("{directory}/sm90"), file, &[sm90])
            .library(&format!("{directory}/sm100"), file, &[sm100])
            .loader()
    };
    let (there, gone) = ("libtorch_python.so", "libnvrtc.so.11.2");
    assert!(is_clean(&image(there, there)));
    let broken = image(gone, gone);
    assert_eq!(
        missing(&broken),
        [("sgl-kernel", gone, false, Without::Unknown)]
    );
    assert_eq!(broken.missing[0].context.tried.len(), 1);
    assert!(!succeeds(&broken, "sgl-kernel"));
    // Which one a program imports depends on its GPU.
    for facts in [image(gone, there), image(there, gone)] {
        assert_eq!(
            missing(&facts),
            [("sgl-kernel", gone, true, Without::Module)]
        );
        assert!(succeeds(&facts, "sgl-kernel"));
    }
}

#[test]
fn mooncake_is_of_no_use_where_neither_engine_nor_store_loads() {
    let name = "mooncake-transfer-engine";
    let image = |engine: &str, store: &str, torch: &str| {
        let directory = format!("{SITE}/mooncake");
        healthy()
            .package(name, "0.3.13")
            .library(&directory, "engine.so", &[engine])
            .library(&directory, "store.so", &[store])
            .library(
                &directory,
                &format!("pg_{torch}.cpython-311-x86_64-linux-gnu.so"),
                &["libtorch_python.so"],
            )
            .loader()
    };
    let (there, gone) = ("libcudart.so.12", "libcudart.so.13");
    assert!(is_clean(&image(there, there, "2_8_0")));
    let broken = image(gone, gone, "2_8_0");
    assert_eq!(missing(&broken), [(name, gone, true, Without::Package)]);
    assert_eq!(
        missing(&image(there, gone, "2_8_0")),
        [(name, gone, true, Without::Module)]
    );
    assert_eq!(
        missing(&image(there, there, "2_8_1")),
        [(name, "pg_2_8_0", true, Without::Module)]
    );
}

/// A package without a table that has the same library for several releases of PyTorch.
#[test]
fn one_of_the_modules_that_differ_in_numbers_is_enough() {
    let image = |libraries: &[(&str, ElfFacts)]| {
        let mut record = String::new();
        let mut image = healthy().package("fastops", "1.0");
        for (torch, facts) in libraries {
            record += &format!("fastops/lib_ops{torch}.so,,\n");
            let file = format!("{SITE}/fastops/lib_ops{torch}.so");
            image = image.elf(&file, facts.clone());
        }
        let path = format!("{SITE}/fastops-1.0.dist-info/RECORD");
        image.text(&path, &record).loader()
    };
    let fits = || elf(&["libtorch_python.so"]);
    let other = |name: &str| undefined(&format!("_ZN3c10{name}Ev"), &["libtorch_python.so"]);
    assert!(is_clean(&image(&[("27", other("1a")), ("28", fits())])));
    let none = image(&[("27", other("1a")), ("29", other("1b"))]);
    let [fault] = none.undefined_symbols.as_slice() else {
        panic!("{:?}", none.undefined_symbols);
    };
    assert!(fault.object.path.ends_with("/lib_ops29.so"));
    let common = image(&[("27", other("1a")), ("29", other("1a"))]);
    assert_eq!(common.undefined_symbols.len(), 2);
}
