//! OCI image layouts (OCI image specification, "Image Layout"), in a directory or in a tar file.

mod documents;

use std::collections::HashMap;
use std::path::PathBuf;

use oci_spec::image::{Descriptor, ImageConfiguration};

use super::blobs::{self, Blobs, DocumentKind};
use super::image::{Image, LayerBlob, SourceKind};
use super::platform::{Candidate, Platform, Selection, select};
use super::request::{LayerConsumer, Request, Source};
use super::store::Store;
use super::{json_names, names};
use documents::{
    CONTAINERD_NAME, Content, Document, Manifest, attested_digest, error, is_attestation,
    is_complete, is_foreign, names_a_platform, other_name, read, recorded_name,
};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::{Limit, Limits};
use imgcheck_base::reference::only_tag;

/// Manifests of attestations about one image that are looked at; BuildKit writes one.
const ATTESTATIONS: usize = 4;
/// Indexes may list indexes; two levels occur in practice.
const INDEX_DEPTH: usize = 4;

/// An image in an index.
#[derive(Debug)]
struct Listed {
    descriptor: Descriptor,
    /// What the same index has about it.
    attestations: Vec<Descriptor>,
    /// Present if it had to be read to determine the platform; otherwise it is read only if it is selected.
    manifest: Option<Box<Manifest>>,
}

/// `oci:PATH[:REFERENCE]`.
pub(super) struct OciLayout {
    pub path: PathBuf,
    pub reference: Option<String>,
}

impl Source for OciLayout {
    fn images(&self, request: &Request, _: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        let store = Store::directory(&self.path, request.bounds.limits)?;
        open(&store, &request.selection(self.reference.as_deref())?)
    }
}

/// Whether the store is an OCI layout.
pub(super) fn is_layout(store: &Store) -> bool {
    store.contains("oci-layout") && store.contains("index.json")
}

/// The selected images of an OCI layout.
pub(super) fn open(store: &Store, selection: &Selection) -> Result<Vec<Image>> {
    let kind = if store.is_archive() {
        SourceKind::OciArchive
    } else {
        SourceKind::Oci
    };
    open_as(store, selection, kind)
}

/// The same, for an archive that is also a docker archive.
pub(super) fn open_as(
    store: &Store,
    selection: &Selection,
    kind: SourceKind,
) -> Result<Vec<Image>> {
    for name in ["oci-layout", "index.json"] {
        if !store.contains(name) {
            let problem = format!("not an OCI layout: {name} is missing");
            return Err(Error::unsupported(store.subject(), problem));
        }
    }
    images(store, top(store)?, selection, kind)
}

/// All images of the layout that are completely stored, whatever is selected.
pub(super) fn stored_images(store: &Store, selection: &Selection) -> Result<Vec<Image>> {
    let mut list = ImageList::new(selection.limits);
    list.descend(store, top(store)?, None, 0)?;
    let kind = SourceKind::DockerArchive;
    let images = list
        .candidates(store)?
        .into_iter()
        .filter_map(|candidate| read_images(store, vec![candidate], selection, kind).ok());
    Ok(images.flatten().collect())
}

/// The descriptors of `index.json`.
///
/// # Errors
/// Two of them have the same name.
fn top(store: &Store) -> Result<Vec<Descriptor>> {
    let (index, _): (Document, _) = store.document("index.json", json_names::OCI)?;
    let mut descriptors = index.manifests.unwrap_or_default();
    check_names(store, &descriptors)?;
    for descriptor in &mut descriptors {
        // An engine starts what a name leads to, whatever platform the descriptor says.
        if recorded_name(descriptor).is_some() {
            descriptor.set_platform(None);
        }
    }
    Ok(descriptors)
}

/// # Errors
/// A name leads to two images: containerd takes the last, Podman the first.
fn check_names(store: &Store, descriptors: &[Descriptor]) -> Result<()> {
    let mut seen: HashMap<String, &Descriptor> = HashMap::new();
    for descriptor in descriptors {
        let Some(name) = recorded_name(descriptor) else {
            continue;
        };
        if let Some(other) = other_name(descriptor, &name) {
            let problem = format!(
                "index.json names one image `{name}` for containerd and `{other}` for others"
            );
            return Err(error(store, problem));
        }
        let first = seen.insert(names::complete(&name), descriptor);
        if first.is_some_and(|first| first.digest() != descriptor.digest()) {
            let problem = format!(
                "index.json names two images `{name}`: which one runs depends on the container engine"
            );
            return Err(error(store, problem).with_help("save one image for each name"));
        }
    }
    Ok(())
}

