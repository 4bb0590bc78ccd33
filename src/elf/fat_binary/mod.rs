//! The GPU code in a file: which architectures each fat-binary container holds. Only headers are read.
//!
//! nvcc places the containers in `.nv_fatbin`, and relocatable device code in `__nv_relfatbin`; some libraries keep
//! more of them in data sections, which only the deep reading searches.

pub(super) mod format;
mod walk;
mod wrappers;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::Depth;
use super::error::ElfError;
use super::facts::GpuCode;
use super::object::{Object, file_range};
use super::ranges::disjoint;

use format::{Architecture, Code, Kind};
use walk::Walker;

/// The sections that hold nothing else.
const NAMED: [&str; 2] = [".nv_fatbin", "__nv_relfatbin"];
/// A sample ends with the container in which it gets so many entries.
const SAMPLE: u32 = 12;
/// Unwinding tables: large, and never fat binaries.
const UNWINDING: [&str; 3] = [".eh_frame", ".eh_frame_hdr", ".gcc_except_table"];

/// In how many containers each architecture is.
#[derive(Default)]
struct Counts {
    containers: u32,
    entries: u32,
    damaged: bool,
    sampled: bool,
    by_kind: BTreeMap<(Kind, Architecture), u32>,
    /// The newest instruction set of the PTX of each architecture.
    isa: BTreeMap<Architecture, (u16, u16)>,
}

/// Reads the containers of a file; `None` if it has none.
pub(super) fn read(object: &Object, depth: Depth) -> Result<Option<GpuCode>, ElfError> {
    let mut counts = Counts::default();
    let mut walker = Walker::new(object);
    if depth == Depth::Sampled && sample(object, &mut walker, &mut counts)? {
        return Ok(counts.finish());
    }
    for range in named(object) {
        walker.section(range, true, &mut counts)?;
    }
    for range in elsewhere(object, depth) {
        walker.section(range, false, &mut counts)?;
    }
    Ok(counts.finish())
}

/// Looks at containers all over a file, until there are enough entries. False if these were all containers that are known of: there may
/// be more.
fn sample(object: &Object, walker: &mut Walker, counts: &mut Counts) -> Result<bool, ElfError> {
    let containers = wrappers::containers(object)?;
    let mut sampled = Counts {
        sampled: true,
        ..Counts::default()
    };
    let mut seen = BTreeSet::new();
    for number in 1..=containers.len() as u32 {
        // The middle, the quarters, the eighths … (the van der Corput sequence).
        let share = u64::from(number.reverse_bits());
        let at = (share * containers.len() as u64) >> u32::BITS;
        if seen.insert(at) {
            walker.single(containers[at as usize].clone(), &mut sampled)?;
        }
        if sampled.entries >= SAMPLE && seen.len() < containers.len() {
            *counts = sampled;
            return Ok(true);
        }
    }
    Ok(false)
}

/// The sections that hold nothing else. No byte is in two of them.
fn named(object: &Object) -> Vec<Range<u64>> {
    let sections = object.sections.iter();
    let named = sections.filter(|it| NAMED.contains(&it.name.as_str()));
    disjoint(named.map(|section| section.file.clone()).collect())
}

fn elsewhere(object: &Object, depth: Depth) -> Vec<Range<u64>> {
    if object.sections.is_empty() {
        return disjoint(object.loads().map(file_range).collect());
    }
    if depth != Depth::Deep {
        return Vec::new();
    }
    let sections = object.sections.iter();
    let data = sections
        .filter(|section| section.allocated && !section.executable)
        .filter(|section| !NAMED.contains(&section.name.as_str()))
        .filter(|section| !UNWINDING.contains(&section.name.as_str()));
    disjoint(data.map(|section| section.file.clone()).collect())
}

impl Counts {
    fn container(&mut self, entries: &[Code]) {
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

    fn finish(self) -> Option<GpuCode> {
        if self.containers == 0 && !self.damaged {
            return None;
        }
        let of = |wanted: Kind, prefix: &str| {
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
            sass: of(Kind::Cubin, "sm"),
            ptx: of(Kind::Ptx, "compute"),
            lto: of(Kind::LtoIr, "lto"),
            damaged: self.damaged,
        })
    }
}
