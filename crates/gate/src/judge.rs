//! Judges the containers of an object from facts that are known. No layer is read here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::NaiveDate;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

use super::cluster::Puller;
use super::images::Images;
use super::queue::{Job, JobKey, Priority};
use super::resolve::Unresolved;
use super::setup::View;
use super::state::{Gate, VerdictKey};
use super::verdict::{ContainerVerdict, Judgement};
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_checker::{Checker, Deployment, ImageFacts, Report, Subject};
use imgcheck_launch::Overlay;
use imgcheck_lint::workload::Workload;

/// What is judged, and by what.
#[derive(Debug, Clone)]
pub struct Question {
    /// The containers.
    pub workload: Workload,
    /// Whose pull secrets count.
    pub puller: Puller,
    /// How urgent reading an image is.
    pub priority: Priority,
    /// Configuration and cluster.
    pub view: Arc<View>,
    /// The day that decides whether an ignore has expired.
    pub day: NaiveDate,
}

/// The answer to a question.
#[derive(Debug)]
pub struct Answered {
    /// The judgement.
    pub judgement: Arc<Judgement>,
    /// The digests of the images, by reference.
    pub digests: BTreeMap<String, String>,
    /// Images without a digest, with the reason.
    pub unresolved: BTreeMap<String, Unresolved>,
}

/// What was not there while a judgement was made.
#[derive(Default)]
pub struct Lacking {
    /// Images that were not read yet.
    pub missing: Vec<Job>,
    has_failures: bool,
}

impl Gate {
    /// Answers within the deadline. Work that takes longer continues, so that the next request finds it done.
    pub(crate) async fn answer(&self, question: Question, deadline: Instant) -> Answered {
        let containers = question.workload.containers.iter();
        let references = containers.map(|it| it.image.as_str());
        let references = references.filter(|it| !it.is_empty()).collect();
        let Question { puller, view, .. } = &question;
        let resolved = self.images(references, puller, view, deadline).await;
        let digests = resolved.iter().filter_map(|(image, found)| {
            let found = found.as_ref().ok()?;
            Some((image.clone(), found.digest.clone()))
        });
        let unresolved = resolved.iter().filter_map(|(image, found)| {
            let problem = found.as_ref().err()?;
            Some((image.clone(), problem.clone()))
        });
        let (digests, unresolved) = (digests.collect(), unresolved.collect());
        let key = key(&question, &resolved);
        let known = self.0.verdicts.get(&key);
        self.metrics().lookup("verdict", known.is_some());
        let judgement = match known {
            Some(judgement) => judgement,
            None => {
                let gate = self.clone();
                let work = move || {
                    let span = tracing::info_span!("judge");
                    gate.judge(key, question, resolved).instrument(span)
                };
                let flight = self.0.judging.join(key, work);
                let judged = timeout_at(deadline, flight).await.ok().flatten();
                judged.unwrap_or_else(|| Arc::new(Judgement::late()))
            }
        };
        Answered {
            judgement,
            digests,
            unresolved,
        }
    }

    async fn judge(self, key: VerdictKey, question: Question, resolved: Images) -> Arc<Judgement> {
        let gate = self.clone();
        let Ok(permit) = self.0.judges.clone().acquire_owned().await else {
            return Arc::default();
        };
        let work = move || {
            let _permit = permit;
            gate.judge_now(&question, &resolved)
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(judgement) => {
                let judgement = Arc::new(judgement);
                if judgement.is_final() {
                    self.0.verdicts.insert(key, judgement.clone());
                }
                judgement
            }
            Err(_) => Arc::new(Judgement::late()),
        }
    }

    fn judge_now(&self, question: &Question, resolved: &Images) -> Judgement {
        let deadline = std::time::Instant::now() + super::state::LONGEST_JUDGEMENT;
        let cancellation = Cancellation::default().with_deadline(deadline);
        let checker = &question.view.setup.checker;
        let (report, lacking) = self.report_on(checker, question, resolved, &cancellation);
        let containers = report.workloads.iter().flat_map(|it| &it.containers);
        let containers = containers
            .map(|it| ContainerVerdict::of(it, checker))
            .collect();
        let is_late = cancellation.check().is_err();
        Judgement::new(containers, lacking.missing, lacking.has_failures, is_late)
    }

    /// The whole report of a checker on the containers of a question, from facts that are known, and what is missing for it. It blocks.
    pub(crate) fn report_on(
        &self,
        checker: &Checker,
        question: &Question,
        resolved: &Images,
        cancellation: &Cancellation,
    ) -> (Report, Lacking) {
        let lacking = Mutex::new(Lacking::default());
        let read = |image: &str, architecture: &str| {
            let found = match resolved.get(image) {
                Some(Ok(found)) => found,
                Some(Err(it)) => return Err(Error::new(it.code, image, it.problem.as_str())),
                None => return Err(Error::not_found(image, "it was not resolved")),
            };
            let job = Job {
                key: JobKey {
                    digest: found.digest.clone(),
                    architecture: architecture.to_owned(),
                },
                repository: found.repository.clone(),
                puller: question.puller.clone(),
                priority: question.priority,
                login: None,
            };
            self.known(question, image, job, cancellation, &lacking)
        };
        let containers = question.workload.containers.iter();
        let report = checker.deployed(
            Deployment {
                workload: &question.workload,
                schedules: containers
                    .map(|it| Some(question.view.schedule(it)?.schedule))
                    .collect(),
                day: question.day,
                cancellation: cancellation.clone(),
            },
            &read,
        );
        let lacking = lacking.into_inner().unwrap_or_else(PoisonError::into_inner);
        (report, lacking)
    }

    /// The facts of an image, if they are known; else it is missing.
    fn known(
        &self,
        question: &Question,
        image: &str,
        job: Job,
        cancellation: &Cancellation,
        lacking: &Mutex<Lacking>,
    ) -> Result<(ImageFacts, Subject)> {
        let checker = &question.view.setup.checker;
        let containers = question.workload.containers.iter();
        let containers = containers.filter(|it| it.image == image);
        let overlays: Vec<&Overlay> = containers.map(|it| &it.overlay).collect();
        let error = match self.0.facts.get(checker, &job, &overlays, cancellation) {
            Ok((facts, subject)) => {
                let subject = subject.of_container(image, question.day, cancellation);
                return Ok((facts, subject));
            }
            Err(error) => error,
        };
        if error.is_interrupted() || error.code() == ErrorCode::NotFound {
            return Err(error);
        }
        let mut lacking = lacking.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(failure) = self.0.queue.failure(&job.key) {
            lacking.has_failures = true;
            return Err(Error::new(failure.code, image, failure.problem));
        }
        lacking.missing.push(job);
        Err(Error::new(
            ErrorCode::Unreachable,
            image,
            "it was not read yet",
        ))
    }
}

/// What decides the judgement, as a digest: the containers with all that they replace, their images, the configuration, the classes of nodes
/// that they can land on, and the day. This process has one engine version.
fn key(question: &Question, resolved: &Images) -> VerdictKey {
    let Question {
        workload,
        view,
        day,
        ..
    } = question;
    let containers = workload.containers.iter();
    let containers: Vec<_> = containers
        .map(|it| (it, view.schedule(it).map(|it| it.digest)))
        .collect();
    let text = format!(
        "{} {day} {:?} {:?} {containers:?} {resolved:?}",
        view.generation, workload.kind, workload.namespace
    );
    Sha256::digest(text.as_bytes()).into()
}
