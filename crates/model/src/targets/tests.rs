//! Images judged by targets.

#![allow(clippy::unwrap_used)]

use super::{CodeKind, GpuFacts, Tables, Target, TargetInput, judge};
use crate::process::LoaderFacts;
use crate::process::facts::{ObjectFacts, ProcessFacts};
use crate::stack::{self, Component, Coverage, LibraryCoverage};
use imgcheck_elf::Depth;
use imgcheck_elf::facts::GpuCode;

fn tables() -> Tables {
    crate::knowledge::targets().unwrap()
}

fn counted(names: &[&str]) -> Vec<(String, u32)> {
    names.iter().map(|name| ((*name).to_owned(), 2)).collect()
}

/// A file: path, package directory, identity, SASS, PTX.
type File<'f> = (&'f str, &'f str, &'f str, &'f [&'f str], &'f [&'f str]);

/// An image whose process maps files.
struct Image {
    gpu: stack::Gpu,
    loader: LoaderFacts,
}

impl Image {
    fn new(files: &[File]) -> Self {
        let mut gpu = stack::Gpu::default();
        let mut objects = Vec::new();
        for (path, directory, library, sass, ptx) in files {
            gpu.libraries.push(LibraryCoverage {
                path: (*path).to_owned(),
                code: GpuCode {
                    containers: 2,
                    sass: counted(sass),
                    ptx: counted(ptx),
                    ptx_isa: ptx
                        .iter()
                        .map(|name| ((*name).to_owned(), "8.7".to_owned()))
                        .collect(),
                    ..GpuCode::default()
                },
                ..LibraryCoverage::default()
            });
            objects.push(ObjectFacts {
                path: (*path).to_owned(),
                directory: (*directory).to_owned(),
                library: (*library).to_owned(),
                package: "flash-attn".to_owned(),
                ..ObjectFacts::default()
            });
        }
        let process = ProcessFacts {
            main: true,
            objects,
            ..ProcessFacts::default()
        };
        Image {
            gpu,
            loader: LoaderFacts {
                processes: vec![process],
                ..LoaderFacts::default()
            },
        }
    }

    fn torch(mut self, sass: &[&str]) -> Self {
        self.gpu.torch = Some(Coverage {
            sass: sass.iter().map(|name| (*name).to_owned()).collect(),
            ptx: Vec::new(),
        });
        self
    }

    fn on(&self, gpu: &str, driver: Option<&str>) -> GpuFacts {
        let target = Target {
            gpus: vec![gpu.to_owned()],
            driver: driver.map(str::to_owned),
            ..Target::default()
        };
        let evidence = TargetInput {
            depth: Depth::Default,
            gpu: &self.gpu,
            loader: Some(&self.loader),
            stack: &[],
            driver: None,
            toolkit: None,
        };
        judge(&[target], &evidence, &tables())
            .unwrap()
            .remove(0)
            .gpus
            .remove(0)
    }
}

#[test]
fn a_package_has_the_best_code_of_its_libraries() {
    let image = Image::new(&[
        (
            "/s/site-packages/vllm/_flashmla.so",
            "vllm",
            "",
            &["sm_90a"],
            &[],
        ),
        (
            "/s/site-packages/vllm/_C.so",
            "vllm",
            "",
            &["sm_80", "sm_90a"],
            &[],
        ),
        (
            "/s/site-packages/flash_attn_2_cuda.so",
            "",
            "",
            &["sm_80", "sm_90"],
            &[],
        ),
        (
            "/s/site-packages/deep_gemm/x.so",
            "deep_gemm",
            "",
            &["sm_90a"],
            &[],
        ),
    ]);
    let on = image.on("RTX 5090", None);
    let packages: Vec<_> = on
        .packages
        .iter()
        .map(|it| (it.name.as_str(), it.support.how, it.specific))
        .collect();
    assert_eq!(
        packages,
        [
            ("deep_gemm", CodeKind::None, true),
            ("flash-attn", CodeKind::None, false),
            ("vllm", CodeKind::None, false)
        ]
    );
    let on = image.on("A100", None);
    assert_eq!(on.packages[2].support.by, "sm_80");
}

#[test]
fn a_package_has_an_oldest_supported_gpu() {
    let image = Image::new(&[(
        "/s/site-packages/flash_attn_2_cuda.so",
        "",
        "",
        &["sm_100", "sm_80", "sm_90"],
        &["compute_120"],
    )]);
    assert_eq!(image.on("T4", None).packages[0].from, "8.0");
}

