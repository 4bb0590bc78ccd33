//! The documents and layers of an image in a repository.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use oci_spec::image::{Descriptor, MediaType, Sha256Digest};
use reqwest::Method;
use reqwest::header::{ACCEPT, ETAG, HeaderValue};
use serde::Deserialize;

use super::body::Body;
use super::download::Blob;
use super::failure::{Failure, host};
use super::repository::Repository;
use super::retry::retry;
use crate::cache::{Cache, Key};
use crate::source::blobs::{self, Blobs, DocumentKind};
use crate::source::image::LayerData;
use imgcheck_base::digest;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::{Limit, Limits};

/// The manifest types that are supported; without them registries convert to older ones.
const MANIFEST_TYPES: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.docker.distribution.manifest.v2+json";

/// The blobs of a repository. Documents in the cache are not fetched again.
#[derive(Debug)]
pub(super) struct RepositoryBlobs {
    reference: String,
    pub repository: Arc<Repository>,
    cache: Cache,
    limits: Limits,
    documents: Mutex<HashMap<String, Vec<u8>>>,
}

impl RepositoryBlobs {
    pub fn new(reference: &str, repository: Repository, cache: Cache, limits: Limits) -> Self {
        RepositoryBlobs {
            reference: reference.to_owned(),
            repository: Arc::new(repository),
            cache,
            limits,
            documents: Mutex::default(),
        }
    }

    /// Documents and blobs of earlier requests.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Bounds on what a registry may send.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A descriptor of the manifest or index with a tag or digest. The document is kept.
    ///
    /// It blocks, as the cache does.
    pub fn resolve(&self, name: &str) -> Result<Descriptor, Failure> {
        let is_digest = digest::hexadecimal(name).is_some();
        if let Some(bytes) = self.kept(name).filter(|_| is_digest) {
            return describe(name, &bytes);
        }
        let fetched = self.fetch(DocumentKind::Manifest, name);
        let bytes = self.repository.run(fetched)?;
        let digest = digest::sha256(&bytes);
        if is_digest {
            check_digest(&self.repository.address.registry, &bytes, name)?;
        }
        refuse_schema_1(&bytes)?;
        let descriptor = describe(&digest, &bytes)?;
        self.keep(&digest, bytes)?;
        Ok(descriptor)
    }

    /// The digest of the manifest or index with a tag or digest, by a HEAD request. It is what the registry says: whoever reads it verifies
    /// it.
    pub fn digest(&self, name: &str) -> Result<String, Failure> {
        let path = format!("manifests/{name}");
        let accept = |request: reqwest::RequestBuilder| request.header(ACCEPT, MANIFEST_TYPES);
        let head = async || self.repository.request(Method::HEAD, &path, accept).await;
        let policy = self.repository.policy();
        let response = self.repository.run(retry(policy, head))?;
        if digest::hexadecimal(name).is_some() {
            return Ok(name.to_owned());
        }
        match claimed_digest(&response) {
            Some(digest) => Ok(digest),
            None => Ok(self.resolve(name)?.digest().to_string()),
        }
    }

    fn kept(&self, digest: &str) -> Option<Vec<u8>> {
        let documents = self
            .documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = documents.get(digest) {
            return Some(bytes.clone());
        }
        self.cache.get(&Key::Document {
            digest: digest.to_owned(),
        })
    }

    /// # Errors
    /// All documents together exceed their limit.
    fn keep(&self, digest: &str, bytes: Vec<u8>) -> Result<(), Failure> {
        let mut documents = self
            .documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let kept: usize = documents.values().map(Vec::len).sum();
        let all = (kept + bytes.len()) as u64;
        self.limits.check(Limit::DocumentsBytes, all)?;
        let key = Key::Document {
            digest: digest.to_owned(),
        };
        self.cache.put(&key, &bytes);
        documents.insert(digest.to_owned(), bytes);
        Ok(())
    }

    /// The bytes of a document, as the registry sends them.
    pub async fn fetch(&self, kind: DocumentKind, name: &str) -> Result<Vec<u8>, Failure> {
        let fetched = self.fetch_with_entity_tag(kind, name).await;
        fetched.map(|(bytes, _)| bytes)
    }

    /// Like [`fetch`](Self::fetch), with the entity tag by which a condition can name this version (RFC 9110, section 8.8.3).
    pub async fn fetch_with_entity_tag(
        &self,
        kind: DocumentKind,
        name: &str,
    ) -> Result<(Vec<u8>, Option<HeaderValue>), Failure> {
        let path = match kind {
            DocumentKind::Manifest => format!("manifests/{name}"),
            DocumentKind::Config => format!("blobs/{name}"),
        };
        retry(self.repository.policy(), async || {
            self.fetch_once(kind, &path).await
        })
        .await
    }

