//! Compressed layers, read in one pass over the stream: one thread reads and hashes the blob, one decompresses, one walks the
//! archive, hashes it and analyses its ELF files.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops::Range;
use std::thread::{self, ScopedJoinHandle};

use super::compression::Compression;
use super::content::{ELF_MAGIC, broken};
use super::gzip::Gzip;
use super::pipe::{Reader, Writer, pipe};
use super::walk::{entries, is_elf};
use super::wanted::{Limits, Wanted};
use super::{Content, Entry, LayerFacts};
use crate::archive::{ArchiveError, FileRange, Member, Walk};
use crate::elf::{self, ElfError, Retainer};
use crate::error::{Error, Result};
use crate::source::LayerBlob;
use crate::source::digest::Hasher;

/// Bytes of one buffer between the threads, and how many there are.
const BUFFER: usize = 512 << 10;
const BUFFERS: usize = 8;

/// The largest zstd window, as a power of two: what zstd itself accepts without being told more.
const ZSTD_WINDOW_LOG: u32 = 27;

/// Passes over a blob. A second one is for the bytes of ELF files that turned out to be needed after they had gone by.
const PASSES: usize = 8;

/// The byte ranges that could not be had of an ELF file in the last pass, by the number of its entry.
type Misses = BTreeMap<usize, Vec<Range<u64>>>;

/// A compressed layer.
pub(super) struct Stream<'a> {
    pub name: &'a str,
    pub blob: &'a LayerBlob,
    pub range: &'a FileRange,
    pub compression: Compression,
    pub wanted: &'a Wanted,
}

impl Stream<'_> {
    /// The facts of the layer. Its digest and its diff id are verified.
    pub fn scan(&self, progress: &(dyn Fn(u64) + Sync)) -> Result<LayerFacts> {
        let mut misses = Misses::new();
        let mut entries = self.pass(progress, |walk| {
            entries(self.name, walk, self.wanted, |walk, member, entry| {
                self.sniff(walk, &member, entry, Vec::new(), &mut misses)
            })
        })?;
        for _ in 1..PASSES {
            if misses.is_empty() {
                break;
            }
            misses = self.pass_again(&mut entries, misses)?;
        }
        match misses.keys().next() {
            None => Ok(LayerFacts { entries }),
            Some(&entry) => Err(Error::layer(
                self.name,
                format!(
                    "{}: the parts of this ELF file were not found in {PASSES} passes",
                    entries[entry].path
                ),
            )),
        }
    }

    /// Reads the ELF files again of which something was missing, and gives what is still missing.
    fn pass_again(&self, facts: &mut [Entry], ranges: Misses) -> Result<Misses> {
        let mut misses = Misses::new();
        let again = self.pass(&|_| {}, |walk| {
            entries(
                self.name,
                walk,
                self.wanted,
                |walk, member, entry| match ranges.get(&entry) {
                    Some(ranges) => self.sniff(walk, &member, entry, ranges.clone(), &mut misses),
                    None => Ok(Content::Unread),
                },
            )
        })?;
        for (at, entry) in again
            .into_iter()
            .enumerate()
            .filter(|(at, _)| ranges.contains_key(at))
        {
            facts[at].kind = entry.kind;
        }
        Ok(misses)
    }

    /// The content of a file that is kept only if it is an ELF file. `ranges` are kept beyond what is kept of every one.
    fn sniff(
        &self,
        walk: &mut Walk<Reader>,
        member: &Member,
        entry: usize,
        ranges: Vec<Range<u64>>,
        misses: &mut Misses,
    ) -> Result<Content, ArchiveError> {
        if !is_elf(walk, member, &self.wanted.limits)? {
            return Ok(Content::Unread);
        }
        let mut usual = Retainer::new(member.size, self.wanted.limits.elf_bytes);
        let mut extra = Retainer::with_ranges(member.size, ranges.clone());
        let mut push = |bytes: &[u8]| {
            usual.push(bytes);
            if !ranges.is_empty() {
                extra.push(bytes);
            }
        };
        push(ELF_MAGIC);
        loop {
            let content = walk.content()?;
            if content.is_empty() {
                break;
            }
            push(content);
        }
        let kept = if ranges.is_empty() {
            usual.finish()
        } else {
            usual.finish().merge(extra.finish())
        };
        match elf::read(&kept, &self.wanted.recipes, self.wanted.depth) {
            Ok(facts) => Ok(Content::Elf(Box::new(facts))),
            Err(ElfError::Broken(problem)) => Ok(broken(&kept, problem)),
            Err(ElfError::Io(error)) => Err(error.into()),
            Err(ElfError::Missing { offset, length }) => {
                let ranges = with_range(ranges, offset..offset.saturating_add(length));
                self.check_ranges(member, &ranges)?;
                misses.insert(entry, ranges);
                Ok(Content::Unread)
            }
        }
    }

    fn check_ranges(&self, member: &Member, ranges: &[Range<u64>]) -> Result<(), ArchiveError> {
        let limit = self.wanted.limits.elf_missing_bytes;
        let bytes = ranges.iter().fold(0_u64, |sum, range| {
            sum.saturating_add(range.end - range.start)
        });
        if bytes > limit {
            return Err(ArchiveError::Limit {
                what: "bytes of an ELF file to be read in another pass (limit elf_missing_bytes)",
                offset: member.offset,
                limit,
            });
        }
        Ok(())
    }

    /// One pass over the blob, in three threads, with both digests verified.
    fn pass(
        &self,
        progress: &(dyn Fn(u64) + Sync),
        read: impl FnOnce(&mut Walk<Reader>) -> Result<Vec<Entry>>,
    ) -> Result<Vec<Entry>> {
        let (blob_writer, blob) = pipe(BUFFERS, BUFFER);
        let (plain_writer, plain) = pipe(BUFFERS, BUFFER);
        thread::scope(|scope| {
            let reading = scope.spawn(move || read_blob(self.range, &blob_writer, progress));
            let decompressing = scope.spawn(move || self.decompress(blob, &plain_writer));
            let mut walk = Walk::new(plain.hashed(), self.wanted.limits.archive);
            let entries = read(&mut walk);
            let diff_id = match &entries {
                Ok(_) => walk.into_input().finish(),
                Err(_) => {
                    drop(walk);
                    None
                }
            };
            let decompressed = join(decompressing);
            let digest = join(reading)
                .map_err(|error| Error::layer(self.name, format!("cannot be read: {error}")))?;
            // A wrong digest explains all other errors.
            self.verify("digest", self.blob.digest.as_deref(), &digest)?;
            decompressed.map_err(|error| self.not_decompressed(&error))?;
            let entries = entries?;
            self.verify(
                "diff id",
                Some(&self.blob.diff_id),
                diff_id.as_deref().unwrap_or_default(),
            )?;
            Ok(entries)
        })
    }

    fn verify(&self, what: &str, expected: Option<&str>, found: &str) -> Result<()> {
        match expected {
            Some(expected) if expected != found => Err(Error::layer(
                self.name,
                format!("damaged: its {what} is {found}, it should be {expected}"),
            )),
            _ => Ok(()),
        }
    }

    fn not_decompressed(&self, error: &io::Error) -> Error {
        let problem = match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                "truncated: the compressed data ends too early".to_owned()
            }
            _ => format!("cannot be decompressed ({:?}): {error}", self.compression),
        };
        Error::layer(self.name, problem)
    }

    fn decompress(&self, blob: Reader, plain: &Writer) -> io::Result<()> {
        let mut decoder: Box<dyn Read> = match self.compression {
            Compression::None => Box::new(blob),
            Compression::Gzip => Box::new(Gzip::new(blob)),
            Compression::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(blob)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Box::new(decoder)
            }
        };
        let limit = self.limit();
        let mut total = 0;
        loop {
            let count = plain.write(|buffer| fill(&mut *decoder, buffer))?;
            total += count as u64;
            if count == 0 {
                return Ok(());
            }
            if total > limit {
                return Err(io::Error::other(format!(
                    "it has more than {limit} bytes (limits layer_bytes and ratio)"
                )));
            }
        }
    }

    fn limit(&self) -> u64 {
        let Limits {
            layer_bytes, ratio, ..
        } = self.wanted.limits;
        let by_ratio = self
            .range
            .length()
            .saturating_mul(ratio)
            .max(Limits::RATIO_FLOOR);
        layer_bytes.min(by_ratio)
    }
}

