//! The containerd in which newer versions of Docker keep images.

use std::path::{Path, PathBuf};

use bollard::models::SystemInfo;
use oci_spec::image::Descriptor;

use crate::source::containerd::{self, SYSTEM};
use crate::source::image::{Image, SourceKind};
use crate::source::platform::Selection;

/// Docker's namespace in containerd.
const NAMESPACE: &str = "moby";

/// The images with these manifests; `None` if this process cannot read them there.
pub(super) fn images(
    info: &SystemInfo,
    manifests: &[Descriptor],
    selection: &Selection,
) -> Option<Vec<Image>> {
    let own = info.docker_root_dir.as_ref();
    let own = own.map(|root| Path::new(root).join("containerd/daemon"));
    let mut roots = own.into_iter().chain([PathBuf::from(SYSTEM)]);
    let kind = SourceKind::DockerDaemon;
    roots.find_map(|root| {
        containerd::images(&root, NAMESPACE, manifests.to_vec(), selection, kind).ok()
    })
}
