#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::*;
use crate::stack::Gpu as GpuCode;
use crate::stack::container_toolkit::ContainerToolkit;
use imgcheck_elf::Depth;

fn tables() -> Tables {
    crate::knowledge::targets().unwrap()
}

fn floor() -> DriverFloor {
    DriverFloor {
        cuda: "12.8".to_owned(),
        native: Some("570.26".to_owned()),
        compatible: Some("525.60.13".to_owned()),
    }
}

fn compat(version: &str, path: &str, drivers: Option<&str>) -> Component {
    let details = drivers.map(|list| ("compat-drivers".to_owned(), list.to_owned()));
    Component {
        name: "cuda-compat".to_owned(),
        version: version.to_owned(),
        path: path.to_owned(),
        details: details.into_iter().collect(),
        ..Component::default()
    }
}

fn judged(
    driver: &str,
    gpus: &[&str],
    stack: &[Component],
    floor: Option<&DriverFloor>,
    toolkit: Option<&ContainerToolkit>,
) -> DriverFacts {
    let known = crate::knowledge::gpus().unwrap();
    let gpus: Vec<Gpu> = gpus.iter().map(|gpu| known.parse(gpu).unwrap()).collect();
    let image = TargetInput {
        depth: Depth::Default,
        gpu: &GpuCode::default(),
        loader: None,
        stack,
        driver: floor,
        toolkit,
    };
    let version = DriverVersion::parse(driver).unwrap();
    judge(&version, &gpus, &image, &tables())
}

fn with(driver: &str, gpus: &[&str], stack: &[Component]) -> DriverFacts {
    judged(driver, gpus, stack, Some(&floor()), None)
}

#[test]
fn requirements_of_the_image_are_compared_with_the_driver() {
    let knowledge = crate::knowledge::container_toolkit().unwrap();
    let unmet = |driver: &str, variables: &[(&str, &str)]| {
        let variables = variables.iter();
        let variables: BTreeMap<String, String> = variables
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let toolkit = ContainerToolkit::of_environment(&variables, &knowledge);
        judged(driver, &["A100"], &[], Some(&floor()), Some(&toolkit)).unmet
    };
    let require = |text| ("NVIDIA_REQUIRE_CUDA", text);
    let list = "cuda>=12.8 brand=tesla,driver>=550,driver<551";
    assert_eq!(
        unmet("535.183.06", &[require("cuda>=12.8")]),
        ["NVIDIA_REQUIRE_CUDA=cuda>=12.8"]
    );
    assert_eq!(
        unmet("535.183.06", &[require(list)]),
        ["NVIDIA_REQUIRE_CUDA=cuda>=12.8 …"]
    );
    assert_eq!(
        unmet("535.183.06", &[("CUDA_VERSION", "12.8.1")]),
        ["CUDA_VERSION=12.8.1"]
    );
    assert_eq!(
        unmet("535.183.06", &[("NVIDIA_REQUIRE_DRIVER", "driver>=570")]),
        ["NVIDIA_REQUIRE_DRIVER=driver>=570"]
    );
    for (driver, variables) in [
        ("570.124.06", vec![require("cuda>=12.8")]),
        // Whether the brand is that of the GPU is not known.
        ("550.54.14", vec![require(list)]),
        // A branch that no table has.
        ("999.10.10", vec![require("cuda>=12.8")]),
        (
            "535.183.06",
            vec![require("cuda>=12.8"), ("NVIDIA_DISABLE_REQUIRE", "1")],
        ),
        (
            "535.183.06",
            vec![require("cuda>=12.8"), ("NVIDIA_VISIBLE_DEVICES", "void")],
        ),
        ("535.183.06", vec![require("cuda==12.8")]),
    ] {
        assert_eq!(unmet(driver, &variables), [""; 0], "{driver} {variables:?}");
    }
}

#[test]
fn a_version_is_read_and_compared_by_its_numbers() {
    let version = |text: &str| DriverVersion::parse(text).unwrap();
    assert!(version("570.124.06") > version("570.26"));
    assert!(version("535.261.03") < version("545.23.06"));
    assert_eq!(version("535.183.6"), version("535.183.06"));
    assert_eq!(version("570.26"), version("570.26.0"));
    assert!(version("570.26.0").at_least("570.26.00") && version("570.26").at_least("570.26.0"));
    assert!(version("570.26.0") < version("570.26.1"));
    assert_eq!(tables().drivers.newest_cuda(535), Some("12.2"));
    assert_eq!(tables().drivers.newest_cuda(601), None);
    for (text, problem) in [
        ("535", "only a driver branch"),
        ("latest", "not a driver version"),
        ("", "not a driver version"),
        ("535.", "not a driver version"),
        ("5535.183.06", "more than three digits"),
    ] {
        let error = DriverVersion::parse(text).unwrap_err();
        assert!(error.problem.contains(problem), "{text}: {error}");
        assert!(error.help.contains("535.183.06"));
    }
}

