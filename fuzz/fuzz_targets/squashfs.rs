//! SquashFS images: in a SIF file one has the same facts as alone, and the same facts when it is read again.

use std::os::fd::AsRawFd;
use std::sync::Arc;

use imgcheck_base::error::Result;
use imgcheck_base::reference::transport::ImageReference;
use imgcheck_fuzz::file;
use imgcheck_fuzz::layers::{CONTEXT, assert_same};
use imgcheck_image::LayerFacts;
use imgcheck_source::source::{self, Request};
use testkit::sif::{PRIMARY, SQUASHFS, partition, sif};

pub fn fuzz(bytes: &[u8]) {
    if !bytes.starts_with(b"hsqs") {
        return;
    }
    let alone = facts(bytes);
    let inside = facts(&sif(&[partition(SQUASHFS, PRIMARY, bytes.to_vec())]));
    assert_same(&alone, &facts(bytes), "read again");
    // Both also read what starts them, which only one of them may have.
    if alone.is_ok() && inside.is_ok() {
        assert_same(&alone, &inside, "in a SIF file");
    }
}

fn facts(bytes: &[u8]) -> Result<LayerFacts> {
    let file = file(bytes);
    let path = format!("/proc/self/fd/{}", Arc::as_ref(&file).as_raw_fd());
    let request = Request {
        bounds: CONTEXT.bounds.clone(),
        ..Request::default()
    };
    let images = source::open(&ImageReference::Path(path.into()), &request)?;
    let layer = CONTEXT.read_layer(&images[0].layers[0])?;
    Ok(LayerFacts::clone(&layer.facts))
}
