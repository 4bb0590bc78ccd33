//! Blobs to download.

use std::fmt::Debug;
use std::io::{self, Read};
use std::ops::Range;

/// A blob to download, from several threads and repeatedly if necessary.
pub trait RemoteBlob: Debug + Send + Sync {
    /// Identifies the blob, also in messages.
    fn address(&self) -> String;

    /// All bytes of the blob.
    ///
    /// # Errors
    /// Here and from the reader: an [`Error`](imgcheck_base::error::Error) after all attempts failed, or as soon as the request is
    /// cancelled. A body that ends early is an error, never a silent end.
    fn open(&self) -> io::Result<Box<dyn Read + Send>>;

    /// All bytes of a range.
    ///
    /// # Errors
    /// Same as [`RemoteBlob::open`]; [`io::ErrorKind::Unsupported`] if the server supports only whole blobs.
    fn read_range(&self, range: Range<u64>) -> io::Result<Vec<u8>>;
}
