//! Layers with a table of contents, as containers/storage (zstd:chunked) and the stargz snapshotter (eStargz) write them.

use std::sync::LazyLock;

use imgcheck::internals::digest::sha256;
use imgcheck::internals::source::{Annotations, LayerBlob};

use crate::documents::{Document, archive};
use crate::layers::{gzip, remote, zstd};

/// How a layer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Frames of zstd, and the table in a skippable one.
    ZstdChunked,
    /// Members of gzip, and the table in an archive of its own.
    Estargz,
}

/// Bytes that are hardly smaller when they are compressed.
static NOISE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let digests = (0..512_u32).map(|at| sha256(&at.to_le_bytes()));
    digests.flat_map(String::into_bytes).collect()
});

/// What is stored of a layer in front of its table.
#[derive(Debug)]
pub struct Lazy {
    format: Format,
    stored: Vec<u8>,
}

impl Lazy {
    /// Some bytes that nobody needs: of a layer that is too small the whole is read.
    pub fn new(format: Format) -> Self {
        let mut lazy = Lazy {
            format,
            stored: Vec::new(),
        };
        lazy.store(&NOISE);
        lazy
    }

    /// Adds a part of a file; returns where in the blob it begins.
    pub fn store(&mut self, part: &[u8]) -> u64 {
        let offset = self.stored.len() as u64;
        let compressed = match self.format {
            Format::ZstdChunked => zstd(part),
            Format::Estargz => gzip(part),
        };
        self.stored.extend(compressed);
        offset
    }

    /// The layer with a table, which has the digest that the manifest names.
    pub fn with_table(self, table: &[u8]) -> LayerBlob {
        match self.format {
            Format::ZstdChunked => self.with_frame(table),
            Format::Estargz => self.with_member(table),
        }
    }

    fn with_frame(mut self, table: &[u8]) -> LayerBlob {
        let frame = zstd(table);
        let prefix = "io.github.containers.zstd-chunked";
        let position = format!(
            "{}:{}:{}:1",
            self.stored.len() + 8,
            frame.len(),
            table.len()
        );
        self.stored.extend([0x50, 0x2a, 0x4d, 0x18]);
        self.stored.extend((frame.len() as u32).to_le_bytes());
        self.stored.extend(&frame);
        let annotations = [
            (format!("{prefix}.manifest-position"), position),
            (format!("{prefix}.manifest-checksum"), sha256(&frame)),
        ];
        self.finish(annotations.into())
    }

    fn with_member(mut self, table: &[u8]) -> LayerBlob {
        let document = Document {
            name: "stargz.index.json".to_owned(),
            bytes: table.to_vec(),
        };
        let offset = self.store(&archive(&[document]));
        self.stored.extend([
            0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 26, 0, b'S', b'G', 22, 0,
        ]);
        self.stored.extend(format!("{offset:016x}STARGZ").bytes());
        self.stored
            .extend([1, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
        let digest = "containerd.io/snapshot/stargz/toc.digest".to_owned();
        self.finish([(digest, sha256(table))].into())
    }

    fn finish(self, annotations: Annotations) -> LayerBlob {
        remote(&self.stored, sha256(b""), annotations)
    }
}
