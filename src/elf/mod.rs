//! What an ELF file says of itself, read by random access: headers, dynamic section, symbol versions, symbols,
//! fat binaries and version constants. Which library answers to which export is data (a [`Recipes`] table), not code:
//! nothing here knows what PyTorch is.

pub mod facts;

pub use facts::ElfFacts;

use serde::{Deserialize, Serialize};

/// How much of a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Depth {
    /// What an address leads to: headers, tables, bodies of named exports, named fat-binary sections.
    #[default]
    Default,
    /// Also whole-section searches.
    Deep,
}

/// A stand-in.
pub trait ReadAt: Sync {
    /// Length.
    fn size(&self) -> u64;
    /// Read.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize>;
}
/// A stand-in.
#[derive(Debug, thiserror::Error)]
pub enum ElfError {
    /// A stand-in.
    #[error("{0}")]
    Broken(String),
    /// A stand-in.
    #[error("missing {offset} {length}")]
    Missing {
        /// x
        offset: u64,
        /// x
        length: u64,
    },
    /// A stand-in.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
/// A stand-in.
#[derive(Debug)]
pub struct Recipes;
impl Recipes {
    /// A stand-in.
    pub fn builtin() -> crate::error::Result<Self> {
        Ok(Recipes)
    }
}
/// A stand-in.
pub fn read(source: &dyn ReadAt, _: &Recipes, _: Depth) -> Result<ElfFacts, ElfError> {
    let mut magic = [0; 20];
    if source.read_at(0, &mut magic)? < 20 {
        return Err(ElfError::Broken("short".into()));
    }
    Ok(ElfFacts {
        class: 64,
        machine: u16::from(magic[18]),
        ..ElfFacts::default()
    })
}
/// A stand-in.
#[derive(Debug)]
pub struct Retainer {
    size: u64,
    at: u64,
    head: Vec<u8>,
    extra: Option<(u64, u64)>,
}
impl Retainer {
    /// A stand-in.
    pub fn new(size: u64, _: &Recipes, _: Depth) -> Self {
        Retainer {
            size,
            at: 0,
            head: Vec::new(),
            extra: None,
        }
    }
    /// A stand-in.
    pub fn with_ranges(self, ranges: &[(u64, u64)]) -> Self {
        Retainer {
            extra: ranges.first().copied(),
            ..self
        }
    }
    /// A stand-in.
    pub fn push(&mut self, bytes: &[u8]) {
        self.at += bytes.len() as u64;
        if self.head.len() < 64 {
            self.head.extend_from_slice(&bytes[..bytes.len().min(64)]);
        }
    }
    /// A stand-in.
    pub fn finish(self) -> SparseFile {
        SparseFile(self.head, self.size)
    }
}
/// A stand-in.
#[derive(Debug)]
pub struct SparseFile(Vec<u8>, u64);
impl ReadAt for SparseFile {
    fn size(&self) -> u64 {
        self.1
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.0[(offset as usize).min(self.0.len())..];
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}
