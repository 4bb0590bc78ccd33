//! Layers with a table of contents of the fuzzer's choice.

use std::sync::LazyLock;

use imgcheck_source::source::LayerBlob;
use testkit::chunked::{self, Format};
use testkit::sha256;

use crate::layers::remote;

/// Bytes that hardly compress.
static NOISE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let digests = (0..512_u32).map(|at| sha256(&at.to_le_bytes()));
    digests.flat_map(String::into_bytes).collect()
});

/// The stored part of a layer in front of its table.
#[derive(Debug)]
pub struct Lazy {
    format: Format,
    stored: Vec<u8>,
}

impl Lazy {
    /// Starts with bytes that nobody needs: a layer that is too small is read whole.
    pub fn new(format: Format) -> Self {
        let mut lazy = Lazy {
            format,
            stored: Vec::new(),
        };
        lazy.store(&NOISE);
        lazy
    }

    /// Adds a part of a file; returns its offset in the blob.
    pub fn store(&mut self, part: &[u8]) -> u64 {
        let offset = self.stored.len() as u64;
        let compressed = chunked::compressed(self.format, part);
        self.stored.extend(compressed);
        offset
    }

    /// The layer with a table, whose digest the manifest names.
    pub fn with_table(self, table: &[u8]) -> LayerBlob {
        let stored = chunked::with_table(self.format, b"", &self.stored, table);
        remote(
            &stored.bytes,
            stored.diff_id,
            stored.annotations.into_iter().collect(),
        )
    }
}
