//! What packages choose and load themselves: bitsandbytes by the release of CUDA, CuPy through cuda-pathfinder, CTranslate2 with a
//! bundled dispatcher of cuDNN.

use imgcheck_elf::ElfFacts;
use imgcheck_model::process::LoaderFacts;
use imgcheck_model::process::cause::{When, Without};
use imgcheck_model::process::facts::Missing;

use super::{names, pytorch};
use crate::sample::{Image, SITE, elf, identified};

fn version_py(version: &str, cuda: &str) -> String {
    format!("__version__ = '{version}'\ncuda: Optional[str] = {cuda}\ngit_version = '0a1b2c'\n")
}

/// PyTorch 2.8 for a release of CUDA (`None` for CPUs) with a release of bitsandbytes that has these libraries.
fn bitsandbytes(version: &str, cuda: &str, releases: &[&str]) -> Image {
    let torch = version_py("2.8.0", cuda);
    let directory = format!("{SITE}/bitsandbytes");
    let image = pytorch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .layer()
        .text(&format!("{SITE}/torch/version.py"), &torch)
        .package("bitsandbytes", version)
        .text(&format!("{directory}/__init__.py"), "")
        .library(&directory, "libbitsandbytes_cpu.so", &[]);
    releases.iter().fold(image, |image, release| {
        image.library(
            &directory,
            &format!("libbitsandbytes_cuda{release}.so"),
            &[],
        )
    })
}

/// The file of bitsandbytes that is missing or, with a leading `+`, loaded.
fn chosen(facts: &LoaderFacts) -> String {
    let mut missing = facts.missing.iter();
    if let Some(missing) = missing.find(|it| it.context.package == "bitsandbytes") {
        let name = missing.library.rsplit('/').next().unwrap();
        return name.to_owned();
    }
    let loaded = names(&facts.processes[0]).into_iter();
    let mut loaded = loaded.filter(|it| it.starts_with("libbitsandbytes"));
    loaded.next().map_or(String::new(), |it| format!("+{it}"))
}

#[test]
fn the_library_that_bitsandbytes_chooses_must_be_there() {
    let releases = ["126", "129", "130"];
    for (version, cuda, override_by, file) in [
        ("0.49.0", "'13.2'", "", "libbitsandbytes_cuda132.so"),
        ("0.49.0", "'13.0'", "", "+libbitsandbytes_cuda130.so"),
        ("0.49.0", "'13.2'", "130", "+libbitsandbytes_cuda130.so"),
        ("0.49.0", "'13.0'", "124", "libbitsandbytes_cuda124.so"),
        ("0.49.0", "None", "130", ""),
        ("0.50.2", "'13.2'", "", "+libbitsandbytes_cuda130.so"),
        ("0.50.2", "'12.8'", "", "+libbitsandbytes_cuda126.so"),
        ("0.50.2", "'12.4'", "", "+libbitsandbytes_cuda126.so"),
        ("0.50.2", "'12.9'", "", "+libbitsandbytes_cuda129.so"),
        ("0.50.2", "'11.8'", "", "libbitsandbytes_cuda118.so"),
        ("0.50.2", "'13.2'", "124", "libbitsandbytes_cuda124.so"),
        ("0.45.5", "'12.8'", "", "libbitsandbytes_cuda128.so"),
        ("0.42.0", "'12.8'", "", "libbitsandbytes_cuda128.so"),
    ] {
        let variable = format!("BNB_CUDA_VERSION={override_by}");
        let image = bitsandbytes(version, cuda, &releases).process(&[&variable], &["python3"]);
        assert_eq!(
            chosen(&image.loader()),
            file,
            "{version} {cuda} {override_by}"
        );
    }
}