    async fn fetch_once(
        &self,
        kind: DocumentKind,
        path: &str,
    ) -> Result<(Vec<u8>, Option<HeaderValue>), Failure> {
        let prepare = |request: reqwest::RequestBuilder| match kind {
            DocumentKind::Manifest => request.header(ACCEPT, MANIFEST_TYPES),
            DocumentKind::Config => request,
        };
        let response = self.repository.get(path, prepare).await?;
        let host = host(&response);
        let claimed = claimed_digest(&response);
        let entity_tag = response.headers().get(ETAG).cloned();
        let length = response.content_length().unwrap_or(0);
        self.limits.check(Limit::DocumentBytes, length)?;
        let one_more = self.limits.of(Limit::DocumentBytes).saturating_add(1);
        let mut body = Body::new(response, self.repository.policy());
        let bytes = body.read_all(one_more).await?;
        self.limits
            .check(Limit::DocumentBytes, bytes.len() as u64)?;
        if let Some(claimed) = claimed {
            check_digest(&host, &bytes, &claimed)?;
        }
        Ok((bytes, entity_tag))
    }
}

impl Blobs for RepositoryBlobs {
    fn subject(&self) -> String {
        self.reference.clone()
    }

    fn blob_name(&self, digest: &str) -> Result<String> {
        match digest::hexadecimal(digest) {
            Some(_) => Ok(digest.to_owned()),
            None => Err(Error::unsupported(
                &self.reference,
                format!("`{digest}` is not a SHA-256 digest"),
            )),
        }
    }

    fn has_blob(&self, digest: &str) -> Result<bool> {
        self.blob_name(digest).map(|_| true)
    }

    fn read_document(&self, kind: DocumentKind, digest: &str) -> Result<Vec<u8>> {
        let name = self.blob_name(digest)?;
        if let Some(bytes) = self.kept(digest) {
            return Ok(bytes);
        }
        let bytes = self
            .repository
            .run(self.fetch(kind, digest))
            .map_err(|failure| failure.into_error(&format!("{}: {name}", self.reference)))?;
        blobs::verify(&self.reference, &name, &bytes, digest)?;
        self.keep(digest, bytes.clone())
            .map_err(|failure| failure.into_error(&self.reference))?;
        Ok(bytes)
    }

    fn layer(&self, layer: &Descriptor) -> Result<LayerData> {
        let digest = self.blob_name(layer.digest().as_ref())?;
        Ok(LayerData::Remote(Arc::new(Blob {
            repository: Arc::clone(&self.repository),
            digest,
            size: layer.size(),
        })))
    }
}

/// The digest that a registry says a manifest has.
fn claimed_digest(response: &reqwest::Response) -> Option<String> {
    let claimed = response.headers().get("docker-content-digest")?;
    let claimed = claimed.to_str().ok()?;
    digest::hexadecimal(claimed).map(|_| claimed.to_owned())
}

fn check_digest(host: &str, bytes: &[u8], expected: &str) -> Result<(), Failure> {
    let actual = digest::sha256(bytes);
    if actual == expected {
        return Ok(());
    }
    Err(Failure::damaged(format!(
        "{host} sent a damaged manifest: its digest is {actual}, expected {expected}"
    )))
}

fn describe(digest: &str, bytes: &[u8]) -> Result<Descriptor, Failure> {
    let hex = digest::hexadecimal(digest).unwrap_or_default();
    let digest: Sha256Digest = hex
        .parse()
        .map_err(|_| Failure::unsupported(format!("`{digest}` is not a SHA-256 digest")))?;
    // The members of the document decide whether it is a manifest or an index.
    let any = MediaType::Other(String::new());
    Ok(Descriptor::new(any, bytes.len() as u64, digest))
}

/// Manifests from before 2016 have neither digests of configurations nor diff ids.
fn refuse_schema_1(bytes: &[u8]) -> Result<(), Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Versioned {
        schema_version: u64,
    }
    match serde_json::from_slice(bytes) {
        Ok(Versioned { schema_version: 1 }) => Err(Failure::unsupported(
            "the manifest uses Docker's schema 1, deprecated since 2016, which does not describe the layers",
        )
        .with_help("pull the image with an old Docker version, and push it again")),
        _ => Ok(()),
    }
}
