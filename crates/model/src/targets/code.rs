//! Which machine code (SASS) and PTX a GPU runs.
//!
//! CUDA C++ Programming Guide, "Binary Compatibility", "PTX Compatibility" and "Feature Set Compiler Targets":
//! - SASS for X.y runs on X.z with z >= y and on no other generation; on Tegra only its own runs.
//! - PTX for X.y compiles for every GPU from X.y on.
//! - Code for one chip (`sm_90a`, `compute_90a`) runs on exactly that capability; code for a family (`sm_100f`) runs on the same
//!   generation from that capability on.

use super::facts::{CodeKind, Support};
use super::gpu::Capability;
use super::gpu_table::GpuTable;
use crate::stack::Coverage;
use imgcheck_elf::facts::GpuCode;

/// Whether code runs on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runs {
    Yes,
    No,
    /// Nobody has verified it.
    Unknown,
}

/// The architecture of GPU code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Architecture {
    capability: Capability,
    /// `a` for one chip, `f` for a family.
    suffix: Option<char>,
}

impl Architecture {
    /// Reads `sm_90a` or `compute_100f`.
    fn parse(name: &str) -> Option<Self> {
        let (_, number) = name.split_once('_')?;
        let suffix = number
            .chars()
            .last()
            .filter(|last| matches!(last, 'a' | 'f'));
        let digits = number.strip_suffix(['a', 'f']).unwrap_or(number);
        Some(Architecture {
            capability: Capability::parse(digits)?,
            suffix,
        })
    }

    /// Whether machine code for it runs on a GPU.
    fn sass_runs(self, gpu: Capability, known: &GpuTable) -> Runs {
        let (code, exact) = (self.capability, self.capability == gpu);
        match self.suffix {
            _ if exact => Runs::Yes,
            _ if known.is_renamed(code, gpu) => Runs::Unknown,
            Some('a') => Runs::No,
            _ if known.is_tegra(code) || known.is_tegra(gpu) => Runs::No,
            _ => yes_if(code.major == gpu.major && code.minor <= gpu.minor),
        }
    }

    /// Whether PTX for it runs on a GPU, if the driver can compile it.
    fn ptx_runs(self, gpu: Capability, known: &GpuTable) -> Runs {
        let (code, exact) = (self.capability, self.capability == gpu);
        match self.suffix {
            _ if exact => Runs::Yes,
            Some(_) if known.is_renamed(code, gpu) => Runs::Unknown,
            Some('a') => Runs::No,
            Some(_) => yes_if(code.major == gpu.major && code.minor <= gpu.minor),
            None => yes_if(code <= gpu),
        }
    }
}

fn yes_if(condition: bool) -> Runs {
    if condition { Runs::Yes } else { Runs::No }
}

/// The support for a GPU if all code exists for these architectures.
pub fn support_of(gpu: Capability, coverage: &Coverage, known: &GpuTable) -> Support {
    support(gpu, &everywhere(coverage), known)
}

/// GPU code whose containers all have these architectures.
pub(super) fn everywhere(coverage: &Coverage) -> GpuCode {
    let counted = |names: &[String]| names.iter().map(|name| (name.clone(), 1)).collect();
    GpuCode {
        containers: 1,
        sass: counted(&coverage.sass),
        ptx: counted(&coverage.ptx),
        ..GpuCode::default()
    }
}

/// The support of a file, or of a part of it, for a GPU: the architecture that most containers have; of several, the newest.
pub(super) fn support(gpu: Capability, code: &GpuCode, known: &GpuTable) -> Support {
    let best = |names: &[(String, u32)], runs: fn(Architecture, Capability, &GpuTable) -> Runs| {
        let mut unknown = false;
        let mut best: Option<(u32, Capability, &str)> = None;
        for (name, count) in names {
            let Some(architecture) = Architecture::parse(name) else {
                continue;
            };
            match runs(architecture, gpu, known) {
                Runs::Yes => best = best.max(Some((*count, architecture.capability, name))),
                Runs::Unknown => unknown = true,
                Runs::No => {}
            }
        }
        (
            best.map(|(count, _, name)| (count, name.to_owned())),
            unknown,
        )
    };
    let (sass, sass_unknown) = best(&code.sass, Architecture::sass_runs);
    if let Some((count, by)) = sass {
        return Support {
            how: CodeKind::Sass,
            by,
            whole: count == code.containers,
            ..Support::default()
        };
    }
    let (ptx, ptx_unknown) = best(&code.ptx, Architecture::ptx_runs);
    match ptx {
        _ if sass_unknown => Support::default(),
        Some((count, by)) => Support {
            how: CodeKind::Ptx,
            isa: code
                .ptx_isa
                .iter()
                .find(|(name, _)| *name == by)
                .map(|(_, isa)| isa.clone()),
            by,
            whole: count == code.containers,
            ..Support::default()
        },
        None if ptx_unknown || !code.lto.is_empty() => Support::default(),
        None => Support {
            how: CodeKind::None,
            ..Support::default()
        },
    }
}

