//! Reads images that wait in the queue.

use std::thread;
use std::time::{Duration, Instant};

use super::queue::{Job, Outcome};
use super::state::Gate;
use super::{credentials, facts};
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, ErrorCode, Result};

/// How long to wait before another attempt, unless the registry says.
const WAIT: Duration = Duration::from_secs(5);
/// Added to the nice value (`sched(7)`) of the threads that read, and of those that they start: answers come first.
const NICE: i32 = 10;

impl Gate {
    /// Starts threads that read images until the cancellation.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) fn start_workers(
        &self,
        count: usize,
        cancellation: &Cancellation,
    ) -> Result<Vec<thread::JoinHandle<()>>> {
        let runtime = tokio::runtime::Handle::current();
        let start = |index: usize| {
            let (gate, cancellation) = (self.clone(), cancellation.clone());
            let runtime = runtime.clone();
            let thread = thread::Builder::new().name(format!("scan-{index}"));
            let thread = thread.spawn(move || {
                // Elsewhere it is the value of the whole process.
                if cfg!(target_os = "linux") {
                    let _ = rustix::process::nice(NICE);
                }
                gate.work(&runtime, &cancellation);
            });
            thread.map_err(|error| Error::io("the threads that read images", error))
        };
        (0..count.max(1)).map(start).collect()
    }

    fn work(&self, runtime: &tokio::runtime::Handle, cancellation: &Cancellation) {
        while cancellation.check().is_ok() {
            let Some(job) = self.queue().take() else {
                continue;
            };
            if self.0.facts.contains(&job) {
                // It was read while somebody asked for it.
                self.queue().finish(job, Outcome::Done);
                continue;
            }
            let span = tracing::info_span!(
                "scan",
                image = job.reference(),
                architecture = job.key.architecture
            );
            let _entered = span.enter();
            let start = Instant::now();
            let read = self.read(runtime, &job, cancellation);
            if cancellation.check().is_err() {
                // It stays in the store, for the next process.
                return;
            }
            let (word, outcome) = match read {
                Ok(()) => ("success", Outcome::Done),
                Err(error) => {
                    tracing::warn!(
                        image = job.reference(),
                        error = error.message(),
                        "an image could not be read"
                    );
                    ("failure", outcome_of(&error))
                }
            };
            let seconds = start.elapsed().as_secs_f64();
            tracing::info!(
                image = job.reference(),
                architecture = job.key.architecture,
                seconds,
                outcome = word,
                "scan"
            );
            self.metrics().scan(word, seconds);
            self.queue().finish(job, outcome);
        }
    }

    fn read(
        &self,
        runtime: &tokio::runtime::Handle,
        job: &Job,
        cancellation: &Cancellation,
    ) -> Result<()> {
        let setup = self.0.views.setup();
        let secrets = runtime.block_on(self.0.cluster.pull_secrets(&job.puller))?;
        let (registry, repository) = job.repository.split_once('/').unwrap_or_default();
        let mut found = credentials::of_secrets(&secrets, registry, repository);
        found.splice(..0, job.login.clone());
        let request = facts::request(job).cancellation(cancellation.clone());
        credentials::with_each(&request, found, |it| {
            self.0.facts.read(&setup.checker, job, it)
        })?;
        Ok(())
    }
}

/// What becomes of a job after an error.
fn outcome_of(error: &Error) -> Outcome {
    let (code, problem) = (error.code(), error.message());
    match code {
        ErrorCode::RateLimited | ErrorCode::Unreachable | ErrorCode::Timeout => Outcome::Retry {
            wait: error.retry_after().unwrap_or(WAIT),
            by_registry: code == ErrorCode::RateLimited,
            code,
            problem,
        },
        _ => Outcome::Failed(code, problem),
    }
}
