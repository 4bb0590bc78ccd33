//! The bytes of a layer's blob, from the first to the last.

use std::io::{self, Read};
use std::sync::{Arc, Mutex};

use super::pipe::Writer;
use crate::archive::{FileRange, RangeInput};
use crate::cancellation::Cancellation;
use crate::digest::Hasher;
use crate::source::remote::RemoteBlob;

/// Bytes that are read at once when nobody wants them any more.
const DRAINED_AT_ONCE: usize = 512 << 10;

/// Bytes that can be read from the first to the last, as often as needed.
pub(super) trait Bytes: Sync {
    /// A reader that stands at the first byte.
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>>;

    /// How many bytes more are read once nobody wants them any more, only to know their digest.
    fn drained(&self) -> u64 {
        u64::MAX
    }
}

impl Bytes for FileRange {
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Ok(Box::new(RangeInput::new(self.clone())))
    }
}

impl Bytes for Arc<dyn RemoteBlob> {
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        (**self).open()
    }

    /// A damaged layer of many gigabytes is not fetched to its end, nor one that has none.
    fn drained(&self) -> u64 {
        64 << 20
    }
}

/// A reader whose bytes can be read only once.
pub(super) struct OneTimeReader<R>(Mutex<Option<R>>);

impl<R> OneTimeReader<R> {
    pub fn new(reader: R) -> Self {
        OneTimeReader(Mutex::new(Some(reader)))
    }
}

impl<R: Read + Send> Bytes for OneTimeReader<R> {
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        let reader = self.0.lock().ok().and_then(|mut reader| reader.take());
        match reader {
            Some(reader) => Ok(Box::new(reader)),
            None => Err(io::Error::other(
                "it passes by only once, and this search needs it twice; save the image and check the archive",
            )),
        }
    }
}

/// Reads and hashes the blob to its end, even when nobody wants its bytes any more: then the digest says whether the blob or
/// its content is wrong. `None` where the end is too far away for that.
pub(super) fn read_blob(
    bytes: &dyn Bytes,
    blob: &Writer,
    progress: &(dyn Fn(u64) + Sync),
    cancellation: &Cancellation,
) -> io::Result<Option<String>> {
    let mut hasher = Hasher::default();
    let mut reader = bytes.open()?;
    let mut read = |buffer: &mut [u8]| {
        cancellation.check()?;
        let count = fill(&mut *reader, buffer)?;
        hasher.update(&buffer[..count]);
        progress(count as u64);
        Ok(count)
    };
    while blob.write(&mut read)? > 0 {}
    let mut buffer = vec![0; DRAINED_AT_ONCE];
    let mut left = bytes.drained();
    loop {
        let count = read(&mut buffer)?;
        if count == 0 {
            return Ok(Some(hasher.finish()));
        }
        match left.checked_sub(count as u64) {
            Some(less) => left = less,
            None => return Ok(None),
        }
    }
}

/// Fills the buffer as far as the input goes.
pub(super) fn fill(input: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match input.read(&mut buffer[done..]) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
