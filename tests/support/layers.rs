//! Layers as a source hands them over.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use imgcheck_elf::Depth;
use imgcheck_image::LayerFacts;
use imgcheck_model::knowledge::read_context;
use imgcheck_source::source::{Annotations, LayerBlob, LayerData};
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

/// The facts of a root directory.
#[allow(dead_code)] // one of two test programs uses it
pub fn directory_facts(root: &Path) -> LayerFacts {
    let blob = LayerBlob {
        diff_id: String::new(),
        digest: None,
        annotations: Annotations::new(),
        size: 0,
        data: LayerData::Directory(root.to_owned()),
    };
    let context = read_context(Depth::Default).unwrap();
    Arc::unwrap_or_clone(context.read_layer(&blob).unwrap().facts)
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