/// Reads and hashes the blob to its end, even when nobody wants its bytes any more: then the digest says whether the blob or
/// its content is wrong.
fn read_blob(
    range: &FileRange,
    blob: &Writer,
    progress: &(dyn Fn(u64) + Sync),
) -> io::Result<String> {
    let mut hasher = Hasher::default();
    let mut position = 0;
    let mut read = |buffer: &mut [u8]| {
        let count = range.read_at(position, buffer)?;
        hasher.update(&buffer[..count]);
        position += count as u64;
        progress(count as u64);
        Ok(count)
    };
    while blob.write(&mut read)? > 0 {}
    let mut buffer = vec![0; BUFFER];
    while read(&mut buffer)? > 0 {}
    Ok(hasher.finish())
}

fn with_range(mut ranges: Vec<Range<u64>>, range: Range<u64>) -> Vec<Range<u64>> {
    ranges.push(range);
    ranges
}

fn fill(input: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
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

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs::File;
    use std::io::Write;
    use std::sync::Arc;

    use super::*;
    use crate::elf::Depth;
    use crate::layer::EntryKind;
    use crate::source::LayerData;
    use crate::source::digest::sha256;

    fn archive() -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, content) in [
            ("bin/sh", std::fs::read("/bin/sh").unwrap()),
            ("bin/broken", b"\x7fELF".to_vec()),
            ("bin/again", std::fs::read("/bin/sh").unwrap()),
        ] {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            builder
                .append_data(&mut header, path, &content[..])
                .unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn gzip_file(bytes: &[u8]) -> Arc<File> {
        let file = tempfile::tempfile().unwrap();
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        Arc::new(encoder.finish().unwrap())
    }

    #[test]
    fn what_was_missing_is_read_in_another_pass() {
        let plain = archive();
        let file = gzip_file(&plain);
        let length = file.metadata().unwrap().len();
        let blob = LayerBlob {
            diff_id: sha256(&plain),
            digest: None,
            size: length,
            data: LayerData::Range {
                file: Arc::clone(&file),
                name: "layer".into(),
                offset: 0,
                length,
            },
        };
        let stream = Stream {
            name: "layer",
            blob: &blob,
            range: &FileRange::new(file, 0, length),
            compression: Compression::Gzip,
            wanted: &Wanted::builtin(Depth::Default).unwrap(),
        };
        let expected = stream.scan(&|_| {}).unwrap().entries;
        let mut entries = expected.clone();
        entries[2].kind = EntryKind::File(Content::Unread);
        let last = 100_000..plain.len() as u64;
        let misses = stream
            .pass_again(&mut entries, Misses::from([(2, vec![0..64, last])]))
            .unwrap();
        assert!(misses.is_empty());
        assert_eq!(entries, expected);
        assert!(matches!(entries[2].kind, EntryKind::File(Content::Elf(_))));
    }
}
