//! Keeps what [`read`](super::read) needs of a file that is streamed once.
//!
//! A compressed layer can only be read forward, and a GPU library has up to a gigabyte. Most of that is payloads of fat binaries, of
//! which only headers are needed, and symbols and debugging information that no segment loads. The rest is kept up to a limit:
//! first what the program headers name, then everything else from the start of the file.

mod names;
mod plan;
#[cfg(test)]
mod tests;

use std::ops::Range;

use memchr::memmem;

use super::fat_binary::format::{
    ALIGNMENT, CONTAINER_HEADER, Container, ENTRY_HEADER, Entry, MAGIC,
};
use super::ranges::merged;
use super::sparse::{ChunkPool, SparseFile};
use imgcheck_base::read_at::ReadAt;
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
    /// Kept beside what is planned, whatever the limit; ordered, not overlapping.
    also: Vec<Range<u64>>,
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
    /// In a part that is not, but for ranges to be kept anyway: where it ends, and where its container ends.
    Dropped(u64, u64),
}

/// Which of some bytes to keep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// All of them: headers of a fat binary.
    All,
    /// What is planned.
    Planned,
    /// None.
    Nothing,
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
            also: Vec::new(),
        }
    }

    /// Keeps these ranges, too, whatever the limit: for another pass over a file.
    #[must_use]
    pub fn keeping(self, ranges: Vec<Range<u64>>) -> Self {
        Retainer {
            also: merged(ranges),
            ..self
        }
    }

    /// What another pass should keep beside what is kept of every file, of which these ranges are missing: them, and all that the headers name that were kept.
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
                State::Payload(until, end) => self.inside(until, end, Keep::Planned),
                State::Dropped(until, end) => self.inside(until, end, Keep::Nothing),
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
                self.settle(at, Keep::Planned);
                self.settle(container.header as usize, Keep::All);
                self.state = State::Entry(end);
                true
            }
            // A header whose first entry has not arrived.
            Some((at, None)) => {
                self.settle(at, Keep::Planned);
                false
            }
            None if last => {
                self.settle(self.pending().len(), Keep::Planned);
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
                self.settle(self.pending().len() - undecided, Keep::Planned);
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
            self.settle(self.pending().len().min(ENTRY_HEADER), Keep::All);
            self.pass_over(end, end);
            return !self.pending().is_empty();
        };
        let header = entry.header as usize;
        if self.pending().len() < header && !last {
            return false;
        }
        self.settle(header.min(self.pending().len()), Keep::All);
        match self.payloads.checked_sub(entry.payload) {
            Some(left) => {
                self.payloads = left;
                self.state = State::Payload(self.start + entry.payload, end);
            }
            None => self.pass_over(self.start + entry.payload, end),
        }
        !self.pending().is_empty()
    }

    /// Inside a part of a container, which ends before `until`; false if more bytes must arrive.
    fn inside(&mut self, until: u64, end: u64, keep: Keep) -> bool {
        let left = usize::try_from(until - self.start).unwrap_or(usize::MAX);
        self.settle(left.min(self.pending().len()), keep);
        if self.start == until {
            self.state = State::Entry(end);
        }
        !self.pending().is_empty()
    }

    /// Drops the bytes of a container before `until`, but for ranges to be kept anyway.
    fn pass_over(&mut self, until: u64, end: u64) {
        let is_needed = parts(&self.also, &(self.start..until)).next().is_some();
        if is_needed {
            self.state = State::Dropped(until, end);
        } else {
            self.drop_until(until);
            self.state = State::Entry(end);
        }
    }

    /// Drops all bytes before an offset, pending or not.
    fn drop_until(&mut self, offset: u64) {
        let dropped = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let dropped = dropped.min(self.pending().len());
        self.decided += dropped;
        self.start += dropped as u64;
        self.skip = offset;
    }

    /// Keeps or drops the first pending bytes.
    fn settle(&mut self, length: usize, keep: Keep) {
        let range = self.start..self.start + length as u64;
        let Some(plan) = self.plan.as_ref().filter(|_| length > 0) else {
            return;
        };
        let has_room = self.held < self.limit;
        let mut kept = match keep {
            Keep::Nothing => Vec::new(),
            Keep::All if has_room => vec![range.clone()],
            Keep::All | Keep::Planned => {
                let mut kept = plan.choose(&range, self.held, self.limit);
                let loads = plan.loaded.is_empty() || plan.loads(&range);
                if !loads && has_room {
                    self.names.search(self.start, &self.block[self.decided..]);
                    kept.extend(self.names.around(&range));
                }
                merged(kept.into_iter().map(|it| overlap(&it, &range)).collect())
            }
        };
        self.held += kept.iter().map(|it| it.end - it.start).sum::<u64>();
        kept.extend(parts(&self.also, &range));
        let bytes = &self.block[self.decided..self.decided + length];
        for part in merged(kept) {
            let inside = (part.start - range.start) as usize..(part.end - range.start) as usize;
            self.kept.append(part.start, &bytes[inside]);
        }
        self.decided += length;
        self.start = range.end;
    }
}

/// The parts of ordered ranges inside another range.
fn parts(ranges: &[Range<u64>], within: &Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let first = ranges.partition_point(|it| it.end <= within.start);
    let inside = ranges[first..]
        .iter()
        .take_while(|it| it.start < within.end);
    inside.map(|it| overlap(it, within))
}
