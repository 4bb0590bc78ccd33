//! Whether an image runs on a target, by the facts that the rules `gpu-not-covered`, `gpu-unknown`, `driver-too-old` and
//! `driver-unknown` judge.

use super::record::{FleetRuns, FleetTarget};
use crate::report::Inspection;
use crate::targets::{CodeKind, DriverFacts, GpuFacts, PackageCode, Support, TargetFacts};

/// Whether an image runs on a target.
pub(super) fn on_target(target: &TargetFacts, facts: &Inspection) -> FleetTarget {
    let driver = target.driver.iter().map(|it| with_driver(it, facts));
    let gpus = target.gpus.iter().map(|it| on_gpu(it, facts));
    let all: Vec<FleetRuns> = gpus.chain(driver).collect();
    // The worst decides; a driver that is new enough does not make code for a GPU.
    let order = [
        FleetRuns::No,
        FleetRuns::Unknown,
        FleetRuns::NoGpuCode,
        FleetRuns::Yes,
    ];
    let mut order = order.into_iter();
    FleetTarget {
        name: name(target),
        runs: order
            .find(|it| all.contains(it))
            .unwrap_or(FleetRuns::Unknown),
    }
}

/// `prod`, or `H100, driver 535.183.06`.
fn name(target: &TargetFacts) -> String {
    if !target.name.is_empty() {
        return target.name.clone();
    }
    let gpus = target.gpus.iter().map(|gpu| gpu.name.clone());
    let driver = target
        .driver
        .iter()
        .map(|it| format!("driver {}", it.version));
    gpus.chain(driver).collect::<Vec<String>>().join(", ")
}

fn on_gpu(gpu: &GpuFacts, facts: &Inspection) -> FleetRuns {
    // Packages that are meant for certain chips choose others elsewhere.
    let packages = gpu.packages.iter().filter(|package| !package.specific);
    let packages: Vec<&PackageCode> = packages.collect();
    let (installed, imported): (Vec<&PackageCode>, Vec<&PackageCode>) =
        packages.iter().copied().partition(|it| it.only_installed);
    let of = |packages: &[&PackageCode]| {
        let all: Vec<FleetRuns> = packages.iter().map(|it| with_code(&it.support)).collect();
        match () {
            () if all.contains(&FleetRuns::Yes) => FleetRuns::Yes,
            () if all.contains(&FleetRuns::Unknown) => FleetRuns::Unknown,
            () => FleetRuns::No,
        }
    };
    match (&gpu.torch, imported.as_slice(), installed.as_slice()) {
        (Some(torch), _, _) => with_code(torch),
        (None, [], []) if is_cpu_build(facts) => without_gpu(facts),
        (None, [], []) if gpu.packages.is_empty() => FleetRuns::NoGpuCode,
        (None, [], []) => FleetRuns::Unknown,
        // Nothing shows that the program imports what is only installed.
        (None, [], installed) => match of(installed) {
            FleetRuns::No => FleetRuns::Unknown,
            other => other,
        },
        (None, imported, _) => of(imported),
    }
}

fn with_code(support: &Support) -> FleetRuns {
    match (support.how, support.compiles) {
        (CodeKind::None, _) | (CodeKind::Ptx, Some(false)) => FleetRuns::No,
        (CodeKind::Unknown, _) => FleetRuns::Unknown,
        (CodeKind::Sass | CodeKind::Ptx, _) => FleetRuns::Yes,
    }
}

fn is_cpu_build(facts: &Inspection) -> bool {
    let mut torch = facts
        .stack
        .iter()
        .filter(|it| it.name == "torch" && it.loaded);
    torch.any(|it| it.details.get("build").is_some_and(|build| build == "cpu"))
}

/// An image that promises the CPU keeps its word.
fn without_gpu(facts: &Inspection) -> FleetRuns {
    let mut claims = facts.claims.iter();
    match claims.any(|claim| claim.subject == "device" && claim.version == "cpu") {
        true => FleetRuns::NoGpuCode,
        false => FleetRuns::No,
    }
}

fn with_driver(driver: &DriverFacts, facts: &Inspection) -> FleetRuns {
    let uses_cuda =
        !facts.gpu.libraries.is_empty() || facts.stack.iter().any(|it| it.name == "cuda-runtime");
    match driver.how.as_str() {
        "native" | "minor-version" | "compat-package" => FleetRuns::Yes,
        "none" => FleetRuns::No,
        _ if uses_cuda => FleetRuns::Unknown,
        _ => FleetRuns::NoGpuCode,
    }
}
