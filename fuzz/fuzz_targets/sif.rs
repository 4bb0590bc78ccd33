//! SIF files: the root filesystem of an image that can be opened is a range of the file.

use std::os::fd::AsRawFd;
use std::sync::Arc;

use imgcheck_base::reference::transport::ImageReference;
use imgcheck_fuzz::file;
use imgcheck_fuzz::layers::CONTEXT;
use imgcheck_source::source::{self, Request};

/// Where the file says what it is.
const MAGIC_AT: usize = 32;
const MAGIC: &[u8] = b"SIF_MAGIC\0";

pub fn fuzz(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    if let Some(magic) = bytes.get_mut(MAGIC_AT..MAGIC_AT + MAGIC.len()) {
        magic.copy_from_slice(MAGIC);
    }
    let file = file(&bytes);
    let path = format!("/proc/self/fd/{}", Arc::as_ref(&file).as_raw_fd());
    let request = Request {
        bounds: CONTEXT.bounds.clone(),
        ..Request::default()
    };
    for image in source::open(&ImageReference::Path(path.into()), &request).unwrap_or_default() {
        assert!(image.layers[0].size <= bytes.len() as u64);
        let _ = CONTEXT.read_layer(&image.layers[0]);
    }
}
