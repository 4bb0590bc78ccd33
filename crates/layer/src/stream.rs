//! Streamed layers: one thread reads and hashes the blob, one or several decompress it, one hashes the archive, and one walks it and reads
//! its ELF files. A plain archive is only hashed as a blob.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

mod pass;

use super::budget::Budget;
use super::bytes::Bytes;
use super::cache::ParsedModules;
use super::content::{ELF_MAGIC, elf};
use super::context::{ReadContext, ReadLayer, ReadMethod};
use super::modules::{self, Modules, Parser, Source};
use super::walk::{entries, is_elf, whole};
use imgcheck_archive::archive::pipe::Reader;
use imgcheck_archive::archive::{ArchiveError, Member, Walk};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::Limit;
use imgcheck_base::parallel;
use imgcheck_elf::retain::DEFAULT_LIMIT;
use imgcheck_elf::{ElfError, Retainer};
use imgcheck_image::{Content, Entry, LayerFacts};

/// Most passes over a blob. Another pass reads bytes of ELF files that turned out to be needed after they had been dropped.
const PASSES: usize = 8;

/// Threads that parse Python sources of a layer.
const PARSERS: usize = 3;

/// The byte ranges that were missing of ELF files in the last pass, by the index of the entry.
type Misses = BTreeMap<usize, Vec<Range<u64>>>;

/// A layer that is read as a stream.
pub(crate) struct Stream<'a> {
    pub context: &'a ReadContext<'a>,
    pub name: &'a str,
    pub bytes: &'a dyn Bytes,
    /// Length of the blob in bytes.
    pub size: u64,
    pub expected: Expected<'a>,
}

/// The digests that a layer must have, where they are known in advance.
#[derive(Clone, Copy, Default)]
pub(crate) struct Expected<'a> {
    pub digest: Option<&'a str>,
    pub diff_id: Option<&'a str>,
}

/// A layer that was streamed, with the digests of its bytes.
#[derive(Debug, Clone)]
pub struct StreamedLayer {
    /// The layer.
    pub layer: ReadLayer,
    /// Digest of the blob.
    pub digest: String,
    /// Digest of the uncompressed layer.
    pub diff_id: String,
}

