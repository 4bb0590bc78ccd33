//! The body of a response, which must keep arriving.

use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use reqwest::Response;
use tokio::time::timeout;

use super::failure::{Failure, Kind, chain, host};
use super::retry::RetryPolicy;
use imgcheck_base::error::ErrorCode;

/// The body of a response.
pub(super) struct Body {
    response: Response,
    /// Received, but not yet read.
    chunk: Bytes,
    host: String,
    policy: RetryPolicy,
    waited: Duration,
    received: u64,
}

impl Body {
    pub fn new(response: Response, policy: RetryPolicy) -> Self {
        Body {
            host: host(&response),
            response,
            chunk: Bytes::new(),
            policy,
            waited: Duration::ZERO,
            received: 0,
        }
    }

    /// Reads some bytes; 0 at the end.
    pub async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        if !self.fill().await? {
            return Ok(0);
        }
        let count = buffer.len().min(self.chunk.len());
        self.chunk.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }

    /// Reads a small body, up to `limit` bytes of it.
    pub async fn read_all(&mut self, limit: u64) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < limit && self.fill().await? {
            let left = usize::try_from(limit - bytes.len() as u64).unwrap_or(usize::MAX);
            let count = left.min(self.chunk.len());
            bytes.extend_from_slice(&self.chunk.split_to(count));
        }
        Ok(bytes)
    }

    /// Reads `count` bytes and drops them.
    pub async fn skip(&mut self, mut count: u64) -> Result<(), Failure> {
        while count > 0 {
            if !self.fill().await? {
                return Err(self.truncated());
            }
            let skipped = count.min(self.chunk.len() as u64);
            self.chunk.advance(skipped as usize);
            count -= skipped;
        }
        Ok(())
    }

    /// The body is shorter than announced.
    pub fn truncated(&self) -> Failure {
        self.broken("the response ended early")
    }

    fn broken(&self, problem: &str) -> Failure {
        Failure::new(
            Kind::Temporary(ErrorCode::Unreachable, None),
            format!("the connection to {} broke: {problem}", self.host),
        )
    }

    /// Waits for a chunk if none is left. `false` at the end.
    async fn fill(&mut self) -> Result<bool, Failure> {
        while self.chunk.is_empty() {
            let start = Instant::now();
            let next = timeout(self.policy.stall, self.response.chunk()).await;
            match next {
                Ok(Ok(Some(chunk))) => self.chunk = chunk,
                Ok(Ok(None)) => return Ok(false),
                Ok(Err(error)) => return Err(self.broken(&chain(&error.without_url()))),
                Err(_) => {
                    let seconds = self.policy.stall.as_secs();
                    return Err(Failure::timeout(format!(
                        "the connection to {} timed out: no data for {seconds} s",
                        self.host
                    )));
                }
            }
            self.check_pace(start.elapsed())?;
        }
        Ok(true)
    }

    /// Only the time spent waiting counts, so that a slow reader does not make the server look slow.
    fn check_pace(&mut self, waited: Duration) -> Result<(), Failure> {
        self.waited += waited;
        self.received += self.chunk.len() as u64;
        if self.waited < self.policy.stall {
            return Ok(());
        }
        let seconds = self.waited.as_secs_f64();
        if (self.received as f64) < self.policy.slowest as f64 * seconds {
            return Err(Failure::timeout(format!(
                "the connection to {} is too slow: {} bytes in {seconds:.0} s",
                self.host, self.received
            )));
        }
        self.waited = Duration::ZERO;
        self.received = 0;
        Ok(())
    }
}
