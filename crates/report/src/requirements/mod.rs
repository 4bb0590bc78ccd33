//! What an image needs of a machine: GPUs, driver, architecture.

mod kubernetes;
mod text;

use schemars::JsonSchema;
use serde::Serialize;

use crate::ImageReport;
use crate::targets::{Grade, on_gpu};
use imgcheck_model::stack::DriverFloor;
use imgcheck_model::targets::{Capability, CodeKind, GpuFacts, GpuTable};

pub use kubernetes::affinities;
pub use text::requirements;

/// What one image needs of a machine.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Requirements<'r> {
    /// The reference of the image; null without one.
    pub reference: Option<&'r str>,
    /// The image as it was named.
    #[serde(skip)]
    pub name: &'r str,
    /// `linux/amd64`; empty for a root directory.
    pub platform: &'r str,
    /// Whether any file has GPU code.
    pub has_gpu_code: bool,
    /// The GPUs that certainly run the code of the main process. Empty if it has none of its own, or if nothing is certain.
    pub gpus: Vec<SupportedGpu>,
    /// The driver that the CUDA runtime needs; null without one.
    pub driver: Option<&'r DriverFloor>,
    /// The version of the cuda-compat package that the processes load, with which an older driver of a data-center GPU suffices; null
    /// without one.
    pub cuda_compat: Option<&'r str>,
    /// What NCCL can use between machines; null without NCCL.
    pub network: Option<&'r str>,
}

/// A compute capability with code.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SupportedGpu {
    /// The compute capability: `9.0`.
    pub capability: String,
    /// GPUs that have it: `H100`.
    pub models: Vec<String>,
    /// Whether there is only PTX, which the driver compiles at the first start, and for which it must be as new as CUDA.
    pub ptx_only: bool,
}

impl<'r> Requirements<'r> {
    /// The requirements of an image that was judged on every GPU of the tables.
    pub fn of(image: &'r ImageReport, known: &GpuTable) -> Self {
        let facts = &image.facts;
        let loaded = |name: &str| facts.stack.iter().find(|it| it.name == name && it.loaded);
        let gpus = image.targets.iter().flat_map(|it| &it.gpus);
        Requirements {
            reference: facts.reference.as_deref(),
            name: facts.name(),
            platform: &facts.platform,
            has_gpu_code: !facts.gpu.libraries.is_empty(),
            gpus: gpus.filter_map(|it| SupportedGpu::of(it, known)).collect(),
            driver: facts.driver.as_ref(),
            cuda_compat: loaded("cuda-compat").map(|it| it.version.as_str()),
            network: loaded("nccl")
                .and_then(|it| it.details.get("network"))
                .map(String::as_str),
        }
    }
}

impl SupportedGpu {
    /// `None` if some code of the main process certainly does not run, or nothing is known.
    fn of(gpu: &GpuFacts, known: &GpuTable) -> Option<Self> {
        let answers = on_gpu(gpu);
        let runs = |it: &Grade| matches!(it, Grade::Good | Grade::Doubtful);
        answers
            .iter()
            .all(|it| runs(&it.grade))
            .then(|| SupportedGpu {
                capability: gpu.capability.clone(),
                models: Capability::parse(&gpu.capability)
                    .map(|it| known.models(it).to_vec())
                    .unwrap_or_default(),
                ptx_only: match &gpu.torch {
                    Some(torch) => torch.how == CodeKind::Ptx,
                    None => gpu
                        .packages
                        .iter()
                        .any(|it| it.support.how == CodeKind::Ptx),
                },
            })
    }
}
