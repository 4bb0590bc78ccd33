//! Keeps what [`read`](super::read) needs of a file that is streamed once.
//!
//! A compressed layer can only be read forward, and a GPU library has up to a gigabyte. Most of that is payloads of fat binaries, of
//! which only headers are needed, and symbols and debugging information that no segment loads. The rest is kept up to a limit:
//! first what the program headers name, then everything else from the start of the file.

mod names;
mod plan;

use std::ops::Range;

use memchr::memmem;

use super::fat_binary::format::{
    ALIGNMENT, CONTAINER_HEADER, Container, ENTRY_HEADER, Entry, MAGIC,
};
use super::ranges::merged;
use super::read_at::ReadAt;
use super::sparse::{ChunkPool, SparseFile};
use names::{AROUND, Names};
use plan::{Plan, overlap};

/// How many bytes are examined at a time.
const BLOCK: usize = 256 << 10;
/// How much is kept of one file, in bytes, unless the caller sets another limit.
pub const DEFAULT_LIMIT: u64 = 128 << 20;
/// How many bytes of payloads are kept: the few in a small library are among its strings, where readers search.
const MAX_PAYLOADS: u64 = 8 << 20;

/// Takes a file in consecutive pieces and keeps what reading it needs.
#[derive(Debug)]
pub struct Retainer {
    kept: SparseFile,
    held: u64,
    limit: u64,
    /// Bytes that arrived; the first `decided` of them are done.
    block: Vec<u8>,
    decided: usize,
    /// Offset of the first byte that is not done.
    start: u64,
    /// Bytes before this offset are dropped unseen.
    skip: u64,
    state: State,
    names: Names,
    /// Bytes of payloads that may still be kept.
    payloads: u64,
    plan: Option<Plan>,
}

/// Where in a fat binary the pending bytes start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not in one.
    Outside,
    /// At an entry of a container that ends here.
    Entry(u64),
    /// In a payload to be kept: where it ends, and where its container ends.
    Payload(u64, u64),
}

impl Retainer {
    /// For a file of `size` bytes, of which at most `limit` are kept.
    pub fn new(size: u64, limit: u64) -> Self {
        Retainer {
            kept: SparseFile::new(size, ChunkPool::default()),
            held: 0,
            limit,
            block: Vec::new(),
            decided: 0,
            start: 0,
            skip: 0,
            state: State::Outside,
            names: Names::default(),
            payloads: MAX_PAYLOADS,
            plan: None,
        }
    }

    /// For another pass over a file of `size` bytes that keeps just these ranges.
    pub fn with_ranges(size: u64, ranges: impl IntoIterator<Item = Range<u64>>) -> Self {
        let plan = Plan {
            ranges: merged(ranges.into_iter().collect()),
            loaded: Vec::new(),
        };
        Retainer {
            plan: Some(plan),
            ..Retainer::new(size, u64::MAX)
        }
    }

    /// What another pass should keep of a file, of which these ranges are missing: them, and all that the headers name that were kept.
    /// The first pass knows the program headers only if they are at the start of the file.
    pub fn missed(kept: &SparseFile, mut missing: Vec<Range<u64>>) -> Vec<Range<u64>> {
        missing.extend(Plan::named(kept, DEFAULT_LIMIT));
        merged(missing)
    }

    /// Uses memory of a pool.
    #[must_use]
    pub fn with_pool(self, pool: &ChunkPool) -> Self {
        Retainer {
            kept: SparseFile::new(self.kept.size(), pool.clone()),
            ..self
        }
    }

