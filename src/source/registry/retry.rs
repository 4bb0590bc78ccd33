//! Another attempt after a failure that may pass: exponential backoff with jitter, or when the registry says.

use std::thread;
use std::time::{Duration, SystemTime};

use backon::{BackoffBuilder, ExponentialBuilder};
use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::failure::{Failure, Kind};

/// How long a registry is waited for.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How often a request is made again after a failure that may pass.
    pub retries: usize,
    /// The wait before the first of them, doubled each time up to half a minute.
    pub first_wait: Duration,
    /// The longest wait that a registry may ask for (`Retry-After`).
    pub longest_wait: Duration,
    /// For a connection.
    pub connect: Duration,
    /// For an answer, and for the next bytes of one.
    pub stall: Duration,
    /// Bytes a second that must come in over that time; a connection below is given up.
    pub slowest: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            retries: 5,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(120),
            connect: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            slowest: 1024,
        }
    }
}

const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// The attempts at one thing.
pub(super) struct Attempts {
    patience: Patience,
    waits: Box<dyn Iterator<Item = Duration> + Send>,
    failed: usize,
}

impl Attempts {
    pub fn new(patience: Patience) -> Self {
        let waits = ExponentialBuilder::new()
            .with_jitter()
            .with_min_delay(patience.first_wait)
            .with_max_delay(LONGEST_BACKOFF)
            .with_max_times(patience.retries)
            .build();
        Attempts {
            patience,
            waits: Box::new(waits),
            failed: 0,
        }
    }

    /// Waits until another attempt may be made, or gives the failure back because none may.
    pub fn after(&mut self, failure: Failure) -> Result<(), Failure> {
        let Kind::Temporary(asked) = failure.kind else {
            return Err(failure);
        };
        self.failed += 1;
        let asked = asked.unwrap_or_default();
        if asked > self.patience.longest_wait {
            let problem = format!("{} and asks to wait {} s", failure.problem, asked.as_secs());
            return Err(Failure::new(Kind::Final, problem).with_help("try again then"));
        }
        match self.waits.next() {
            Some(wait) => {
                thread::sleep(wait.max(asked));
                Ok(())
            }
            None if self.failed == 1 => Err(failure),
            None => Err(Failure {
                problem: format!("{}, {} times", failure.problem, self.failed),
                ..failure
            }),
        }
    }
}

/// Does something until it succeeds, fails for good or has failed too often.
pub(super) fn retry<T>(
    patience: Patience,
    mut attempt: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut attempts = Attempts::new(patience);
    loop {
        match attempt() {
            Ok(value) => return Ok(value),
            Err(failure) => attempts.after(failure)?,
        }
    }
}

/// `Retry-After`, in seconds or as a date (RFC 9110, section 10.2.3).
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => {
            let date = httpdate::parse_http_date(text).ok()?;
            Some(date.duration_since(SystemTime::now()).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn impatient() -> Patience {
        Patience {
            retries: 2,
            first_wait: Duration::from_millis(1),
            ..Patience::default()
        }
    }

    fn waiting(text: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, text.parse().unwrap());
        retry_after(&headers)
    }

    #[test]
    fn a_wait_is_in_seconds_or_until_a_date() {
        assert_eq!(waiting("7"), Some(Duration::from_secs(7)));
        assert_eq!(
            waiting("Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(Duration::ZERO)
        );
        let later = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3600));
        let wait = waiting(&later).unwrap();
        assert!(wait > Duration::from_secs(3500) && wait <= Duration::from_secs(3600));
        assert_eq!(waiting("soon"), None);
        assert_eq!(waiting("-1"), None);
    }

    #[test]
    fn what_may_pass_is_tried_so_often() {
        let mut tried = 0;
        let failure = retry(impatient(), || -> Result<(), Failure> {
            tried += 1;
            Err(Failure::new(Kind::Temporary(None), "no"))
        })
        .unwrap_err();
        assert_eq!((tried, failure.problem.as_str()), (3, "no, 3 times"));
    }

    #[test]
    fn what_does_not_pass_is_tried_once() {
        for kind in [
            Kind::Final,
            Kind::Absent,
            Kind::Temporary(Some(Duration::from_secs(9999))),
        ] {
            let mut tried = 0;
            let failure = retry(impatient(), || -> Result<(), Failure> {
                tried += 1;
                Err(Failure::new(kind, "no"))
            });
            assert_eq!((tried, failure.is_err()), (1, true));
        }
    }
}
