//! Walks from container to container and from entry to entry.

use std::ops::Range;

use memchr::memmem;

use super::counts::Counts;
use super::format::{
    ALIGNMENT, CONTAINER_HEADER, Code, Container, ENTRY_HEADER, Entry, EntryKind, MAGIC,
};
use crate::error::ElfError;
use crate::object::Object;
use imgcheck_base::limits::Limit;

/// How much one read fetches, in bytes: headers of small entries are close together.
const WINDOW: usize = 1024;
/// How much a read of a search fetches, in bytes, and the first read, which is mostly enough.
const SEARCH: usize = 256 << 10;
const FIRST_SEARCH: usize = 1024;

/// Reads headers through a small window.
pub(super) struct Walker<'o> {
    object: &'o Object<'o>,
    window: Vec<u8>,
    start: u64,
    entries: Vec<Code>,
}

impl<'o> Walker<'o> {
    pub fn new(object: &'o Object<'o>) -> Self {
        Walker {
            object,
            window: Vec::new(),
            start: 0,
            entries: Vec::new(),
        }
    }

    /// Walks all containers in a range. If `named`, the range has nothing else, so an invalid container is damage.
    pub fn section(
        &mut self,
        range: Range<u64>,
        named: bool,
        counts: &mut Counts,
    ) -> Result<(), ElfError> {
        let mut from = range.start;
        while let Some(at) = self.find(from..range.end)? {
            match self.container(at, range.end, named, counts)? {
                Some(end) => from = end.max(at + ALIGNMENT),
                None => {
                    counts.damaged |= named;
                    from = at + ALIGNMENT;
                }
            }
        }
        Ok(())
    }

    /// Walks the container at the start of a range.
    pub fn single(&mut self, range: Range<u64>, counts: &mut Counts) -> Result<(), ElfError> {
        if self
            .container(range.start, range.end, true, counts)?
            .is_none()
        {
            counts.damaged = true;
        }
        Ok(())
    }

    /// Walks one container and returns where it ends; `None` if it is invalid. Outside the named sections its first entry must be
    /// valid, too.
    fn container(
        &mut self,
        at: u64,
        limit: u64,
        named: bool,
        counts: &mut Counts,
    ) -> Result<Option<u64>, ElfError> {
        let header = self.get(at, CONTAINER_HEADER)?;
        let Some(container) = header.and_then(Container::parse) else {
            return Ok(None);
        };
        let end = match at.checked_add(container.size()) {
            Some(end) if end <= limit => end,
            _ => return Ok(None),
        };
        self.entries.clear();
        let mut damaged = false;
        let mut number = 0_u32;
        let mut place = at + container.header;
        while end.saturating_sub(place) >= ENTRY_HEADER as u64 {
            let header = self.get(place, ENTRY_HEADER)?;
            let Some(entry) = header.and_then(|bytes| Entry::parse(bytes, end - place)) else {
                damaged = true;
                break;
            };
            if entry.code.kind == EntryKind::Concatenated {
                let header = self.get(place, entry.header as usize)?;
                match header.and_then(|bytes| entry.concatenated(bytes)) {
                    Some(several) => {
                        number = number.saturating_add(several.len() as u32);
                        counts.add_bytes(&several, entry.size());
                        self.entries.extend(several);
                    }
                    None => damaged = true,
                }
            } else {
                number = number.saturating_add(1);
                counts.add_bytes(&[entry.code], entry.size());
                self.entries.push(entry.code);
            }
            let all = u64::from(counts.entries) + u64::from(number);
            self.object.bounds.limits.check(Limit::GpuContainers, all)?;
            place += entry.size();
        }
        if damaged && place == at + container.header && !named {
            return Ok(None);
        }
        let containers = u64::from(counts.containers) + 1;
        self.object
            .bounds
            .limits
            .check(Limit::GpuContainers, containers)?;
        counts.entries = counts.entries.saturating_add(number);
        counts.damaged |= damaged;
        counts.add_container(&self.entries);
        Ok(Some(end))
    }

    /// The next offset of the magic in a range.
    fn find(&mut self, range: Range<u64>) -> Result<Option<u64>, ElfError> {
        let mut offset = range.start.next_multiple_of(ALIGNMENT);
        let mut length = FIRST_SEARCH;
        // After an invalid container the window mostly has more bytes.
        let mut found = self.find_in_window(offset);
        while found.is_none() && range.end.saturating_sub(offset) >= CONTAINER_HEADER as u64 {
            let left = usize::try_from(range.end - offset).unwrap_or(SEARCH);
            self.refill(offset, length.min(left), MAGIC.len())
                .map_err(|error| error.missing_until(range.end))?;
            if self.window.len() < MAGIC.len() {
                return Ok(None);
            }
            found = self.find_in_window(offset);
            // An unaligned end of the window is read twice.
            let done = (self.window.len() as u64 / ALIGNMENT * ALIGNMENT).max(ALIGNMENT);
            offset += done;
            length = SEARCH;
        }
        Ok(found.filter(|at| range.end.saturating_sub(*at) >= CONTAINER_HEADER as u64))
    }

    /// The next offset of the magic in the window, from an offset on.
    fn find_in_window(&self, offset: u64) -> Option<u64> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let places = memmem::find_iter(self.window.get(from..)?, &MAGIC);
        let mut places = places.map(|at| offset + at as u64);
        places.find(|at| at.is_multiple_of(ALIGNMENT))
    }

    /// `length` bytes at an offset; `None` if the file ends before.
    fn get(&mut self, offset: u64, length: usize) -> Result<Option<&[u8]>, ElfError> {
        let inside = offset
            .checked_sub(self.start)
            .and_then(|inside| usize::try_from(inside).ok())
            .filter(|inside| inside.saturating_add(length) <= self.window.len());
        let inside = match inside {
            Some(inside) => inside,
            None => {
                self.refill(offset, WINDOW.max(length), length)?;
                0
            }
        };
        Ok(self.window.get(inside..inside + length))
    }

    /// Moves the window to `length` bytes, or at least `minimum`, unless the file ends before.
    fn refill(&mut self, offset: u64, length: usize, minimum: usize) -> Result<(), ElfError> {
        self.start = offset;
        self.window.resize(length, 0);
        let mut filled = 0;
        while filled < minimum.min(length) {
            match self
                .object
                .read_some(offset + filled as u64, &mut self.window[filled..])?
            {
                0 => break,
                got => filled += got,
            }
        }
        self.window.truncate(filled);
        Ok(())
    }
}
