//! How many containers have code for each architecture.

use std::collections::BTreeMap;

use super::format::{Architecture, Code, EntryKind};
use crate::facts::GpuCode;

/// What the containers of a file hold.
#[derive(Default)]
pub(super) struct Counts {
    pub containers: u32,
    pub entries: u32,
    pub damaged: bool,
    pub sampled: bool,
    pub by_kind: BTreeMap<(EntryKind, Architecture), u32>,
    /// The newest PTX instruction set of each architecture.
    pub isa: BTreeMap<Architecture, (u16, u16)>,
}

impl Counts {
    /// Adds a container with these entries.
    pub fn add_container(&mut self, entries: &[Code]) {
        self.containers = self.containers.saturating_add(1);
        for code in entries {
            if let Some(isa) = code.isa {
                let newest = self.isa.entry(code.architecture).or_insert(isa);
                *newest = isa.max(*newest);
            }
        }
        let codes = entries.iter();
        let mut present: Vec<_> = codes.map(|code| (code.kind, code.architecture)).collect();
        present.sort_unstable();
        present.dedup();
        for entry in present {
            *self.by_kind.entry(entry).or_insert(0) += 1;
        }
    }

    /// The facts; `None` if there were no containers.
    pub fn finish(self) -> Option<GpuCode> {
        if self.containers == 0 && !self.damaged {
            return None;
        }
        let of = |wanted: EntryKind, prefix: &str| {
            self.by_kind
                .iter()
                .filter(|((kind, _), _)| *kind == wanted)
                .map(|((_, architecture), count)| (format!("{prefix}_{architecture}"), *count))
                .collect()
        };
        let isa = self.isa.iter().map(|(architecture, (major, minor))| {
            (
                format!("compute_{architecture}"),
                format!("{major}.{minor}"),
            )
        });
        Some(GpuCode {
            ptx_isa: isa.collect(),
            sampled: self.sampled,
            containers: self.containers,
            entries: self.entries,
            sass: of(EntryKind::Cubin, "sm"),
            ptx: of(EntryKind::Ptx, "compute"),
            lto: of(EntryKind::LtoIr, "lto"),
            damaged: self.damaged,
        })
    }
}
