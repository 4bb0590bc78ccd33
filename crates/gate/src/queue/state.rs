//! The queue in memory.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use super::job::{Job, JobKey, Outcome, Pending, Priority, Progress};
use imgcheck_base::error::{Error, ErrorCode, Result};

/// Maximum number of jobs that wait.
const MOST: usize = 100_000;
/// Maximum number of waiting jobs at which one that no request waits for is still added.
const MOST_PUSHED: usize = MOST / 2;
/// Scans of images of one registry at once.
const OF_REGISTRY: usize = 4;
/// Attempts at one image.
const ATTEMPTS: u32 = 6;
/// How long a failure is remembered.
const FAILURES: Duration = Duration::from_secs(5 * 60);
/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);

/// Why an image could not be read.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The kind of failure.
    pub code: ErrorCode,
    /// What is wrong.
    pub problem: String,
    until: Instant,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// In order of urgency, then of arrival.
    waiting: BTreeMap<(Priority, u64), Waiting>,
    /// Those that run.
    running: HashMap<JobKey, Job>,
    /// The places of those that wait; `None` for those that run.
    places: HashMap<JobKey, Option<(Priority, u64)>>,
    registries: HashMap<String, Registry>,
    failures: HashMap<JobKey, Failure>,
    /// Jobs with credentials of their own for images that are in the queue already: they are next if that job fails.
    alternatives: HashMap<JobKey, Job>,
    attempts: HashMap<JobKey, u32>,
    arrivals: u64,
}

#[derive(Debug)]
struct Waiting {
    job: Job,
    /// Not before this time.
    not_before: Option<Instant>,
}

/// What is known about the budget of a registry.
#[derive(Debug, Default)]
struct Registry {
    running: usize,
    /// The registry accepts no requests before this time.
    until: Option<Instant>,
}