#[test]
fn a_missing_choice_names_what_the_package_has_instead() {
    let facts = bitsandbytes("0.49.0", "'13.2'", &["129", "130"]).loader();
    let mut missing = facts.missing.iter();
    let missing = missing
        .find(|it| it.context.package == "bitsandbytes")
        .unwrap();
    let context = &missing.context;
    assert_eq!(
        (context.optional, context.without),
        (true, Without::Package)
    );
    assert_eq!(
        context.shown,
        format!(
            "RuntimeError: Configured CUDA binary not found at {}",
            missing.library
        )
    );
    assert_eq!(
        missing.variants,
        ["libbitsandbytes_cuda129.so", "libbitsandbytes_cuda130.so"]
    );
    assert!(facts.processes[0].imports.iter().all(|it| it.succeeds));
}

/// One that is there and does not load fails with the loader's message.
#[test]
fn a_choice_that_does_not_load_is_not_absent() {
    let facts = bitsandbytes("0.49.0", "'13.2'", &[])
        .library(
            &format!("{SITE}/bitsandbytes"),
            "libbitsandbytes_cuda132.so",
            &["libcusparse.so.12"],
        )
        .loader();
    let mut missing = facts.missing.iter();
    let missing = missing
        .find(|it| it.context.package == "bitsandbytes")
        .unwrap();
    assert_eq!(missing.library, "libcusparse.so.12");
    assert!(missing.context.shown.is_empty() && missing.variants.is_empty());
}

fn nvrtc(soname: &str, version: &str) -> ElfFacts {
    identified("nvrtc", soname, &[("version", version)])
}

/// CuPy 14.2 for CUDA 13 with a release of cuda-pathfinder, or without it.
fn cupy(image: Image, pathfinder: &str, env: &[&str]) -> Image {
    let env = [env, &["NVIDIA_VISIBLE_DEVICES=all"]].concat();
    let modules = format!("{SITE}/cupy_backends/cuda");
    let image = image
        .package("numpy", "2.1.0")
        .text(&format!("{SITE}/numpy/__init__.py"), "")
        .package("cupy-cuda13x", "14.2.0")
        .text(&format!("{SITE}/cupy/__init__.py"), "")
        .elf(
            &format!("{modules}/_softlink.cpython-311-x86_64-linux-gnu.so"),
            elf(&[]),
        )
        .process(&env, &["python3"]);
    match pathfinder {
        "" => image,
        version => image
            .package("cuda-pathfinder", version)
            .text(&format!("{SITE}/cuda/pathfinder/__init__.py"), ""),
    }
}

/// The libraries of NVRTC that the process maps, and those that it misses, in order.
fn nvrtc_of(image: &Image) -> (Vec<String>, Vec<String>) {
    let facts = image.loader();
    let is_nvrtc = |name: &String| name.starts_with("libnvrtc");
    let mut loaded: Vec<String> = names(&facts.processes[0])
        .into_iter()
        .map(str::to_owned)
        .filter(is_nvrtc)
        .collect();
    loaded.sort();
    let missing = facts.missing.iter().map(|it| it.library.clone());
    (loaded, missing.filter(is_nvrtc).collect())
}

#[test]
fn cuda_pathfinder_loads_the_builtins_of_nvrtc_13_0() {
    let lib = format!("{SITE}/nvidia/cu13/lib");
    let wheels = Image::python()
        .elf(
            &format!("{lib}/libnvrtc.so.13"),
            nvrtc("libnvrtc.so.13", "13.0.88"),
        )
        .wheel("cu13", "libnvrtc-builtins.so.13.0");
    let (both, alone) = (
        ["libnvrtc-builtins.so.13.0", "libnvrtc.so.13"].as_slice(),
        ["libnvrtc.so.13"].as_slice(),
    );
    // The three that were run with CuPy, and the first that has them.
    for version in ["1.1.0", "1.3.4", "1.8.6", "1.9.1"] {
        let (loaded, missing) = nvrtc_of(&cupy(wheels.clone(), version, &[]));
        assert_eq!(loaded, both, "{version}");
        assert!(missing.is_empty(), "{version}: {missing:?}");
    }
    let (loaded, missing) = nvrtc_of(&cupy(wheels.clone(), "1.0.0", &[]));
    assert_eq!(loaded, alone);
    assert_eq!(missing, ["libnvrtc-builtins.so.13.0"]);
    // Without it nothing finds the wheel, and a library that the loader finds does not find the builtins.
    let (loaded, missing) = nvrtc_of(&cupy(wheels.clone(), "", &[]));
    assert!(loaded.is_empty());
    assert_eq!(missing, ["libnvrtc.so.12"]);
    let system = wheels.elf(
        "opt/nvrtc/libnvrtc.so.13",
        nvrtc("libnvrtc.so.13", "13.0.88"),
    );
    let (_, missing) = nvrtc_of(&cupy(system, "", &["LD_LIBRARY_PATH=/opt/nvrtc"]));
    assert_eq!(missing, ["libnvrtc-builtins.so.13.0"]);
}

