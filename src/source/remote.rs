//! Blobs that lie elsewhere and are fetched.

use std::fmt::Debug;
use std::io::{self, Read};
use std::ops::Range;

/// A blob that is fetched from elsewhere. All of it may be asked for again, from several threads.
pub trait RemoteBlob: Debug + Send + Sync {
    /// Where it lies, for messages and to tell one blob from another.
    fn address(&self) -> String;

    /// Its bytes from the first to the last.
    ///
    /// # Errors
    /// From here and from the reader: what went wrong with the connection once everything that could be tried again was.
    /// The text names what was tried. An end before the last byte is such an error, never a quiet end.
    fn open(&self) -> io::Result<Box<dyn Read + Send>>;

    /// The bytes of one range, all of them.
    ///
    /// # Errors
    /// As [`RemoteBlob::open`]; [`io::ErrorKind::Unsupported`] if only the whole blob can be had.
    fn read_range(&self, range: Range<u64>) -> io::Result<Vec<u8>>;
}
