//! Images of containerd, which cannot be read yet.

use super::image::Image;
use super::request::{LayerConsumer, Request, Source};
use crate::error::{Error, Result};

/// `containerd:REFERENCE`.
pub(super) struct Containerd(pub String);

impl Source for Containerd {
    fn images(&self, _: &Request, _: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        let reference = &self.0;
        let problem = "images of containerd are not supported yet";
        Err(Error::unsupported(reference, problem).with_help(format!(
            "export it: ctr images export image.tar {reference}; then imgcheck image.tar"
        )))
    }
}