impl Stream<'_> {
    /// Reads the layer and verifies its digest and diff id.
    pub fn scan(&self) -> Result<StreamedLayer> {
        let mut misses = Misses::new();
        let budget = &Budget::default();
        let progress = |bytes| self.context.progress.advance(bytes);
        let parser = Parser::default();
        let mut parsed = ParsedModules::new();
        let (pass, others) = parallel::fed(
            PARSERS,
            |parse: &mut dyn FnMut(Source)| {
                self.pass(&progress, |walk| {
                    let sniff = |walk: &mut Walk<Reader>, member: Member, entry| {
                        match self.source(walk, &member, entry)? {
                            Some(source) if parser.has_room(&source) => parse(source),
                            Some(source) => parsed.extend(parser.parse(&source)?),
                            None => {
                                let ranges = Vec::new();
                                return self.sniff(
                                    walk,
                                    &member,
                                    entry,
                                    ranges,
                                    budget,
                                    &mut misses,
                                );
                            }
                        }
                        Ok(Content::Unread)
                    };
                    entries(self.context, self.name, walk, budget, sniff)
                })
            },
            |source| parser.parse(&source),
        );
        let mut pass = pass?;
        let others: io::Result<Vec<_>> = others.into_iter().collect();
        let others = others.map_err(|error| Error::layer_io(self.name, error))?;
        parsed.extend(others.into_iter().flatten());
        for _ in 1..PASSES {
            if misses.is_empty() {
                break;
            }
            misses = self.pass_again(&mut pass.entries, misses, budget)?;
        }
        match misses.keys().next() {
            None => Ok(StreamedLayer {
                layer: ReadLayer {
                    facts: Arc::new(LayerFacts {
                        entries: pass.entries,
                    }),
                    method: ReadMethod::Stream,
                    modules: Modules::Parsed(Arc::new(parsed)),
                },
                digest: pass.digest,
                diff_id: pass.diff_id,
            }),
            Some(&entry) => Err(Error::layer(
                self.name,
                format!(
                    "{}: this ELF file could not be read in {PASSES} passes",
                    pass.entries[entry].path
                ),
            )),
        }
    }

    /// Reads the ELF files again of which bytes were missing, and returns what is still missing.
    fn pass_again(&self, facts: &mut [Entry], ranges: Misses, budget: &Budget) -> Result<Misses> {
        let mut misses = Misses::new();
        let again = self.pass(&|_| {}, |walk| {
            let sniff = |walk: &mut _, member: Member, entry| match ranges.get(&entry) {
                Some(ranges) => {
                    self.sniff(walk, &member, entry, ranges.clone(), budget, &mut misses)
                }
                None => Ok(Content::Unread),
            };
            entries(self.context, self.name, walk, &Budget::default(), sniff)
        })?;
        for (at, entry) in again
            .entries
            .into_iter()
            .enumerate()
            .filter(|(at, _)| ranges.contains_key(at))
        {
            facts[at].kind = entry.kind;
        }
        Ok(misses)
    }

    /// The Python source that is the current member, unless it is passed over.
    fn source(
        &self,
        walk: &mut Walk<Reader>,
        member: &Member,
        entry: usize,
    ) -> Result<Option<Source>, ArchiveError> {
        let is_parsed = self.context.patterns.has_modules()
            && member.sparse.is_none()
            && modules::is_source(&member.path, member.size);
        let Some(entry) = u32::try_from(entry).ok().filter(|_| is_parsed) else {
            return Ok(None);
        };
        // Whatever its name is, it may be an ELF file.
        let content = walk.content()?;
        let (length, first) = (content.len(), content.first().copied());
        walk.give_back(length);
        match first == Some(ELF_MAGIC[0]) {
            true => Ok(None),
            false => Ok(Some(Source {
                entry,
                path: member.path.to_vec(),
                bytes: whole(walk)?,
            })),
        }
    }

    /// The content of a file that may be an ELF file. `ranges` are retained in addition to what is retained of every ELF file.
    fn sniff(
        &self,
        walk: &mut Walk<Reader>,
        member: &Member,
        entry: usize,
        mut ranges: Vec<Range<u64>>,
        budget: &Budget,
        misses: &mut Misses,
    ) -> Result<Content, ArchiveError> {
        if !is_elf(walk, member, budget, &self.context.bounds.limits)? {
            return Ok(Content::Unread);
        }
        let workers = &self.context.workers;
        let share = workers.retained(member.size, &self.context.bounds.cancellation);
        let _share = share.map_err(io::Error::from)?;
        let retainer = Retainer::new(member.size, DEFAULT_LIMIT).with_pool(workers.chunks());
        let mut retainer = retainer.keeping(ranges.clone());
        retainer.push(ELF_MAGIC);
        loop {
            let content = walk.content()?;
            if content.is_empty() {
                break;
            }
            retainer.push(content);
        }
        let kept = retainer.finish();
        let offset = member.offset;
        let exceeded = |exceeded| ArchiveError::Limit { offset, exceeded };
        let limits = &self.context.bounds.limits;
        match elf(self.context, &kept, self.context.depth) {
            Ok(content) => {
                budget.content(&content, limits).map_err(exceeded)?;
                Ok(content)
            }
            Err(ElfError::Missing { offset, length }) => {
                ranges.push(offset..offset.saturating_add(length));
                let ranges = Retainer::missed(&kept, ranges);
                limits
                    .check(Limit::ElfBytes, total(&ranges))
                    .map_err(exceeded)?;
                misses.insert(entry, ranges);
                Ok(Content::Unread)
            }
            Err(ElfError::Limit(limit)) => Err(exceeded(limit)),
            Err(ElfError::Io(error)) => Err(error.into()),
            Err(ElfError::Cancelled(error)) => Err(io::Error::from(error).into()),
            Err(ElfError::Broken(problem)) => Err(io::Error::other(problem).into()),
        }
    }
}

fn total(ranges: &[Range<u64>]) -> u64 {
    let lengths = ranges.iter().map(|range| range.end - range.start);
    lengths.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs::File;
    use std::io::Write;
    use std::sync::Arc;

    use super::*;
    use imgcheck_archive::archive::FileRange;
    use imgcheck_base::digest::sha256;
    use imgcheck_image::EntryKind;

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
    fn missing_bytes_are_read_in_another_pass() {
        let plain = archive();
        let file = gzip_file(&plain);
        let length = file.metadata().unwrap().len();
        let context = crate::tests::context();
        let stream = Stream {
            context: &context,
            name: "layer",
            bytes: &FileRange::new(file, 0, length),
            size: length,
            expected: Expected {
                digest: None,
                diff_id: Some(&sha256(&plain)),
            },
        };
        let scanned = stream.scan().unwrap().layer.facts;
        let expected = &scanned.entries;
        let mut entries = expected.clone();
        entries[2].kind = EntryKind::File(Content::Unread);
        let last = 100_000..plain.len() as u64;
        let misses = stream
            .pass_again(
                &mut entries,
                Misses::from([(2, vec![0..64, last])]),
                &Budget::default(),
            )
            .unwrap();
        assert!(misses.is_empty());
        assert_eq!(entries, *expected);
        assert!(matches!(entries[2].kind, EntryKind::File(Content::Elf(_))));
    }
}
