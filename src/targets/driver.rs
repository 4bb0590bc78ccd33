//! Drivers: the three ways in which one can satisfy an image.
//!
//! CUDA Compatibility, "Minor Version Compatibility" and "Forward Compatibility":
//! - *native*: the driver is at least the one that the CUDA toolkit comes with. Newer ones run every older CUDA.
//! - *minor version*: it is at least the first of the same major release. Machine code runs; PTX of the newer CUDA does not
//!   compile, and functions that need the newer driver fail one by one.
//! - *compat package*: the image has the driver's library of a newer release (cuda-compat), which works above the kernel's driver of
//!   certain branches, on data-centre GPUs; not on consumer ones (error 804), nor on other branches (error 803). The
//!   container toolkit from 1.17.5 on finds it in `/usr/local/cuda/compat` alone.

use std::cmp::Ordering;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

use serde::Deserialize;

use super::facts::DriverFacts;
use super::gpu::{Gpu, Segment, is_tegra};
use crate::embedded;
use crate::spelling::InvalidInput;
use crate::stack::{Component, DriverFloor};

/// Majors of CUDA, whose version `nvidia-smi` prints beside that of the driver. No branch of a driver has such a number.
const CUDA_MAJORS: RangeInclusive<u32> = 9..=20;

/// Version of a driver: `535.183.06`.
///
/// Compared by its numbers alone: `570.26.0` is `570.26`, and `535.183.6` is `535.183.06`.
#[derive(Debug, Clone)]
pub struct DriverVersion {
    numbers: Vec<u32>,
    /// As written, for `06` is not `6` to people.
    text: String,
}

impl Ord for DriverVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        significant(&self.numbers).cmp(significant(&other.numbers))
    }
}

impl PartialOrd for DriverVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for DriverVersion {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for DriverVersion {}

impl DriverVersion {
    /// Reads a version as `nvidia-smi` prints it.
    ///
    /// # Errors
    /// It is none, or only a branch, which does not tell enough.
    pub fn parse(text: &str) -> Result<Self, InvalidInput> {
        let text = text.trim();
        let help = "give the whole version that `nvidia-smi` prints, such as 535.183.06";
        match numbers(text) {
            Some(numbers) if numbers.len() == 2 && CUDA_MAJORS.contains(&numbers[0]) => {
                Err(InvalidInput {
                    problem: format!(
                        "`{text}` is no version of a driver; is it the CUDA version beside it?"
                    ),
                    help: help.to_owned(),
                })
            }
            Some(numbers) if (2..=4).contains(&numbers.len()) => Ok(DriverVersion {
                numbers,
                text: text.to_owned(),
            }),
            Some(_) => Err(InvalidInput {
                problem: format!("the driver `{text}` is only a branch"),
                help: help.to_owned(),
            }),
            None => Err(InvalidInput {
                problem: format!("`{text}` is no version of a driver"),
                help: help.to_owned(),
            }),
        }
    }

    /// Whether it is a version of a table or a later one. A table may name a branch alone: `580` stands for its first driver.
    fn at_least(&self, other: &str) -> bool {
        numbers(other).is_some_and(|other| significant(&self.numbers) >= significant(&other))
    }

    fn branch(&self) -> Option<u32> {
        self.numbers.first().copied()
    }

    /// The newest CUDA of its branch. `None` where nobody established it.
    fn cuda(&self) -> Option<&'static str> {
        let branch = self.branch()?.to_string();
        let rows = Tables::builtin().branches.iter();
        rows.into_iter()
            .find(|row| row.branch == branch)
            .map(|row| row.max_cuda.as_str())
    }
}

/// The numbers without zeros at the end.
fn significant(numbers: &[u32]) -> &[u32] {
    let end = numbers.iter().rposition(|number| *number > 0);
    &numbers[..end.map_or(0, |last| last + 1)]
}

/// The numbers of `535.183.06`.
fn numbers(text: &str) -> Option<Vec<u32>> {
    let number = |part: &str| {
        let all_digits = part.bytes().all(|byte| byte.is_ascii_digit());
        all_digits.then(|| part.parse().ok())?
    };
    text.split('.').map(number).collect()
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// The CUDA whose driver is the first that compiles PTX of an instruction set.
pub(super) fn cuda_of_isa(isa: &str) -> Option<&'static str> {
    let rows = Tables::builtin().ptx_isa.iter();
    rows.into_iter()
        .find(|row| row.isa == isa)
        .map(|row| row.cuda.as_str())
}

