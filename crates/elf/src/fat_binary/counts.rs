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
    /// Bytes of the entries with the same code.
    pub bytes: BTreeMap<Vec<Code>, u64>,
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

    /// Adds the bytes of one entry, which has the code of several if they are compressed together.
    pub fn add_bytes(&mut self, codes: &[Code], bytes: u64) {
        let mut codes: Vec<Code> = codes.iter().map(|it| Code { isa: None, ..*it }).collect();
        codes.sort_unstable();
        codes.dedup();
        let known = self.bytes.entry(codes).or_default();
        *known = known.saturating_add(bytes);
    }

    /// The facts; `None` if there were no containers.
    pub fn finish(self) -> Option<GpuCode> {
        if self.containers == 0 && !self.damaged {
            return None;
        }
        let of = |wanted: EntryKind| {
            let of_kind = self.by_kind.iter().filter(|((kind, _), _)| *kind == wanted);
            let named = of_kind.filter_map(|((kind, architecture), count)| {
                Some((kind.name_of(*architecture)?, *count))
            });
            named.collect()
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
            sass: of(EntryKind::Cubin),
            ptx: of(EntryKind::Ptx),
            lto: of(EntryKind::LtoIr),
            bytes: self.bytes(),
            damaged: self.damaged,
        })
    }

    fn bytes(&self) -> Vec<(String, u64)> {
        let mut named: BTreeMap<String, u64> = BTreeMap::new();
        for (codes, bytes) in &self.bytes {
            let names: Vec<String> = codes.iter().filter_map(Code::name).collect();
            if !names.is_empty() {
                *named.entry(names.join(" ")).or_default() += bytes;
            }
        }
        named.into_iter().collect()
    }
}
