//! The facts of an ELF file, read in both ways in which imgcheck reads one.

use std::ops::Range;
use std::sync::LazyLock;

use imgcheck_elf::{Depth, ElfError, ElfFacts, ReadAt, Recipes, Refusal, Retainer, SparseFile};
use imgcheck_elf::{read, refusal};

/// Passes over one file, each for one range more; then a layer is refused.
const PASSES: usize = 100;
/// The largest hole, in steps of 4 KiB. What stands behind the first MiB of a file is not always kept.
const HOLE: usize = 512;
/// Steps of a hole that may come by in each byte of a chunk: a large hole byte by byte takes seconds.
const STEPS: usize = 4;

static RECIPES: LazyLock<Recipes> =
    LazyLock::new(|| imgcheck_model::knowledge::recipes().expect("the built-in recipes"));

/// How a file streams by, and how much of it is read: four bytes of the input.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    chunk: u8,
    limit: u8,
    hole: u16,
}

impl Way {
    /// Reads it from the start of the input; the rest is what the file is made of.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let ([chunk, limit, low, high], rest) = bytes.split_first_chunk()?;
        let hole = u16::from_le_bytes([*low, *high]);
        Some((
            Way {
                chunk: *chunk,
                limit: *limit,
                hole,
            },
            rest,
        ))
    }

    /// Bytes that come at a time.
    fn chunk(self) -> usize {
        1 << (self.chunk % 21)
    }

    /// Bytes that may be kept.
    fn limit(self) -> u64 {
        1 << (10 + self.limit % 20)
    }

    /// How much of it is read.
    fn depth(self) -> Depth {
        match self.limit / 20 % 3 {
            0 => Depth::Sampled,
            1 => Depth::Default,
            _ => Depth::Deep,
        }
    }

    /// Zeros to put into the file.
    #[must_use]
    pub fn hole(self) -> usize {
        let steps = usize::from(self.hole) % (HOLE + 1);
        steps.min(self.chunk() * STEPS) * 4096
    }

    /// A file of these bytes, with the hole where real files have theirs: behind the first page.
    #[must_use]
    pub fn file(self, bytes: &[u8]) -> Vec<u8> {
        let (head, tail) = bytes.split_at(bytes.len().min(4096));
        [head, &vec![0; self.hole()], tail].concat()
    }
}

/// What reading a file gave: its facts, or what is wrong with it.
type Outcome = (Result<ElfFacts, String>, Option<Refusal>);

/// Reads a file, whole and as a stream.
///
/// # Panics
/// Both do not agree, or nothing is missing in what is not enough.
pub fn compare(file: Vec<u8>, way: Way) {
    let whole = outcome(&file, way.depth()).expect("a whole file holds all that is asked of it");
    if let Some(streamed) = streamed(&file, way) {
        assert_eq!(whole, streamed);
    }
}

fn streamed(file: &[u8], way: Way) -> Option<Outcome> {
    let size = file.len() as u64;
    let mut kept = retain(Retainer::new(size, way.limit()), file, way);
    let mut ranges = Vec::new();
    for _ in 0..PASSES {
        match outcome(&kept, way.depth()) {
            Ok(outcome) => return Some(outcome),
            Err(missing) => {
                assert!(
                    missing.start < missing.end,
                    "nothing is missing at {}",
                    missing.start
                );
                ranges.push(missing);
                ranges = Retainer::missed(&kept, ranges);
                let again = Retainer::new(size, way.limit()).keeping(ranges.clone());
                kept = retain(again, file, way);
            }
        }
    }
    None
}

fn retain(mut retainer: Retainer, file: &[u8], way: Way) -> SparseFile {
    file.chunks(way.chunk())
        .for_each(|bytes| retainer.push(bytes));
    retainer.finish()
}

/// `Err` is the range that is not held.
fn outcome(source: &dyn ReadAt, depth: Depth) -> Result<Outcome, Range<u64>> {
    let facts = held(read(source, &RECIPES, depth))?;
    Ok((facts, held(refusal(source))?.unwrap_or_default()))
}

fn held<T>(result: Result<T, ElfError>) -> Result<Result<T, String>, Range<u64>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(ElfError::Missing { offset, length }) => Err(offset..offset.saturating_add(length)),
        Err(error) => Ok(Err(error.to_string())),
    }
}