#[test]
fn a_cuda_version_is_not_a_driver_version() {
    assert!(DriverVersion::parse("12.4").is_err());
    for version in ["535.183.06", "36.4.3", "580.65"] {
        assert!(DriverVersion::parse(version).is_ok(), "{version}");
    }
}

#[test]
fn native_minor_version_or_too_old() {
    assert_eq!(with("570.26", &[], &[]).how, "native");
    assert_eq!(with("580.65.06", &[], &[]).how, "native");
    let minor = with("535.183.06", &["A100"], &[]);
    assert_eq!(
        (minor.how.as_str(), minor.compiles_ptx),
        ("minor-version", Some(false))
    );
    let old = with("470.256.02", &["A100"], &[]);
    assert_eq!((old.how.as_str(), old.reason.as_str()), ("none", ""));
    assert_eq!(with("36.4.3", &["orin"], &[]).how, "unknown");
    assert_eq!(judged("570.26", &[], &[], None, None).how, "unknown");
}

/// A release that the toolkit table lacks has the floor of its major version.
#[test]
fn a_cuda_release_without_a_known_native_driver_is_judged_by_its_major_version() {
    let floor = DriverFloor {
        cuda: "13.99".to_owned(),
        native: None,
        compatible: Some("580.65.06".to_owned()),
    };
    let with = |driver: &str| judged(driver, &[], &[], Some(&floor), None);
    assert_eq!(with("470.256.02").how, "none");
    assert_eq!(with("470.256.02").compiles_ptx, Some(false));
    let newer = with("999.1.1");
    assert_eq!(
        (newer.how.as_str(), newer.compiles_ptx),
        ("minor-version", None)
    );
}

#[test]
fn a_floor_may_be_a_branch() {
    let version = |text: &str| DriverVersion::parse(text).unwrap();
    assert!(version("580.65.06").at_least("580"));
    assert!(version("580.65.06").at_least("580.65.06"));
    assert!(!version("575.57.08").at_least("580"));
    assert!(!version("580.65.06").at_least("unknown"));
}

#[test]
fn a_compat_package_is_used_where_that_is_verified() {
    let path = "/usr/local/cuda-12.8/compat/libcuda.so.570.124.06";
    let known = [compat("570.124.06", path, Some("470 535 550"))];
    let unknown = [compat("570.124.06-0ubuntu1", path, None)];
    let facts = with("470.256.02", &["A100"], &known);
    assert_eq!(
        (facts.how.as_str(), facts.compiles_ptx),
        ("compat-package", Some(true))
    );
    assert_eq!(facts.compat.as_deref(), Some("570.124.06"));
    assert_eq!(with("470.256.02", &["A100"], &unknown).how, "unknown");
    assert_eq!(with("470.256.02", &[], &known).how, "unknown");
    assert_eq!(with("470.256.02", &["sm_80"], &known).how, "unknown");
    let consumer = with("470.256.02", &["RTX 3090"], &known);
    assert!(
        consumer.how == "none" && consumer.reason.contains("804"),
        "{consumer:?}"
    );
    let branch = with("460.106.00", &["A100"], &known);
    assert!(
        branch.how == "none" && branch.reason.contains("803"),
        "{branch:?}"
    );
    let elsewhere = [compat(
        "570.124.06",
        "/opt/conda/cuda-compat/libcuda.so.1",
        Some("470"),
    )];
    assert_eq!(with("470.256.02", &["A100"], &elsewhere).how, "unknown");
    let old = [compat("495.29.05", path, Some("470"))];
    assert_eq!(with("470.256.02", &["A100"], &old).how, "none");
    assert_eq!(with("535.183.06", &["A100"], &known).compiles_ptx, None);
}

#[test]
fn ptx_needs_a_driver_for_its_cuda_release() {
    assert_eq!(tables().drivers.cuda_of_isa("8.7"), Some("12.8"));
    assert_eq!(tables().drivers.cuda_of_isa("99.0"), None);
    let minor = with("535.183.06", &[], &[]);
    assert_eq!(compiles(&minor, "12.8"), Some(false));
    assert_eq!(compiles(&minor, "12.1"), Some(true));
    assert_eq!(compiles(&with("570.26", &[], &[]), "12.8"), Some(true));
    // For an unknown branch, only the version decides.
    assert_eq!(compiles(&with("601.10", &[], &[]), "12.8"), Some(true));
    assert_eq!(compiles(&with("601.10", &[], &[]), "13.4"), None);
    assert_eq!(compiles(&with("535.183.06", &["orin"], &[]), "12.8"), None);
}
