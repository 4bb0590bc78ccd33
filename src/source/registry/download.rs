//! One blob, as bytes that keep coming: resumed where the connection broke, given up when it cannot be.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use reqwest::StatusCode;
use reqwest::blocking::Response;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_RANGE, RANGE};

use super::super::remote::RemoteBlob;
use super::body::{Body, TOO_EARLY};
use super::failure::{Failure, Kind, host};
use super::repository::Repository;
use super::retry::{Attempts, retry};

/// Bytes that must have come since the last failure for the count of failures to begin again: a long download may break
/// more often than a short one.
const PROGRESS: u64 = 8 << 20;

/// A blob of a repository.
#[derive(Debug)]
pub(super) struct Blob {
    pub repository: Arc<Repository>,
    pub digest: String,
    pub size: u64,
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
            repository: Arc::clone(&self.repository),
            digest: self.digest.clone(),
            size: self.size,
            position: 0,
            body: None,
            attempts: Attempts::new(self.repository.patience()),
            resumed_at: 0,
        };
        download.connect()?;
        Ok(Box::new(download))
    }

    fn read_range(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let wanted = range.end.saturating_sub(range.start);
        if wanted == 0 {
            return Ok(Vec::new());
        }
        let last = range.end - 1;
        let asked = format!("bytes={}-{last}", range.start);
        let bytes = retry(self.repository.patience(), || {
            let response = get(&self.repository, &self.digest, Some(&asked))?;
            if response.status() != StatusCode::PARTIAL_CONTENT {
                return Ok(None);
            }
            check_start(&response, range.start)?;
            let mut body = Body::new(response, self.repository.patience());
            let bytes = body.read_all(wanted)?;
            if (bytes.len() as u64) < wanted {
                return Err(body.broken(TOO_EARLY));
            }
            Ok(Some(bytes))
        })?;
        bytes.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::Unsupported,
                format!(
                    "{} does not give parts of blobs",
                    self.repository.address.registry
                ),
            )
        })
    }
}

fn get(repository: &Repository, digest: &str, range: Option<&str>) -> Result<Response, Failure> {
    repository.get(&format!("blobs/{digest}"), |request| {
        // Bytes are counted as they are stored.
        let request = request.header(ACCEPT_ENCODING, "identity");
        match range {
            Some(range) => request.header(RANGE, range),
            None => request,
        }
    })
}

/// An error if a part begins elsewhere than was asked.
fn check_start(response: &Response, start: u64) -> Result<(), Failure> {
    let range = response
        .headers()
        .get(CONTENT_RANGE)
        .and_then(|value| value.to_str().ok());
    let begins = range
        .and_then(|text| text.strip_prefix("bytes ")?.split('-').next())
        .and_then(|text| text.trim().parse::<u64>().ok());
    if begins == Some(start) {
        return Ok(());
    }
    Err(Failure::new(
        Kind::Final,
        format!(
            "{} was asked for the bytes from {start} on and gave others",
            host(response)
        ),
    ))
}

/// All bytes of a blob.
struct Download {
    repository: Arc<Repository>,
    digest: String,
    size: u64,
    position: u64,
    body: Option<Body>,
    attempts: Attempts,
    /// Where the last connection began.
    resumed_at: u64,
}

impl Download {
    /// Connects, again and again while there is hope.
    fn connect(&mut self) -> Result<(), Failure> {
        loop {
            match self.request() {
                Ok(body) => {
                    self.body = Some(body);
                    self.resumed_at = self.position;
                    return Ok(());
                }
                Err(failure) => self.failed(failure)?,
            }
        }
    }

    /// Waits before the next attempt. A registry that answered once and is not reached now may come back.
    fn failed(&mut self, failure: Failure) -> Result<(), Failure> {
        self.body = None;
        if self.position - self.resumed_at >= PROGRESS {
            self.attempts = Attempts::new(self.repository.patience());
            self.resumed_at = self.position;
        }
        let kind = match failure.kind {
            Kind::Unreachable if self.position > 0 => Kind::Temporary(None),
            kind => kind,
        };
        let problem = match self.position {
            0 => failure.problem,
            position => format!(
                "{} (after {position} of {} bytes)",
                failure.problem, self.size
            ),
        };
        self.attempts.after(Failure {
            kind,
            problem,
            ..failure
        })
    }

    fn request(&self) -> Result<Body, Failure> {
        let range = (self.position > 0).then(|| format!("bytes={}-", self.position));
        let response = get(&self.repository, &self.digest, range.as_deref())?;
        let partial = response.status() == StatusCode::PARTIAL_CONTENT;
        let start = if partial { self.position } else { 0 };
        if partial {
            check_start(&response, start)?;
        }
        self.check_length(&response, start)?;
        let mut body = Body::new(response, self.repository.patience());
        body.skip(self.position - start)?;
        Ok(body)
    }

    fn check_length(&self, response: &Response, start: u64) -> Result<(), Failure> {
        match response.content_length() {
            Some(length) if start.saturating_add(length) != self.size => Err(Failure::new(
                Kind::Final,
                format!(
                    "{} has {} bytes of it, its manifest says {}",
                    host(response),
                    start.saturating_add(length),
                    self.size
                ),
            )),
            _ => Ok(()),
        }
    }
}

impl Read for Download {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size - self.position).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        let buffer = &mut buffer[..length];
        while !buffer.is_empty() {
            let failure = match &mut self.body {
                None => {
                    self.connect()?;
                    continue;
                }
                Some(body) => match body.read(buffer) {
                    Ok(0) => body.broken(TOO_EARLY),
                    Ok(count) => {
                        self.position += count as u64;
                        return Ok(count);
                    }
                    Err(error) => body.broken(&error.to_string()),
                },
            };
            self.failed(failure)?;
        }
        Ok(0)
    }
}
