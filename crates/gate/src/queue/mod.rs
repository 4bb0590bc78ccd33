//! Images that have to be read: one scan for each however many ask for it, the most urgent first, within the budget of each registry.

mod job;
mod state;
mod store;
mod writer;

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::metrics::Metrics;
use imgcheck_base::error::Result;
pub use job::{Job, JobKey, Outcome, Pending, Priority, Progress};
pub use state::Failure;
use state::State;
use store::Store;
pub use store::{Change, ContainerKey};
use writer::Writer;

/// The queue. Clones share it.
#[derive(Debug, Clone)]
pub struct Queue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: Arc<Store>,
    writer: Writer,
    state: Mutex<State>,
    changed: Condvar,
    metrics: Arc<Metrics>,
}

impl Queue {
    /// Opens the queue in a directory. Jobs that an earlier process did not finish wait again.
    ///
    /// # Errors
    /// The file of the queue cannot be used.
    pub fn open(directory: &Path, metrics: Arc<Metrics>) -> Result<Self> {
        let store = Arc::new(Store::open(directory)?);
        let mut state = State::default();
        for job in store.jobs()? {
            state.add(job);
        }
        let shared = Shared {
            writer: Writer::start(store.clone())?,
            store,
            state: Mutex::new(state),
            changed: Condvar::new(),
            metrics,
        };
        let queue = Queue(Arc::new(shared));
        queue.changed(&queue.lock());
        Ok(queue)
    }

    /// Queues a job, unless it is queued already. When this returns, the job survives the end of the process.
    ///
    /// # Errors
    /// The job cannot be stored, or too many wait.
    pub async fn add(&self, job: Job) -> Result<()> {
        {
            let mut state = self.lock();
            if state.is_as_urgent(&job) {
                state.add(job);
                return Ok(());
            }
            state.check_room(job.priority)?;
        }
        self.write(Change::Put(job.clone())).await?;
        let mut state = self.lock();
        state.add(job);
        self.changed(&state);
        Ok(())
    }

    /// Like [`add`](Self::add), for a question that found neither facts nor a failure: the job that it saw may have failed since then, and need not
    /// run again.
    ///
    /// # Errors
    /// Same as [`add`](Self::add).
    pub async fn add_unless_failed(&self, job: Job) -> Result<()> {
        match self.failure(&job.key) {
            Some(_) => Ok(()),
            None => self.add(job).await,
        }
    }

    /// Queues a job that is kept elsewhere in the file: as that of a scan.
    pub fn add_kept(&self, job: Job) {
        let mut state = self.lock();
        state.add(job);
        self.changed(&state);
    }

    /// The scans in the file, by their ids.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn scans(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.0.store.scans()
    }

    /// Writes a change. When this returns, it survives the end of the process.
    ///
    /// # Errors
    /// It cannot be stored.
    pub async fn write(&self, change: Change) -> Result<()> {
        let written = self.0.writer.write(vec![change]).await;
        if written.is_err() {
            self.0.metrics.queue_errors.inc();
        }
        written
    }

    /// Writes a change some time.
    pub fn write_later(&self, change: Change) {
        self.0.writer.write_later(change);
    }

    /// Why an image could not be read, if that was tried lately.
    pub fn failure(&self, key: &JobKey) -> Option<Failure> {
        self.lock().failure(key, Instant::now())
    }

    /// Whether an image waits or is being read.
    pub fn contains(&self, key: &JobKey) -> bool {
        self.lock().contains(key)
    }

    /// The first running or waiting jobs that match, and their number.
    pub fn pending(&self, wanted: impl Fn(&Job) -> bool, most: usize) -> (Vec<Pending>, usize) {
        self.lock().pending(wanted, most, Instant::now())
    }

    /// Waits for the most urgent job that may run; `None` if there was none for a while.
    pub fn take(&self) -> Option<Job> {
        const WHILE: Duration = Duration::from_millis(500);
        let mut state = self.lock();
        if let Some(job) = state.take(Instant::now()) {
            return Some(job);
        }
        let waited = self.0.changed.wait_timeout(state, WHILE);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.take(Instant::now())
    }

    /// A job that was taken ended.
    pub fn finish(&self, job: Job, outcome: Outcome) {
        let key = job.key.clone();
        let mut state = self.lock();
        if state.finish(job, outcome, Instant::now()) {
            // Under the lock, so that nobody adds it again before.
            self.0.writer.write_later(Change::Remove(key));
        }
        self.changed(&state);
    }

    /// The day on which a container that once passed would first have been denied; 0 if every one would still pass.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn passed(&self, key: &ContainerKey) -> Result<Option<i32>> {
        self.0.store.passed(key)
    }

    /// Remembers that a container passed, or the day on which it would first have been denied.
    pub fn remember(&self, key: ContainerKey, day: i32) {
        self.write_later(Change::Passed(key, day));
    }

    /// Why the store cannot be written, if so.
    pub fn obstacle(&self) -> Option<String> {
        self.0.writer.obstacle()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self, state: &State) {
        self.0.metrics.jobs.set(state.len() as i64);
        self.0.changed.notify_all();
    }
}