/// The descriptor of an image whose name is recorded elsewhere.
pub(super) fn with_name(mut descriptor: Descriptor, name: &str) -> Descriptor {
    let name = (CONTAINERD_NAME.to_owned(), name.to_owned());
    descriptor.set_annotations(Some([name].into()));
    descriptor
}

/// The selected images among those that the descriptors lead to.
pub(super) fn images(
    blobs: &dyn Blobs,
    descriptors: Vec<Descriptor>,
    selection: &Selection,
    kind: SourceKind,
) -> Result<Vec<Image>> {
    let mut list = ImageList::new(selection.limits);
    list.descend(blobs, descriptors, None, 0)?;
    list.check_complete(blobs, selection)?;
    let candidates = list.candidates(blobs)?;
    let selected = select(&blobs.subject(), candidates, selection)?;
    read_images(blobs, selected, selection, kind)
}

fn read_images(
    blobs: &dyn Blobs,
    candidates: Vec<Candidate<Listed>>,
    selection: &Selection,
    kind: SourceKind,
) -> Result<Vec<Image>> {
    let mut images = Vec::new();
    let mut artifact = None;
    for mut candidate in candidates {
        let content = match candidate.item.manifest.take() {
            Some(manifest) => Content::Manifest(manifest),
            None => read(blobs, &candidate.item.descriptor)?,
        };
        match content {
            Content::Manifest(manifest) => {
                images.push(image(blobs, candidate, &manifest, kind, &selection.limits)?);
            }
            Content::Artifact(kind) if names_a_platform(&candidate.item.descriptor) => {
                let problem =
                    format!("an index lists an artifact ({kind}) as an image for a platform");
                return Err(error(blobs, problem));
            }
            Content::Artifact(kind) => artifact = Some(kind),
            Content::Index(_) => {
                let name = blobs.blob_name(candidate.item.descriptor.digest().as_ref())?;
                return Err(error(
                    blobs,
                    format!("{name} is an index, but is listed as a manifest"),
                ));
            }
        }
    }
    match artifact {
        Some(kind) if images.is_empty() => Err(only_an_artifact(blobs, &kind)),
        _ => Ok(images),
    }
}

fn only_an_artifact(blobs: &dyn Blobs, kind: &str) -> Error {
    Error::unsupported(
        blobs.subject(),
        format!("contains no image, only an artifact ({kind})"),
    )
}

/// The images that indexes lead to.
struct ImageList {
    limits: Limits,
    seen: u64,
    listed: Vec<(Option<String>, Listed)>,
    /// Listed, but not stored here, with the name of the image: `docker save` writes the whole index of a multi-platform image,
    /// but only one platform.
    missing: Vec<(Option<String>, String)>,
    /// The media type of something stored that is not an image.
    artifact: Option<String>,
}

impl ImageList {
    fn new(limits: Limits) -> Self {
        ImageList {
            limits,
            seen: 0,
            listed: Vec::new(),
            missing: Vec::new(),
            artifact: None,
        }
    }

    fn descend(
        &mut self,
        blobs: &dyn Blobs,
        list: Vec<Descriptor>,
        name: Option<&String>,
        depth: usize,
    ) -> Result<()> {
        if depth > INDEX_DEPTH {
            let problem = format!("indexes are nested more than {INDEX_DEPTH} deep");
            return Err(error(blobs, problem));
        }
        let (about, list): (Vec<_>, Vec<_>) = list.into_iter().partition(is_attestation);
        let mut attestations = by_image(about);
        for descriptor in list {
            self.seen += 1;
            let checked = self.limits.check(Limit::Manifests, self.seen);
            checked.map_err(|exceeded| Error::limit(blobs.subject(), exceeded))?;
            let reference = recorded_name(&descriptor).or_else(|| name.cloned());
            let digest = descriptor.digest().to_string();
            let before = self.listed.len();
            self.follow(blobs, descriptor, reference, depth)?;
            let about = attestations.remove(&digest);
            if let (Some(about), [(_, listed)]) = (about, &mut self.listed[before..]) {
                listed.attestations = about;
            }
        }
        Ok(())
    }

    fn follow(
        &mut self,
        blobs: &dyn Blobs,
        descriptor: Descriptor,
        reference: Option<String>,
        depth: usize,
    ) -> Result<()> {
        let digest = descriptor.digest().as_ref();
        if !blobs.has_blob(digest)? {
            self.missing.push((reference, blobs.blob_name(digest)?));
            return Ok(());
        }
        if is_complete(&descriptor) {
            let manifest = None;
            self.listed.push((
                reference,
                Listed {
                    descriptor,
                    attestations: Vec::new(),
                    manifest,
                },
            ));
            return Ok(());
        }
        match read(blobs, &descriptor)? {
            Content::Index(list) => self.descend(blobs, list, reference.as_ref(), depth + 1)?,
            Content::Manifest(manifest) => {
                let manifest = Some(manifest);
                self.listed.push((
                    reference,
                    Listed {
                        descriptor,
                        attestations: Vec::new(),
                        manifest,
                    },
                ));
            }
            Content::Artifact(kind) => {
                self.artifact.get_or_insert(kind);
            }
        }
        Ok(())
    }

