//! Writes artifacts to a repository (OCI distribution specification 1.1, "Push").

use bytes::Bytes;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, Response};
use serde_json::Value;

use super::artifacts::Artifacts;
use super::failure::{Failure, Kind};
use super::retry::retry;
use crate::attest::artifact::{Artifact, Blob};
use imgcheck_base::error::{ErrorCode, Result};

/// The header by which a registry says that it lists an artifact as a referrer.
const SUBJECT: &str = "oci-subject";

impl Artifacts {
    /// Pushes artifacts. Returns the entries of those that the registry does not list as referrers by itself.
    ///
    /// # Errors
    /// The registry refuses, or did not answer.
    pub fn push(&self, artifacts: &[Artifact]) -> Result<Vec<Value>> {
        let mut unlisted = Vec::new();
        for artifact in artifacts {
            for blob in &artifact.blobs {
                self.push_blob(blob)?;
            }
            if !self.push_manifest(&artifact.manifest)? {
                unlisted.push(artifact.entry());
            }
        }
        Ok(unlisted)
    }

    /// Deletes a manifest if the registry allows it, which many do not.
    ///
    /// # Errors
    /// The request was cancelled.
    pub fn delete(&self, digest: &str) -> Result<()> {
        let path = format!("manifests/{digest}");
        let repository = self.repository();
        self.run(async {
            match repository.request(Method::DELETE, &path, |it| it).await {
                Err(failure) if failure.kind == Kind::Cancelled => Err(failure),
                _ => Ok(()),
            }
        })
    }

    /// Pushes a blob, unless the repository has it.
    pub(super) fn push_blob(&self, blob: &Blob) -> Result<()> {
        let (repository, digest) = (self.repository(), blob.digest());
        let (path, body) = (format!("blobs/{digest}"), Bytes::from(blob.bytes.clone()));
        self.run(retry(repository.policy(), async || {
            match repository.request(Method::HEAD, &path, |it| it).await {
                Ok(_) => return Ok(()),
                Err(failure) if failure.code() == ErrorCode::NotFound => {}
                Err(failure) => return Err(failure),
            }
            let empty = |request: reqwest::RequestBuilder| request.header(CONTENT_LENGTH, 0);
            let begun = repository.request(Method::POST, "blobs/uploads/", empty);
            let mut url = location(&begun.await?)?;
            url.query_pairs_mut().append_pair("digest", &digest);
            let put = repository.request_url(Method::PUT, url, |request| {
                let request = request.header(CONTENT_TYPE, "application/octet-stream");
                request.body(body.clone())
            });
            put.await.map(|_| ())
        }))
    }

    /// Pushes a manifest under its digest. Returns whether the registry lists it as a referrer of its subject.
    fn push_manifest(&self, manifest: &Blob) -> Result<bool> {
        let (policy, digest) = (self.repository().policy(), manifest.digest());
        self.run(retry(policy, async || {
            let response = self.put_manifest(&digest, manifest, None).await?;
            Ok(response.headers().contains_key(SUBJECT))
        }))
    }

    /// Puts a manifest under a tag or its digest, once; with a condition, only if that holds, where the registry heeds it.
    pub(super) async fn put_manifest(
        &self,
        name: &str,
        manifest: &Blob,
        condition: Option<(HeaderName, HeaderValue)>,
    ) -> Result<Response, Failure> {
        let body = Bytes::from(manifest.bytes.clone());
        let headers: HeaderMap = condition.into_iter().collect();
        let path = format!("manifests/{name}");
        let put = self.repository().request(Method::PUT, &path, |request| {
            let request = request.headers(headers.clone()).body(body.clone());
            request.header(CONTENT_TYPE, &manifest.media_type)
        });
        put.await
    }
}

/// Where to send a blob.
fn location(response: &Response) -> Result<reqwest::Url, Failure> {
    let location = response.headers().get(LOCATION);
    let location = location.and_then(|it| it.to_str().ok());
    let url = location.and_then(|it| response.url().join(it).ok());
    url.ok_or_else(|| Failure::damaged("the registry does not say where to upload a blob"))
}
