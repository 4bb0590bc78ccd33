//! What a repository holds beside an image: the artifacts that refer to it (OCI distribution specification 1.1, "Listing Referrers").

use oci_spec::image::{Descriptor, ImageIndex, ImageManifest};
use serde_json::Value;

use super::access::Access;
use super::address::Address;
use super::body::Body;
use super::failure::{Failure, Kind};
use super::first_that_has;
use super::images::RepositoryBlobs;
use super::link::next_query;
use super::repository::Repository;
use super::retry::retry;
use crate::attest::artifact::{Blob, INDEX, MANIFEST, referrers_tag};
use crate::cache::Key;
use crate::source::blobs::{self, DocumentKind};
use crate::source::request::Request;
use imgcheck_base::digest::sha256;
use imgcheck_base::error::{ErrorCode, Result};
use imgcheck_base::limits::Limit;
use imgcheck_base::reference::name::Name;

/// Referrers of one manifest that are listed.
pub const MAX_REFERRERS: usize = 1_000;
/// Pages of such a list that are read.
const PAGES: usize = 20;

/// The manifests and blobs of a repository, in its own registry: mirrors need not have what refers to an image.
#[derive(Debug)]
pub struct Artifacts {
    pub(super) reference: String,
    pub(super) blobs: RepositoryBlobs,
}

impl Artifacts {
    /// The repository of a reference. Nothing is requested yet.
    ///
    /// # Errors
    /// The reference is not one, or a certificate cannot be read.
    pub fn open(reference: &str, access: Access, request: &Request) -> Result<Self> {
        let name = reference.parse::<Name>()?.canonical();
        let repository = request.registries.repository(
            Address::of(&name),
            request.credentials.clone(),
            access,
            request.bounds.cancellation.clone(),
        )?;
        let (cache, limits) = (request.cache.clone(), request.bounds.limits);
        Ok(Artifacts {
            blobs: RepositoryBlobs::new(reference, repository, cache, limits),
            reference: reference.to_owned(),
        })
    }

    /// The repository that has an image, in a mirror or its registry, and the list of what refers to a manifest there, as
    /// [`referrers`](Self::referrers).
    ///
    /// # Errors
    /// Same as [`open`](Self::open) and [`referrers`](Self::referrers).
    pub fn beside(reference: &str, digest: &str, request: &Request) -> Result<(Self, ImageIndex)> {
        let (blobs, list) = first_that_has(reference, request, |blobs, _| {
            blobs.repository.run(blobs.referrers(digest))
        })?;
        let reference = reference.to_owned();
        Ok((Artifacts { reference, blobs }, list))
    }

    /// The manifest or index with a digest or tag; `None` if the registry has none.
    ///
    /// # Errors
    /// The registry did not answer, or what it sent is damaged.
    pub fn manifest(&self, name: &str) -> Result<Option<Blob>> {
        let found = self.run(async {
            match self.blobs.fetch(DocumentKind::Manifest, name).await {
                Ok(bytes) => Ok(Some(bytes)),
                Err(failure) if failure.code() == ErrorCode::NotFound => Ok(None),
                Err(failure) => Err(failure),
            }
        })?;
        let Some(bytes) = found else { return Ok(None) };
        if name.starts_with("sha256:") && sha256(&bytes) != name {
            let problem = format!("the registry sent a damaged manifest instead of {name}");
            return Err(Failure::damaged(problem).into_error(&self.reference));
        }
        Ok(Some(Blob::new(&media_type(&bytes), bytes)))
    }

    /// Same as [`manifest`](Self::manifest), of an image or artifact.
    ///
    /// # Errors
    /// As there; also if it does not exist or is not a manifest.
    pub fn image_manifest(&self, digest: &str) -> Result<ImageManifest> {
        let damaged = |problem: String| Failure::damaged(problem).into_error(&self.reference);
        let found = self.manifest(digest)?;
        let found = found.ok_or_else(|| {
            Failure::not_found(format!("the registry has no manifest {digest}"))
                .into_error(&self.reference)
        })?;
        serde_json::from_slice(&found.bytes)
            .map_err(|error| damaged(format!("{digest} is not a manifest: {error}")))
    }

    /// The manifest with a digest, from the cache if that has it.
    ///
    /// # Errors
    /// Same as [`image_manifest`](Self::image_manifest).
    pub fn cached_manifest(&self, digest: &str) -> Result<ImageManifest> {
        blobs::read(&self.blobs, DocumentKind::Manifest, digest)
    }

