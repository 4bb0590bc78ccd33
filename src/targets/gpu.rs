//! GPUs by name, and their compute capability: the knowledge table `gpus`.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::embedded;
use crate::spelling::{InvalidInput, nearest};

/// A compute capability: `9.0`. It is the number of the architecture, too: `sm_90`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Capability {
    /// The generation of the machine code.
    pub major: u32,
    /// The chip within it.
    pub minor: u32,
}

impl Capability {
    /// Reads `9.0`, `90` or `120`; `None` for what is neither.
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

    /// As nvcc names the architecture: `sm_90`.
    pub fn sm(self) -> String {
        format!("sm_{}{}", self.major, self.minor)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

/// What a GPU is sold for, which decides the drivers that it may have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Segment {
    /// Servers: the driver of the host may be replaced by a cuda-compat package.
    DataCenter,
    /// Workstations; some of them are certified for servers, so that a cuda-compat package may work.
    Workstation,
    /// Games.
    Consumer,
    /// Jetson.
    Embedded,
    /// Not known, as where only the architecture is given.
    #[default]
    Unknown,
}

/// A GPU that an image must run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// The model as the table names it, or `sm_90` where only the architecture was given.
    pub name: String,
    /// Its compute capability.
    pub capability: Capability,
    /// What it is sold for.
    pub segment: Segment,
}

impl Gpu {
    /// Reads a model as people and `nvidia-smi` write it (`a100`, `NVIDIA A100-SXM4-80GB`, `rtx 4090`) or an architecture
    /// (`sm_90`, `sm90a`, `compute_90`, `9.0`, `90`).
    ///
    /// # Errors
    /// No such GPU is known; with what was probably meant.
    pub fn parse(text: &str) -> Result<Self, InvalidInput> {
        let table = Table::builtin();
        match architecture(text) {
            Some(capability) => table
                .of_capability(text, capability)
                // `980` is no architecture, but a model.
                .or_else(|misread| table.of_model(text).map_err(|_| misread)),
            None => table.of_model(text),
        }
    }
}

/// The capabilities whose machine code runs on no other GPU.
///
/// CUDA C++ Programming Guide, "Binary Compatibility": it is supported only for the desktop, not for Tegra, and not between
/// the two.
pub(super) fn is_tegra(capability: Capability) -> bool {
    Table::builtin().tegra.contains(&capability)
}

/// Whether two capabilities are one chip under two names.
pub(super) fn is_renamed(a: Capability, b: Capability) -> bool {
    let renamed = &Table::builtin().renamed;
    renamed
        .iter()
        .any(|row| (row.from, row.to) == (a, b) || (row.from, row.to) == (b, a))
}

/// The capability that an architecture's name gives.
fn architecture(text: &str) -> Option<Capability> {
    let lower = text.trim().to_ascii_lowercase();
    let prefixes = ["sm", "compute", "cc"];
    let number = prefixes
        .iter()
        .find_map(|prefix| lower.strip_prefix(prefix));
    let number = number.unwrap_or(&lower).trim_start_matches(['_', '-', ' ']);
    Capability::parse(number.strip_suffix(['a', 'f']).unwrap_or(number))
}

/// Words around a model: who makes it, for what machine, how it is connected.
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
/// Beginnings of words that tell how a model is connected and which memory it has: `sxm4`, `nvl72`, `hbm3`.
const CONNECTED: [&str; 3] = ["sxm", "nvl", "hbm"];
/// Ends of words that tell how much memory it has, or which share of it: `80gb`, `1g`, `24q`.
const MEMORY: [&str; 4] = ["gb", "g", "q", "c"];

/// A model's name without case, spaces and all that is around it: `rtx4090` of `NVIDIA GeForce RTX 4090 Laptop GPU`.
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
                    "{old} is called {new} since CUDA {} ({})",
                    row.since, row.gpu
                ),
                help: format!("write {new}"),
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
            problem: format!("no GPU has the architecture `{}`", text.trim()),
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
            problem: format!("no GPU is known as `{}`", text.trim()),
            help: self.meant(&key).map_or_else(
                || "write it as nvidia-smi does (A100, RTX 4090, Jetson AGX Orin), or its architecture (sm_90, 9.0)".to_owned(),
                |names| format!("did you mean {names}?"),
            ),
        })
    }

    /// The models that a misspelt one may be: those with it in their names, else the nearest.
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
