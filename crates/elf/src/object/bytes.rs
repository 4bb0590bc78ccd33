//! The bytes of an opened file, by offset or address.

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};

use super::{Object, WINDOW};
use crate::error::{ElfError, broken};
use imgcheck_base::limits::Limit;
use imgcheck_base::read_at::fill;

impl Object<'_> {
    /// A whole table, an error if the file ends before it does. `what` is the subject of the error message.
    pub fn table(&self, what: &str, offset: u64, length: u64) -> Result<Cow<'_, [u8]>, ElfError> {
        self.optional(offset, length)?.ok_or_else(|| {
            broken(format!(
                "{what} at {offset}+{length} extends past the end of the file ({} bytes)",
                self.size
            ))
        })
    }

    /// All of a range, or `None` if the file ends before it does.
    ///
    /// # Errors
    /// [`ElfError::Limit`] if it is there and longer than [`Limit::ElfTableBytes`].
    pub fn optional(&self, offset: u64, length: u64) -> Result<Option<Cow<'_, [u8]>>, ElfError> {
        let Some(end) = offset.checked_add(length) else {
            return Ok(None);
        };
        if end > self.size {
            return Ok(None);
        }
        self.bounds.limits.check(Limit::ElfTableBytes, length)?;
        self.bounds.cancellation.check()?;
        if end <= self.head.len() as u64 {
            return Ok(Some(Cow::Borrowed(
                &self.head[offset as usize..end as usize],
            )));
        }
        let mut bytes = vec![0; length as usize];
        let got = fill(self.source, offset, &mut bytes)?;
        if (got as u64) < length {
            return Ok(None);
        }
        Ok(Some(Cow::Owned(bytes)))
    }

    /// Up to `length` bytes from an address to the end of its segment; empty if the file has none there.
    pub fn at_address(&self, address: u64, length: u64) -> Result<Cow<'_, [u8]>, ElfError> {
        match self.locate(address) {
            Some((offset, left)) => {
                Ok(self.optional(offset, left.min(length))?.unwrap_or_default())
            }
            None => Ok(Cow::Borrowed(&[])),
        }
    }

    /// Like [`Object::at_address`], but ends before the first range that the source does not have, and returns the error for that.
    pub fn held_at_address(
        &self,
        address: u64,
        length: u64,
    ) -> Result<(Cow<'_, [u8]>, Option<ElfError>), ElfError> {
        match self.at_address(address, length) {
            Err(missing @ ElfError::Missing { offset: hole, .. }) => {
                let start = self.locate(address).map_or(hole, |(offset, _)| offset);
                let held = self.at_address(address, hole.saturating_sub(start))?;
                Ok((held, Some(missing)))
            }
            other => Ok((other?, None)),
        }
    }

    /// One read of the source at `offset` into `buffer`.
    pub fn read_some(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ElfError> {
        self.bounds.cancellation.check()?;
        Ok(self.source.read_at(offset, buffer)?)
    }

    /// Calls `each` with windows of a range and their file offsets until it breaks. Windows overlap by `overlap` bytes. Bytes that
    /// the source does not have are reported as missing up to the end of the range, so that one more pass fetches them all.
    pub fn windows<B>(
        &self,
        range: Range<u64>,
        overlap: usize,
        mut each: impl FnMut(u64, &[u8]) -> ControlFlow<B>,
    ) -> Result<Option<B>, ElfError> {
        let end = range.end.min(self.size);
        let mut offset = range.start;
        let mut buffer = Vec::new();
        while offset < end {
            let length = usize::try_from(end - offset).map_or(WINDOW, |left| left.min(WINDOW));
            buffer.resize(length, 0);
            self.bounds.cancellation.check()?;
            let got = fill(self.source, offset, &mut buffer)
                .map_err(|error| ElfError::from(error).missing_until(end))?;
            if let ControlFlow::Break(value) = each(offset, &buffer[..got]) {
                return Ok(Some(value));
            }
            if got < length || offset + got as u64 >= end {
                break;
            }
            offset += got.saturating_sub(overlap).max(1) as u64;
        }
        Ok(None)
    }

    /// Calls `each` with windows of all machine code and their file offsets.
    pub fn search_code(
        &self,
        overlap: usize,
        mut each: impl FnMut(u64, &[u8]),
    ) -> Result<(), ElfError> {
        for range in self.code() {
            self.windows(range, overlap, |offset, code| {
                each(offset, code);
                ControlFlow::<()>::Continue(())
            })?;
        }
        Ok(())
    }
}
