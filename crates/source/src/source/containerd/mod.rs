//! Images of containerd, read from its directory: names and unpacked layers from its databases, blobs from its content store
//! (containerd, `docs/content-flow.md`). containerd itself need not run.

pub mod bolt;
mod content;
mod metadata;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use oci_spec::image::Descriptor;

use super::environment::variable;
use super::image::{AccessMethod, Image, SourceKind};
use super::names::{self, ImageId, NamedImage};
use super::oci;
use super::platform::Selection;
use super::request::{LayerConsumer, Request, Source};
use content::Content;
use imgcheck_base::digest;
use imgcheck_base::error::{Error, ErrorCode, Result};
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

/// `containerd:REFERENCE`: a name, the digest of what it leads to, or an ID.
pub(super) struct Containerd(pub String);

/// All images, one for each manifest or index, in all namespaces or one.
///
/// # Errors
/// There is no containerd, or its metadata cannot be read.
pub(super) fn list() -> Result<Vec<NamedImage>> {
    let root = Containerd("the images of containerd".to_owned()).root()?;
    let namespace = variable(NAMESPACE);
    let stored = root
        .images(namespace.as_deref())
        .map_err(readable_by_root)?;
    Ok(named_images(&stored))
}

/// Groups tags by what they lead to. A tag that leads to different images in two namespaces is left out: its images are found by their
/// digests.
fn named_images(stored: &[StoredImage]) -> Vec<NamedImage> {
    let mut images: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut targets: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for image in stored {
        let digest = image.target.digest().as_ref();
        let names = images.entry(digest).or_default();
        if image.has_tag() {
            names.insert(&image.name);
            targets.entry(&image.name).or_default().insert(digest);
        }
    }
    let is_unique = |name: &&str| targets.get(name).is_some_and(|them| them.len() == 1);
    let named = images.into_iter().map(|(id, tags)| NamedImage {
        names: tags
            .into_iter()
            .filter(is_unique)
            .map(str::to_owned)
            .collect(),
        id: id.to_owned(),
    });
    named.collect()
}

impl Source for Containerd {
    fn images(&self, request: &Request, _: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        let root = self.root()?;
        let stored = self.choose(&root, request)?;
        open(&root, &stored, request)
    }
}

impl Containerd {
    /// # Errors
    /// There is no such directory, or it may not be read.
    fn root(&self) -> Result<Root> {
        if !cfg!(target_os = "linux") {
            let problem = "imgcheck reads the directory of containerd only on Linux";
            let help =
                "export the image there, and check the file: ctr images export image.tar REFERENCE";
            return Err(Error::unsupported(&self.0, problem).with_help(help));
        }
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
                    "set {ROOT} to its root directory (`root` in its config.toml), or check a file: ctr images export image.tar REFERENCE"
                ))
            })?;
        Ok(Root(root))
    }

    /// The image that the reference names.
    fn choose(&self, root: &Root, request: &Request) -> Result<StoredImage> {
        let namespace = variable(NAMESPACE);
        let all = root
            .images(namespace.as_deref())
            .map_err(readable_by_root)?;
        let count = all.len();
        let mut chosen: Vec<&StoredImage> = all
            .iter()
            .filter(|image| names::same(&self.0, &image.name))
            .collect();
        if let Some(id) = ImageId::new(&self.0) {
            let has_id = |image: &&StoredImage| has_id(image, &id, root, request);
            chosen.extend(all.iter().filter(has_id));
        }
        chosen.sort_by_key(|image| !image.has_tag());
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
        match chosen
            .iter()
            .find(|image| image.target.digest() != first.target.digest())
        {
            None => Ok((*first).clone()),
            Some(other) => {
                let problem =
                    format!("containerd has different images that it names: {first} and {other}");
                let help = format!("set {NAMESPACE}, or name one by its whole digest");
                Err(Error::new(ErrorCode::Usage, &self.0, problem).with_help(help))
            }
        }
    }
}

/// Whether the ID is that of what an image leads to, as `nerdctl images` shows it, or of its configuration, as `crictl images` does. Images
/// whose configuration cannot be read have none.
fn has_id(image: &StoredImage, id: &ImageId, root: &Root, request: &Request) -> bool {
    let begins = |digest: &str| digest::hexadecimal(digest).is_some_and(|it| id.begins(it));
    let has_configuration = |image: &Image| image.config_digest.as_deref().is_some_and(begins);
    begins(image.target.digest().as_ref())
        || describe(root, image, request).is_ok_and(|it| it.iter().any(has_configuration))
}

/// The images with these manifests in a root directory, with layers from where containerd unpacked them for a namespace.
///
/// # Errors
/// This process cannot read all of them there.
pub(super) fn images(
    root: &Path,
    namespace: &str,
    manifests: Vec<Descriptor>,
    selection: &Selection,
    kind: SourceKind,
) -> Result<Vec<Image>> {
    let root = Root(root.to_owned());
    let content = Content::open(&root, selection.limits)?;
    let mut images = oci::images(&content, manifests, selection, kind)?;
    for image in &mut images {
        content.prefer_unpacked(&root, namespace, image)?;
        image.access = Some(AccessMethod::Storage);
    }
    Ok(images)
}

fn describe(root: &Root, stored: &StoredImage, request: &Request) -> Result<Vec<Image>> {
    let content = Content::open(root, request.bounds.limits)?;
    let (selection, kind) = (request.selection(None)?, SourceKind::Containerd);
    oci::images(&content, vec![stored.manifest()], &selection, kind)
}

fn open(root: &Root, stored: &StoredImage, request: &Request) -> Result<Vec<Image>> {
    let (selection, kind) = (request.selection(None)?, SourceKind::Containerd);
    let manifests = vec![stored.manifest()];
    images(&root.0, &stored.namespace, manifests, &selection, kind)
}

fn readable_by_root(error: Error) -> Error {
    match error.code() {
        ErrorCode::Forbidden => {
            error.with_help("run imgcheck as root: only root may read the directory of containerd")
        }
        _ => error,
    }
}