/// Which code of a file a GPU may select.
pub(super) struct Selection<'t> {
    gpu: Capability,
    known: &'t GpuTable,
    /// Whether every container has machine code for exactly this GPU, so that no other code is selected.
    is_exact: bool,
}

impl<'t> Selection<'t> {
    pub fn of(gpu: Capability, code: &GpuCode, known: &'t GpuTable) -> Self {
        let is_exact = |name: &str| {
            let architecture = Architecture::parse(name);
            architecture.is_some_and(|it| it.capability == gpu && it.suffix.is_none())
        };
        let mut everywhere = code.sass.iter().filter(|it| it.1 == code.containers);
        Selection {
            gpu,
            known,
            is_exact: everywhere.any(|(name, _)| is_exact(name)),
        }
    }

    /// Whether the GPU may select code of this name: `sm_90a`, `compute_90`, `lto_90`.
    pub fn may_take(&self, name: &str) -> bool {
        let Some(architecture) = Architecture::parse(name) else {
            return true;
        };
        let is_machine_code = name.starts_with("sm_");
        if self.is_exact {
            return is_machine_code && architecture.capability == self.gpu;
        }
        let runs = match is_machine_code {
            true => architecture.sass_runs(self.gpu, self.known),
            false => architecture.ptx_runs(self.gpu, self.known),
        };
        runs != Runs::No
    }
}

/// The oldest capability that has code.
pub(super) fn oldest(code: &GpuCode) -> Option<Capability> {
    let architectures = code.sass.iter().chain(&code.ptx);
    let capabilities = architectures.filter_map(|(name, _)| Architecture::parse(name));
    capabilities
        .map(|architecture| architecture.capability)
        .min()
}

