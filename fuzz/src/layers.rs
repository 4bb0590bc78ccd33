//! Layers made of fuzzed bytes.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use imgcheck_base::error::Result;
use imgcheck_base::limits::Limit;
use imgcheck_elf::Depth;
use imgcheck_image::LayerFacts;
use imgcheck_layer::{ReadContext, ReadLayer, StreamedLayer};
use imgcheck_source::source::remote::RemoteBlob;
use imgcheck_source::source::{Annotations, LayerBlob, LayerData};
use testkit::sha256;

use crate::file;

/// Enough to pass every other limit of a layer of this size, and little enough that a bomb ends at once.
const LAYER_BYTES: u64 = 16 << 20;
/// Holes of a sparse ELF file.
const SPARSE_BYTES: u64 = 1 << 20;

/// What the built-in rules want of a layer, of which little may come out.
///
/// # Panics
/// The built-in data is wrong.
pub static CONTEXT: LazyLock<ReadContext> = LazyLock::new(|| {
    let mut context =
        imgcheck_model::knowledge::read_context(Depth::Default).expect("the built-in data");
    context.bounds.limits.set(Limit::LayerBytes, LAYER_BYTES);
    context.bounds.limits.set(Limit::SparseBytes, SPARSE_BYTES);
    context
});

/// A layer in a file.
pub fn stored(bytes: &[u8], diff_id: String) -> LayerBlob {
    let length = bytes.len() as u64;
    LayerBlob {
        diff_id,
        digest: Some(sha256(bytes)),
        annotations: Annotations::new(),
        size: length,
        data: LayerData::Range {
            file: file(bytes),
            name: "fuzzed".into(),
            offset: 0,
            length,
        },
    }
}

/// The same layer as a registry has it.
pub fn remote(bytes: &[u8], diff_id: String, annotations: Annotations) -> LayerBlob {
    LayerBlob {
        diff_id,
        digest: Some(sha256(bytes)),
        annotations,
        size: bytes.len() as u64,
        data: LayerData::Remote(Arc::new(Remote(bytes.to_vec()))),
    }
}

/// The facts of a layer.
///
/// # Errors
/// It cannot be read whole.
pub fn scan(blob: &LayerBlob) -> Result<ReadLayer> {
    CONTEXT.read_layer(blob)
}

/// The facts of a layer that can be read only once, its digest and its diff id.
///
/// # Errors
/// It cannot be read whole.
pub fn scan_stream(bytes: &[u8]) -> Result<StreamedLayer> {
    CONTEXT.read_stream("fuzzed", bytes, bytes.len() as u64)
}

/// Whether two ways of reading the same layer gave the same.
///
/// # Panics
/// They did not.
pub fn assert_same(left: &Result<LayerFacts>, right: &Result<LayerFacts>, ways: &str) {
    match (left, right) {
        (Ok(left), Ok(right)) => assert_eq!(left, right, "{ways}"),
        (Err(_), Err(_)) => {}
        (Ok(_), Err(error)) => panic!("{ways}: only the first can be read: {error}"),
        (Err(error), Ok(_)) => panic!("{ways}: only the second can be read: {error}"),
    }
}

#[derive(Debug)]
struct Remote(Vec<u8>);

impl RemoteBlob for Remote {
    fn address(&self) -> String {
        "fuzzed".to_owned()
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(io::Cursor::new(self.0.clone())))
    }

    fn read_range(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        assert!(range.start < range.end, "nothing is asked for");
        assert!(
            range.end <= self.0.len() as u64,
            "bytes beyond the blob are asked for"
        );
        Ok(self.0[range.start as usize..range.end as usize].to_vec())
    }
}