impl State {
    /// Whether there is room for a job of this urgency.
    ///
    /// # Errors
    /// Too many jobs wait.
    pub fn check_room(&self, priority: Priority) -> Result<()> {
        let most = match priority {
            Priority::Pushed => MOST_PUSHED,
            Priority::Deployed | Priority::Asked => MOST,
        };
        match self.places.len() < most {
            true => Ok(()),
            false => Err(Error::new(
                ErrorCode::Limit,
                "the queue",
                format!("{most} images wait already"),
            )),
        }
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn contains(&self, key: &JobKey) -> bool {
        self.places.contains_key(key)
    }

    /// Whether a job is there, and runs or is at least as urgent.
    pub fn is_as_urgent(&self, job: &Job) -> bool {
        let place = self.places.get(&job.key);
        place.is_some_and(|place| place.is_none_or(|(priority, _)| priority <= job.priority))
    }

    /// Adds a job, or makes one more urgent.
    pub fn add(&mut self, job: Job) {
        if self.is_as_urgent(&job) {
            self.keep_alternative(job);
            return;
        }
        self.failures.remove(&job.key);
        let before = self.places.get(&job.key).copied().flatten();
        let before = before.and_then(|place| self.waiting.remove(&place));
        let not_before = before.as_ref().and_then(|it| it.not_before);
        if let Some(before) = before {
            self.keep_alternative(before.job);
        }
        self.put(job, not_before);
    }

    /// A job without its own credentials has no better chance than the one that is already queued.
    fn keep_alternative(&mut self, job: Job) {
        if job.login.is_some() {
            self.alternatives.insert(job.key.clone(), job);
        }
    }

    fn put(&mut self, job: Job, not_before: Option<Instant>) {
        self.arrivals += 1;
        let place = (job.priority, self.arrivals);
        self.places.insert(job.key.clone(), Some(place));
        self.waiting.insert(place, Waiting { job, not_before });
    }

    /// The most urgent job that may run now.
    pub fn take(&mut self, now: Instant) -> Option<Job> {
        let registries = &self.registries;
        let may_run = |it: &Waiting| {
            let registry = registries.get(it.job.registry());
            let is_free = registry.is_none_or(|it| {
                it.running < OF_REGISTRY && it.until.is_none_or(|until| until <= now)
            });
            is_free && it.not_before.is_none_or(|time| time <= now)
        };
        let (place, _) = self.waiting.iter().find(|(_, it)| may_run(it))?;
        let place = *place;
        let Waiting { job, .. } = self.waiting.remove(&place)?;
        self.places.insert(job.key.clone(), None);
        self.running.insert(job.key.clone(), job.clone());
        let registry = self.registries.entry(job.registry().to_owned());
        registry.or_default().running += 1;
        Some(job)
    }

    /// A job ended. Returns whether it is out of the queue.
    pub fn finish(&mut self, job: Job, outcome: Outcome, now: Instant) -> bool {
        self.places.remove(&job.key);
        self.running.remove(&job.key);
        if let Some(registry) = self.registries.get_mut(job.registry()) {
            registry.running = registry.running.saturating_sub(1);
        }
        let (code, problem) = match outcome {
            Outcome::Done => {
                self.attempts.remove(&job.key);
                self.alternatives.remove(&job.key);
                return true;
            }
            Outcome::Failed(code, problem) => (code, problem),
            Outcome::Retry {
                wait,
                by_registry,
                code,
                problem,
            } => {
                let attempts = self.attempts.entry(job.key.clone()).or_default();
                *attempts += 1;
                if *attempts < ATTEMPTS {
                    let until = now.checked_add(wait.min(LONGEST_WAIT));
                    if by_registry && let Some(registry) = self.registries.get_mut(job.registry()) {
                        registry.until = until.max(registry.until);
                    }
                    self.put(job, until);
                    return false;
                }
                (code, problem)
            }
        };
        self.attempts.remove(&job.key);
        if let Some(alternative) = self.alternatives.remove(&job.key) {
            self.put(alternative, None);
            return false;
        }
        self.failures.retain(|_, failure| failure.until > now);
        let until = now.checked_add(FAILURES).unwrap_or(now);
        self.failures.insert(
            job.key,
            Failure {
                code,
                problem,
                until,
            },
        );
        true
    }

    /// The first jobs that match, running ones before waiting ones, and their number.
    pub fn pending(
        &self,
        wanted: impl Fn(&Job) -> bool,
        most: usize,
        now: Instant,
    ) -> (Vec<Pending>, usize) {
        let running = self.running.values().map(|job| (job, Progress::Running));
        let waiting = self.waiting.values().map(|waiting| {
            let registry = self.registries.get(waiting.job.registry());
            let until = waiting.not_before.max(registry.and_then(|it| it.until));
            let wait = until.and_then(|until| until.checked_duration_since(now));
            let attempts = self.attempts.get(&waiting.job.key).copied();
            let progress = Progress::Waiting {
                wait: wait.unwrap_or_default(),
                attempts: attempts.unwrap_or_default(),
            };
            (&waiting.job, progress)
        });
        let (mut first, mut count) = (Vec::new(), 0);
        for (job, progress) in running.chain(waiting).filter(|(job, _)| wanted(job)) {
            count += 1;
            if first.len() < most {
                let job = job.clone();
                first.push(Pending { job, progress });
            }
        }
        (first, count)
    }

    pub fn failure(&self, key: &JobKey, now: Instant) -> Option<Failure> {
        let failure = self.failures.get(key)?;
        (failure.until > now).then(|| failure.clone())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::cluster::Puller;
    use imgcheck_source::source::registry::Credentials;

    fn job(priority: Priority, login: Option<&str>) -> Job {
        Job {
            key: JobKey {
                digest: "sha256:0".to_owned(),
                architecture: String::new(),
            },
            repository: "registry.example/a".to_owned(),
            puller: Puller::default(),
            priority,
            login: login.map(|token| Credentials::IdentityToken(token.to_owned())),
        }
    }

    fn failed() -> Outcome {
        Outcome::Failed(ErrorCode::Unauthorized, "no".to_owned())
    }

    #[test]
    fn credentials_are_tried_after_a_job_without_them_failed() {
        let now = Instant::now();
        let with = job(Priority::Asked, Some("x"));
        // One that runs, one that waits, and one that is more urgent than the one with credentials.
        for (first, second, runs) in [
            (job(Priority::Deployed, None), with.clone(), true),
            (job(Priority::Deployed, None), with.clone(), false),
            (with.clone(), job(Priority::Deployed, None), false),
        ] {
            let mut state = State::default();
            state.add(first);
            let running = runs.then(|| state.take(now).unwrap());
            state.add(second);
            let running = running.unwrap_or_else(|| state.take(now).unwrap());
            assert_eq!(running.login, None);
            assert!(!state.finish(running, failed(), now));
            let next = state.take(now).unwrap();
            assert_eq!(next, with);
            assert!(state.failure(&with.key, now).is_none());
            assert!(state.finish(next, failed(), now));
            assert!(state.failure(&with.key, now).is_some() && state.len() == 0);
        }
    }

    #[test]
    fn credentials_are_not_tried_for_what_is_known() {
        let now = Instant::now();
        let mut state = State::default();
        state.add(job(Priority::Asked, None));
        state.add(job(Priority::Asked, Some("x")));
        let running = state.take(now).unwrap();
        assert!(state.finish(running, Outcome::Done, now));
        assert!(state.take(now).is_none() && state.alternatives.is_empty());
    }

    #[test]
    fn hints_leave_room_for_others() {
        let mut state = State::default();
        for at in 0..MOST_PUSHED {
            let mut job = job(Priority::Pushed, None);
            job.key.digest = at.to_string();
            state.add(job);
        }
        assert!(state.check_room(Priority::Pushed).is_err());
        assert!(state.check_room(Priority::Asked).is_ok());
    }
}
