//! Further attempts after temporary failures: exponential backoff with jitter, or the time that the registry asks for.

use std::time::{Duration, SystemTime};

use backon::{BackoffBuilder, ExponentialBuilder};
use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::failure::{Failure, Kind};
use imgcheck_base::error::ErrorCode;

/// How long to wait for a registry, and how often to try again.
#[derive(Debug, Clone, Copy)]
pub struct RetryPolicy {
    /// Further attempts after a temporary failure.
    pub retries: usize,
    /// The wait before the first of them; it doubles each time, up to half a minute.
    pub first_wait: Duration,
    /// The longest wait that a registry may ask for (`Retry-After`).
    pub longest_wait: Duration,
    /// Whether to wait for a registry that limits requests, or asks for a pause.
    pub waits_for_limits: bool,
    /// The time to connect.
    pub connect: Duration,
    /// The time until a response starts, and between two pieces of its body.
    pub stall: Duration,
    /// The lowest rate in bytes per second over that time.
    pub slowest: u64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            retries: 5,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(120),
            waits_for_limits: true,
            connect: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            slowest: 1024,
        }
    }
}

const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// The attempts at one request.
pub(super) struct Attempts {
    policy: RetryPolicy,
    waits: Box<dyn Iterator<Item = Duration> + Send>,
    failed: usize,
}

impl Attempts {
    pub fn new(policy: RetryPolicy) -> Self {
        let waits = ExponentialBuilder::new()
            .with_jitter()
            .with_min_delay(policy.first_wait)
            .with_max_delay(LONGEST_BACKOFF)
            .with_max_times(policy.retries)
            .build();
        Attempts {
            policy,
            waits: Box::new(waits),
            failed: 0,
        }
    }

    /// Waits for the next attempt, or returns the failure if no attempt is left.
    pub async fn after(&mut self, failure: Failure) -> Result<(), Failure> {
        let Kind::Temporary(code, requested) = failure.kind else {
            return Err(failure);
        };
        let is_limit = code == ErrorCode::RateLimited || requested.is_some();
        if is_limit && !self.policy.waits_for_limits {
            return Err(failure.with_wait());
        }
        self.failed += 1;
        let requested = requested.unwrap_or_default();
        if requested > self.policy.longest_wait {
            return Err(failure.with_wait().with_help("try again later"));
        }
        match self.waits.next() {
            Some(wait) => {
                tokio::time::sleep(wait.max(requested)).await;
                Ok(())
            }
            None if self.failed == 1 => Err(failure),
            None => Err(Failure {
                problem: format!("{} ({} attempts)", failure.problem, self.failed),
                ..failure
            }),
        }
    }
}

/// Repeats an attempt until it succeeds, fails for good, or has failed too often.
pub(super) async fn retry<T>(
    policy: RetryPolicy,
    mut attempt: impl AsyncFnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut attempts = Attempts::new(policy);
    loop {
        match attempt().await {
            Ok(value) => return Ok(value),
            Err(failure) => attempts.after(failure).await?,
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

    /// The number of attempts, and the failure of the last one.
    fn fail_with(kind: Kind) -> (usize, Failure) {
        let policy = RetryPolicy {
            retries: 2,
            first_wait: Duration::from_millis(1),
            ..RetryPolicy::default()
        };
        let mut attempts = 0;
        let future = retry(policy, async || -> Result<(), Failure> {
            attempts += 1;
            Err(Failure::new(kind, "no"))
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let failure = runtime.block_on(future).unwrap_err();
        (attempts, failure)
    }

    fn waiting(text: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, text.parse().unwrap());
        retry_after(&headers)
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
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
    fn temporary_failures_are_retried() {
        let (attempts, failure) = fail_with(Kind::Temporary(ErrorCode::Unreachable, None));
        assert_eq!((attempts, failure.problem.as_str()), (3, "no (3 attempts)"));
    }

    #[test]
    fn other_failures_and_long_waits_are_not_retried() {
        let long = Some(Duration::from_secs(9999));
        for kind in [
            Kind::Final(ErrorCode::Damaged),
            Kind::Final(ErrorCode::NotFound),
            Kind::Temporary(ErrorCode::RateLimited, long),
        ] {
            assert_eq!(fail_with(kind).0, 1);
        }
    }
}
