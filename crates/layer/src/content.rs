//! Captures the content of files.

use std::io;

use memchr::memmem;

use super::budget::Budget;
use super::context::ReadContext;
use super::patterns::Capture;
use imgcheck_archive::archive::{FileRange, Segment};
use imgcheck_base::limits::Limit;
use imgcheck_elf::{self as elf, Depth, ElfError, ReadAt, ReadOptions};
use imgcheck_image::{Content, Entry};

/// The first bytes of every ELF file.
pub(crate) const ELF_MAGIC: &[u8; 4] = b"\x7fELF";

/// A sparse file of an archive, with its holes as zeros.
#[derive(Debug)]
pub(crate) struct SparseRange {
    pub range: FileRange,
    pub segments: Vec<Segment>,
    pub size: u64,
}

impl ReadAt for SparseRange {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            let count = self.read_piece(offset.saturating_add(done as u64), &mut buffer[done..])?;
            if count == 0 {
                break;
            }
            done += count;
        }
        Ok(done)
    }
}

impl SparseRange {
    /// Reads within one stored segment or one hole.
    fn read_piece(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let following = self
            .segments
            .partition_point(|segment| segment.offset <= offset);
        let inside = following.checked_sub(1).map(|at| self.segments[at]);
        let inside = inside.filter(|segment| offset - segment.offset < segment.length);
        let end = match inside {
            Some(segment) => segment.offset + segment.length,
            None => self
                .segments
                .get(following)
                .map_or(self.size, |segment| segment.offset),
        };
        let left = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
        let length = left.min(buffer.len());
        let part = &mut buffer[..length];
        match inside {
            Some(segment) => self
                .range
                .read_at(segment.stored + (offset - segment.offset), part),
            None => {
                part.fill(0);
                Ok(length)
            }
        }
    }
}

/// Tables of the maximum length that one file can have in memory: strings, symbols and what is derived from them.
const TABLES_OF_ONE: u64 = 4;

/// Reads an ELF file, as soon as there is memory for its tables.
///
/// # Errors
/// Bytes cannot be read or are missing, or a limit is exceeded. A broken ELF file is not an error.
pub(crate) fn elf(
    context: &ReadContext,
    bytes: &dyn ReadAt,
    depth: Depth,
) -> Result<Content, ElfError> {
    let most = context.bounds.limits.of(Limit::ElfTableBytes);
    let tables = bytes.size().min(most.saturating_mul(TABLES_OF_ONE));
    let tables = context.workers.tables(tables, &context.bounds.cancellation);
    let _tables = tables?;
    let options = ReadOptions {
        recipes: &context.recipes,
        depth,
        bounds: &context.bounds,
    };
    match elf::read_with(bytes, &options) {
        Ok(facts) => Ok(Content::Elf(Box::new(facts))),
        Err(ElfError::Broken(problem)) => Ok(Content::BrokenElf {
            problem,
            refusal: elf::refusal(bytes)?,
        }),
        Err(error) => Err(error),
    }
}

/// The captured content of a file at rest.
///
/// # Errors
/// Same as [`elf`].
pub(crate) fn of_file(
    context: &ReadContext,
    entry: &Entry,
    capture: Capture,
    bytes: &dyn ReadAt,
    budget: &Budget,
) -> Result<Content, ElfError> {
    let limits = &context.bounds.limits;
    if capture.is_whole() {
        budget.text(entry.size, limits)?;
        return Ok(captured(capture, whole(bytes)?));
    }
    let mut magic = [0; ELF_MAGIC.len()];
    let count = bytes.read_at(0, &mut magic).map_err(ElfError::Io)?;
    if magic.starts_with(b"#!") && context.patterns.may_be_script(entry) {
        let bytes = whole(bytes)?;
        if !context.patterns.is_script(&bytes) {
            return Ok(Content::Unread);
        }
        budget.text(entry.size, limits)?;
        return Ok(captured(Capture::Text, bytes));
    }
    if count < magic.len() || magic != *ELF_MAGIC {
        return Ok(Content::Unread);
    }
    let content = elf(context, bytes, context.depth)?;
    budget.content(&content, limits)?;
    Ok(content)
}

fn whole(bytes: &dyn ReadAt) -> Result<Vec<u8>, ElfError> {
    let mut content = vec![0; usize::try_from(bytes.size()).unwrap_or_default()];
    let count = bytes.read_at(0, &mut content).map_err(ElfError::Io)?;
    if count < content.len() {
        let error = io::Error::other("it was truncated while it was being read");
        return Err(ElfError::Io(error));
    }
    Ok(content)
}

/// The content of a file that is captured whole.
pub(crate) fn captured(capture: Capture, bytes: Vec<u8>) -> Content {
    match capture {
        Capture::Text => Content::Text(text(bytes)),
        Capture::FileList => Content::Text(text(libraries_and_modules(&bytes))),
        Capture::Bytes => Content::Bytes(bytes),
        Capture::Elf | Capture::Nothing => Content::Unread,
    }
}

fn text(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// The lines of a list of files that mention libraries, and the paths of Python modules in a RECORD that are not empty.
fn libraries_and_modules(list: &[u8]) -> Vec<u8> {
    const MODULE: &[u8] = b".py,";
    let mut kept = Vec::new();
    for line in list.split_inclusive(|byte| *byte == b'\n') {
        if memmem::find(line, b".so").is_some() {
            kept.extend_from_slice(line);
        } else if let Some(at) = memmem::rfind(line, MODULE)
            && !line.trim_ascii_end().ends_with(b",0")
        {
            kept.extend_from_slice(&line[..at + MODULE.len()]);
            kept.extend_from_slice(b",\n");
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_file_list_libraries_and_modules_are_kept() {
        let list = b"a/b.py,sha256=x,1\na/__init__.py,sha256=z,0\r\na/c.so,sha256=y,2\na/d.h,,\na/lib.so.1,,\nRECORD,,";
        let kept = captured(Capture::FileList, list.to_vec());
        assert_eq!(
            kept,
            Content::Text("a/b.py,,\na/c.so,sha256=y,2\na/lib.so.1,,\n".to_owned())
        );
    }
}
