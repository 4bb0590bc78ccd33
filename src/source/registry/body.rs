//! The bytes of an answer, which must keep coming.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use reqwest::blocking::Response;

use super::failure::{Failure, Kind, chain, host};
use super::retry::Patience;

/// How an answer breaks that is shorter than it should be.
pub(super) const TOO_EARLY: &str = "it ended too early";

/// An answer's body.
pub(super) struct Body {
    response: Response,
    /// Who answers.
    host: String,
    patience: Patience,
    waited: Duration,
    received: u64,
}

impl Body {
    pub fn new(response: Response, patience: Patience) -> Self {
        Body {
            host: host(&response),
            response,
            patience,
            waited: Duration::ZERO,
            received: 0,
        }
    }

    /// All bytes of a small body, up to a limit.
    pub fn read_all(&mut self, limit: u64) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        match self.by_ref().take(limit).read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(self.broken(&error.to_string())),
        }
    }

    /// Reads and forgets so many bytes.
    pub fn skip(&mut self, count: u64) -> Result<(), Failure> {
        match io::copy(&mut self.by_ref().take(count), &mut io::sink()) {
            Ok(skipped) if skipped == count => Ok(()),
            Ok(_) => Err(self.broken(TOO_EARLY)),
            Err(error) => Err(self.broken(&error.to_string())),
        }
    }

    /// The answer ended before it should.
    pub fn broken(&self, how: &str) -> Failure {
        Failure::new(
            Kind::Temporary(None),
            format!("the connection to {} broke: {how}", self.host),
        )
    }

    /// Only the time spent waiting counts: who reads slowly is not served slowly.
    fn check_pace(&mut self, waited: Duration, received: usize) -> io::Result<()> {
        self.waited += waited;
        self.received += received as u64;
        if self.waited < self.patience.stall {
            return Ok(());
        }
        let seconds = self.waited.as_secs_f64();
        if (self.received as f64) < self.patience.slowest as f64 * seconds {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("it gave {} bytes in {seconds:.0} s", self.received),
            ));
        }
        self.waited = Duration::ZERO;
        self.received = 0;
        Ok(())
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let start = Instant::now();
        let count = self
            .response
            .read(buffer)
            .map_err(|error| io::Error::new(error.kind(), chain(&error)))?;
        self.check_pace(start.elapsed(), count)?;
        Ok(count)
    }
}