/// Whether all code is for single chips, as in a package that only supports these.
pub(super) fn is_specific(code: &GpuCode) -> bool {
    !code.sass.is_empty()
        && code.sass.iter().all(|(name, _)| name.ends_with('a'))
        && code.ptx.iter().all(|(name, _)| name.ends_with('a'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> GpuTable {
        crate::knowledge::gpus().unwrap_or_else(|error| panic!("{error}"))
    }

    fn code(sass: &[(&str, u32)], ptx: &[(&str, u32)]) -> GpuCode {
        let own = |list: &[(&str, u32)]| {
            list.iter()
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect()
        };
        GpuCode {
            containers: 4,
            sass: own(sass),
            ptx: own(ptx),
            ptx_isa: vec![("compute_90".to_owned(), "8.7".to_owned())],
            ..GpuCode::default()
        }
    }

    fn how(gpu: &str, sass: &[&str], ptx: &[&str]) -> (CodeKind, String) {
        let counted = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 4)).collect();
        let code = GpuCode {
            containers: 4,
            sass: counted(sass),
            ptx: counted(ptx),
            ..GpuCode::default()
        };
        let support = Capability::parse(gpu)
            .map(|gpu| support(gpu, &code, &table()))
            .unwrap_or_default();
        (support.how, support.by)
    }

    #[test]
    fn machine_code_runs_on_its_generation_from_its_chip_on() {
        let sass = |by: &str| (CodeKind::Sass, by.to_owned());
        let none = (CodeKind::None, String::new());
        assert_eq!(how("8.6", &["sm_80"], &[]), sass("sm_80"));
        assert_eq!(how("8.9", &["sm_80", "sm_86", "sm_90"], &[]), sass("sm_86"));
        assert_eq!(how("8.0", &["sm_86"], &[]), none);
        assert_eq!(how("9.0", &["sm_80", "sm_89"], &[]), none);
        assert_eq!(how("12.1", &["sm_120"], &[]), sass("sm_120"));
        assert_eq!(how("12.0", &["sm_100"], &[]), none);
        assert_eq!(how("10.3", &["sm_100"], &[]), sass("sm_100"));
    }

    #[test]
    fn a_list_of_architectures_supports_later_chips_and_ptx() {
        let coverage = Coverage {
            sass: vec!["sm_80".to_owned(), "sm_87".to_owned()],
            ptx: vec!["compute_80".to_owned()],
        };
        let on = |major, minor| support_of(Capability { major, minor }, &coverage, &table());
        assert_eq!((on(8, 6).by.as_str(), on(8, 6).whole), ("sm_80", true));
        assert_eq!(on(8, 7).by, "sm_87");
        assert_eq!(on(9, 0).by, "compute_80");
        assert_eq!(on(7, 5).how, CodeKind::None);
    }

    #[test]
    fn code_for_one_chip_or_a_family_runs_only_there() {
        assert_eq!(how("9.0", &["sm_90a"], &[]).0, CodeKind::Sass);
        assert_eq!(how("10.3", &["sm_100a"], &[]).0, CodeKind::None);
        assert_eq!(how("10.3", &["sm_100f"], &[]).0, CodeKind::Sass);
        assert_eq!(how("11.0", &["sm_100f"], &[]).0, CodeKind::None);
        assert_eq!(how("12.1", &["sm_120f"], &[]).0, CodeKind::Sass);
        assert_eq!(how("10.0", &[], &["compute_90a"]).0, CodeKind::None);
        assert_eq!(how("12.0", &[], &["compute_100f"]).0, CodeKind::None);
        assert_eq!(how("10.3", &[], &["compute_100f"]).0, CodeKind::Ptx);
    }

    #[test]
    fn a_chip_that_no_table_has_is_judged_by_family_and_ptx() {
        assert_eq!(how("10.7", &["sm_100"], &[]).0, CodeKind::Sass);
        assert_eq!(how("10.7", &["sm_100f"], &[]).0, CodeKind::Sass);
        assert_eq!(how("10.7", &["sm_100a"], &[]).0, CodeKind::None);
        assert_eq!(how("10.7", &["sm_120"], &["compute_120"]).0, CodeKind::None);
        assert_eq!(
            how("10.7", &["sm_90"], &["compute_90"]),
            (CodeKind::Ptx, "compute_90".to_owned())
        );
    }

    #[test]
    fn tegra_runs_its_own_machine_code_only() {
        assert_eq!(how("8.7", &["sm_80", "sm_86"], &[]).0, CodeKind::None);
        assert_eq!(how("8.7", &["sm_87"], &[]).0, CodeKind::Sass);
        assert_eq!(how("8.9", &["sm_87"], &[]).0, CodeKind::None);
        assert_eq!(
            how("8.7", &["sm_80"], &["compute_80"]),
            (CodeKind::Ptx, "compute_80".to_owned())
        );
    }

    #[test]
    fn ptx_runs_on_anything_newer_and_the_newest_counts() {
        assert_eq!(
            how("12.0", &["sm_90"], &["compute_70", "compute_90"]),
            (CodeKind::Ptx, "compute_90".to_owned())
        );
        assert_eq!(how("7.5", &[], &["compute_80"]).0, CodeKind::None);
    }

    #[test]
    fn unverified_support_is_unknown() {
        assert_eq!(how("11.0", &["sm_101"], &[]).0, CodeKind::Unknown);
        assert_eq!(how("11.0", &["sm_101", "sm_110"], &[]).0, CodeKind::Sass);
        assert_eq!(how("11.0", &[], &["compute_101"]).0, CodeKind::Ptx);
        assert_eq!(how("11.0", &[], &["compute_101a"]).0, CodeKind::Unknown);
    }

    #[test]
    fn the_architecture_of_most_containers_counts() {
        let gpu = Capability { major: 9, minor: 0 };
        let most = support(gpu, &code(&[("sm_90", 4), ("sm_90a", 1)], &[]), &table());
        assert_eq!((most.by.as_str(), most.whole), ("sm_90", true));
        let few = support(gpu, &code(&[("sm_90a", 1), ("sm_80", 4)], &[]), &table());
        assert_eq!((few.by.as_str(), few.whole), ("sm_90a", false));
        let ptx = support(gpu, &code(&[], &[("compute_90", 4)]), &table());
        assert_eq!(ptx.isa.as_deref(), Some("8.7"));
        assert!(is_specific(&code(&[("sm_90a", 1)], &[])));
        assert!(!is_specific(&code(&[("sm_90a", 1), ("sm_80", 1)], &[])));
        assert!(!is_specific(&code(&[], &[])));
    }
}
