//! What to keep of a streamed file, by its header and program headers.

use std::iter;
use std::ops::Range;

use goblin::container::{Container as Class, Ctx, Endian};
use goblin::elf::program_header::{PT_DYNAMIC, PT_INTERP, PT_LOAD, PT_NOTE};
use goblin::elf::section_header::{
    SHF_ALLOC, SHT_DYNAMIC, SHT_DYNSYM, SHT_GNU_HASH, SHT_GNU_VERDEF, SHT_GNU_VERNEED,
    SHT_GNU_VERSYM, SHT_HASH, SHT_RELA, SHT_STRTAB,
};
use goblin::elf::{Elf, ProgramHeader, SectionHeader};

use crate::ranges::merged;
use crate::sparse::SparseFile;
use imgcheck_base::read_at::ReadAt;

/// Reserved for the headers of fat binaries, in bytes.
const HEADERS: u64 = 16 << 20;
/// How much of the start of a file is always kept, in bytes.
const PREFIX: u64 = 1 << 20;
/// How much is always kept before and after a range that a program header names, in bytes.
const MARGIN: u64 = 64 << 10;
/// How many program headers of each type count: another pass fetches what others name. Real files have a handful.
const NAMED: usize = 64;
/// Length of the longest ELF header.
const HEADER: u64 = 64;
/// The types of sections that the dynamic loader reads.
const READ: [u32; 8] = [
    SHT_DYNAMIC,
    SHT_DYNSYM,
    SHT_GNU_HASH,
    SHT_GNU_VERDEF,
    SHT_GNU_VERNEED,
    SHT_GNU_VERSYM,
    SHT_HASH,
    SHT_RELA,
];
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
    /// The plan for a file of `size` bytes that starts with `head`: everything if that is not an ELF header, or if the program headers
    /// come later, as they do after BOLT or patchelf.
    pub fn new(head: &[u8], size: u64, limit: u64) -> Self {
        let tables = Tables::of(head, size);
        let early = tables.as_ref().and_then(|tables| {
            let segments = tables.segments(head.get(range(&tables.segments)?)?)?;
            Plan::of(tables, &segments, limit)
        });
        early.unwrap_or_else(|| Plan {
            ranges: tables.map(|it| it.ranges()).unwrap_or_default(),
            loaded: merged(iter::once(0..size).collect()),
        })
    }

    /// What the headers of a file name that was kept in part, for another pass: its first pass may not have known them in time.
    pub fn named(kept: &SparseFile, limit: u64) -> Vec<Range<u64>> {
        let size = kept.size();
        let bytes = |wanted: &Range<u64>| {
            let mut bytes = vec![0; usize::try_from(wanted.end - wanted.start).ok()?];
            let read = kept.read_at(wanted.start, &mut bytes).ok()?;
            (read == bytes.len()).then_some(bytes)
        };
        let head = bytes(&(0..HEADER.min(size)));
        let Some(tables) = head.and_then(|head| Tables::of(&head, size)) else {
            return Vec::new();
        };
        let segments = bytes(&tables.segments).and_then(|it| tables.segments(&it));
        let plan = segments.and_then(|it| Plan::of(&tables, &it, limit));
        let mut named = plan.map_or_else(|| tables.ranges(), |plan| plan.ranges);
        let sections = bytes(&tables.sections).map(|it| tables.read_sections(&it, limit / 2));
        named.extend(sections.unwrap_or_default());
        merged(named)
    }

    fn of(tables: &Tables, segments: &[ProgramHeader], limit: u64) -> Option<Self> {
        let size = tables.size;
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
        ranges.extend(tables.ranges());
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

/// Where the tables of headers are, by the ELF header.
struct Tables {
    size: u64,
    context: Ctx,
    segments: Range<u64>,
    sections: Range<u64>,
    /// The section with the names of sections.
    names: usize,
}

impl Tables {
    fn of(head: &[u8], size: u64) -> Option<Self> {
        let header = Elf::parse_header(head).ok()?;
        let class = match head.get(4) {
            Some(2) => Class::Big,
            _ => Class::Little,
        };
        let context = Ctx::new(class, Endian::Little);
        let table = |offset: u64, count: u16, entry: usize| {
            let length = u64::from(count) * entry as u64;
            offset.min(size)..offset.saturating_add(length).min(size)
        };
        let (segment, section) = (ProgramHeader::size(context), SectionHeader::size(context));
        Some(Tables {
            size,
            context,
            segments: table(header.e_phoff, header.e_phnum, segment),
            sections: table(header.e_shoff, header.e_shnum.max(1), section),
            names: usize::from(header.e_shstrndx),
        })
    }

    /// The start of the file, and the tables.
    fn ranges(&self) -> Vec<Range<u64>> {
        let prefix = 0..PREFIX.min(self.size);
        vec![prefix, self.segments.clone(), self.sections.clone()]
    }

    fn segments(&self, table: &[u8]) -> Option<Vec<ProgramHeader>> {
        let count = table.len() / ProgramHeader::size(self.context);
        ProgramHeader::parse(table, 0, count, self.context).ok()
    }

    /// The sections that the dynamic loader reads, the shortest first, up to a limit together.
    fn read_sections(&self, table: &[u8], limit: u64) -> Vec<Range<u64>> {
        let count = table.len() / SectionHeader::size(self.context);
        let sections = SectionHeader::parse(table, 0, count, self.context).unwrap_or_default();
        let is_read = |(at, it): &(usize, SectionHeader)| {
            let is_loaded = it.sh_flags & u64::from(SHF_ALLOC) != 0;
            READ.contains(&it.sh_type)
                || it.sh_type == SHT_STRTAB && (is_loaded || *at == self.names)
        };
        let read = sections.into_iter().enumerate().filter(is_read);
        let mut ranges: Vec<Range<u64>> = read
            .map(|(_, it)| {
                it.sh_offset.min(self.size)..it.sh_offset.saturating_add(it.sh_size).min(self.size)
            })
            .collect();
        ranges.sort_by_key(|it| it.end - it.start);
        let mut left = limit;
        ranges.retain(|it| {
            let length = it.end - it.start;
            let fits = length <= left;
            left -= length.min(left);
            fits
        });
        ranges
    }
}

fn range(of: &Range<u64>) -> Option<Range<usize>> {
    Some(usize::try_from(of.start).ok()?..usize::try_from(of.end).ok()?)
}

/// The part of a range inside another.
pub(super) fn overlap(range: &Range<u64>, within: &Range<u64>) -> Range<u64> {
    range.start.max(within.start)..range.end.min(within.end)
}
