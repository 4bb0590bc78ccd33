//! The GPU code in a file: which architectures each fat-binary container holds. Only headers are read.
//!
//! nvcc writes containers to `.nv_fatbin`, and relocatable device code to `__nv_relfatbin`. Some libraries have more of them in data
//! sections, which only the deep reading searches.

mod counts;
pub(super) mod format;
mod walk;
mod wrappers;

use std::collections::BTreeSet;
use std::ops::Range;

use super::depth::Depth;
use super::error::ElfError;
use super::facts::GpuCode;
use super::object::{Object, file_range};
use super::ranges::disjoint;

use counts::Counts;
use format::SECTIONS;
use walk::Walker;

/// A sample ends with the container that brings it to this many entries.
const SAMPLE: u32 = 12;
/// Unwinding tables: large, and never fat binaries.
const UNWINDING: [&str; 3] = [".eh_frame", ".eh_frame_hdr", ".gcc_except_table"];

/// Reads the containers of a file.
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

/// Reads containers all over a file until there are enough entries. False if the known containers have fewer: there may be others.
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

/// The sections with nothing but containers, without overlaps.
fn named(object: &Object) -> Vec<Range<u64>> {
    let sections = object.sections.iter();
    let named = sections.filter(|it| SECTIONS.contains(&it.name.as_str()));
    disjoint(named.map(|section| section.file.clone()).collect())
}

/// Other ranges to search for containers, without overlaps.
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
        .filter(|section| !SECTIONS.contains(&section.name.as_str()))
        .filter(|section| !UNWINDING.contains(&section.name.as_str()));
    disjoint(data.map(|section| section.file.clone()).collect())
}
