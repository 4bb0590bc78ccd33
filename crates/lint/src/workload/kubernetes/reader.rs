//! What reading one object needs.

use super::objects::Objects;
use crate::workload::kinds::Kinds;
use crate::workload::text::Manifest;
use imgcheck_base::document::Node;

/// Reads one object.
pub(super) struct Reader<'r> {
    pub manifest: &'r Manifest<'r>,
    pub objects: &'r Objects,
    pub kinds: &'r Kinds,
    pub namespace: &'r str,
    pub object: &'r Node,
}
