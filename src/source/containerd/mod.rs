//! Images of containerd, read from its directory: names and unpacked layers from its databases, blobs from its content store
//! (containerd, `docs/content-flow.md`). containerd itself is not asked, and need not run.

pub mod bolt;
mod content;
mod metadata;

use std::path::PathBuf;

use super::environment::variable;
use super::image::{AccessMethod, Image, SourceKind};
use super::names;
use super::oci;
use super::request::{LayerConsumer, Request, Source};
use crate::error::{Error, ErrorCode, Result};
pub(super) use content::CONTENT;
use content::Content;
use metadata::{Root, StoredImage};

/// The root directory of a containerd that is not part of another program.
pub(super) const SYSTEM: &str = "/var/lib/containerd";

/// The directory of containerd; these are its own default and those of k3s, RKE2 and MicroK8s.
const ROOT: &str = "IMGCHECK_CONTAINERD_ROOT";
const ROOTS: [&str; 3] = [
    SYSTEM,
    "/var/lib/rancher/k3s/agent/containerd",
    "/var/snap/microk8s/common/var/lib/containerd",
];

/// The namespace, as for `ctr` and `nerdctl`; without it all are searched.
const NAMESPACE: &str = "CONTAINERD_NAMESPACE";

/// `containerd:REFERENCE`: a name, the digest of what it leads to, or nothing for all images.
pub(super) struct Containerd(pub String);

impl Source for Containerd {
    fn images(&self, request: &Request, _: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        let root = self.root()?;
        let mut images = Vec::new();
        for stored in self.choose(&root)? {
            request.cancellation.check()?;
            images.extend(open(&root, &stored, request)?);
        }
        Ok(images)
    }
}

impl Containerd {
    /// # Errors
    /// There is no such directory, or it may not be read.
    fn root(&self) -> Result<Root> {
        let roots = match variable(ROOT) {
            Some(root) => vec![PathBuf::from(root)],
            None => ROOTS.map(PathBuf::from).to_vec(),
        };
        let looked_at: Vec<String> = roots
            .iter()
            .map(|root| root.display().to_string())
            .collect();
        let root = roots
            .into_iter()
            .find(|root| root.exists())
            .ok_or_else(|| {
                let problem = format!(
                    "containerd keeps no images here: no {}",
                    looked_at.join(", no ")
                );
                Error::new(ErrorCode::Unreachable, &self.0, problem).with_help(format!(
                    "set {ROOT} to its root directory (`root` in its config.toml), or check a file: ctr images export image.tar {}",
                    self.0
                ))
            })?;
        Ok(Root(root))
    }

    /// The images that the reference names.
    fn choose(&self, root: &Root) -> Result<Vec<StoredImage>> {
        let namespace = variable(NAMESPACE);
        let all = root
            .images(namespace.as_deref())
            .map_err(readable_by_root)?;
        let count = all.len();
        let chosen: Vec<StoredImage> = all
            .into_iter()
            .filter(|image| self.is_wanted(image))
            .collect();
        let Some(first) = chosen.first() else {
            let place = namespace.map_or_else(
                || "any namespace".to_owned(),
                |name| format!("the namespace {name}"),
            );
            let root = root.0.display();
            let problem =
                format!("containerd has no such image in {place} ({count} images in {root})");
            return Err(Error::not_found(&self.0, problem)
                .with_help("see `ctr namespaces ls` and `ctr -n NAMESPACE images ls`; docker://REFERENCE reads it from its registry"));
        };
        if self.0.is_empty() {
            return Ok(chosen);
        }
        match chosen
            .iter()
            .find(|image| image.target.digest() != first.target.digest())
        {
            None => Ok(vec![first.clone()]),
            Some(other) => {
                let (one, other) = (&first.namespace, &other.namespace);
                let problem = format!(
                    "the namespaces {one} and {other} of containerd have different images of this name"
                );
                Err(Error::new(ErrorCode::Usage, &self.0, problem)
                    .with_help(format!("set {NAMESPACE} to one of them")))
            }
        }
    }

    fn is_wanted(&self, image: &StoredImage) -> bool {
        let wanted = &self.0;
        let is_digest = || wanted == image.target.digest().as_ref();
        wanted.is_empty() || names::same(wanted, &image.name) || is_digest()
    }
}

fn open(root: &Root, stored: &StoredImage, request: &Request) -> Result<Vec<Image>> {
    let content = Content::open(root, request.limits)?;
    let named = oci::with_name(stored.target.clone(), &stored.name);
    let selection = request.selection(None)?;
    let mut images = oci::images(&content, vec![named], &selection, SourceKind::Containerd)?;
    for image in &mut images {
        content.prefer_unpacked(root, &stored.namespace, image)?;
        image.access = Some(AccessMethod::Storage);
    }
    Ok(images)
}

fn readable_by_root(error: Error) -> Error {
    match error.code() {
        ErrorCode::Forbidden => {
            error.with_help("run imgcheck as root: only root may read the directory of containerd")
        }
        _ => error,
    }
}
