//! The table of GPUs: finds a GPU by the name that people and programs give it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::gpu::{Capability, Gpu, Segment};
use imgcheck_base::spelling::{InvalidInput, nearest};

/// The capability of an architecture name, and whether the text cannot be a model: `107` may be a misspelled one, `sm_107` and `10.7`
/// are not.
fn architecture(text: &str) -> Option<(Capability, bool)> {
    let lower = text.trim().to_ascii_lowercase();
    let prefixes = ["sm", "compute", "cc"];
    let after_prefix = prefixes
        .iter()
        .find_map(|prefix| lower.strip_prefix(prefix));
    let number = after_prefix
        .unwrap_or(&lower)
        .trim_start_matches(['_', '-', ' ']);
    let capability = Capability::parse(number.strip_suffix(['a', 'f']).unwrap_or(number))?;
    Some((capability, after_prefix.is_some() || number.contains('.')))
}

/// Words in product names that do not identify the model: vendor, form factor, connection.
const AROUND: [&str; 17] = [
    "nvidia",
    "tesla",
    "geforce",
    "gpu",
    "laptop",
    "mobile",
    "max",
    "q",
    "generation",
    "edition",
    "server",
    "workstation",
    "super",
    "pcie",
    "fhhl",
    "mig",
    "ac",
];
/// Prefixes of words for connection and memory type: `sxm4`, `nvl72`, `hbm3`.
const CONNECTED: [&str; 3] = ["sxm", "nvl", "hbm"];
/// Suffixes of words for memory size or a share of it: `80gb`, `1g`, `24q`.
const MEMORY: [&str; 4] = ["gb", "g", "q", "c"];

/// A model name without case, spaces and words that do not identify it: `rtx4090` for `NVIDIA GeForce RTX 4090 Laptop GPU`.
fn key(name: &str) -> String {
    let around = |word: &&str| {
        let is_number = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
        let connected = CONNECTED
            .iter()
            .any(|start| word.starts_with(start) && word.len() <= 5);
        let memory = MEMORY.iter().filter_map(|end| word.strip_suffix(end));
        let is_memory = memory
            .into_iter()
            .any(|rest| !rest.is_empty() && is_number(rest));
        !(AROUND.contains(word) || connected || is_memory)
    };
    let lower = name.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let mut key: String = words.filter(around).collect();
    while let Some(rest) = AROUND[..3].iter().find_map(|word| key.strip_prefix(word)) {
        key = rest.to_owned();
    }
    key
}

/// The GPUs by model and by architecture: `rules/knowledge/gpus.yaml`, and the architectures of nvcc.
#[derive(Debug)]
pub struct GpuTable {
    /// By key.
    models: Vec<(String, Gpu)>,
    /// GPU generation and models by capability.
    known: BTreeMap<Capability, (String, Vec<String>)>,
    capabilities: BTreeSet<Capability>,
    tegra: Vec<Capability>,
    renamed: Vec<Renaming>,
    arm64_only: Vec<String>,
    other_vendors: Vec<OtherVendor>,
}

/// A capability that has another name now.
#[derive(Debug)]
struct Renaming {
    from: Capability,
    to: Capability,
    /// The CUDA that renamed it.
    since: String,
    gpu: String,
}

impl GpuTable {
    /// What the files say.
    pub fn new(file: File, cuda: Cuda) -> Self {
        let read = |text: &String| Capability::parse(text);
        let renaming = |row: Renamed| {
            Some(Renaming {
                from: read(&row.from)?,
                to: read(&row.to)?,
                since: row.since,
                gpu: row.gpu,
            })
        };
        // `9.0a`, which only one chip has, is not a capability.
        let architectures = cuda.sm_introduced_removed.iter();
        let tegra = file.tegra.iter();
        let mut table = GpuTable {
            models: Vec::new(),
            known: BTreeMap::new(),
            capabilities: architectures.filter_map(|row| read(&row.sm)).collect(),
            tegra: tegra
                .filter_map(|row| read(&row.compute_capability))
                .collect(),
            renamed: file.renamed.into_iter().filter_map(renaming).collect(),
            arm64_only: file.arm64_only,
            other_vendors: file.other_vendors,
        };
        for row in file.gpus {
            if let Some(capability) = read(&row.compute_capability) {
                table.add(row, capability);
            }
        }
        table
    }

