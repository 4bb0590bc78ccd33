//! Finds the table of section names in a streamed file.

use std::ops::Range;

use memchr::memmem;

/// How much is kept before and after the name of the table, which is inside it, in bytes.
pub(super) const AROUND: usize = 32 << 10;
/// That name. Nothing else shows where the table is before the section headers arrive at the end.
const NAME: &[u8] = b".shstrtab\0";

/// Where the table may be.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The surroundings of the names that were found; ordered, not overlapping.
    found: Vec<Range<u64>>,
    /// Bytes before this need no further search.
    searched: u64,
}

impl Names {
    /// Searches bytes of the file from an offset on. Each byte is searched once, however often it is passed.
    pub fn search(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        if end <= self.searched {
            return;
        }
        // The name may start in bytes that were searched before.
        let known = self.searched.saturating_sub(NAME.len() as u64 - 1);
        let from = known.saturating_sub(offset) as usize;
        self.found.retain(|range| range.end > offset);
        for at in memmem::find_iter(&bytes[from..], NAME) {
            let place = offset + (from + at) as u64;
            let around = place.saturating_sub(AROUND as u64)..place + AROUND as u64;
            match self.found.last_mut() {
                Some(last) if last.end >= around.start => last.end = around.end,
                _ => self.found.push(around),
            }
        }
        self.searched = end;
    }

    /// The surroundings that overlap a range.
    pub fn around(&self, range: &Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let found = self.found.iter();
        found
            .filter(|it| it.start < range.end && range.start < it.end)
            .cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_across_two_searches_is_found_once() {
        let mut bytes = vec![0; 200_000];
        bytes[100_000..100_000 + NAME.len()].copy_from_slice(NAME);
        let mut names = Names::default();
        names.search(0, &bytes[..100_004]);
        assert!(names.found.is_empty());
        names.search(90_000, &bytes[90_000..]);
        names.search(90_000, &bytes[90_000..]);
        let around = 100_000 - AROUND as u64..100_000 + AROUND as u64;
        assert_eq!(names.found, std::slice::from_ref(&around));
        assert_eq!(names.around(&(0..70_000)).count(), 1);
        assert_eq!(names.around(&(0..around.start)).count(), 0);
    }
}
