//! Drivers, and the three ways in which one can support an image.
//!
//! CUDA Compatibility, "Minor Version Compatibility" and "Forward Compatibility":
//! - *native*: the driver is at least the one that ships with the CUDA toolkit. Newer drivers run every older CUDA.
//! - *minor version*: the driver is at least the first one for the same major release. Machine code runs; PTX of the newer CUDA
//!   does not compile, and functions that need the newer driver fail when called.
//! - *compat package*: the image contains the user-mode driver of a newer release (cuda-compat), which works with kernel drivers
//!   of certain branches on data-center GPUs; not on consumer GPUs (error 804) or other branches (error 803). The container
//!   toolkit from 1.17.5 on only finds it in `/usr/local/cuda/compat`.

use std::cmp::Ordering;

use super::driver_version::DriverVersion;
use super::facts::DriverFacts;
use super::gpu::{Gpu, Segment};
use super::input::TargetInput;
use super::pairs::contradictions;
use super::tables::Tables;
use crate::stack::container_toolkit::Host;
use crate::stack::{Component, DriverFloor};

/// Whether a driver compiles PTX that requires a CUDA release; `None` if unknown.
pub(super) fn compiles(driver: &DriverFacts, needs: &str) -> Option<bool> {
    let known = |a: &str, b: &str| imgcheck_base::version::compare(a, b).map(Ordering::is_ge);
    let by_itself = driver.cuda.as_deref().and_then(|cuda| known(cuda, needs));
    match (by_itself, driver.how.as_str()) {
        (Some(true), _) => Some(true),
        // The compat package may compile it, but may not be used.
        (Some(false), _) if driver.compat.is_none() => Some(false),
        (_, "compat-package" | "native") if known(driver.needs_cuda.as_deref()?, needs)? => {
            Some(true)
        }
        _ => None,
    }
}

/// A cuda-compat package.
struct Compat<'c> {
    component: &'c Component,
    version: DriverVersion,
}

impl<'c> Compat<'c> {
    /// The newest one in an image.
    fn of(stack: &'c [Component]) -> Option<Self> {
        let packages = stack
            .iter()
            .filter(|component| component.name == "cuda-compat");
        let versions = packages.filter_map(|component| {
            let digits = component
                .version
                .split(|c: char| !(c.is_ascii_digit() || c == '.'))
                .next()?;
            Some(Compat {
                component,
                version: DriverVersion::parse(digits).ok()?,
            })
        });
        versions.max_by(|a, b| a.version.cmp(&b.version))
    }

    /// The kernel driver branches that it supports, if known.
    fn branches(&self) -> Option<Vec<u32>> {
        let list = self.component.details.get("compat-drivers")?;
        let words = list.split([' ', ',']).filter(|word| !word.is_empty());
        words.map(|word| word.parse().ok()).collect()
    }

    /// Whether the container toolkit finds it.
    fn is_found(&self) -> bool {
        let path = &self.component.path;
        path.starts_with("/usr/local/cuda") && path.contains("/compat")
    }
}

/// Judges whether an image runs with a driver.
pub(super) fn judge(
    version: &DriverVersion,
    gpus: &[Gpu],
    image: &TargetInput,
    tables: &Tables,
) -> DriverFacts {
    let table = &tables.drivers;
    let floor = image.driver;
    let compat = Compat::of(image.stack);
    let facts = DriverFacts {
        version: version.to_string(),
        cuda: version
            .branch()
            .and_then(|branch| table.newest_cuda(branch))
            .filter(|_| !any_tegra(gpus))
            .map(str::to_owned),
        needs_cuda: floor.map(|floor| floor.cuda.clone()),
        native: floor.and_then(|floor| floor.native.clone()),
        compatible: floor.and_then(|floor| floor.compatible.clone()),
        compat: compat.as_ref().map(|compat| compat.version.to_string()),
        ..DriverFacts::default()
    };
    let (how, reason) = match contradictions(gpus, version, tables) {
        // Users cannot name such a target; only the labels of nodes can.
        Some(problem) => (
            "unknown",
            format!("{problem}, so the labels of its nodes contradict each other"),
        ),
        None => compatibility(version, gpus, floor, compat.as_ref()),
    };
    let compiles_ptx = match how {
        "native" | "compat-package" => Some(true),
        // The first native driver of that CUDA is unknown, so this one may be native.
        "minor-version" if floor.is_none_or(|floor| floor.native.is_none()) => None,
        "minor-version" if compat.is_some() => None,
        "minor-version" | "none" => Some(false),
        _ => None,
    };
    let number = facts.version.as_str();
    let host = Host {
        cuda: facts.cuda.as_deref(),
        driver: Some(number).filter(|_| !any_tegra(gpus)),
        ..Host::default()
    };
    DriverFacts {
        how: how.to_owned(),
        reason,
        compiles_ptx,
        unmet: image.toolkit.map(|it| it.unmet(&host)).unwrap_or_default(),
        ..facts
    }
}

/// Tegra drivers have their own version numbers, which the tables do not contain.
fn any_tegra(gpus: &[Gpu]) -> bool {
    gpus.iter().any(|gpu| gpu.is_tegra)
}

/// How the driver supports the image, and why.
fn compatibility(
    version: &DriverVersion,
    gpus: &[Gpu],
    floor: Option<&DriverFloor>,
    compat: Option<&Compat>,
) -> (&'static str, String) {
    let Some(floor) = floor else {
        return (
            "unknown",
            "the image has no CUDA runtime of a known release".to_owned(),
        );
    };
    if any_tegra(gpus) {
        return (
            "unknown",
            "Jetson drivers have their own version numbers".to_owned(),
        );
    }
    let reaches = |floor: &Option<String>| floor.as_deref().map(|floor| version.at_least(floor));
    if reaches(&floor.native) == Some(true) {
        return ("native", String::new());
    }
    if reaches(&floor.compatible) == Some(true) {
        return ("minor-version", String::new());
    }
    match compat {
        None => ("none", String::new()),
        Some(compat) => with_compat(version, gpus, floor, compat),
    }
}

/// [`compatibility`] of a driver that is too old without the image's cuda-compat package.
fn with_compat(
    version: &DriverVersion,
    gpus: &[Gpu],
    floor: &DriverFloor,
    compat: &Compat,
) -> (&'static str, String) {
    let package = format!("cuda-compat {}", compat.version);
    let enough = [&floor.native, &floor.compatible].into_iter().flatten();
    if !enough
        .into_iter()
        .any(|floor| compat.version.at_least(floor))
    {
        return ("none", format!("the image's {package} is too old as well"));
    }
    if !gpus.is_empty() && gpus.iter().all(|gpu| gpu.segment == Segment::Consumer) {
        return (
            "none",
            format!("the image's {package} does not work on consumer GPUs (error 804)"),
        );
    }
    let branches = compat.branches();
    let named = branches.map(|branches| {
        version
            .branch()
            .is_some_and(|branch| branches.contains(&branch))
    });
    let data_center = !gpus.is_empty() && gpus.iter().all(|gpu| gpu.segment == Segment::DataCenter);
    match named {
        Some(false) => (
            "none",
            format!("the image's {package} does not support this driver branch (error 803)"),
        ),
        Some(true) if data_center && compat.is_found() => ("compat-package", package),
        _ => (
            "unknown",
            format!(
                "the image's {package} may replace it, but that is not verified for these GPUs and this driver"
            ),
        ),
    }
}

#[cfg(test)]
mod tests;
