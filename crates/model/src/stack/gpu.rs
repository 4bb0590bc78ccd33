//! The GPU architectures that the image contains code for.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use imgcheck_elf::facts::GpuCode;

use super::inventory::Inventory;
use super::torch::{TorchCopy, is_2_or_later};
use super::{Component, Coverage};

/// The GPU code of an image, with the keys of the JSON report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gpu {
    /// Every file with GPU code: each architecture that at least one of its containers has.
    pub libraries: Vec<LibraryCoverage>,
    /// PyTorch's own kernels, of the copy that the process gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torch: Option<Coverage>,
    /// imgcheck read only a sample of some file's GPU code, as in a layer that is fetched in parts; absent otherwise.
    /// A list may then lack an architecture, and `torch` may have one that some kernels lack.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sampled: bool,
}

/// The GPU code of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LibraryCoverage {
    /// The file.
    pub path: String,
    /// Which library it is, by its exports; absent if no recipe knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// The architectures.
    #[serde(flatten)]
    pub coverage: Coverage,
    /// The number of containers per architecture; not in the report.
    #[serde(skip)]
    pub code: GpuCode,
}

/// The coverage of all files with GPU code, sorted by path.
pub(super) fn libraries(inventory: &Inventory) -> Vec<LibraryCoverage> {
    inventory
        .elf
        .iter()
        .filter_map(|file| {
            let gpu = file.facts.gpu.as_ref()?;
            let coverage = Coverage {
                sass: names(&gpu.sass, 1),
                ptx: names(&gpu.ptx, 1),
            };
            (coverage != Coverage::default()).then(|| LibraryCoverage {
                path: file.path.clone(),
                library: file.library().map(str::to_owned),
                coverage,
                code: gpu.clone(),
            })
        })
        .collect()
}

/// Whether only a sample of some file's GPU code was read.
pub(super) fn sampled(inventory: &Inventory) -> bool {
    let gpu = inventory
        .elf
        .iter()
        .filter_map(|file| file.facts.gpu.as_ref());
    gpu.into_iter().any(|gpu| gpu.sampled)
}

/// The architectures that all kernels of one copy of PyTorch support.
///
/// Since 2.0, these are the architectures in *every* container of `libtorch_cuda`: a few kernels are built for more architectures, so
/// the union would be too large. Earlier releases link in libraries with fewer architectures, and no architecture is in every
/// container. For those, and if no container can be read, the build's own list (`-gencode`) counts.
pub(super) fn torch(copy: &TorchCopy, component: &Component) -> Option<Coverage> {
    if is_2_or_later(&component.version) {
        let gpu = copy.library("torch-cuda")?.facts.gpu.as_ref();
        if let Some(coverage) = gpu.map(in_all_containers)
            && !coverage.sass.is_empty()
        {
            return Some(coverage);
        }
    }
    from_arch_list(component.details.get("arch-list")?)
}

fn in_all_containers(gpu: &GpuCode) -> Coverage {
    Coverage {
        sass: names(&gpu.sass, gpu.containers),
        ptx: names(&gpu.ptx, gpu.containers),
    }
}

/// The architectures in at least `at_least` containers, sorted by number.
fn names(counted: &[(String, u32)], at_least: u32) -> Vec<String> {
    let found: BTreeSet<(u32, &str)> = counted
        .iter()
        .filter(|(_, count)| *count >= at_least)
        .map(|(name, _)| (number(name), name.as_str()))
        .collect();
    found.into_iter().map(|(_, name)| name.to_owned()).collect()
}

fn number(architecture: &str) -> u32 {
    let digits = architecture
        .split_once('_')
        .map_or("", |(_, number)| number);
    let end = digits
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().unwrap_or(0)
}

/// The architectures in a list of nvcc's `-gencode` options, or in a plain list of names.
fn from_arch_list(list: &str) -> Option<Coverage> {
    let mut coverage = Coverage::default();
    let is_separator = |character: char| !character.is_ascii_alphanumeric() && character != '_';
    let mut is_virtual = false;
    for word in list.split(is_separator) {
        match word {
            // `arch=` names the virtual architecture that `code=` is compiled from.
            "arch" => is_virtual = true,
            "code" => is_virtual = false,
            name if name.starts_with("sm_") => coverage.sass.push(name.to_owned()),
            name if name.starts_with("compute_") && !is_virtual => {
                coverage.ptx.push(name.to_owned());
            }
            _ => {}
        }
    }
    for names in [&mut coverage.sass, &mut coverage.ptx] {
        names.sort_by_key(|name| (number(name), name.clone()));
        names.dedup();
    }
    (coverage != Coverage::default()).then_some(coverage)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn gencode_options_and_plain_lists() {
        let options = "-gencode;arch=compute_70,code=sm_70;-gencode;arch=compute_100,code=sm_100;\
                       -gencode;arch=compute_90,code=compute_90";
        let coverage = from_arch_list(options).unwrap();
        assert_eq!(coverage.sass, ["sm_70", "sm_100"]);
        assert_eq!(coverage.ptx, ["compute_90"]);
        let coverage = from_arch_list("sm_70 sm_90a compute_90").unwrap();
        assert_eq!(coverage.sass, ["sm_70", "sm_90a"]);
        assert_eq!(coverage.ptx, ["compute_90"]);
        assert_eq!(from_arch_list("nothing"), None);
    }

    #[test]
    fn an_architecture_must_be_in_every_container() {
        let gpu = GpuCode {
            containers: 4,
            sass: [("sm_100", 4), ("sm_90", 4), ("sm_90a", 1)]
                .map(|(name, count)| (name.to_owned(), count))
                .to_vec(),
            ..GpuCode::default()
        };
        assert_eq!(in_all_containers(&gpu).sass, ["sm_90", "sm_100"]);
    }
}
