//! One pass over a blob: the threads that read, decompress and walk it, and its digests.

use std::io::{self, BufRead};
use std::thread;

use super::Stream;
use imgcheck_archive::archive::Walk;
use imgcheck_archive::archive::compression::{Compression, sniff};
use imgcheck_archive::archive::pipe::{Reader, Writer, fill, pipe};
use imgcheck_base::digest::Hasher;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::{Limit, LimitExceeded};
use imgcheck_base::parallel::join;
use imgcheck_image::Entry;

/// Bytes of one buffer between two threads.
const BUFFER: usize = 512 << 10;
/// Buffers of the blob, and of the decompressed archive: more, so that decompression continues while a large ELF file is read.
const BLOB_BUFFERS: usize = 4;
const ARCHIVE_BUFFERS: usize = 12;

/// The result of one pass over a blob.
pub(super) struct Pass {
    pub entries: Vec<Entry>,
    pub digest: String,
    pub diff_id: String,
}

impl Stream<'_> {
    /// One pass over the blob. All digests are verified.
    pub(super) fn pass(
        &self,
        progress: &(dyn Fn(u64) + Sync),
        read: impl FnOnce(&mut Walk<Reader>) -> Result<Vec<Entry>>,
    ) -> Result<Pass> {
        let (blob_writer, mut blob) = pipe(BLOB_BUFFERS, BUFFER);
        thread::scope(|scope| {
            let reading = thread::Builder::new()
                .spawn_scoped(scope, move || self.read_blob(&blob_writer, progress))
                .map_err(|error| self.no_thread(&error))?;
            let compression = sniff(blob.fill_buf().unwrap_or_default());
            let (entries, diff_id, decompressed) = match compression {
                Ok(Compression::None) => {
                    let entries = self.walk(blob, read);
                    (entries, None, Ok(()))
                }
                Ok(compression) => {
                    let (writer, archive) = pipe(ARCHIVE_BUFFERS, BUFFER);
                    let (hashing, archive) = archive.hashed();
                    let decompressing = thread::Builder::new()
                        .spawn_scoped(scope, move || self.decompress(compression, blob, &writer))
                        .map_err(|error| self.no_thread(&error))?;
                    let hashing = thread::Builder::new()
                        .spawn_scoped(scope, move || hashing.run())
                        .map_err(|error| self.no_thread(&error))?;
                    let entries = self.walk(archive, read);
                    (entries, Some(join(hashing)), join(decompressing))
                }
                Err(problem) => {
                    drop(blob);
                    (Err(Error::layer(self.name, problem)), None, Ok(()))
                }
            };
            let digest = join(reading).map_err(|error| Error::layer_io(self.name, error))?;
            // A wrong digest explains all other errors.
            if let Some(digest) = &digest {
                verify(self.name, "digest", self.expected.digest, digest)?;
            }
            decompressed.map_err(|error| self.not_decompressed(error))?;
            let entries = entries?;
            let digest = digest.ok_or_else(|| {
                Error::layer(
                    self.name,
                    "not read to its end, because nothing in it was needed",
                )
            })?;
            // A plain archive is its own blob.
            let diff_id = diff_id.unwrap_or_else(|| digest.clone());
            verify(self.name, "diff id", self.expected.diff_id, &diff_id)?;
            Ok(Pass {
                entries,
                digest,
                diff_id,
            })
        })
    }

    /// The entries of an archive, which is read to its end.
    fn walk(
        &self,
        archive: Reader,
        read: impl FnOnce(&mut Walk<Reader>) -> Result<Vec<Entry>>,
    ) -> Result<Vec<Entry>> {
        let mut walk = Walk::new(archive, self.context.bounds.limits);
        let entries = read(&mut walk)?;
        walk.into_input().finish();
        Ok(entries)
    }

    /// Reads and hashes the blob to its end even if its bytes are no longer needed: then the digest says whether the blob or its
    /// content is wrong. `None` where the end is too far away for that.
    fn read_blob(
        &self,
        blob: &Writer,
        progress: &(dyn Fn(u64) + Sync),
    ) -> io::Result<Option<String>> {
        let mut hasher = Hasher::default();
        let mut reader = self.bytes.open()?;
        let mut read = |buffer: &mut [u8]| {
            self.context.bounds.cancellation.check()?;
            let count = fill(&mut *reader, buffer)?;
            hasher.update(&buffer[..count]);
            progress(count as u64);
            Ok(count)
        };
        let limits = &self.context.bounds.limits;
        let mut total = 0;
        loop {
            let count = blob.write(&mut read)?;
            if count == 0 {
                break;
            }
            total += count as u64;
            let checked = limits.check(Limit::LayerBytes, total);
            checked.map_err(io::Error::other)?;
        }
        let mut buffer = vec![0; BUFFER];
        let mut left = self.bytes.drained();
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

    fn no_thread(&self, error: &io::Error) -> Error {
        Error::layer(
            self.name,
            format!("cannot be read: no thread could be started: {error}"),
        )
    }

    fn not_decompressed(&self, error: io::Error) -> Error {
        let inner = error.get_ref();
        if inner.is_some_and(|inner| inner.is::<LimitExceeded>() || inner.is::<Error>()) {
            return Error::layer_io(self.name, error);
        }
        let problem = match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                "truncated: the compressed data ends too early".to_owned()
            }
            _ => format!("cannot be decompressed: {error}"),
        };
        Error::layer(self.name, problem)
    }

    fn decompress(
        &self,
        compression: Compression,
        blob: Reader,
        archive: &Writer,
    ) -> io::Result<()> {
        compression.decompress(blob, archive, || self.size, &self.context.bounds)
    }
}

fn verify(name: &str, what: &str, expected: Option<&str>, found: &str) -> Result<()> {
    match expected {
        Some(expected) if expected != found => {
            Err(Error::damaged_layer(name, what, found, expected))
        }
        _ => Ok(()),
    }
}
