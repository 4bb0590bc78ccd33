//! The documents and layers of an image, as a repository has them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use oci_spec::image::{Descriptor, MediaType, Sha256Digest};
use reqwest::header::ACCEPT;
use serde::Deserialize;

use super::super::blobs::{self, Blobs, Part};
use super::super::{Access, LayerData};
use super::body::Body;
use super::download::Blob;
use super::failure::{Failure, Kind, host};
use super::repository::Repository;
use super::retry::retry;
use crate::cache::{Cache, Key};
use crate::digest;
use crate::error::{Error, Result};
use crate::limits::{Limit, Limits};

/// The kinds of manifests that are understood; without them registries convert to older ones.
const MANIFEST_TYPES: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.docker.distribution.manifest.v2+json";

/// What a reference leads to. Documents that were ever fetched are not fetched again.
#[derive(Debug)]
pub(super) struct Found {
    reference: String,
    repository: Arc<Repository>,
    cache: Cache,
    limits: Limits,
    read: Mutex<HashMap<String, Vec<u8>>>,
}

impl Found {
    pub fn new(reference: &str, repository: Arc<Repository>, access: &Access) -> Self {
        Found {
            reference: reference.to_owned(),
            repository,
            cache: access.cache.clone(),
            limits: access.limits,
            read: Mutex::default(),
        }
    }

    /// The manifest or index that a tag or a digest names, as a descriptor. The document is kept.
    pub fn resolve(&self, named: &str) -> Result<Descriptor, Failure> {
        let is_digest = digest::hexadecimal(named).is_some();
        if let Some(bytes) = self.kept(named).filter(|_| is_digest) {
            return described(named, &bytes);
        }
        let bytes = self.fetch(Part::Manifest, named)?;
        let found = digest::sha256(&bytes);
        if is_digest {
            check_digest(&self.repository.address.registry, &bytes, named)?;
        }
        refuse_schema_1(&bytes)?;
        let descriptor = described(&found, &bytes)?;
        self.keep(&found, bytes)?;
        Ok(descriptor)
    }

    fn kept(&self, digest: &str) -> Option<Vec<u8>> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = read.get(digest) {
            return Some(bytes.clone());
        }
        self.cache.get(&Key::Document {
            digest: digest.to_owned(),
        })
    }

    /// # Errors
    /// There are so many documents already that no image can need them.
    fn keep(&self, digest: &str, bytes: Vec<u8>) -> Result<(), Failure> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: usize = read.values().map(Vec::len).sum();
        let all = (kept + bytes.len()) as u64;
        let checked = self.limits.check(Limit::DocumentsBytes, all);
        checked.map_err(Failure::of_limit)?;
        let key = Key::Document {
            digest: digest.to_owned(),
        };
        self.cache.put(&key, &bytes);
        read.insert(digest.to_owned(), bytes);
        Ok(())
    }

    /// The bytes of a document, as the registry gives them.
    fn fetch(&self, part: Part, named: &str) -> Result<Vec<u8>, Failure> {
        let path = match part {
            Part::Manifest => format!("manifests/{named}"),
            Part::Config => format!("blobs/{named}"),
        };
        let patience = self.repository.patience();
        retry(patience, || {
            let response = self.repository.get(&path, |request| match part {
                Part::Manifest => request.header(ACCEPT, MANIFEST_TYPES),
                Part::Config => request,
            })?;
            let host = host(&response);
            let claimed = response
                .headers()
                .get("docker-content-digest")
                .and_then(|value| value.to_str().ok())
                .filter(|claimed| digest::hexadecimal(claimed).is_some())
                .map(str::to_owned);
            let length = response.content_length().unwrap_or(0);
            let check = |met| self.limits.check(Limit::DocumentBytes, met);
            check(length).map_err(Failure::of_limit)?;
            let most = self.limits.of(Limit::DocumentBytes).saturating_add(1);
            let bytes = Body::new(response, patience).read_all(most)?;
            check(bytes.len() as u64).map_err(Failure::of_limit)?;
            if let Some(claimed) = claimed {
                check_digest(&host, &bytes, &claimed)?;
            }
            Ok(bytes)
        })
    }
}

impl Blobs for Found {
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

    fn read_document(&self, part: Part, digest: &str) -> Result<Vec<u8>> {
        let name = self.blob_name(digest)?;
        if let Some(bytes) = self.kept(digest) {
            return Ok(bytes);
        }
        let bytes = self
            .fetch(part, digest)
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

fn check_digest(host: &str, bytes: &[u8], expected: &str) -> Result<(), Failure> {
    let found = digest::sha256(bytes);
    if found == expected {
        return Ok(());
    }
    Err(Failure::new(
        Kind::Final,
        format!("{host} gave a damaged manifest: its digest is {found}, it should be {expected}"),
    ))
}

fn described(digest: &str, bytes: &[u8]) -> Result<Descriptor, Failure> {
    let hex = digest::hexadecimal(digest).unwrap_or_default();
    let digest: Sha256Digest = hex
        .parse()
        .map_err(|_| Failure::new(Kind::Final, format!("`{digest}` is not a SHA-256 digest")))?;
    // Whether it is a manifest or an index, its members say.
    let any = MediaType::Other(String::new());
    Ok(Descriptor::new(any, bytes.len() as u64, digest))
}

/// Manifests of the years before 2016 have no digests of configs and diff ids.
fn refuse_schema_1(bytes: &[u8]) -> Result<(), Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Versioned {
        schema_version: u64,
    }
    match serde_json::from_slice(bytes) {
        Ok(Versioned { schema_version: 1 }) => Err(Failure::new(
            Kind::Final,
            "the manifest has Docker's schema 1, which was given up in 2016 and does not describe the layers",
        )
        .with_help("pull the image with an engine that still can, and push it again")),
        _ => Ok(()),
    }
}
