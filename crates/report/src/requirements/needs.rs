//! What an image needs, and how every notation begins.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::targets::{Grade, on_gpu};
use crate::{ImageReport, one_line};
use imgcheck_model::knowledge::Knowledge;
use imgcheck_model::stack::DriverFloor;
use imgcheck_model::targets::{Capability, CodeKind, GpuFacts, GpuTable};

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
    /// The words of NVIDIA_DRIVER_CAPABILITIES whose libraries the processes need.
    pub driver_capabilities: BTreeSet<&'r str>,
    /// Whether several GPUs, or the workers of a DataLoader, need more of `/dev/shm` than the 64 MB that container engines give.
    pub shared_memory: bool,
    /// What NCCL can use between machines; null without NCCL.
    pub network: Option<&'r str>,
    /// Whether NCCL can use InfiniBand and RoCE, for which a container needs no limit on locked memory.
    pub rdma: bool,
    /// The device files that a container needs, as patterns: `/dev/nvidia*`, which NVIDIA's container toolkit adds, and `/dev/infiniband/*`
    /// for InfiniBand and RoCE.
    pub devices: Vec<&'static str>,
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
    pub fn of(image: &'r ImageReport, known: &'r Knowledge) -> Self {
        let facts = &image.facts;
        let loaded = |name: &str| facts.stack.iter().find(|it| it.name == name && it.loaded);
        let gpus = image.targets.iter().flat_map(|it| &it.gpus);
        let architecture = architecture(&facts.platform);
        let gpus = gpus.filter_map(|it| SupportedGpu::of(it, architecture, &known.targets.gpus));
        let processes = facts.loader.iter().flat_map(|it| &it.processes);
        let libraries = processes.flat_map(|it| &it.driver_libraries);
        let needed = libraries.filter(|it| !it.optional || it.without.is_serious());
        let capabilities = needed.filter_map(|it| known.catalogue.driver_capability(&it.library));
        let nccl = loaded("nccl").map(|it| &it.details);
        let rdma = nccl.is_some_and(|it| it.contains_key("rdma"));
        let has_gpu_code = !facts.gpu.libraries.is_empty();
        Requirements {
            reference: facts.reference.as_deref(),
            name: facts.name(),
            platform: &facts.platform,
            has_gpu_code,
            gpus: gpus.collect(),
            driver: facts.driver.as_ref(),
            cuda_compat: loaded("cuda-compat").map(|it| it.version.as_str()),
            driver_capabilities: capabilities.collect(),
            shared_memory: loaded("torch").is_some(),
            network: nccl.and_then(|it| it.get("network")).map(String::as_str),
            rdma,
            devices: [(has_gpu_code, "/dev/nvidia*"), (rdma, "/dev/infiniband/*")]
                .into_iter()
                .filter_map(|(is_needed, devices)| is_needed.then_some(devices))
                .collect(),
        }
    }

    /// The models that run the code of the image, as it is or after the driver compiled it.
    pub(super) fn models(&self, ptx_only: bool) -> impl Iterator<Item = &str> {
        let gpus = self.gpus.iter().filter(move |it| it.ptx_only == ptx_only);
        gpus.flat_map(|it| it.models.iter().map(String::as_str))
    }

    /// `amd64`; `None` for a root directory.
    pub(super) fn architecture(&self) -> Option<&'r str> {
        architecture(self.platform)
    }
}

fn architecture(platform: &str) -> Option<&str> {
    platform.split('/').nth(1)
}

/// What each image needs, in the notation of `of_one`.
pub(super) fn each(
    images: &[ImageReport],
    known: &Knowledge,
    between: &str,
    of_one: impl Fn(&Requirements<'_>) -> String,
) -> String {
    let images = images.iter();
    let texts = images.map(|it| of_one(&Requirements::of(it, known)));
    texts.collect::<Vec<_>>().join(between)
}

/// Which image it is, and what is not known of it, as comments of YAML and of shells.
pub(super) fn comments(needs: &Requirements<'_>) -> String {
    let unknown = match (needs.gpus.is_empty(), needs.has_gpu_code) {
        (true, true) => "# which GPUs run its code is not known\n",
        (true, false) => "# it has no GPU code, so no GPU is ruled out\n",
        (false, _) => "",
    };
    format!("# {}\n{unknown}", one_line(needs.name))
}

/// The oldest driver, as a comment for those who cannot select by it.
pub(super) fn least_driver(needs: &Requirements<'_>) -> String {
    let floor = needs.driver.and_then(|it| it.oldest(false));
    floor.map_or_else(String::new, |it| format!("# driver {it} or newer\n"))
}

impl SupportedGpu {
    /// `None` if some code of the main process certainly does not run, nothing is known, or no machine of the image's architecture has one.
    fn of(gpu: &GpuFacts, architecture: Option<&str>, known: &GpuTable) -> Option<Self> {
        let answers = on_gpu(gpu);
        let runs = |it: &Grade| matches!(it, Grade::Good | Grade::Doubtful);
        let is_there = |it: &&String| architecture.is_none_or(|on| known.is_in_machines(it, on));
        let models = Capability::parse(&gpu.capability).map_or(&[][..], |it| known.models(it));
        let usable: Vec<String> = models.iter().filter(is_there).cloned().collect();
        let is_usable = models.is_empty() || !usable.is_empty();
        (is_usable && answers.iter().all(|it| runs(&it.grade))).then(|| SupportedGpu {
            capability: gpu.capability.clone(),
            models: usable,
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
