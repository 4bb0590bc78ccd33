//! What of a streamed file is worth keeping, from its header and program headers.

use std::iter;
use std::ops::Range;

use goblin::container::{Container as Class, Ctx, Endian};
use goblin::elf::program_header::{PT_DYNAMIC, PT_INTERP, PT_LOAD, PT_NOTE};
use goblin::elf::{Elf, ProgramHeader};

use crate::elf::ranges::merged;

/// Kept free for the headers of fat binaries.
const HEADERS: u64 = 16 << 20;
/// Always kept of the start of a file.
const PREFIX: u64 = 1 << 20;
/// Always kept around a place that a program header names.
const MARGIN: u64 = 64 << 10;
/// Program headers of each kind that are looked at: what others name is fetched in another pass. Real files have a handful.
const NAMED: usize = 64;
/// A loaded segment up to this size is always kept, as far as half of the limit goes.
const SMALL_SEGMENT: u64 = 64 << 20;

/// What the headers of a file say of where things are.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Kept in any case; ordered, not overlapping.
    pub ranges: Vec<Range<u64>>,
    /// The loaded segments, which are kept, too, as far as the limit goes; ordered, not overlapping.
    pub loaded: Vec<Range<u64>>,
}

impl Plan {
    /// From the first bytes of a file of `size` bytes.
    pub fn new(head: &[u8], size: u64, limit: u64) -> Self {
        let everything = Plan {
            ranges: Vec::new(),
            loaded: merged(iter::once(0..size).collect()),
        };
        Plan::of_headers(head, size, limit).unwrap_or(everything)
    }

    fn of_headers(head: &[u8], size: u64, limit: u64) -> Option<Self> {
        let header = Elf::parse_header(head).ok()?;
        let class = if head.get(4) == Some(&2) {
            Class::Big
        } else {
            Class::Little
        };
        let segments = ProgramHeader::parse(
            head,
            usize::try_from(header.e_phoff).ok()?,
            usize::from(header.e_phnum),
            Ctx::new(class, Endian::Little),
        )
        .ok()?;
        let within = |segment: &ProgramHeader, margin: u64| {
            let start = segment.p_offset.saturating_sub(margin);
            let end = segment.p_offset.saturating_add(segment.p_filesz);
            start..end.saturating_add(margin).min(size).max(start)
        };
        let loads = segments.iter().filter(|segment| segment.p_type == PT_LOAD);
        let loaded = merged(loads.clone().map(|segment| within(segment, 0)).collect());
        if loaded.is_empty() {
            return None;
        }
        let named = [PT_DYNAMIC, PT_INTERP, PT_NOTE];
        let mut ranges: Vec<Range<u64>> = segments
            .iter()
            .filter(|segment| named.contains(&segment.p_type) && segment.p_filesz <= PREFIX)
            .take(NAMED)
            .map(|segment| within(segment, MARGIN))
            .collect();
        ranges.push(0..PREFIX.min(size));
        let table = u64::from(header.e_shnum) * u64::from(header.e_shentsize);
        ranges
            .push(header.e_shoff.min(size)..header.e_shoff.saturating_add(table.max(64)).min(size));
        let mut small: Vec<Range<u64>> = loads.map(|segment| within(segment, 0)).collect();
        small.sort_by_key(|range| range.end - range.start);
        let mut budget = limit / 2;
        for range in small.into_iter().take(NAMED) {
            let length = range.end - range.start;
            if length > SMALL_SEGMENT || length > budget {
                break;
            }
            budget -= length;
            ranges.push(range);
        }
        Some(Plan {
            ranges: merged(ranges),
            loaded,
        })
    }

    /// What is to be kept of a range, when `held` of `limit` bytes are kept already.
    pub fn choose(&self, range: &Range<u64>, held: u64, limit: u64) -> Vec<Range<u64>> {
        let ahead = |it: &Range<u64>| it.end.saturating_sub(it.start.max(range.end));
        let reserved: u64 = self.ranges.iter().map(ahead).sum();
        let mut kept = self.ranges.clone();
        if held.saturating_add(reserved).saturating_add(HEADERS) < limit {
            let first = self.loaded.partition_point(|it| it.end <= range.start);
            let loaded = self.loaded[first..].iter();
            kept.extend(loaded.take_while(|it| it.start < range.end).cloned());
        }
        kept
    }

    /// Whether all of a range belongs to one loaded segment.
    pub fn loads(&self, range: &Range<u64>) -> bool {
        let last = self.loaded.partition_point(|it| it.end < range.end);
        let loaded = self.loaded.get(last);
        loaded.is_some_and(|it| it.start <= range.start)
    }

    /// End of the last loaded segment.
    pub fn end(&self) -> u64 {
        self.loaded.last().map_or(0, |range| range.end)
    }
}

/// The part of a range that lies within another.
pub(super) fn overlap(range: &Range<u64>, within: &Range<u64>) -> Range<u64> {
    range.start.max(within.start)..range.end.min(within.end)
}
