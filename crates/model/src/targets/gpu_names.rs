//! By which names GPUs are known outside of NVIDIA's tools: the table `rules/knowledge/gpu-names.yaml`.

use serde::Deserialize;

/// The names of GPUs in job services, and their PCI device ids.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuNames {
    gpus: Vec<Names>,
    /// The CUDA versions that RunPod's API takes.
    pub runpod_cuda: Vec<String>,
    pci: Vec<PciIds>,
}

/// The names of one model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    gpu: String,
    skypilot: Vec<String>,
    #[serde(default)]
    runpod: Vec<String>,
}

/// The PCI device ids of one compute capability.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PciIds {
    compute_capability: String,
    devices: Vec<String>,
}

impl GpuNames {
    /// The names of a model as an accelerator of SkyPilot.
    pub fn skypilot(&self, model: &str) -> &[String] {
        self.of(model).map_or(&[], |it| &it.skypilot)
    }

    /// The ids of a model in RunPod's API.
    pub fn runpod(&self, model: &str) -> &[String] {
        self.of(model).map_or(&[], |it| &it.runpod)
    }

    /// Regular expressions for the PCI device ids of a compute capability; none if they are not known.
    pub fn pci(&self, capability: &str) -> &[String] {
        let mut rows = self.pci.iter();
        let row = rows.find(|it| it.compute_capability == capability);
        row.map_or(&[], |it| &it.devices)
    }

    /// How many names there are.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        let rows = self.gpus.iter();
        rows.map(|it| it.skypilot.len() + it.runpod.len()).sum()
    }

    fn of(&self, model: &str) -> Option<&Names> {
        self.gpus.iter().find(|it| it.gpu == model)
    }
}
