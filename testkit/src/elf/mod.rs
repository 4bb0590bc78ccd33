//! ELF files.

pub mod raw;
mod shared_object;

pub use shared_object::{SharedObject, Symbol, SymbolKind};
