//! Layer blobs to layer facts: decompress, walk the tar, read what is wanted of each file.

pub mod facts;

pub use facts::{Content, Entry, EntryKind, LayerFacts};
