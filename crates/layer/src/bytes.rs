//! The bytes of a blob, read sequentially.

use std::io::{self, Read};
use std::sync::{Arc, Mutex};

use imgcheck_archive::archive::{FileRange, RangeInput};
use imgcheck_source::source::remote::RemoteBlob;

/// Bytes that can be read sequentially, any number of times.
pub(crate) trait Bytes: Sync {
    /// A reader at the first byte.
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>>;

    /// How many bytes are read only for the digest, after the layer turned out to be damaged.
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

    /// A damaged layer of many gigabytes, or an endless one, is not fetched to its end.
    fn drained(&self) -> u64 {
        64 << 20
    }
}

/// A reader whose bytes can be read only once.
pub(crate) struct OneTimeReader<R>(Mutex<Option<R>>);

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
                "the archive can be read only once, and this layer has to be read twice: save the image to a file without compression, and check that",
            )),
        }
    }
}
