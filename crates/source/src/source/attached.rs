//! Bills of materials beside an image: artifacts that refer to it in its registry, and BuildKit's attestations in the index that lists it.

use oci_spec::image::{Descriptor, ImageManifest};

use super::blobs::{self, DocumentKind};
use super::image::SourceKind;
use super::registry::Artifacts;
use super::request::Request;
use super::store::Store;
use crate::attest::sbom;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::reference::transport::ImageReference;

/// Maximum length of a bill of materials, in bytes. Those of BuildKit list every file of an image.
const LONGEST: u64 = 64 << 20;
/// Bills of materials of one image that are read.
const MOST: usize = 8;

/// An image beside which bills of materials may lie.
#[derive(Debug, Clone, Copy)]
pub struct Attachments<'a> {
    /// What the user named.
    pub named: &'a ImageReference,
    /// The reference of an image in a registry.
    pub reference: Option<&'a str>,
    /// Where it was found.
    pub kind: SourceKind,
    /// Digest of its manifest.
    pub digest: &'a str,
    /// Manifests of attestations about it.
    pub attestations: &'a [Descriptor],
}

/// The bills of materials beside an image, unread.
#[derive(Debug, Default)]
pub struct AttachedSboms {
    /// Digests and bytes.
    pub documents: Vec<(String, Vec<u8>)>,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

/// Where they are.
enum Beside {
    Registry(Artifacts),
    Layout(Store),
}

impl Attachments<'_> {
    /// Reads the bills of materials. A registry is sent one request if there are none, or two if it has no referrers API.
    ///
    /// # Errors
    /// The request was cancelled.
    pub fn sboms(&self, request: &Request) -> Result<AttachedSboms> {
        let mut found = AttachedSboms::default();
        let (beside, listed) = match self.open(request) {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(found),
            Err(error) if error.is_interrupted() => return Err(error),
            Err(error) => {
                let problem = error.message();
                found.problems.push(format!(
                    "what lies beside the image cannot be listed: {problem}"
                ));
                return Ok(found);
            }
        };
        for manifest in listed.iter().chain(self.attestations) {
            request.bounds.cancellation.check()?;
            let digest = manifest.digest().to_string();
            match beside.manifest(&digest) {
                Ok(manifest) => beside.read(&manifest, &mut found)?,
                Err(error) => found.note(&digest, error)?,
            }
        }
        Ok(found)
    }

    /// The place, and the artifacts there that are listed as bills of materials.
    fn open(&self, request: &Request) -> Result<Option<(Beside, Vec<Descriptor>)>> {
        let beside = match (self.kind, self.reference, self.named.path()) {
            (SourceKind::Registry, Some(reference), _) => {
                let (artifacts, index) = Artifacts::beside(reference, self.digest, request)?;
                let listed = index.manifests().iter().filter(|it| sbom::is_listed(it));
                let listed = listed.take(MOST).cloned().collect();
                return Ok(Some((Beside::Registry(artifacts), listed)));
            }
            _ if self.attestations.is_empty() => return Ok(None),
            (SourceKind::Oci, _, Some(path)) => Store::directory(path, request.bounds.limits)?,
            // One that is compressed as a whole was read as a stream.
            (SourceKind::OciArchive, _, Some(path)) => match Store::archive(path, request) {
                Ok(store) => store,
                Err(error) if error.is_interrupted() => return Err(error),
                Err(_) => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some((Beside::Layout(beside), Vec::new())))
    }
}

impl Beside {
    fn manifest(&self, digest: &str) -> Result<ImageManifest> {
        match self {
            Beside::Registry(artifacts) => artifacts.cached_manifest(digest),
            Beside::Layout(store) => blobs::read(store, DocumentKind::Manifest, digest),
        }
    }

    /// Adds the bills of materials of a manifest.
    fn read(&self, manifest: &ImageManifest, found: &mut AttachedSboms) -> Result<()> {
        for layer in sbom::layers(manifest) {
            if found.documents.len() >= MOST {
                break;
            }
            let read = match self {
                Beside::Registry(artifacts) => artifacts.blob(layer, LONGEST),
                Beside::Layout(store) => store.bytes(layer, LONGEST),
            };
            let digest = layer.digest().to_string();
            match read {
                Ok(bytes) => found.documents.push((digest, bytes)),
                Err(error) => found.note(&digest, error)?,
            }
        }
        Ok(())
    }
}

impl AttachedSboms {
    /// # Errors
    /// The request was cancelled; whatever else happened is a problem.
    fn note(&mut self, digest: &str, error: Error) -> Result<()> {
        if error.is_interrupted() {
            return Err(error);
        }
        let problem = error.message();
        self.problems
            .push(format!("the SBOM {digest} cannot be read: {problem}"));
        Ok(())
    }
}
