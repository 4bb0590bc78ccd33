//! GPUs by name, and their compute capability.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::embedded;
use crate::spelling::{InvalidInput, nearest};

/// A compute capability, such as `9.0`; also the number of the architecture `sm_90`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Capability {
    /// The generation.
    pub major: u32,
    /// The chip within its generation.
    pub minor: u32,
}

impl Capability {
    /// Reads `9.0`, `90` or `120`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = match text.split_once('.') {
            Some(parts) => parts,
            None if (2..=3).contains(&text.len()) => text.split_at_checked(text.len() - 1)?,
            None => return None,
        };
        let number = |digits: &str| {
            let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
            (all_digits && digits.len() <= 2).then(|| digits.parse().ok())?
        };
        Some(Capability {
            major: number(major)?,
            minor: number(minor)?,
        })
    }

    /// The architecture as nvcc names it: `sm_90`.
    pub fn sm(self) -> String {
        format!("sm_{}{}", self.major, self.minor)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

/// The market segment of a GPU, which decides whether cuda-compat works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Segment {
    /// Servers: cuda-compat works.
    DataCenter,
    /// Workstations: some are certified for servers, so cuda-compat may work.
    Workstation,
    /// Gaming.
    Consumer,
    /// Jetson.
    Embedded,
    /// Unknown, for example if only the architecture is given.
    #[default]
    Unknown,
}

/// A GPU that an image must run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// The model as in the table, or `sm_90` if only the architecture was given.
    pub name: String,
    /// Its compute capability.
    pub capability: Capability,
    /// The market segment.
    pub segment: Segment,
}

impl Gpu {
    /// Reads a model as people and `nvidia-smi` write it (`a100`, `NVIDIA A100-SXM4-80GB`, `rtx 4090`), or an architecture
    /// (`sm_90`, `sm90a`, `compute_90`, `9.0`, `90`).
    ///
    /// # Errors
    /// The GPU is unknown; with a suggestion.
    pub fn parse(text: &str) -> Result<Self, InvalidInput> {
        let table = Table::builtin();
        match architecture(text) {
            Some(capability) => table
                .of_capability(text, capability)
                // `980` is a model, not an architecture.
                .or_else(|misread| table.of_model(text).map_err(|_| misread)),
            None => table.of_model(text),
        }
    }
}

/// Whether machine code of a capability runs on no other GPU.
///
/// CUDA C++ Programming Guide, "Binary Compatibility": it is supported only for desktop GPUs, not for Tegra, and not between the
/// two.
pub(super) fn is_tegra(capability: Capability) -> bool {
    Table::builtin().tegra.contains(&capability)
}

/// Whether two capabilities are the same chip under different names.
pub(super) fn is_renamed(a: Capability, b: Capability) -> bool {
    let renamed = &Table::builtin().renamed;
    renamed
        .iter()
        .any(|row| (row.from, row.to) == (a, b) || (row.from, row.to) == (b, a))
}

/// The capability of an architecture name.
fn architecture(text: &str) -> Option<Capability> {
    let lower = text.trim().to_ascii_lowercase();
    let prefixes = ["sm", "compute", "cc"];
    let number = prefixes
        .iter()
        .find_map(|prefix| lower.strip_prefix(prefix));
    let number = number.unwrap_or(&lower).trim_start_matches(['_', '-', ' ']);
    Capability::parse(number.strip_suffix(['a', 'f']).unwrap_or(number))
}

/// Words in product names that do not identify the model: vendor, form factor, connection.
const AROUND: [&str; 16] = [
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

/// The GPUs by their keys.
#[derive(Debug, Default)]
struct Table {
    models: Vec<(String, Gpu)>,
    capabilities: BTreeSet<Capability>,
    tegra: Vec<Capability>,
    renamed: Vec<Renaming>,
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

impl Table {
    /// Never empty: the build wrote it itself, and the tests look into it.
    fn builtin() -> &'static Table {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| Table::read().unwrap_or_default())
    }

    fn read() -> Option<Self> {
        let file: File = embedded::knowledge("gpus").ok()?;
        let cuda: Cuda = embedded::knowledge("cuda").ok()?;
        let read = |text: &String| Capability::parse(text);
        let mut table = Table {
            tegra: file
                .tegra
                .iter()
                .filter_map(|row| read(&row.compute_capability))
                .collect(),
            renamed: file
                .renamed
                .iter()
                .filter_map(|row| {
                    Some(Renaming {
                        from: read(&row.from)?,
                        to: read(&row.to)?,
                        since: row.since.clone(),
                        gpu: row.gpu.clone(),
                    })
                })
                .collect(),
            // Those of one chip only, `9.0a`, are no capabilities.
            capabilities: cuda
                .sm_introduced_removed
                .iter()
                .filter_map(|row| read(&row.sm))
                .collect(),
            ..Table::default()
        };
        for row in file.gpus {
            let gpu = Gpu {
                capability: read(&row.compute_capability)?,
                name: row.gpu,
                segment: row.segment,
            };
            table.capabilities.insert(gpu.capability);
            for name in row.aliases.iter().chain([&gpu.name]) {
                table.models.push((key(name), gpu.clone()));
            }
        }
        Some(table)
    }

    fn of_capability(&self, text: &str, capability: Capability) -> Result<Gpu, InvalidInput> {
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
        if self.capabilities.contains(&capability) {
            return Ok(Gpu {
                name: capability.sm(),
                capability,
                segment: match self.tegra.contains(&capability) {
                    true => Segment::Embedded,
                    false => Segment::Unknown,
                },
            });
        }
        let number = |it: &Capability| it.major * 10 + it.minor;
        let distance = |it: &&Capability| number(it).abs_diff(number(&capability));
        let near = self.capabilities.iter().min_by_key(distance);
        Err(InvalidInput {
            problem: format!("unknown GPU architecture `{}`", text.trim()),
            help: near.map_or_else(String::new, |near| format!("did you mean `{}`?", near.sm())),
        })
    }

    fn of_model(&self, text: &str) -> Result<Gpu, InvalidInput> {
        let key = key(text);
        let with = |prefix: &str| {
            let name = format!("{prefix}{key}");
            self.models.iter().find(|(known, _)| *known == name)
        };
        if let Some((_, gpu)) = ["", "rtx", "gtx"].into_iter().find_map(with) {
            return Ok(gpu.clone());
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
struct File {
    gpus: Vec<Row>,
    tegra: Vec<Tegra>,
    renamed: Vec<Renamed>,
}

#[derive(Deserialize)]
struct Row {
    gpu: String,
    #[serde(default)]
    aliases: Vec<String>,
    compute_capability: String,
    segment: Segment,
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
struct Cuda {
    sm_introduced_removed: Vec<Architecture>,
}

#[derive(Deserialize)]
struct Architecture {
    sm: String,
}

#[cfg(test)]
mod tests;
