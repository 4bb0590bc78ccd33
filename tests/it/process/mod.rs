//! What the processes of small images load.

mod boundaries;
mod faults;
mod hosts;
mod packages;
mod processes;
mod variants;

use imgcheck::Overlay;
use imgcheck_elf::ElfFacts;
use imgcheck_elf::facts::{Bound, Import};
use imgcheck_model::process::LoaderFacts;
use imgcheck_model::process::cause::{FoundBy, When};
use imgcheck_model::process::facts::{Missing, ProcessFacts};
use serde_json::json;

use crate::sample::{Image, SITE, elf, identified};

fn symbol(name: &str) -> Import<'_> {
    Import {
        name: name.into(),
        version: None,
        weak: false,
        bound: Bound::default(),
    }
}

/// Python 3.11 with PyTorch 2.8.
fn pytorch() -> Image {
    Image::python().torch().package("torch", "2.8.0")
}

fn names(process: &ProcessFacts) -> Vec<&str> {
    let objects = process.objects.iter();
    objects
        .map(|object| object.path.rsplit('/').next().unwrap())
        .collect()
}

#[test]
fn torch_preloads_the_compilers_of_the_wheels() {
    let facts = pytorch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .wheel("cuda_nvrtc", "libnvrtc.so.12")
        .wheel("nvjitlink", "libnvJitLink.so.12")
        .loader();
    let process = &facts.processes[0];
    assert_eq!((process.name.as_str(), process.main), ("python", true));
    assert_eq!(
        names(process),
        [
            "python3.11",
            "ld-linux-x86-64.so.2",
            "_ctypes.cpython-311-x86_64-linux-gnu.so",
            "libtorch_global_deps.so",
            "libcudart.so.12",
            "libnvrtc.so.12",
            "libnvJitLink.so.12",
            "_C.cpython-311-x86_64-linux-gnu.so",
            "libtorch_python.so",
            "libtorch_cuda.so"
        ]
    );
    let cudart = &process.objects[4];
    assert_eq!(cudart.reason, "DT_RPATH of libtorch_global_deps.so");
    assert_eq!((cudart.found_by, cudart.global), (FoundBy::Rpath, true));
    assert_eq!(
        (cudart.directory.as_str(), cudart.cuda.as_str()),
        ("nvidia/cuda_runtime", "12")
    );
    assert_eq!(process.objects[5].requested_by, "");
    assert!(process.imports[0].succeeds);
    assert!(
        facts
            .missing
            .iter()
            .all(|missing| missing.context.when == When::Use)
    );
}

#[test]
fn libraries_that_need_the_driver_load_without_it() {
    let extension = ElfFacts {
        imports: [symbol("cuInit")].into_iter().collect(),
        ..elf(&["libcuda.so.1"])
    };
    let facts = pytorch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .package("flash-attn", "2.8.0")
        .text(&format!("{SITE}/flash_attn/__init__.py"), "")
        .elf(&format!("{SITE}/flash_attn_2_cuda.abi3.so"), extension)
        .loader();
    let imports = &facts.processes[0].imports;
    assert!(imports.len() == 2 && imports.iter().all(|import| import.succeeds));
    assert!(facts.missing.is_empty() && facts.undefined_symbols.is_empty());
}

/// The wheels of TensorFlow serve CPUs and GPUs alike; on an image for CPUs no GPU library is missing.
#[test]
fn first_uses_of_a_gpu_count_only_where_there_is_cuda() {
    let sample = pytorch().wheel("cuda_runtime", "libcudart.so.12");
    let misses = |facts: LoaderFacts| {
        let is_known = |all: &[Missing]| {
            let mut all = all.iter();
            all.any(|it| it.library == "libtorch_cuda_linalg.so")
        };
        assert_ne!(is_known(&facts.missing), is_known(&facts.missing_on_gpus));
        is_known(&facts.missing)
    };
    let with = |devices: &str| {
        let variable = format!("NVIDIA_VISIBLE_DEVICES={devices}");
        sample.clone().process(&[&variable], &[]).loader()
    };
    assert!(sample.loader().missing.is_empty());
    assert!(!misses(with("void")));
    assert!(misses(with("all")));
    for library in ["cublas", "cudnn"] {
        let gpu = identified(library, "", &[]);
        let sample = pytorch().wheel("cuda_runtime", "libcudart.so.12");
        let path = format!("/usr/lib/lib{library}.so");
        assert!(misses(sample.elf(&path, gpu).loader()), "{library}");
    }
    // As the wheels of CTranslate2 have it, which serve CPUs, too.
    let bundled = format!("{SITE}/ctranslate2.libs/libcudnn-463fd6d5.so.8.9.7");
    let dispatcher = identified("cudnn", "", &[("part", "dispatcher")]);
    assert!(!misses(sample.elf(&bundled, dispatcher).loader()));
}

#[test]
fn a_package_whose_pytorch_is_not_modeled_is_not_judged() {
    let facts = Image::python()
        .package("torchvision", "0.13.0")
        .elf(
            &format!("{SITE}/torchvision/_C.so"),
            elf(&["libc10.so", "libtorch.so"]),
        )
        .loader();
    assert!(facts.missing.is_empty(), "{:?}", facts.missing);
    assert!(facts.processes.iter().all(|it| it.imports.is_empty()));
}

#[test]
fn a_script_sets_the_library_path_and_shadows_a_wheel() {
    let facts = pytorch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .library("opt/old", "libtorch_cuda.so", &[])
        .text(
            "entrypoint.sh",
            "#!/bin/sh\nexport LD_LIBRARY_PATH=/opt/old:$LD_LIBRARY_PATH\nexec \"$@\"\n",
        )
        .config(json!({"Entrypoint": ["/entrypoint.sh"]}))
        .loader();
    assert_eq!(facts.processes[0].library_path_from, "/entrypoint.sh");
    // DT_RPATH comes before it.
    assert!(facts.shadowed.is_empty());
}

#[test]
fn an_overlay_changes_what_is_loaded() {
    let torch_cuda = ElfFacts {
        runpath: Some("$ORIGIN/../../nvidia/cudnn/lib".to_owned()),
        ..elf(&["libcudnn.so.9"])
    };
    let sample = pytorch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .wheel("cudnn", "libcudnn.so.9")
        .elf(&format!("{SITE}/torch/lib/libcudnn_user.so"), torch_cuda)
        .package("torchvision", "0.23.0")
        .elf(
            &format!("{SITE}/torchvision/_C.so"),
            ElfFacts {
                runpath: Some("$ORIGIN/../torch/lib".to_owned()),
                ..elf(&["libcudnn_user.so"])
            },
        )
        .library("opt/cudnn-9.1", "libcudnn.so.9", &[]);
    assert!(sample.loader().shadowed.is_empty());
    let overlay = Overlay {
        env: [("LD_LIBRARY_PATH".to_owned(), "/opt/cudnn-9.1".to_owned())].into(),
        ..Overlay::default()
    };
    let facts = sample.derive(&overlay).unwrap().loader;
    let [shadowed] = facts.shadowed.as_slice() else {
        panic!("{:?}", facts.shadowed);
    };
    assert_eq!(shadowed.loaded.path, "/opt/cudnn-9.1/libcudnn.so.9");
    assert_eq!(shadowed.reason, "LD_LIBRARY_PATH");
    assert_eq!(facts.processes[0].library_path_from, "overlay");
}
