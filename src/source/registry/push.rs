//! Writes artifacts to a repository (OCI distribution specification 1.1, "Push").

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use bytes::Bytes;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use reqwest::{Method, Response};
use serde_json::Value;

use super::artifacts::Artifacts;
use super::failure::{Failure, Kind};
use super::retry::retry;
use crate::attest::artifact::{Artifact, Blob, INDEX, referrers_tag, with_entries};
use crate::error::{Error, ErrorCode, Result};

/// The header by which a registry says that it lists an artifact as a referrer.
const SUBJECT: &str = "oci-subject";
/// A tag is looked at so often after it was written, to see whether others who read it before wrote it, too.
const LOOKS: usize = 3;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// How often a tag is written that others write at the same time.
const WRITES: usize = 60;

impl Artifacts {
    /// Pushes artifacts about a manifest, and lists them where the registry does not do so by itself. Those that they supersede are no
    /// longer listed, and deleted if the registry allows it.
    ///
    /// # Errors
    /// The registry refuses, or did not answer.
    pub fn push(&self, subject: &str, artifacts: &[Artifact], superseded: &[&str]) -> Result<()> {
        let mut unlisted: Vec<Value> = Vec::new();
        for artifact in artifacts {
            for blob in &artifact.blobs {
                self.push_blob(blob)?;
            }
            let digest = artifact.manifest.digest();
            if !self.push_manifest(&digest, &artifact.manifest)? {
                unlisted.push(artifact.entry());
            }
        }
        if !unlisted.is_empty() {
            self.update(&referrers_tag(subject), |index| {
                let index = with_entries(index, &unlisted, superseded)?;
                Ok(index.map(|bytes| (Blob::new(INDEX, bytes), Vec::new())))
            })?;
        }
        let new: Vec<String> = artifacts.iter().map(|it| it.manifest.digest()).collect();
        for digest in superseded
            .iter()
            .filter(|it| !new.iter().any(|new| new == *it))
        {
            self.delete(digest)?;
        }
        Ok(())
    }

    /// Deletes a manifest. Many registries refuse it.
    fn delete(&self, digest: &str) -> Result<()> {
        let path = format!("manifests/{digest}");
        let repository = self.repository();
        self.run(async {
            match repository.request(Method::DELETE, &path, |it| it).await {
                Err(failure) if failure.kind == Kind::Cancelled => Err(failure),
                _ => Ok(()),
            }
        })
    }

    /// Changes what a tag names, until others do not undo it. `change` is given the manifest of the tag, if it exists, and returns
    /// another one with the blobs that it names; `None` if the manifest is as it should be. No registry can compare and swap: a writer
    /// that stops between reading and writing for longer than this looks can still undo it.
    ///
    /// # Errors
    /// The registry refuses or did not answer; what it has cannot be changed; others write without end.
    pub fn update(
        &self,
        tag: &str,
        change: impl Fn(Option<&[u8]>) -> Result<Option<(Blob, Vec<Blob>)>, String>,
    ) -> Result<()> {
        let mut waits = ExponentialBuilder::new()
            .with_jitter()
            .with_min_delay(Duration::from_millis(20))
            .with_max_delay(Duration::from_secs(1))
            .with_max_times(WRITES)
            .build();
        let (mut looks, mut is_written) = (0, false);
        loop {
            let current = self.manifest(tag)?;
            let current = current.as_ref().map(|it| it.bytes.as_slice());
            let changed = change(current).map_err(|problem| {
                Error::damaged(&self.reference, format!("the tag {tag}: {problem}"))
            })?;
            match changed {
                None if !is_written || looks == LOOKS => return Ok(()),
                None => {
                    looks += 1;
                    self.wait(BETWEEN_LOOKS)?;
                }
                Some((manifest, blobs)) => {
                    for blob in &blobs {
                        self.push_blob(blob)?;
                    }
                    self.push_manifest(tag, &manifest)?;
                    (looks, is_written) = (0, true);
                    let wait = waits.next().ok_or_else(|| {
                        let problem = format!("others write the tag {tag} all the time");
                        Error::new(ErrorCode::Unreachable, &self.reference, problem)
                            .with_help("try again later")
                    })?;
                    self.wait(wait)?;
                }
            }
        }
    }

    fn wait(&self, time: Duration) -> Result<()> {
        self.run(async {
            tokio::time::sleep(time).await;
            Ok(())
        })
    }

    /// Pushes a blob, unless the repository has it.
    fn push_blob(&self, blob: &Blob) -> Result<()> {
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

    /// Pushes a manifest under a tag or its digest. Returns whether the registry lists it as a referrer of its subject.
    fn push_manifest(&self, name: &str, manifest: &Blob) -> Result<bool> {
        let repository = self.repository();
        let (path, body) = (
            format!("manifests/{name}"),
            Bytes::from(manifest.bytes.clone()),
        );
        self.run(retry(repository.policy(), async || {
            let put = repository.request(Method::PUT, &path, |request| {
                let request = request.header(CONTENT_TYPE, &manifest.media_type);
                request.body(body.clone())
            });
            Ok(put.await?.headers().contains_key(SUBJECT))
        }))
    }
}

/// Where to send a blob.
fn location(response: &Response) -> Result<reqwest::Url, Failure> {
    let location = response.headers().get(LOCATION);
    let location = location.and_then(|it| it.to_str().ok());
    let url = location.and_then(|it| response.url().join(it).ok());
    url.ok_or_else(|| Failure::damaged("the registry does not say where to upload a blob"))
}
