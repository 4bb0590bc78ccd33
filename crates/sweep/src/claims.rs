//! Claims of workers on layers, so that no two workers read the same layer at the same time.
//!
//! A claim is an object that only one worker can create (conditional PUT). It is written again while its holder works; one that was not
//! written for a while has expired: its holder died. Not every store can replace an object conditionally, so the claim that takes the
//! place of an expired one has the next number: `claim-WHAT-0`, `claim-WHAT-1` …
//!
//! Times are those of the store, since the clocks of workers differ.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ring::rand::{SecureRandom, SystemRandom};
use uuid::Uuid;

use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_source::object_storage::{Failure, ObjectStorage};

/// Claims of one worker.
pub(crate) struct Claims<'s> {
    store: &'s ObjectStorage,
    worker: String,
    /// After this time without a renewal a claim has expired.
    expiry: Duration,
    pub clock: Clock,
    /// What this worker holds: the number of each claim.
    held: Mutex<HashMap<String, u32>>,
    end: Cancellation,
}

/// The time of the store.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    then: SystemTime,
    seen: Instant,
}

/// A claim; dropped, it is given up.
pub(crate) struct Claim<'c> {
    claims: &'c Claims<'c>,
    what: String,
}

impl<'s> Claims<'s> {
    /// Learns the time of the store, and whether it refuses to create an object twice.
    ///
    /// # Errors
    /// The store cannot be written to, or does not do so.
    pub fn open(store: &'s ObjectStorage, expiry: Duration, end: &Cancellation) -> Result<Self> {
        let worker = worker()?;
        let probe = format!("probe-{worker}");
        let failed = |failure| problem(store, failure);
        store.delete(&probe, end).map_err(failed)?;
        let first = store.create(&probe, Vec::new(), end);
        let first = first.map_err(|failure| refused(store, &probe, failure, end))?;
        let seen = Instant::now();
        let state = store.state(&probe, end).map_err(failed)?;
        let second = store.create(&probe, Vec::new(), end).map_err(failed)?;
        store.delete(&probe, end).map_err(failed)?;
        match (first, second, state) {
            (true, false, Some(state)) => Ok(Claims {
                store,
                worker,
                expiry,
                clock: Clock {
                    then: state.written,
                    seen,
                },
                held: Mutex::default(),
                end: end.clone(),
            }),
            (_, true, _) => Err(unusable(
                store,
                "it ignores conditions of writes (If-None-Match), so workers cannot agree who reads what",
            )),
            _ => Err(unusable(store, "it does not show what was just written")),
        }
    }

    /// Claims something; `None` if another worker holds it.
    ///
    /// # Errors
    /// The store cannot be used, or the run was cancelled.
    pub fn claim(&self, what: &str) -> Result<Option<Claim<'_>>> {
        let failed = |failure| problem(self.store, failure);
        for number in 0.. {
            let name = name(what, number);
            let content = self.worker.clone().into_bytes();
            self.end.check()?;
            // Not cancelled halfway: nobody would know of a claim that was created nevertheless.
            let whole = Cancellation::default();
            let is_created = self.store.create(&name, content, &whole);
            if is_created.map_err(failed)? {
                self.held().insert(what.to_owned(), number);
                return Ok(Some(Claim {
                    claims: self,
                    what: what.to_owned(),
                }));
            }
            match self.store.state(&name, &self.end).map_err(failed)? {
                Some(state) if self.has_expired(state.written) => {}
                // Held, or just given up.
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Writes all claims again, so that they do not expire. One that cannot be written may expire; then something is read twice.
    pub fn renew(&self) {
        let all: Vec<String> = self.held().keys().cloned().collect();
        for what in all {
            // Locked, so that no claim is written that was given up meanwhile.
            let held = self.held();
            let Some(number) = held.get(&what) else {
                continue;
            };
            let content = self.worker.clone().into_bytes();
            // The holder notices problems of the store when it writes what it has read.
            let _ = self.store.put(&name(&what, *number), content, &self.end);
        }
    }

    /// How often to renew.
    pub fn interval(&self) -> Duration {
        self.expiry / 4
    }

    fn has_expired(&self, written: SystemTime) -> bool {
        let now = self.clock.now();
        now.duration_since(written)
            .is_ok_and(|age| age > self.expiry)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock {
    /// The store's time now, to the second.
    pub fn now(&self) -> SystemTime {
        self.then + self.seen.elapsed()
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let Some(number) = self.claims.held().remove(&self.what) else {
            return;
        };
        // Also of a run that was cancelled. What remains expires.
        let end = Cancellation::default();
        for number in 0..=number {
            let _ = self.claims.store.delete(&name(&self.what, number), &end);
        }
    }
}

/// The error of a store that cannot be used.
pub(crate) fn problem(store: &ObjectStorage, failure: Failure) -> Error {
    match failure {
        Failure::Cancelled => Error::Cancelled,
        Failure::Problem(problem) => unusable(store, &problem),
    }
}

/// Why the store did not create the first object: it cannot be written to, or it can, but not conditionally.
fn refused(store: &ObjectStorage, probe: &str, failure: Failure, end: &Cancellation) -> Error {
    let Failure::Problem(problem) = &failure else {
        return Error::Cancelled;
    };
    let is_writable = store.put(probe, Vec::new(), end).is_ok();
    if !is_writable {
        return self::problem(store, failure);
    }
    // It may be left, and does no harm.
    let _ = store.delete(probe, end);
    let problem = format!(
        "it refuses conditional writes (If-None-Match), by which workers agree who reads what: {problem}"
    );
    let subject = format!("the store {}", store.address());
    Error::new(ErrorCode::Unsupported, subject, problem).with_help(
        "use a store with conditional writes: Amazon S3, Google Cloud Storage, Azure Blob Storage, MinIO, Ceph, or a directory",
    )
}

fn unusable(store: &ObjectStorage, problem: &str) -> Error {
    let subject = format!("the store {}", store.address());
    Error::new(ErrorCode::Unreachable, subject, problem)
        .with_help("what was read is kept: run the same command again when the store works")
}

fn name(what: &str, number: u32) -> String {
    format!("claim-{what}-{number}")
}

/// A name that no other worker has.
fn worker() -> Result<String> {
    let mut random = [0; 16];
    let filled = SystemRandom::new().fill(&mut random);
    filled.map_err(|_| Error::io("random numbers", std::io::Error::other("there are none")))?;
    Ok(Uuid::new_v8(random).to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use imgcheck_source::object_storage::Patience;

    #[test]
    fn a_claim_that_was_given_up_is_not_renewed() {
        let directory = tempfile::tempdir().unwrap();
        let patience = Patience {
            whole: Duration::from_secs(10),
            retries: 0,
        };
        let url = format!("file://{}", directory.path().display());
        let store = ObjectStorage::new(&url, patience).unwrap();
        let end = Cancellation::default();
        let claims = Claims::open(&store, Duration::from_secs(60), &end).unwrap();
        std::thread::scope(|scope| {
            let work = scope.spawn(|| {
                for _ in 0..500 {
                    drop(claims.claim("layer").unwrap().unwrap());
                }
            });
            while !work.is_finished() {
                claims.renew();
            }
        });
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }
}