/// NCCL, which is linked into it, has no sm_75, so not every container has sm_75.
#[test]
fn pytorch_with_other_libraries_linked_in_is_judged_by_its_arch_list_too() {
    let image = Image::new(&[]).torch(&["sm_80"]);
    let torch = Component {
        name: "torch".to_owned(),
        loaded: true,
        details: [("arch-list".to_owned(), "sm_75 sm_80".to_owned())].into(),
        ..Component::default()
    };
    let evidence = TargetInput {
        depth: Depth::Default,
        gpu: &image.gpu,
        loader: None,
        stack: &[torch],
        driver: None,
        toolkit: None,
    };
    let target = |gpu: &str| Target {
        gpus: vec![gpu.to_owned()],
        ..Target::default()
    };
    let facts = judge(
        &[target("T4"), target("A100"), target("H100")],
        &evidence,
        &tables(),
    )
    .unwrap();
    let torch = |index: usize| facts[index].gpus[0].torch.clone().unwrap();
    assert_eq!((torch(0).by.as_str(), torch(0).whole), ("sm_75", false));
    assert_eq!((torch(1).by.as_str(), torch(1).whole), ("sm_80", true));
    assert_eq!(torch(2).how, CodeKind::None);
}

#[test]
fn pytorch_is_judged_by_what_all_its_kernels_have() {
    let files: &[File] = &[(
        "/t/libtorch_cuda.so",
        "torch",
        "torch-cuda",
        &["sm_80", "sm_90", "sm_120"],
        &[],
    )];
    let image = Image::new(files).torch(&["sm_80", "sm_90"]);
    assert_eq!(
        image.on("RTX 5090", None).torch.unwrap().how,
        CodeKind::None
    );
    assert_eq!(image.on("L4", None).torch.unwrap().by, "sm_80");
    assert!(image.on("L4", None).packages.is_empty());
    let mut sampled = Image::new(files).torch(&["sm_80", "sm_90"]);
    sampled.gpu.libraries[0].code.sampled = true;
    assert_eq!(sampled.on("L4", None).torch.unwrap().how, CodeKind::Unknown);
    assert_eq!(sampled.on("V100", None).torch.unwrap().how, CodeKind::None);
}

#[test]
fn cuda_libraries_are_not_packages_and_their_gaps_are_unknown() {
    let image = Image::new(&[
        (
            "/n/libcublasLt.so.12",
            "nvidia/cublas",
            "cublaslt",
            &["sm_80"],
            &["compute_90"],
        ),
        (
            "/n/libcusparseLt.so.0",
            "nvidia/cusparselt",
            "cusparselt",
            &["sm_80"],
            &[],
        ),
    ]);
    let on = image.on("V100", None);
    assert!(on.packages.is_empty());
    assert!(
        on.libraries
            .iter()
            .all(|library| library.support.how == CodeKind::Unknown)
    );
    assert_eq!(
        image.on("B200", None).libraries[0].support.how,
        CodeKind::Unknown
    );
    assert_eq!(
        image.on("A10", None).libraries[1].support.how,
        CodeKind::Sass
    );
}

#[test]
fn ptx_needs_a_driver_that_compiles_it() {
    let image = Image::new(&[("/o/libx.so", "ort", "", &["sm_80"], &["compute_90"])]);
    let support = image.on("H100", None).packages.remove(0).support;
    assert_eq!(
        (support.how, support.needs_cuda.as_deref(), support.compiles),
        (CodeKind::Ptx, Some("12.8"), None)
    );
    let old = image
        .on("H100", Some("550.54.14"))
        .packages
        .remove(0)
        .support;
    assert_eq!(old.compiles, Some(false));
    let new = image
        .on("H100", Some("580.65.06"))
        .packages
        .remove(0)
        .support;
    assert_eq!(new.compiles, Some(true));
}

#[test]
fn an_invalid_target_is_an_error() {
    let image = Image::new(&[]);
    let evidence = TargetInput {
        depth: Depth::Default,
        gpu: &image.gpu,
        loader: None,
        stack: &[],
        driver: None,
        toolkit: None,
    };
    let target = |gpu: &str, driver: &str| Target {
        gpus: vec![gpu.to_owned()],
        driver: Some(driver.to_owned()),
        ..Target::default()
    };
    assert!(judge(&[target("H100", "535.183.06")], &evidence, &tables()).is_ok());
    assert!(judge(&[target("H1000", "535.183.06")], &evidence, &tables()).is_err());
    assert!(judge(&[target("H100", "new")], &evidence, &tables()).is_err());
    assert!(target("H100", "535").check(&tables()).is_err());
    assert!(target("H100", "535.183.06").check(&tables()).is_ok());
}

#[test]
fn services_know_the_gpus_by_names_that_mean_them() {
    let tables = tables();
    let names: super::GpuNames = crate::knowledge::table("gpu-names").unwrap();
    let mut count = 0;
    for capability in tables.gpus.capabilities() {
        for model in tables.gpus.models(capability) {
            let named = names.skypilot(model).iter().chain(names.runpod(model));
            for name in named {
                // Editions of a model, as SkyPilot writes them.
                let edition = ["-WK", "-MEGA", "SUPER"]
                    .iter()
                    .fold(name.as_str(), |it, word| it.trim_end_matches(word));
                let found = tables.gpus.parse(edition).unwrap();
                assert_eq!(
                    (&found.name, found.capability),
                    (model, capability),
                    "{name}"
                );
                count += 1;
            }
        }
    }
    assert_eq!(
        count,
        names.count(),
        "a row has a model that gpus.yaml does not have"
    );
}
