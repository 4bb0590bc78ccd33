//! What to keep of a streamed file, by its header and program headers.

use std::iter;
use std::ops::Range;

use goblin::container::{Container as Class, Ctx, Endian};
use goblin::elf::program_header::{PT_DYNAMIC, PT_INTERP, PT_LOAD, PT_NOTE};
use goblin::elf::{Elf, ProgramHeader};

use crate::elf::ranges::merged;

/// Reserved for the headers of fat binaries, in bytes.
const HEADERS: u64 = 16 << 20;
/// How much of the start of a file is always kept, in bytes.
const PREFIX: u64 = 1 << 20;
/// How much is always kept before and after a range that a program header names, in bytes.
const MARGIN: u64 = 64 << 10;
/// How many program headers of each type count: another pass fetches what others name. Real files have a handful.
const NAMED: usize = 64;
/// Loaded segments up to this many bytes are always kept, up to half of the limit together.
const SMALL_SEGMENT: u64 = 64 << 20;

/// What to keep, by the headers of a file.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Always kept; ordered, not overlapping.
    pub ranges: Vec<Range<u64>>,
    /// The loaded segments, kept up to the limit; ordered, not overlapping.
    pub loaded: Vec<Range<u64>>,
}

impl Plan {
    /// The plan for a file of `size` bytes that starts with `head`: everything if that is not an ELF header.
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

    /// What to keep of a range, if `held` of `limit` bytes are kept already.
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

    /// Whether a range is inside one loaded segment.
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

/// The part of a range inside another.
pub(super) fn overlap(range: &Range<u64>, within: &Range<u64>) -> Range<u64> {
    range.start.max(within.start)..range.end.min(within.end)
}