    fn add(&mut self, row: Row, capability: Capability) {
        self.capabilities.insert(capability);
        let known = self.known.entry(capability);
        let (_, models) = known.or_insert_with(|| (row.architecture, Vec::new()));
        models.push(row.gpu.clone());
        let gpu = Gpu {
            is_tegra: self.is_tegra(capability),
            is_listed: true,
            first_branch: row.first_branch.parse().ok(),
            arm64_only: !self.is_in_machines(&row.gpu, "amd64"),
            name: row.gpu,
            capability,
            segment: row.segment,
        };
        for name in row.aliases.iter().chain([&gpu.name]) {
            self.models.push((key(name), gpu.clone()));
        }
    }

    /// Reads a model as people and `nvidia-smi` write it (`a100`, `NVIDIA A100-SXM4-80GB`, `rtx 4090`), or an architecture
    /// (`sm_90`, `sm90a`, `compute_90`, `9.0`, `90`), which may be newer than the tables.
    ///
    /// # Errors
    /// The GPU is unknown; with a suggestion.
    pub fn parse(&self, text: &str) -> std::result::Result<Gpu, InvalidInput> {
        match architecture(text) {
            Some((capability, is_explicit)) => self
                .of_capability(text, capability, is_explicit)
                // `980` is a model, not an architecture.
                .or_else(|misread| self.of_model(text).map_err(|_| misread)),
            None => self.of_model(text),
        }
    }

    /// The capabilities of which the table has a GPU.
    pub fn capabilities(&self) -> impl Iterator<Item = Capability> {
        self.known.keys().copied()
    }

    /// The models with a capability, in the order of the table.
    pub fn models(&self, capability: Capability) -> &[String] {
        self.known
            .get(&capability)
            .map_or(&[], |(_, models)| models)
    }

    /// The GPU generation of a capability, such as `Hopper`. A capability without a known model belongs to the generation of the
    /// first one with the same major version.
    pub fn generation(&self, capability: Capability) -> Option<&str> {
        let of_major = || {
            let mut known = self.known.iter();
            known
                .find(|(known, _)| known.major == capability.major)
                .map(|(_, row)| row)
        };
        let row = self.known.get(&capability).or_else(of_major);
        row.map(|(generation, _)| generation.as_str())
    }

    /// The oldest capability of a GPU generation.
    pub(super) fn oldest_of(&self, generation: &str) -> Option<Capability> {
        let mut known = self.known.iter();
        known
            .find(|(_, (known, _))| known == generation)
            .map(|(capability, _)| *capability)
    }

    /// The first driver branch that supports a GPU of a capability; `None` unless it is known for all its models.
    /// Whether machines with this architecture of Go and OCI, such as `amd64`, can have a model.
    pub fn is_in_machines(&self, model: &str, architecture: &str) -> bool {
        architecture == "arm64" || !self.arm64_only.iter().any(|it| it == model)
    }

    /// Whether only machines with ARM processors have GPUs of a capability.
    fn is_arm64_only(&self, capability: Capability) -> bool {
        let models = self.models(capability);
        let mut models = models.iter().peekable();
        models.peek().is_some() && models.all(|it| !self.is_in_machines(it, "amd64"))
    }

    fn first_branch(&self, capability: Capability) -> Option<u32> {
        let models = self.models.iter().map(|(_, gpu)| gpu);
        let own = models.filter(|gpu| gpu.capability == capability);
        let branches: Option<Vec<u32>> = own.map(|gpu| gpu.first_branch).collect();
        branches?.into_iter().min()
    }

    /// Whether machine code of a capability runs on no other GPU.
    ///
    /// CUDA C++ Programming Guide, "Binary Compatibility": it is supported only for desktop GPUs, not for Tegra, and not between
    /// the two.
    pub(super) fn is_tegra(&self, capability: Capability) -> bool {
        self.tegra.contains(&capability)
    }

    /// Whether two capabilities are the same chip under different names.
    pub(super) fn is_renamed(&self, a: Capability, b: Capability) -> bool {
        let mut renamed = self.renamed.iter();
        renamed.any(|row| (row.from, row.to) == (a, b) || (row.from, row.to) == (b, a))
    }

