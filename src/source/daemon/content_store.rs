//! The content store of containerd, in which newer versions of Docker keep images: blobs as in an OCI layout (containerd,
//! `docs/content-flow.md` and `plugins/content/local`).

use std::path::{Path, PathBuf};

use bollard::models::SystemInfo;
use oci_spec::image::Descriptor;

use crate::limits::Limits;
use crate::source::blobs::Blobs;
use crate::source::containerd::{CONTENT, SYSTEM};
use crate::source::store::Store;

/// The content store with all of these manifests; `None` if this process cannot read one.
pub(super) fn open(info: &SystemInfo, manifests: &[Descriptor], limits: Limits) -> Option<Store> {
    let own = info.docker_root_dir.as_ref();
    let own = own.map(|root| Path::new(root).join("containerd/daemon"));
    let roots = own.into_iter().chain([PathBuf::from(SYSTEM)]);
    roots
        .filter_map(|root| Store::directory(&root.join(CONTENT), limits).ok())
        .find(|store| {
            let contains = |manifest: &Descriptor| store.has_blob(manifest.digest().as_ref());
            manifests
                .iter()
                .all(|manifest| contains(manifest).unwrap_or(false))
        })
}
