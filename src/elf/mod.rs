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
