//! Modules that are not in the image, without which a package fails only at a certain use.

use imgcheck_image::EntryKind;
use imgcheck_model::imports::{AbsenceReason, ImportFailure};

use crate::imports::{failures, torch};
use crate::sample::{Image, SITE};

const CUDA: &str = "usr/local/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so";
const REQUIREMENT: &str =
    "triton==3.4.0; platform_system == \"Linux\" and platform_machine == \"x86_64\"";

/// PyTorch 2.8 for CUDA, with the modules of its compiler, and with this requirement.
fn requiring(requirement: &str) -> Image {
    torch("")
        .distribution_with(
            SITE,
            "torch",
            "2.8.0",
            &format!("Requires-Dist: {requirement}\n"),
        )
        .text(CUDA, "")
        .text(&format!("{SITE}/torch/_inductor/__init__.py"), "")
        .text(&format!("{SITE}/torch/_inductor/compile_fx.py"), "")
        .text(&format!("{SITE}/torch/_dynamo/__init__.py"), "")
}

/// JAX with the metadata of the packages for CUDA 13.
fn jax(version: &str) -> Image {
    torch("")
        .text(&format!("{SITE}/jax/__init__.py"), "")
        .package("jax", version)
        .package("jax-cuda13-pjrt", version)
        .package("jax-cuda13-plugin", version)
}

fn absent(image: &Image) -> Vec<String> {
    let failures = failures(image).into_iter();
    failures.map(|it| it.module).collect()
}

#[test]
fn triton_that_pytorch_requires() {
    let image = requiring(REQUIREMENT);
    let [failure] = failures(&image).try_into().unwrap();
    let expected = ImportFailure {
        program: "torch".to_owned(),
        outcome: "the first `torch.compile` for a GPU ends with `TritonMissing: Cannot find a working triton installation`".to_owned(),
        module: "triton".to_owned(),
        raises: "ModuleNotFoundError".to_owned(),
        distribution: "torch".to_owned(),
        requirement: REQUIREMENT.to_owned(),
        missing: "triton".to_owned(),
        environment: "/usr/local".to_owned(),
        searched: vec![format!("/{SITE}")],
        certain: true,
        ..ImportFailure::default()
    };
    assert_eq!(failure, expected);
    let [failure] = failures(&image.clone().package("triton", "3.4.0"))
        .try_into()
        .unwrap();
    assert_eq!(
        (failure.reason, failure.version.as_str()),
        (AbsenceReason::MetadataOnly, "3.4.0")
    );
    let there = image.text(&format!("{SITE}/triton/__init__.py"), "");
    assert_eq!(failures(&there), []);
}

#[test]
fn a_pytorch_without_triton_by_design() {
    let none = Vec::<String>::new();
    let requirement = "sympy>=1.13.3";
    assert_eq!(absent(&requiring(requirement)), none);
    let elsewhere = "triton==3.4.0; platform_machine == \"aarch64\"";
    assert_eq!(absent(&requiring(elsewhere)), none);
    let extra = "triton==3.4.0; extra == \"opt\"";
    assert_eq!(absent(&requiring(extra)), none);
    // A build for CPUs.
    let cpu = requiring(REQUIREMENT)
        .layer()
        .entry(CUDA, EntryKind::Whiteout);
    assert_eq!(absent(&cpu), none);
    // Any module of the name may be it.
    let nightly = requiring("pytorch-triton==3.4.0");
    assert_eq!(absent(&nightly), ["triton"]);
    let there = nightly.text(&format!("{SITE}/triton/__init__.py"), "");
    assert_eq!(absent(&there), none);
}

#[test]
fn a_part_of_pytorch() {
    // A function of PyTorch for devices of other vendors brings modules.
    let image = requiring("sympy")
        .text(&format!("{SITE}/torch/__init__.py"), "import sys\ndef _register_device_module(name, module):\n    sys.modules[name] = module\n")
        .layer()
        .entry(&format!("{SITE}/torch/_inductor"), EntryKind::Whiteout);
    let [failure] = failures(&image).try_into().unwrap();
    assert_eq!(
        (
            failure.module.as_str(),
            failure.missing.as_str(),
            failure.version.as_str()
        ),
        ("torch._inductor", "torch", "2.8.0")
    );
    assert_eq!(failure.reason, AbsenceReason::FilesMissing);
    assert_eq!(
        failure.outcome,
        "the first `torch.compile` ends with ModuleNotFoundError"
    );
    // A directory that is left may have anything.
    let left = image
        .clone()
        .text(&format!("{SITE}/torch/_inductor/note.txt"), "");
    assert_eq!(failures(&left), []);
    // What may bring modules makes it unknown.
    let finder = image.text(&format!("{SITE}/__editable___x_1_0_finder.py"), "");
    assert_eq!(failures(&finder), []);
}

#[test]
fn the_plugin_of_jax() {
    let none = Vec::<String>::new();
    let pjrt = format!("{SITE}/jax_plugins/xla_cuda13/__init__.py");
    let plugin = format!("{SITE}/jax_cuda13_plugin/cuda_plugin_extension.so");
    let whole = jax("0.11.2").text(&pjrt, "").text(&plugin, "");
    assert_eq!(absent(&whole.clone()), none);
    let without_pjrt = jax("0.11.2").text(&plugin, "");
    let [failure] = failures(&without_pjrt).try_into().unwrap();
    assert_eq!(
        (
            failure.module.as_str(),
            failure.missing.as_str(),
            failure.reason
        ),
        (
            "jax_plugins.xla_cuda13",
            "jax-cuda13-pjrt",
            AbsenceReason::FilesMissing
        )
    );
    assert_eq!(
        absent(&jax("0.11.2").text(&pjrt, "")),
        ["jax_cuda13_plugin.cuda_plugin_extension"]
    );
    // A namespace in two directories.
    let other = "usr/lib/python3/dist-packages/jax_plugins/tpu/__init__.py";
    assert_eq!(absent(&whole.text(other, "")), none);
    // The plugin for CUDA 12 takes its place, and other releases are not known.
    let other = without_pjrt
        .package("jax-cuda12-pjrt", "0.11.2")
        .package("jax-cuda12-plugin", "0.11.2");
    assert_eq!(absent(&other), none);
    assert_eq!(absent(&jax("0.5.0").text(&plugin, "")), none);
}

#[test]
fn a_file_that_the_package_was_installed_with() {
    let image = torch("from torch import optim as optim\n").text(
        &format!("{SITE}/torch-2.8.0.dist-info/RECORD"),
        "torch/__init__.py,,\ntorch/optim/__init__.py,,\ntorch/optim/adam.py,,\n",
    );
    let optim = image.clone().text(
        &format!("{SITE}/torch/optim/__init__.py"),
        "from torch.optim import adam as adam\n",
    );
    for (image, module, name) in [(image, "torch", "optim"), (optim, "torch.optim", "adam")] {
        let [failure] = failures(&image).try_into().unwrap();
        assert_eq!(
            (failure.module.as_str(), failure.name.as_str()),
            (module, name)
        );
        assert_eq!(
            (failure.reason, failure.version.as_str()),
            (AbsenceReason::FilesMissing, "2.8.0")
        );
    }
}