    /// # Errors
    /// A selected image is not stored. A platform may be missing if it is not selected and another one is stored.
    fn check_complete(&self, blobs: &dyn Blobs, selection: &Selection) -> Result<()> {
        let is_selected = |name: &Option<String>| match (&selection.reference, name) {
            (Some(reference), Some(name)) => names::same(reference, name),
            (reference, _) => reference.is_none(),
        };
        let has_other = |name: &Option<String>| self.listed.iter().any(|(it, _)| it == name);
        let absent = self
            .missing
            .iter()
            .find(|(name, _)| is_selected(name) && (selection.all_platforms || !has_other(name)));
        match absent {
            None => Ok(()),
            Some((_, blob)) => Err(error(
                blobs,
                format!("{blob} is missing, so the image is incomplete"),
            )),
        }
    }

    fn candidates(self, blobs: &dyn Blobs) -> Result<Vec<Candidate<Listed>>> {
        if let Some(kind) = &self.artifact
            && self.listed.is_empty()
        {
            return Err(only_an_artifact(blobs, kind));
        }
        let mut candidates = Vec::with_capacity(self.listed.len());
        for (reference, item) in self.listed {
            let platform = match (item.descriptor.platform(), &item.manifest) {
                (None, Some(manifest)) => Platform::of_config(&config(blobs, manifest)?),
                (Some(platform), _) => Platform::of_descriptor(platform),
                (None, None) => continue,
            };
            // Nested in an index, nobody selects it; a name at the top leads to it whatever its platform is.
            if item.descriptor.platform().is_none() || !platform.is_unknown() {
                candidates.push(Candidate {
                    reference,
                    platform,
                    item,
                });
            }
        }
        Ok(candidates)
    }
}

/// Manifests of attestations by the digest of the image that they are about.
fn by_image(attestations: Vec<Descriptor>) -> HashMap<String, Vec<Descriptor>> {
    let mut by_image: HashMap<_, Vec<Descriptor>> = HashMap::new();
    for attestation in attestations {
        let image = attested_digest(&attestation).map(str::to_owned);
        let about = image.map(|image| by_image.entry(image).or_default());
        if let Some(about) = about.filter(|it| it.len() < ATTESTATIONS) {
            about.push(attestation);
        }
    }
    by_image
}

fn config(blobs: &dyn Blobs, manifest: &Manifest) -> Result<ImageConfiguration> {
    blobs::read(
        blobs,
        DocumentKind::Config,
        manifest.config.digest().as_ref(),
    )
}

fn image(
    blobs: &dyn Blobs,
    candidate: Candidate<Listed>,
    manifest: &Manifest,
    kind: SourceKind,
    limits: &Limits,
) -> Result<Image> {
    let config = config(blobs, manifest)?;
    let diff_ids = blobs::diff_ids(&blobs.subject(), &config, manifest.layers.len(), limits)?;
    let layers = manifest
        .layers
        .iter()
        .zip(diff_ids)
        .map(|(layer, diff_id)| layer_blob(blobs, layer, diff_id));
    Ok(Image {
        reference: candidate.reference.map(with_repository),
        kind,
        access: None,
        platform: candidate.platform.to_string(),
        digest: Some(candidate.item.descriptor.digest().to_string()),
        config_digest: Some(manifest.config.digest().to_string()),
        layers: layers.collect::<Result<_>>()?,
        config: config.into(),
        attestations: candidate.item.attestations,
    })
}

fn layer_blob(blobs: &dyn Blobs, layer: &Descriptor, diff_id: String) -> Result<LayerBlob> {
    let digest = layer.digest().to_string();
    if is_foreign(layer.media_type()) && !blobs.has_blob(&digest)? {
        return Err(error(
            blobs,
            format!(
                "layer {digest} is non-distributable and stored elsewhere, so it cannot be read"
            ),
        ));
    }
    Ok(LayerBlob {
        diff_id,
        digest: Some(digest),
        annotations: layer.annotations().clone().unwrap_or_default(),
        size: layer.size(),
        data: blobs.layer(layer)?,
    })
}

/// `org.opencontainers.image.ref.name` is often only a tag (skopeo's `oci:DIR:TAG`), which must not be taken for the name of a
/// repository.
fn with_repository(name: String) -> String {
    if name.contains([':', '/', '@']) {
        name
    } else {
        only_tag::with_repository(&name)
    }
}
