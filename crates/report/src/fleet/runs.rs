//! Whether an image runs on a target, by the facts that the rules `gpu-not-covered`, `gpu-unknown`, `driver-too-old` and
//! `driver-unknown` judge.

use super::record::{FleetRuns, FleetTarget};
use crate::Inspection;
use imgcheck_model::targets::{CodeKind, DriverFacts, GpuFacts, PackageCode, Support, TargetFacts};

/// Whether an image runs on a target.
pub(super) fn on_target(target: &TargetFacts, facts: &Inspection) -> FleetTarget {
    let driver = target.driver.iter().map(|it| with_driver(it, facts));
    let gpus = target.gpus.iter().map(|it| on_gpu(it, facts));
    let machine = is_for_other_machines(target, facts).then_some(FleetRuns::No);
    let all: Vec<FleetRuns> = gpus.chain(driver).chain(machine).collect();
    FleetTarget {
        name: name(target),
        runs: worst(&all),
    }
}

/// Whether the image and the target are known to have different architectures.
fn is_for_other_machines(target: &TargetFacts, facts: &Inspection) -> bool {
    let image = facts.platform.split('/').nth(1);
    let machine = target.architecture.as_str();
    image.is_some_and(|it| !machine.is_empty() && !it.is_empty() && it != machine)
}

/// The worst decides; a driver that is new enough is no code for a GPU.
fn worst(all: &[FleetRuns]) -> FleetRuns {
    const ORDER: [FleetRuns; 4] = [
        FleetRuns::No,
        FleetRuns::Unknown,
        FleetRuns::NoGpuCode,
        FleetRuns::Yes,
    ];
    let mut order = ORDER.into_iter();
    order
        .find(|it| all.contains(it))
        .unwrap_or(FleetRuns::Unknown)
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
    match &gpu.torch {
        Some(torch) => with_code(torch),
        None if gpu.packages.is_empty() && is_cpu_build(facts) => without_gpu(facts),
        None => of_packages(&gpu.packages),
    }
}

/// Without PyTorch the packages decide that the program imports.
fn of_packages(packages: &[PackageCode]) -> FleetRuns {
    if packages.is_empty() {
        return FleetRuns::NoGpuCode;
    }
    // Packages that are meant for certain chips choose others elsewhere.
    let general = packages.iter().filter(|package| !package.specific);
    let (installed, imported): (Vec<&PackageCode>, Vec<&PackageCode>) =
        general.partition(|package| package.only_installed);
    match (imported.is_empty(), best(&installed)) {
        (false, _) => best(&imported),
        // Nothing shows that the program imports what is only installed.
        (true, FleetRuns::No) => FleetRuns::Unknown,
        (true, best) => best,
    }
}

fn best(packages: &[&PackageCode]) -> FleetRuns {
    let runs = packages.iter().map(|it| with_code(&it.support));
    let runs: Vec<FleetRuns> = runs.collect();
    let mut order = [FleetRuns::Yes, FleetRuns::Unknown, FleetRuns::No].into_iter();
    order
        .find(|it| runs.contains(it))
        .unwrap_or(FleetRuns::Unknown)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn support(how: CodeKind, compiles: Option<bool>) -> Support {
        Support {
            how,
            compiles,
            ..Support::default()
        }
    }

    fn package(how: CodeKind, only_installed: bool, specific: bool) -> PackageCode {
        PackageCode {
            only_installed,
            specific,
            support: support(how, None),
            ..PackageCode::default()
        }
    }

    #[test]
    fn ptx_that_the_driver_cannot_compile_does_not_run() {
        let runs = |how, compiles| with_code(&support(how, compiles));
        assert_eq!(runs(CodeKind::Sass, None), FleetRuns::Yes);
        assert_eq!(runs(CodeKind::Ptx, None), FleetRuns::Yes);
        assert_eq!(runs(CodeKind::Ptx, Some(false)), FleetRuns::No);
        assert_eq!(runs(CodeKind::None, None), FleetRuns::No);
        assert_eq!(runs(CodeKind::Unknown, None), FleetRuns::Unknown);
    }

    /// As `gpu-not-covered` judges them: what is only installed proves nothing, and packages for certain chips choose others.
    #[test]
    fn imported_packages_decide() {
        use CodeKind::{None, Sass, Unknown};
        assert_eq!(of_packages(&[]), FleetRuns::NoGpuCode);
        assert_eq!(of_packages(&[package(None, false, false)]), FleetRuns::No);
        assert_eq!(
            of_packages(&[package(None, false, false), package(Sass, true, false)]),
            FleetRuns::No
        );
        assert_eq!(
            of_packages(&[package(None, false, false), package(Sass, false, false)]),
            FleetRuns::Yes
        );
        assert_eq!(
            of_packages(&[package(None, false, false), package(Unknown, false, false)]),
            FleetRuns::Unknown
        );
        assert_eq!(
            of_packages(&[package(None, true, false)]),
            FleetRuns::Unknown
        );
        assert_eq!(of_packages(&[package(Sass, true, false)]), FleetRuns::Yes);
        assert_eq!(
            of_packages(&[package(None, false, true)]),
            FleetRuns::Unknown
        );
    }

    #[test]
    fn the_worst_machine_of_a_target_decides() {
        use FleetRuns::{No, NoGpuCode, Unknown, Yes};
        assert_eq!(worst(&[Yes, No, Unknown]), No);
        assert_eq!(worst(&[Yes, Unknown, NoGpuCode]), Unknown);
        assert_eq!(worst(&[Yes, NoGpuCode]), NoGpuCode);
        assert_eq!(worst(&[Yes]), Yes);
        assert_eq!(worst(&[]), Unknown);
    }
}