    /// A blob of at most `longest` bytes, from the cache if that has it. Its digest is verified.
    ///
    /// # Errors
    /// The registry did not answer, or the blob is too long, missing or damaged.
    pub fn blob(&self, descriptor: &Descriptor, longest: u64) -> Result<Vec<u8>> {
        let digest = descriptor.digest().to_string();
        let key = Key::Document {
            digest: digest.clone(),
        };
        if let Some(bytes) = self.blobs.cache().get(&key) {
            return Ok(bytes);
        }
        let size = descriptor.size();
        let refuse = |failure: Failure| failure.into_error(&self.reference);
        if size > longest {
            let problem = format!("{digest} has {size} bytes, more than {longest}");
            return Err(refuse(Failure::damaged(problem)));
        }
        let path = format!("blobs/{digest}");
        let repository = self.repository();
        let bytes = self.run(retry(repository.policy(), async || {
            let response = repository.get(&path, |request| request).await?;
            let mut body = Body::new(response, repository.policy());
            body.read_all(size.saturating_add(1)).await
        }))?;
        if sha256(&bytes) != digest {
            return Err(refuse(Failure::damaged(format!(
                "the registry sent a damaged blob instead of {digest}"
            ))));
        }
        self.blobs.cache().put(&key, &bytes);
        Ok(bytes)
    }

    /// The artifacts that refer to a manifest, at most `MAX_REFERRERS`: by the referrers API, else by the fallback tag.
    ///
    /// # Errors
    /// The registry did not answer, or what it sent is not a list.
    pub fn referrers(&self, digest: &str) -> Result<ImageIndex> {
        self.run(self.blobs.referrers(digest))
    }

    pub(super) fn repository(&self) -> &Repository {
        &self.blobs.repository
    }

    pub(super) fn run<T>(&self, future: impl Future<Output = Result<T, Failure>>) -> Result<T> {
        let answer = self.repository().run(future);
        answer.map_err(|failure| failure.into_error(&self.reference))
    }
}

impl RepositoryBlobs {
    async fn referrers(&self, digest: &str) -> Result<ImageIndex, Failure> {
        match self.listed(digest).await {
            Err(failure) if has_no_api(&failure) => self.tagged(digest).await,
            listed => listed,
        }
    }

    async fn listed(&self, digest: &str) -> Result<ImageIndex, Failure> {
        let repository = &self.repository;
        let longest = self.limits().of(Limit::DocumentBytes).saturating_add(1);
        let mut all = ImageIndex::default();
        let mut entries = Vec::new();
        let mut next = Some(format!("referrers/{digest}"));
        for _ in 0..PAGES {
            let Some(path) = next.take() else { break };
            let (bytes, query) = retry(repository.policy(), async || {
                let response = repository.get(&path, |request| request).await?;
                let query = next_query(&response);
                let mut body = Body::new(response, repository.policy());
                Ok((body.read_all(longest).await?, query))
            })
            .await?;
            entries.extend(index(&bytes)?.manifests().iter().cloned());
            if entries.len() >= MAX_REFERRERS {
                break;
            }
            next = query.map(|query| format!("referrers/{digest}?{query}"));
        }
        entries.truncate(MAX_REFERRERS);
        all.set_manifests(entries);
        Ok(all)
    }

    async fn tagged(&self, digest: &str) -> Result<ImageIndex, Failure> {
        let tag = referrers_tag(digest);
        let mut list = match self.fetch(DocumentKind::Manifest, &tag).await {
            Ok(bytes) => index(&bytes)?,
            Err(failure) if failure.code() == ErrorCode::NotFound => ImageIndex::default(),
            Err(failure) => return Err(failure),
        };
        let mut entries = list.manifests().clone();
        entries.truncate(MAX_REFERRERS);
        list.set_manifests(entries);
        Ok(list)
    }
}

/// Registries without the API answer in many ways; those that are busy, or want other credentials, have it perhaps.
fn has_no_api(failure: &Failure) -> bool {
    let is_refused = [ErrorCode::Unauthorized, ErrorCode::Forbidden].contains(&failure.code());
    matches!(failure.kind, Kind::Final(_)) && !is_refused
}

fn index(bytes: &[u8]) -> Result<ImageIndex, Failure> {
    serde_json::from_slice(bytes)
        .map_err(|error| Failure::damaged(format!("the list of referrers is not one: {error}")))
}

/// The type that a manifest says it has.
fn media_type(bytes: &[u8]) -> String {
    let document: Value = serde_json::from_slice(bytes).unwrap_or_default();
    match (document["mediaType"].as_str(), &document["manifests"]) {
        (Some(own), _) => own.to_owned(),
        (None, Value::Array(_)) => INDEX.to_owned(),
        (None, _) => MANIFEST.to_owned(),
    }
}
