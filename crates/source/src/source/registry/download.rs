//! Downloading one blob: resumed where the connection broke.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use reqwest::header::{ACCEPT_ENCODING, CONTENT_RANGE, RANGE};
use reqwest::{Response, StatusCode};

use super::body::Body;
use super::failure::{Failure, Kind, host};
use super::repository::Repository;
use super::retry::{Attempts, retry};
use crate::source::remote::RemoteBlob;
use imgcheck_base::error::ErrorCode;

/// Bytes that must arrive after a failure before the count of failures starts again: a long download may break more often
/// than a short one.
const PROGRESS: u64 = 8 << 20;

/// A blob of a repository.
#[derive(Debug)]
pub(super) struct Blob {
    pub repository: Arc<Repository>,
    pub digest: String,
    pub size: u64,
}

impl Blob {
    fn error(&self, failure: Failure) -> io::Error {
        failure.into_error(&self.digest).into()
    }

    async fn range(&self, range: &Range<u64>) -> Result<Option<Vec<u8>>, Failure> {
        let header = format!("bytes={}-{}", range.start, range.end - 1);
        let response = get(&self.repository, &self.digest, Some(&header)).await?;
        if response.status() != StatusCode::PARTIAL_CONTENT {
            return Ok(None);
        }
        check_start(&response, range.start)?;
        let mut body = Body::new(response, self.repository.policy());
        let length = range.end - range.start;
        let bytes = body.read_all(length).await?;
        match bytes.len() as u64 == length {
            true => Ok(Some(bytes)),
            false => Err(body.truncated()),
        }
    }
}

impl RemoteBlob for Blob {
    fn address(&self) -> String {
        let address = &self.repository.address;
        format!(
            "{}/{}@{}",
            address.registry, address.repository, self.digest
        )
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        let mut download = Download {
            blob: Blob {
                repository: Arc::clone(&self.repository),
                digest: self.digest.clone(),
                size: self.size,
            },
            position: 0,
            body: None,
            attempts: Attempts::new(self.repository.policy()),
            resumed_at: 0,
        };
        self.repository
            .run(download.connect())
            .map_err(|failure| self.error(failure))?;
        Ok(Box::new(download))
    }

    fn read_range(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let bytes = retry(self.repository.policy(), async || self.range(&range).await);
        let bytes = self
            .repository
            .run(bytes)
            .map_err(|failure| self.error(failure))?;
        bytes.ok_or_else(|| {
            let registry = &self.repository.address.registry;
            io::Error::new(
                io::ErrorKind::Unsupported,
                format!("{registry} does not support range requests"),
            )
        })
    }
}

async fn get(
    repository: &Repository,
    digest: &str,
    range: Option<&str>,
) -> Result<Response, Failure> {
    let path = format!("blobs/{digest}");
    let prepare = |request: reqwest::RequestBuilder| {
        // Offsets and lengths are those of the blob as stored.
        let request = request.header(ACCEPT_ENCODING, "identity");
        match range {
            Some(range) => request.header(RANGE, range),
            None => request,
        }
    };
    repository.get(&path, prepare).await
}

/// # Errors
/// The response starts at a different byte than requested.
fn check_start(response: &Response, start: u64) -> Result<(), Failure> {
    let range = response
        .headers()
        .get(CONTENT_RANGE)
        .and_then(|value| value.to_str().ok());
    let actual = range
        .and_then(|text| text.strip_prefix("bytes ")?.split('-').next())
        .and_then(|text| text.trim().parse::<u64>().ok());
    if actual == Some(start) {
        return Ok(());
    }
    Err(Failure::damaged(format!(
        "{} sent a different range than requested (bytes from {start})",
        host(response)
    )))
}

/// Reads a blob from the first to the last byte.
struct Download {
    blob: Blob,
    position: u64,
    body: Option<Body>,
    attempts: Attempts,
    /// Where the last connection started.
    resumed_at: u64,
}

impl Download {
    /// Connects, as often as the policy allows.
    async fn connect(&mut self) -> Result<(), Failure> {
        loop {
            match self.request().await {
                Ok(body) => {
                    self.body = Some(body);
                    self.resumed_at = self.position;
                    return Ok(());
                }
                Err(failure) => self.failed(failure).await?,
            }
        }
    }

    /// Waits for the next attempt. A registry that answered before may only be unreachable for a while.
    async fn failed(&mut self, failure: Failure) -> Result<(), Failure> {
        self.body = None;
        if self.position - self.resumed_at >= PROGRESS {
            self.attempts = Attempts::new(self.blob.repository.policy());
            self.resumed_at = self.position;
        }
        let kind = match failure.kind {
            Kind::Unreachable if self.position > 0 => Kind::Temporary(ErrorCode::Unreachable, None),
            kind => kind,
        };
        let problem = match self.position {
            0 => failure.problem,
            position => format!(
                "{} (after {position} of {} bytes)",
                failure.problem, self.blob.size
            ),
        };
        let failure = Failure {
            kind,
            problem,
            ..failure
        };
        self.attempts.after(failure).await
    }

    async fn request(&self) -> Result<Body, Failure> {
        let Blob {
            repository, digest, ..
        } = &self.blob;
        let range = (self.position > 0).then(|| format!("bytes={}-", self.position));
        let response = get(repository, digest, range.as_deref()).await?;
        let is_partial = response.status() == StatusCode::PARTIAL_CONTENT;
        let start = if is_partial { self.position } else { 0 };
        if is_partial {
            check_start(&response, start)?;
        }
        self.check_length(&response, start)?;
        let mut body = Body::new(response, repository.policy());
        body.skip(self.position - start).await?;
        Ok(body)
    }

    fn check_length(&self, response: &Response, start: u64) -> Result<(), Failure> {
        let length = match response.content_length() {
            Some(length) => start.saturating_add(length),
            None => return Ok(()),
        };
        if length == self.blob.size {
            return Ok(());
        }
        Err(Failure::damaged(format!(
            "{} has {length} bytes of it, its manifest says {}",
            host(response),
            self.blob.size
        )))
    }

    async fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        loop {
            let Some(body) = &mut self.body else {
                self.connect().await?;
                continue;
            };
            let failure = match body.read(buffer).await {
                Ok(0) => body.truncated(),
                Ok(count) => {
                    self.position += count as u64;
                    return Ok(count);
                }
                Err(failure) => failure,
            };
            self.failed(failure).await?;
        }
    }
}

impl Read for Download {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.blob.size - self.position).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        if length == 0 {
            return Ok(0);
        }
        let repository = Arc::clone(&self.blob.repository);
        repository
            .run(self.read_some(&mut buffer[..length]))
            .map_err(|failure| self.blob.error(failure))
    }
}