/// Whether a driver of the given CUDA compiles PTX that needs another.
pub(super) fn compiles(driver: &DriverFacts, needs: &str) -> Option<bool> {
    let known = |a: &str, b: &str| crate::version::compare(a, b).map(Ordering::is_ge);
    let by_itself = driver.cuda.as_deref().and_then(|cuda| known(cuda, needs));
    match (by_itself, driver.how.as_str()) {
        (Some(true), _) => Some(true),
        // The compat package may compile it, or not be used.
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
    /// The newest one of an image.
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

    /// The branches of the kernel's driver that its library names, where that was read.
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

/// Whether an image runs with a driver.
pub(super) fn judge(
    version: &DriverVersion,
    gpus: &[Gpu],
    floor: Option<&DriverFloor>,
    stack: &[Component],
) -> DriverFacts {
    let compat = Compat::of(stack);
    let facts = DriverFacts {
        version: version.to_string(),
        cuda: version
            .cuda()
            .filter(|_| !any_tegra(gpus))
            .map(str::to_owned),
        needs_cuda: floor.map(|floor| floor.cuda.clone()),
        native: floor.and_then(|floor| floor.native.clone()),
        compatible: floor.and_then(|floor| floor.compatible.clone()),
        compat: compat.as_ref().map(|compat| compat.version.to_string()),
        ..DriverFacts::default()
    };
    let (how, reason) = way(version, gpus, floor, compat.as_ref());
    let compiles_ptx = match how {
        "native" | "compat-package" => Some(true),
        // Nobody knows from which driver on that CUDA is native, so this one may be.
        "minor-version" if floor.is_none_or(|floor| floor.native.is_none()) => None,
        "minor-version" if compat.is_some() => None,
        "minor-version" | "none" => Some(false),
        _ => None,
    };
    DriverFacts {
        how: how.to_owned(),
        reason,
        compiles_ptx,
        ..facts
    }
}

/// The drivers of Tegra have numbers of their own, which the tables do not know.
fn any_tegra(gpus: &[Gpu]) -> bool {
    gpus.iter().any(|gpu| is_tegra(gpu.capability))
}

/// The way in which the driver satisfies the image, and why.
fn way(
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
            "the drivers of Jetson have numbers of their own".to_owned(),
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

/// The same for a driver that is too old without the image's cuda-compat package.
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
        return (
            "none",
            format!("{package} of the image is too old for it, too"),
        );
    }
    if !gpus.is_empty() && gpus.iter().all(|gpu| gpu.segment == Segment::Consumer) {
        return (
            "none",
            format!("{package} of the image does not work on consumer GPUs (error 804)"),
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
            format!(
                "{package} of the image does not work above this branch of drivers (error 803)"
            ),
        ),
        Some(true) if data_center && compat.is_found() => ("compat-package", package),
        _ => (
            "unknown",
            format!(
                "{package} of the image may take its place; whether it does on these GPUs above this driver was not established"
            ),
        ),
    }
}

/// What the knowledge tables say of drivers.
#[derive(Default)]
struct Tables {
    branches: Vec<Branch>,
    ptx_isa: Vec<PtxIsa>,
}

impl Tables {
    /// Never empty: the build wrote them itself, and the tests look into them.
    fn builtin() -> &'static Tables {
        static TABLES: OnceLock<Tables> = OnceLock::new();
        TABLES.get_or_init(|| {
            let drivers = embedded::knowledge::<Drivers>("drivers");
            let cuda = embedded::knowledge::<Cuda>("cuda");
            Tables {
                branches: drivers.map(|table| table.branches).unwrap_or_default(),
                ptx_isa: cuda.map(|table| table.ptx_isa).unwrap_or_default(),
            }
        })
    }
}

#[derive(Deserialize)]
struct Drivers {
    branches: Vec<Branch>,
}

#[derive(Deserialize)]
struct Branch {
    branch: String,
    max_cuda: String,
}

#[derive(Deserialize)]
struct Cuda {
    ptx_isa: Vec<PtxIsa>,
}

#[derive(Deserialize)]
struct PtxIsa {
    isa: String,
    cuda: String,
}

#[cfg(test)]
mod tests;
