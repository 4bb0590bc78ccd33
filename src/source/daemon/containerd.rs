//! The content store of containerd, where newer engines keep images: blobs as in an OCI layout (containerd,
//! `docs/content-flow.md` and `plugins/content/local`).

use std::path::{Path, PathBuf};

use bollard::models::SystemInfo;
use oci_spec::image::Descriptor;

use crate::limits::Limits;
use crate::source::blobs::Blobs;
use crate::source::store::Store;

const CONTENT: &str = "io.containerd.content.v1.content";

/// Where a containerd keeps things that is not the engine's own.
const SYSTEM: &str = "/var/lib/containerd";

/// The content store that holds the manifests; `None` if this process finds none that it may read.
pub(super) fn content(
    info: &SystemInfo,
    manifests: &[Descriptor],
    limits: Limits,
) -> Option<Store> {
    let own = info.docker_root_dir.as_ref();
    let own = own.map(|root| Path::new(root).join("containerd/daemon"));
    let places = own.into_iter().chain([PathBuf::from(SYSTEM)]);
    places
        .filter_map(|place| Store::directory(&place.join(CONTENT), limits).ok())
        .find(|store| {
            let holds = |manifest: &Descriptor| store.has_blob(manifest.digest().as_ref());
            manifests
                .iter()
                .all(|manifest| holds(manifest).unwrap_or(false))
        })
}
