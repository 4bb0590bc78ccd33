//! Where the bytes of an image are, as every format shows it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::ImageReport;
use imgcheck_model::size::{Cause, CauseSize, ImageSize};

/// The sizes of one image.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SizeReport<'r> {
    /// The reference of the image; null without one.
    pub reference: Option<&'r str>,
    /// The sizes, with `gpu-code` among the causes if GPUs are given.
    #[serde(flatten)]
    pub size: ImageSize,
    /// The GPU code.
    pub gpu_code: GpuCodeSize,
}

/// The bytes of GPU code in the files that a container sees.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct GpuCodeSize {
    /// All of it.
    pub bytes: u64,
    /// By architecture, such as `sm_90` and `compute_90` (PTX). Code that is compressed together has the names of all of its architectures.
    pub architectures: BTreeMap<String, u64>,
    /// Whether only a sample was read, so that there is more.
    pub sampled: bool,
    /// The GPUs that the code is compared with.
    pub gpus: Vec<String>,
}

impl<'r> SizeReport<'r> {
    /// The sizes of an image that was judged.
    pub fn of(image: &'r ImageReport) -> Self {
        let mut size = ImageSize::clone(&image.facts.size);
        size.causes
            .extend(image.unselectable.clone().filter(|it| it.bytes > 0));
        size.causes.sort_by_key(|it| std::cmp::Reverse(it.bytes));
        let mut gpu_code = GpuCodeSize {
            sampled: image.facts.gpu.sampled,
            gpus: image
                .targets
                .iter()
                .flat_map(|it| &it.gpus)
                .map(|it| it.name.clone())
                .collect(),
            ..GpuCodeSize::default()
        };
        for (name, bytes) in image
            .facts
            .gpu
            .libraries
            .iter()
            .flat_map(|it| &it.code.bytes)
        {
            gpu_code.bytes += bytes;
            *gpu_code.architectures.entry(name.clone()).or_default() += bytes;
        }
        SizeReport {
            reference: image.facts.reference.as_deref(),
            size,
            gpu_code,
        }
    }
}

/// What a cause is called.
pub(crate) fn title(cause: &CauseSize, gpus: &[String]) -> String {
    match cause.cause {
        Cause::Replaced => "files that a later layer replaces or removes".to_owned(),
        Cause::Cache => "caches of package managers".to_owned(),
        Cause::Duplicate => "further copies of GPU libraries".to_owned(),
        Cause::StaticLibrary => "static libraries".to_owned(),
        Cause::GpuCode => format!("GPU code that {} cannot select", gpus.join(", ")),
    }
}

/// A share in percent, rounded.
pub(crate) fn percent(bytes: u64, of: u64) -> u64 {
    (u128::from(bytes) * 100 + u128::from(of) / 2)
        .checked_div(u128::from(of))
        .map_or(0, |it| u64::try_from(it).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn shares_are_rounded() {
        assert_eq!((percent(1, 3), percent(2, 3), percent(5, 0)), (33, 67, 0));
        assert_eq!(percent(u64::MAX, u64::MAX), 100);
    }
}