    /// Takes the next bytes of the file.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let position = self.start + self.pending().len() as u64;
            if self.skip > position {
                let length = usize::try_from(self.skip - position).unwrap_or(usize::MAX);
                let length = length.min(bytes.len());
                self.start += length as u64;
                bytes = &bytes[length..];
                continue;
            }
            self.block.drain(..self.decided);
            self.decided = 0;
            let room = BLOCK.saturating_sub(self.block.len()).max(1);
            let (taken, rest) = bytes.split_at(bytes.len().min(room));
            self.block.extend_from_slice(taken);
            bytes = rest;
            if self.block.len() >= BLOCK {
                self.decide(false);
            }
        }
    }

    fn pending(&self) -> &[u8] {
        &self.block[self.decided..]
    }

    /// Ends the file and returns what was kept.
    pub fn finish(mut self) -> SparseFile {
        self.decide(true);
        self.kept
    }

    /// Keeps or drops the pending bytes, all of them if they are the last ones.
    fn decide(&mut self, last: bool) {
        if self.plan.is_none() {
            self.plan = Some(Plan::new(self.pending(), self.size(), self.limit));
        }
        loop {
            let more = match self.state {
                State::Outside => self.outside(last),
                State::Entry(end) => self.entry(end, last),
                State::Payload(payload, end) => self.payload(payload, end),
            };
            if !more {
                break;
            }
        }
    }

    fn size(&self) -> u64 {
        self.kept.size()
    }

    /// Searches for the next container; true if it was found with bytes after it.
    fn outside(&mut self, last: bool) -> bool {
        let loaded = self.plan.as_ref().map_or(0, Plan::end);
        let searched = usize::try_from(loaded.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let searched = &self.pending()[..searched.min(self.pending().len())];
        let found = memmem::find_iter(searched, &MAGIC)
            .filter(|at| (self.start + *at as u64).is_multiple_of(ALIGNMENT))
            .find_map(|at| self.container(at, last).map(|container| (at, container)));
        match found {
            Some((at, Some(container))) => {
                let end = self.start + at as u64 + container.size();
                self.settle(at, false);
                self.settle(container.header as usize, true);
                self.state = State::Entry(end);
                true
            }
            // A header whose first entry has not arrived.
            Some((at, None)) => {
                self.settle(at, false);
                false
            }
            None if last => {
                self.settle(self.pending().len(), false);
                false
            }
            None => {
                let end = self.start + self.pending().len() as u64;
                let loaded = self
                    .plan
                    .as_ref()
                    .is_none_or(|plan| plan.loads(&(end.saturating_sub(1)..end)));
                let undecided = if !loaded {
                    // The name of the table of section names may follow, and the table starts before its name.
                    AROUND.min(self.pending().len())
                } else {
                    // The last bytes may be the start of a magic.
                    (end % ALIGNMENT) as usize
                };
                self.settle(self.pending().len() - undecided, false);
                false
            }
        }
    }

    /// The container at an index of the pending bytes; `Some(None)` if more bytes must arrive to decide.
    fn container(&self, at: usize, last: bool) -> Option<Option<Container>> {
        let bytes = &self.pending()[at..];
        let short = |needed: usize| bytes.len() < needed && !last;
        if short(CONTAINER_HEADER) {
            return Some(None);
        }
        let container = Container::parse(bytes)?;
        let end = (self.start + at as u64).checked_add(container.size())?;
        if end > self.size() {
            return None;
        }
        let first = container.header as usize;
        if short(first + ENTRY_HEADER) {
            return Some(None);
        }
        Entry::parse(bytes.get(first..)?, container.length)?;
        Some(Some(container))
    }

    /// Keeps the header of an entry and skips its payload; false if more bytes must arrive.
    fn entry(&mut self, end: u64, last: bool) -> bool {
        let left = end.saturating_sub(self.start);
        if left < ENTRY_HEADER as u64 {
            self.state = State::Outside;
            return true;
        }
        if self.pending().len() < ENTRY_HEADER && !last {
            return false;
        }
        let Some(entry) = Entry::parse(self.pending(), left) else {
            // Nothing reads beyond the damage in a container: keep only where it starts.
            self.settle(self.pending().len().min(ENTRY_HEADER), true);
            self.leave(end);
            return !self.pending().is_empty();
        };
        let header = entry.header as usize;
        if self.pending().len() < header && !last {
            return false;
        }
        self.settle(header.min(self.pending().len()), true);
        match self.payloads.checked_sub(entry.payload) {
            Some(left) => {
                self.payloads = left;
                self.state = State::Payload(self.start + entry.payload, end);
            }
            None => self.drop_until(self.start + entry.payload),
        }
        !self.pending().is_empty()
    }

    fn payload(&mut self, payload: u64, end: u64) -> bool {
        let left = usize::try_from(payload - self.start).unwrap_or(usize::MAX);
        self.settle(left.min(self.pending().len()), false);
        if self.start == payload {
            self.state = State::Entry(end);
        }
        !self.pending().is_empty()
    }

    fn leave(&mut self, end: u64) {
        self.drop_until(end);
        self.state = State::Outside;
    }

    /// Drops all bytes before an offset, pending or not.
    fn drop_until(&mut self, offset: u64) {
        let dropped = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let dropped = dropped.min(self.pending().len());
        self.decided += dropped;
        self.start += dropped as u64;
        self.skip = offset;
    }

    /// Keeps or drops the first pending bytes. `header` marks headers of a fat binary.
    fn settle(&mut self, length: usize, header: bool) {
        let range = self.start..self.start + length as u64;
        let Some(plan) = self.plan.as_ref().filter(|_| length > 0) else {
            return;
        };
        let kept = if header && self.held < self.limit {
            vec![range.clone()]
        } else {
            let mut kept = plan.choose(&range, self.held, self.limit);
            let loads = plan.loaded.is_empty() || plan.loads(&range);
            if !loads && self.held < self.limit {
                self.names.search(self.start, &self.block[self.decided..]);
                kept.extend(self.names.around(&range));
            }
            merged(kept.into_iter().map(|it| overlap(&it, &range)).collect())
        };
        let bytes = &self.block[self.decided..self.decided + length];
        for part in kept {
            let inside = (part.start - range.start) as usize..(part.end - range.start) as usize;
            self.held += inside.len() as u64;
            self.kept.append(part.start, &bytes[inside]);
        }
        self.decided += length;
        self.start = range.end;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::elf::object::X86_64;
    use crate::elf::testing::Sample;
    use crate::elf::{Depth, ElfError, Recipes, read};

    fn stream(mut retainer: Retainer, file: &[u8], chunk: usize) -> SparseFile {
        file.chunks(chunk).for_each(|bytes| retainer.push(bytes));
        retainer.finish()
    }

    #[test]
    fn other_files_are_kept_unchanged() {
        let file: Vec<u8> = (0..1_000_000_u32).map(|at| at as u8).collect();
        for chunk in [1000, 65_536, 1_000_000] {
            let retainer = Retainer::new(file.len() as u64, DEFAULT_LIMIT);
            let kept = stream(retainer, &file, chunk);
            let mut copy = vec![0; file.len()];
            assert_eq!(kept.read_at(0, &mut copy).unwrap(), file.len());
            assert_eq!(copy, file);
        }
    }

    #[test]
    fn at_most_the_limit_is_kept() {
        let file = vec![1; 64 << 20];
        let retainer = Retainer::new(file.len() as u64, 40 << 20);
        let kept = stream(retainer, &file, 1 << 20);
        assert!(kept.held() <= 40 << 20, "{}", kept.held());
        assert!(kept.held() >= 20 << 20, "{}", kept.held());
    }

    #[test]
    fn further_passes_fetch_missing_ranges() {
        let getter = b"\xb8\x7a\x63\x01\x00\xc3";
        let sample = Sample::new(X86_64)
            .code(&vec![0x90; 48 << 20])
            .function("f", getter)
            .build();
        let recipes = "libraries: [{library: x, source: a test, files: [{exports: [f]}], \
                       readings: [{fact: version, from: cudnn-records}]}]";
        let recipes = Recipes::parse("test", recipes).unwrap();
        let whole = read(&sample, &recipes, Depth::Default).unwrap();
        let size = sample.len() as u64;
        let mut kept = stream(Retainer::new(size, 24 << 20), &sample, 1 << 16);
        let mut passes = 1;
        let facts = loop {
            match read(&kept, &recipes, Depth::Default) {
                Ok(facts) => break facts,
                Err(ElfError::Missing { offset, length }) => {
                    passes += 1;
                    assert!(passes < 8, "{offset}+{length} again");
                    let range = std::iter::once(offset..offset + length);
                    let again = Retainer::with_ranges(size, range);
                    kept = kept.merge(stream(again, &sample, 1 << 16));
                }
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(facts, whole);
        assert!(passes > 1);
    }

    /// BOLT writes new program headers behind what was there: published for PyTorch 2.15 on AArch64.
    #[test]
    fn program_headers_at_the_end_take_one_more_pass() {
        let mut file = Sample::new(X86_64)
            .code(&vec![0x90; 48 << 20])
            .function("f", b"\xb8\x7a\x63\x01\x00\xc3")
            .build();
        let (offset, count) = (field(&file, 32, 8), field(&file, 56, 2));
        let table = file[offset..offset + count * 56].to_vec();
        file[offset..offset + count * 56].fill(0);
        let moved = file.len().next_multiple_of(8);
        file.resize(moved, 0);
        file.extend(table);
        file[32..40].copy_from_slice(&(moved as u64).to_le_bytes());
        let recipes = "libraries: [{library: x, source: a test, files: [{exports: [f]}], \
                       readings: [{fact: version, decode: thousands-before-9, from: {returned: f}}]}]";
        let recipes = Recipes::parse("test", recipes).unwrap();
        let whole = read(&file, &recipes, Depth::Default).unwrap();
        let size = file.len() as u64;
        let kept = stream(Retainer::new(size, 24 << 20), &file, 1 << 16);
        let Err(ElfError::Missing { offset, length }) = read(&kept, &recipes, Depth::Default)
        else {
            panic!("all was kept");
        };
        let missing = Vec::from_iter(std::iter::once(offset..offset + length));
        let ranges = Retainer::missed(&kept, missing);
        let again = stream(Retainer::with_ranges(size, ranges), &file, 1 << 16);
        let facts = read(&kept.merge(again), &recipes, Depth::Default).unwrap();
        assert_eq!(facts, whole);
    }

    fn field(file: &[u8], at: usize, length: usize) -> usize {
        let bytes = file[at..at + length].iter().rev();
        bytes.fold(0, |number, byte| number << 8 | usize::from(*byte))
    }

    #[test]
    fn the_table_of_section_names_after_the_segments_is_kept() {
        let mut file = Sample::new(X86_64).build();
        let loaded = file.len();
        file.resize(loaded + (3 << 20), 7);
        let names = b"\0.text\0.shstrtab\0.symtab\0";
        file[loaded + (1 << 20)..][..names.len()].copy_from_slice(names);
        let size = file.len() as u64;
        for chunk in [4096, 100_000, 1 << 20] {
            let retainer = Retainer::new(size, DEFAULT_LIMIT);
            let kept = stream(retainer, &file, chunk);
            let mut found = vec![0; names.len()];
            let place = (loaded + (1 << 20)) as u64;
            assert_eq!(kept.read_at(place, &mut found).unwrap(), names.len());
            assert_eq!(found, names);
            assert!(kept.held() < 2 << 20, "{}", kept.held());
        }
    }
}