    fn of_capability(
        &self,
        text: &str,
        capability: Capability,
        is_explicit: bool,
    ) -> std::result::Result<Gpu, InvalidInput> {
        if let Some(row) = self.renamed.iter().find(|row| row.from == capability) {
            let (old, new) = (capability.sm(), row.to.sm());
            return Err(InvalidInput {
                problem: format!(
                    "{old} was renamed {new} in CUDA {} ({})",
                    row.since, row.gpu
                ),
                help: format!("use {new}"),
            });
        }
        let is_listed = self.capabilities.contains(&capability);
        if is_listed || is_explicit {
            return Ok(Gpu {
                name: capability.sm(),
                capability,
                segment: match self.is_tegra(capability) {
                    true => Segment::Embedded,
                    false => Segment::Unknown,
                },
                is_tegra: self.is_tegra(capability),
                is_listed,
                first_branch: self.first_branch(capability),
                arm64_only: self.is_arm64_only(capability),
            });
        }
        Err(InvalidInput {
            problem: format!("unknown GPU `{}`", text.trim()),
            help: format!(
                "use the name that nvidia-smi prints, or write `{}` for an architecture that imgcheck does not know yet",
                capability.sm()
            ),
        })
    }

    fn of_model(&self, text: &str) -> std::result::Result<Gpu, InvalidInput> {
        let key = key(text);
        let with = |prefix: &str| {
            let name = format!("{prefix}{key}");
            self.models.iter().find(|(known, _)| *known == name)
        };
        if let Some((_, gpu)) = ["", "rtx", "gtx"].into_iter().find_map(with) {
            return Ok(gpu.clone());
        }
        let is_other = |it: &&OtherVendor| it.prefixes.iter().any(|start| key.starts_with(start));
        if let Some(other) = self.other_vendors.iter().find(is_other) {
            return Err(InvalidInput {
                problem: format!("{} GPUs are not supported: `{}`", other.vendor, text.trim()),
                help: "imgcheck judges images for NVIDIA's GPUs: name one of these, such as H100"
                    .to_owned(),
            });
        }
        Err(InvalidInput {
            problem: format!("unknown GPU `{}`", text.trim()),
            help: self.meant(&key).map_or_else(
                || "use the name that nvidia-smi prints (A100, RTX 4090, Jetson AGX Orin), or an architecture (sm_90, 9.0)".to_owned(),
                |names| format!("did you mean {names}?"),
            ),
        })
    }

    /// Suggestions for a misspelled model: those that contain it, else the nearest.
    fn meant(&self, key: &str) -> Option<String> {
        let mut names: Vec<&str> = Vec::new();
        for (known, gpu) in &self.models {
            if key.len() > 2 && known.contains(key) && !names.contains(&gpu.name.as_str()) {
                names.push(&gpu.name);
            }
        }
        if names.is_empty() {
            let near = nearest(key, self.models.iter().map(|(known, _)| known.as_str()))?;
            names.extend(
                self.models
                    .iter()
                    .find(|(known, _)| known == near)
                    .map(|(_, gpu)| gpu.name.as_str()),
            );
        }
        names.truncate(4);
        Some(format!("`{}`", names.join("` or `")))
    }
}

/// `rules/knowledge/gpus.yaml`.
#[derive(Deserialize)]
pub struct File {
    gpus: Vec<Row>,
    tegra: Vec<Tegra>,
    renamed: Vec<Renamed>,
    arm64_only: Vec<String>,
    other_vendors: Vec<OtherVendor>,
}

/// GPUs and accelerators of another vendor.
#[derive(Debug, Deserialize)]
struct OtherVendor {
    vendor: String,
    /// How the names of its models begin, as [`key`] has them.
    prefixes: Vec<String>,
}

#[derive(Deserialize)]
struct Row {
    gpu: String,
    #[serde(default)]
    aliases: Vec<String>,
    compute_capability: String,
    segment: Segment,
    /// The GPU generation.
    architecture: String,
    /// A number, or `unknown`.
    first_branch: String,
}

#[derive(Deserialize)]
struct Tegra {
    compute_capability: String,
}

#[derive(Deserialize)]
struct Renamed {
    from: String,
    to: String,
    since: String,
    gpu: String,
}

/// The part of `rules/knowledge/cuda.yaml` that lists the architectures of nvcc.
#[derive(Deserialize)]
pub struct Cuda {
    sm_introduced_removed: Vec<Architecture>,
}

#[derive(Deserialize)]
struct Architecture {
    sm: String,
}

#[cfg(test)]
mod tests;
