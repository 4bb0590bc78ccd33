//! Images in a registry (OCI distribution specification).

use super::{Access, Image, Wanted};
use crate::error::{Error, Result};

/// How registries are reached.
#[derive(Debug, Clone, Default)]
pub struct Options {}

/// The wanted images of a reference.
pub(super) fn open(reference: &str, _wanted: &Wanted, _access: &Access) -> Result<Vec<Image>> {
    Err(Error::Source {
        subject: reference.to_owned(),
        problem: "images in a registry cannot be read yet".to_owned(),
        help: Some(format!(
            "copy it: skopeo copy docker://{reference} oci:image; then imgcheck oci:image"
        )),
    })
}
