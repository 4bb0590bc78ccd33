//! Layers as a source hands them over.

use std::io::Write;
use std::sync::Arc;

use imgcheck::internals::source::{Annotations, LayerBlob, LayerData};
use testkit::{chunked, sha256};

/// A layer in a file, with the digests of its bytes.
pub fn layer_blob(stored: &[u8], plain: &[u8]) -> LayerBlob {
    in_file(stored, sha256(plain), Annotations::new())
}

/// A layer with a table of contents.
#[allow(dead_code)] // one of two test programs uses it
pub fn chunked_blob(layer: &chunked::Stored) -> LayerBlob {
    let annotations = layer.annotations.iter().cloned().collect();
    in_file(&layer.bytes, layer.diff_id.clone(), annotations)
}

fn in_file(stored: &[u8], diff_id: String, annotations: Annotations) -> LayerBlob {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(stored).unwrap();
    LayerBlob {
        diff_id,
        digest: Some(sha256(stored)),
        annotations,
        size: stored.len() as u64,
        data: LayerData::Range {
            file: Arc::new(file),
            name: "layer".into(),
            offset: 0,
            length: stored.len() as u64,
        },
    }
}