#[test]
fn cuda_pathfinder_takes_a_library_that_is_loaded() {
    let lib = format!("{SITE}/nvidia/cu13/lib");
    let image = pytorch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .elf(
            &format!("{SITE}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
            ElfFacts {
                runpath: Some("$ORIGIN".to_owned()),
                ..nvrtc("libnvrtc.so.12", "12.8.93")
            },
        )
        .wheel("cuda_nvrtc", "libnvrtc-builtins.so.12.8")
        .elf(
            &format!("{lib}/libnvrtc.so.13"),
            nvrtc("libnvrtc.so.13", "13.0.88"),
        )
        .wheel("cu13", "libnvrtc-builtins.so.13.0");
    let (loaded, missing) = nvrtc_of(&cupy(image, "1.9.1", &[]));
    assert_eq!(loaded, ["libnvrtc-builtins.so.12.8", "libnvrtc.so.12"]);
    assert!(missing.is_empty(), "{missing:?}");
}

/// PyTorch up to 2.13 leaves all wheels out behind the first that is missing, and 2.14 only that one.
#[test]
fn cuda_pathfinder_loads_the_builtins_beside_a_pytorch_that_has_not() {
    let lib = format!("{SITE}/nvidia/cu13/lib");
    for release in ["2.11.0", "2.12.1", "2.13.0", "2.14.1"] {
        let version = version_py(release, "'13.0'");
        let image = Image::python()
            .torch()
            .package("torch", release)
            .wheel("cuda_runtime", "libcudart.so.12")
            .elf(
                &format!("{lib}/libnvrtc.so.13"),
                nvrtc("libnvrtc.so.13", "13.0.88"),
            )
            .wheel("cu13", "libnvrtc-builtins.so.13.0")
            .layer()
            .text(&format!("{SITE}/torch/version.py"), &version);
        let (loaded, missing) = nvrtc_of(&cupy(image, "1.9.1", &[]));
        assert_eq!(
            loaded,
            ["libnvrtc-builtins.so.13.0", "libnvrtc.so.13"],
            "{release}"
        );
        assert!(missing.is_empty(), "{release}: {missing:?}");
    }
}

#[test]
fn cuda_pathfinder_looks_into_the_toolkit_of_the_environment() {
    let toolkit = Image::python()
        .elf(
            "opt/cuda/lib64/libnvrtc.so.13",
            nvrtc("libnvrtc.so.13", "13.2.86"),
        )
        .library("opt/cuda/lib64", "libnvrtc-builtins.so.13.2", &[]);
    let builtins = "libnvrtc-builtins.so.13.2";
    for (version, env, missed) in [
        ("1.9.1", "CUDA_PATH=/opt/cuda", None),
        ("1.9.1", "CUDA_HOME=/opt/cuda", None),
        ("1.8.6", "CUDA_PATH=/opt/cuda", Some(builtins)),
        ("1.9.1", "CUDA_PATH=/opt/other", Some("libnvrtc.so.12")),
        ("", "CUDA_PATH=/opt/cuda", Some("libnvrtc.so.12")),
    ] {
        let (_, missing) = nvrtc_of(&cupy(toolkit.clone(), version, &[env]));
        assert_eq!(missing, Vec::from_iter(missed), "{version} {env}");
    }
}

/// CTranslate2 4.4.0 from PyPI beside the wheels of cuBLAS and cuDNN 9, which LD_LIBRARY_PATH names.
fn ctranslate2() -> Image {
    let libs = format!("{SITE}/ctranslate2.libs");
    let module = ElfFacts {
        rpath: Some("$ORIGIN/../ctranslate2.libs".to_owned()),
        ..elf(&["libctranslate2-d3638643.so.4.4.0"])
    };
    Image::python()
        .package("numpy", "2.1.0")
        .text(&format!("{SITE}/numpy/__init__.py"), "")
        .package("ctranslate2", "4.4.0")
        .text(&format!("{SITE}/ctranslate2/__init__.py"), "")
        .elf(
            &format!("{SITE}/ctranslate2/_ext.cpython-311-x86_64-linux-gnu.so"),
            module,
        )
        .library(
            &libs,
            "libctranslate2-d3638643.so.4.4.0",
            &["libcudnn-463fd6d5.so.8.9.7"],
        )
        .elf(
            &format!("{libs}/libcudnn-463fd6d5.so.8.9.7"),
            ElfFacts {
                rpath: Some("ctranslate2.libs".to_owned()),
                ..identified("cudnn", "libcudnn-463fd6d5.so.8.9.7", &[])
            },
        )
        .elf(
            &format!("{SITE}/nvidia/cublas/lib/libcublas.so.12"),
            identified("cublas", "libcublas.so.12", &[]),
        )
        .wheel("cudnn", "libcudnn_ops.so.9")
        .wheel("cudnn", "libcudnn_cnn.so.9")
        .process(
            &[&format!(
                "LD_LIBRARY_PATH=/{SITE}/nvidia/cublas/lib:/{SITE}/nvidia/cudnn/lib"
            )],
            &["python3"],
        )
}

#[test]
fn a_bundled_dispatcher_of_cudnn_needs_its_sublibraries() {
    let missed = |image: Image| -> Vec<Missing> { image.loader().missing };
    let missing = missed(ctranslate2());
    let names: Vec<&str> = missing.iter().map(|it| it.library.as_str()).collect();
    assert_eq!(
        names,
        ["libcudnn_ops_infer.so.8", "libcudnn_cnn_infer.so.8"]
    );
    let context = &missing[0].context;
    assert_eq!(
        (context.package.as_str(), context.when),
        ("ctranslate2", When::Use)
    );
    assert_eq!(
        context.shown,
        "Could not load library libcudnn_ops_infer.so.8."
    );
    assert!(
        missing[0]
            .needed_by
            .ends_with("/libcudnn-463fd6d5.so.8.9.7")
    );
    let whole = ctranslate2()
        .wheel("cudnn", "libcudnn_ops_infer.so.8")
        .wheel("cudnn", "libcudnn_cnn_infer.so.8");
    assert_eq!(missed(whole), []);
}

/// faiss-gpu-cu12 asks the metadata of the nvidia wheels for its libraries; a CUDA elsewhere is not enough.
#[test]
fn faiss_needs_the_wheels_of_cuda() {
    let image = |env: &str| {
        Image::python()
            .package("numpy", "2.1.0")
            .text(&format!("{SITE}/numpy/__init__.py"), "")
            .package("faiss-gpu-cu12", "1.13.2")
            .text(&format!("{SITE}/faiss/__init__.py"), "")
            .library("opt/cuda", "libcudart.so.12", &[])
            .process(&["LD_LIBRARY_PATH=/opt/cuda", env], &["python3"])
    };
    let facts = image("X=").loader();
    let [missing] = facts.missing.as_slice() else {
        panic!("{:?}", facts.missing);
    };
    assert!(
        missing
            .library
            .ends_with("/nvidia/cuda_runtime/lib/libcudart.so.12")
    );
    assert!(!missing.context.optional);
    assert!(missing.context.shown.ends_with(" nvidia-cuda-runtime-cu12"));
    let skipped = image("_FAISS_WHEEL_DISABLE_CUDA_PRELOAD=1").loader();
    assert_eq!(skipped.missing, []);
    let whole = image("X=")
        .wheel("cuda_runtime", "libcudart.so.12")
        .wheel("cublas", "libcublas.so.12")
        .wheel("cublas", "libcublasLt.so.12");
    assert_eq!(whole.loader().missing, []);
}
