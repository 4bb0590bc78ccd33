//! Scans that Harbor asked for. They are kept in the file of the queue, because Harbor asks once and then waits: with the credentials of
//! the image until the report is there, and for an hour at most.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::Utc;
use serde::{Deserialize, Serialize};

use super::types::{Authorization, ScanRequest};
use crate::cluster::Puller;
use crate::metrics::Metrics;
use crate::queue::{Change, Job, JobKey, Priority, Queue};
use imgcheck_base::error::{Error, ErrorCode, Result};

/// How long a scan is kept, in seconds: twice Harbor's timeout.
const KEPT: u64 = 60 * 60;
/// Maximum number of scans that are kept.
const MOST: usize = 10_000;

/// A scan that Harbor asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Scan {
    /// What Harbor asked.
    pub request: ScanRequest,
    /// `registry/repository`.
    repository: String,
    /// When, in seconds since 1970.
    accepted: i64,
    /// Whether a report or an error was given. Then the credentials are gone.
    is_answered: bool,
    /// The id of the scan at the other scanner, once it has accepted it.
    pub forwarded: Option<String>,
    /// How often the other scanner was not reached since it last was.
    #[serde(skip)]
    pub misses: u32,
}

impl Scan {
    /// A scan requested at a time, in seconds since 1970.
    pub fn new(request: ScanRequest, repository: String, accepted: i64) -> Self {
        Scan {
            request,
            repository,
            accepted,
            is_answered: false,
            forwarded: None,
            misses: 0,
        }
    }

    /// What has to be read.
    pub fn job(&self) -> Job {
        let login = self.request.registry.authorization.credentials();
        Job {
            key: JobKey {
                digest: self.request.artifact.digest.clone(),
                architecture: String::new(),
            },
            repository: self.repository.clone(),
            puller: Puller::default(),
            priority: Priority::Asked,
            login: login.ok().flatten(),
        }
    }

    /// The reference whose promises count.
    pub fn reference(&self) -> String {
        match self.request.artifact.tag.as_str() {
            "" => self.job().reference(),
            tag => format!("{}:{tag}", self.repository),
        }
    }

    /// Clocks may jump either way.
    fn is_over(&self, now: i64) -> bool {
        self.accepted.abs_diff(now) > KEPT
    }
}

/// All scans.
#[derive(Debug)]
pub struct Scans {
    known: Mutex<HashMap<String, Scan>>,
    queue: Queue,
    metrics: Arc<Metrics>,
}

impl Scans {
    /// The scans in the file of the queue. Images whose report nobody has fetched are queued.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(queue: Queue, metrics: Arc<Metrics>) -> Result<Self> {
        let mut known = HashMap::new();
        for (id, bytes) in queue.scans()? {
            // One of another version is asked for again.
            if let Ok(scan) = serde_json::from_slice::<Scan>(&bytes) {
                known.insert(id, scan);
            }
        }
        let scans = Scans {
            known: Mutex::new(known),
            queue,
            metrics,
        };
        scans.forget();
        for scan in scans.lock().values().filter(|it| !it.is_answered) {
            scans.queue.add_kept(scan.job());
        }
        Ok(scans)
    }

    /// Stores a scan under an unguessable id. When this returns, it survives the end of the process.
    ///
    /// # Errors
    /// It cannot be stored, or too many are known.
    pub async fn add(&self, scan: Scan) -> Result<String> {
        if self.lock().len() >= MOST {
            let problem = format!("{MOST} scans were asked for within an hour");
            return Err(Error::new(ErrorCode::Limit, "the queue", problem));
        }
        let random = |part: u8| RandomState::new().hash_one(part);
        let id = format!("{:016x}{:016x}", random(0), random(1));
        self.queue.write(change(&id, &scan)).await?;
        let mut known = self.lock();
        known.insert(id.clone(), scan);
        self.count(&known);
        Ok(id)
    }

    /// The scan with an id.
    pub fn get(&self, id: &str) -> Option<Scan> {
        self.lock().get(id).cloned()
    }

    /// Records that the other scanner accepted a scan, or has forgotten it.
    pub fn forwarded(&self, id: &str, theirs: Option<String>) {
        self.change(id, |scan| scan.forwarded = theirs);
    }

    /// The other scanner was reached, or was not; how often it was not in a row.
    pub fn reached(&self, id: &str, is_reached: bool) -> u32 {
        let mut known = self.lock();
        let Some(scan) = known.get_mut(id) else {
            return 0;
        };
        scan.misses = if is_reached { 0 } else { scan.misses + 1 };
        scan.misses
    }

    /// A report or an error was given: the credentials are not needed any more.
    pub fn answered(&self, id: &str) {
        if self.get(id).is_some_and(|scan| !scan.is_answered) {
            self.change(id, |scan| {
                scan.is_answered = true;
                scan.request.registry.authorization = Authorization::default();
            });
        }
    }

    /// Forgets scans whose time is over.
    pub fn forget(&self) {
        let now = Utc::now().timestamp();
        let mut known = self.lock();
        known.retain(|id, scan| {
            if scan.is_over(now) {
                self.queue.write_later(Change::Scan(id.clone(), None));
            }
            !scan.is_over(now)
        });
        self.count(&known);
    }

    fn change(&self, id: &str, apply: impl FnOnce(&mut Scan)) {
        let mut known = self.lock();
        if let Some(scan) = known.get_mut(id) {
            apply(scan);
            // Under the lock, so that changes are written in their order.
            self.queue.write_later(change(id, scan));
        }
        self.count(&known);
    }

    fn count(&self, known: &HashMap<String, Scan>) {
        let open = known.values().filter(|scan| !scan.is_answered).count();
        self.metrics.harbor_scans.set(open as i64);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Scan>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn change(id: &str, scan: &Scan) -> Change {
    let bytes = serde_json::to_vec(scan).unwrap_or_default();
    Change::Scan(id.to_owned(), Some(bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_scan_is_over_after_an_hour_and_when_the_clock_has_jumped() {
        let text = r#"{"registry": {"url": "https://x"}, "artifact": {"digest": "d", "tag": "1"}}"#;
        let request = serde_json::from_str(text).unwrap();
        let scan = Scan::new(request, "x.example/a".to_owned(), 10_000);
        assert!(!scan.is_over(10_000) && !scan.is_over(13_600) && !scan.is_over(9_000));
        assert!(scan.is_over(13_601) && scan.is_over(0) && scan.is_over(i64::MIN));
        assert_eq!(scan.reference(), "x.example/a:1");
    }
}
