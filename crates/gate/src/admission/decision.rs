//! What is known about an object, and the answer that follows from it.

use std::collections::{BTreeMap, BTreeSet};

use chrono::Datelike;
use tokio::time::{Instant, timeout_at};

use super::deployed::Deployed;
use super::review::{ANNOTATION, AdmissionResponse, Status};
use super::words::{self, Sentences};
use crate::judge::Answered;
use crate::state::Gate;
use imgcheck_base::excerpt::shortened;
use imgcheck_report::Verdict;
use imgcheck_rules::policy::gate::{Mode, OnMiss};

/// What is known about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Pass,
    Incomplete,
    Fail,
    /// An image has no digest, or was not read yet.
    Unknown,
}

impl Outcome {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Incomplete => "incomplete",
            Outcome::Fail => "fail",
            Outcome::Unknown => "unknown",
        }
    }
}

/// The answer, before it is worded.
pub(super) struct Decision {
    pub(super) outcome: Outcome,
    mode: Mode,
    pub(super) allowed: bool,
    /// Why it is allowed without a pass.
    pub(super) passed: Option<&'static str>,
    is_deniable: bool,
    warns: bool,
    /// Why it does not pass.
    pub(super) reasons: Vec<String>,
    /// What else to tell who deploys it, and where it does not run, though it passes.
    advice: Vec<String>,
    /// A dry run: it has no image read.
    pub(super) is_dry_run: bool,
    pub(super) exempted: Vec<String>,
}

impl Decision {
    pub(super) fn of(deployed: &Deployed, answered: &Answered) -> Self {
        let (mode, judgement) = (deployed.mode, &answered.judgement);
        // What enforces lets nothing pass that nobody looked at.
        let strict = mode == Mode::Enforce;
        let may_change = answered.unresolved.values().any(|it| !it.is_final);
        let is_known = judgement.missing.is_empty() && !judgement.is_late && !may_change;
        let outcome = match judgement.verdict(strict) {
            _ if !is_known && !judgement.has_failed_image() => Outcome::Unknown,
            Verdict::Fail => Outcome::Fail,
            Verdict::Incomplete => Outcome::Incomplete,
            Verdict::Pass => Outcome::Pass,
        };
        let on_miss = deployed.config.on_miss;
        let is_denied = strict && deployed.is_deniable;
        let (allowed, passed) = match outcome {
            Outcome::Pass => (true, None),
            _ if !is_denied => (true, Some("mode")),
            Outcome::Unknown if on_miss != OnMiss::Deny => (true, Some("on-miss")),
            _ => (false, None),
        };
        let said = match outcome {
            Outcome::Pass => Sentences::default(),
            // Images that are missing have their sentences in the reasons. What their names say is known.
            Outcome::Unknown => Sentences {
                reasons: words::failing(judgement),
                ..Sentences::default()
            },
            Outcome::Fail | Outcome::Incomplete => words::about(judgement, strict),
        };
        let is_silent = passed == Some("on-miss") && on_miss == OnMiss::Allow;
        Decision {
            outcome,
            mode,
            allowed,
            passed,
            is_deniable: deployed.is_deniable,
            warns: mode > Mode::Audit && !is_silent,
            reasons: match outcome {
                Outcome::Pass => Vec::new(),
                _ => [said.reasons, unknown(outcome, answered)].concat(),
            },
            advice: match outcome {
                Outcome::Pass => words::partly(judgement),
                _ => said.warnings,
            },
            is_dry_run: false,
            exempted: Vec::new(),
        }
    }

    /// Has the missing images read.
    pub(super) async fn enqueue(&mut self, gate: &Gate, answered: &Answered, deadline: Instant) {
        for job in &answered.judgement.missing {
            let queued = timeout_at(deadline, gate.queue().add_unless_failed(job.clone())).await;
            match queued {
                Ok(Ok(())) => {}
                Ok(Err(error)) => self.reasons.push(error.message()),
                Err(_) => self
                    .reasons
                    .push("the queue did not answer in time".to_owned()),
            }
        }
    }

    /// A container that was admitted before is let through for some days.
    pub(super) fn apply_grace(
        &mut self,
        gate: &Gate,
        deployed: &Deployed,
        answered: &Answered,
        is_dry_run: bool,
    ) {
        if !deployed.is_pod || deployed.config.grace_days == 0 || !answered.unresolved.is_empty() {
            return;
        }
        let key = deployed.grace_key(answered);
        let judgement = &answered.judgement;
        if self.allowed {
            if judgement.is_final()
                && self.passed != Some("on-miss")
                && !is_dry_run
                && judgement.remember_once()
            {
                // A day on which it stopped to pass stays.
                if !matches!(gate.queue().passed(&key), Ok(Some(_)))
                    || self.outcome == Outcome::Pass
                {
                    gate.queue().remember(key, 0);
                }
            }
            return;
        }
        let today = deployed.day.num_days_from_ce();
        let Ok(Some(first)) = gate.queue().passed(&key) else {
            return;
        };
        if first == 0 && self.outcome != Outcome::Unknown && !is_dry_run {
            gate.queue().remember(key, today);
        }
        let days = i64::from(today) - i64::from(if first == 0 { today } else { first });
        let left = i64::from(deployed.config.grace_days) - days;
        if left > 0 {
            (self.allowed, self.passed) = (true, Some("grace"));
            self.reasons.push(format!(
                "let through for {left} more days, because it was admitted before"
            ));
        }
    }

    pub(super) fn response(
        self,
        mut audit: BTreeMap<&'static str, String>,
        answered: &Answered,
    ) -> AdmissionResponse {
        let judgement = &answered.judgement;
        audit.insert("verdict", self.outcome.as_str().to_owned());
        let mut add = |key, values: Vec<String>| {
            if !values.is_empty() {
                audit.insert(key, shortened(&values.join(", "), ANNOTATION));
            }
        };
        let digests = answered.digests.iter();
        add(
            "digest",
            digests
                .map(|(image, digest)| format!("{image}={digest}"))
                .collect(),
        );
        let mut read = judgement.containers.iter().filter(|it| it.is_read);
        let is_tag = answered.digests.keys().any(|image| !image.contains('@'));
        let judged_by = match read.next() {
            Some(_) => vec![if is_tag { "tag" } else { "digest" }.to_owned()],
            None => Vec::new(),
        };
        add("judged-by", judged_by);
        let findings = judgement.containers.iter().flat_map(|it| &it.findings);
        let mut rules: Vec<String> = findings.map(|it| it.rule.clone()).collect();
        rules.sort();
        rules.dedup();
        add("rules", rules);
        let gaps = judgement.containers.iter().flat_map(|it| &it.gaps);
        let gaps: BTreeSet<&str> = gaps.map(|it| it.code.as_str()).collect();
        add("gaps", gaps.into_iter().map(str::to_owned).collect());
        let known = judgement.containers.iter();
        let known = known.filter(|_| self.outcome != Outcome::Unknown);
        let classes = known.filter_map(|it| {
            let (runs, all) = it.classes?;
            Some(format!("{}: {runs} of {all}", it.name))
        });
        add("classes", classes.collect());
        add(
            "passed",
            self.passed.iter().map(|it| (*it).to_owned()).collect(),
        );
        add("exempted", self.exempted.clone());
        add("reasons", self.reasons.clone());
        // A denial has its reasons in the status.
        let mut sentences = match self.allowed {
            true => self.reasons.clone(),
            false => Vec::new(),
        };
        if self.allowed && self.mode == Mode::Enforce && !self.is_deniable && !sentences.is_empty()
        {
            let when = match self.outcome {
                Outcome::Unknown => "are denied until the image is checked",
                _ => "will be denied",
            };
            sentences.push(format!("this namespace enforces: its Pods {when}"));
        }
        sentences.extend(self.advice.iter().cloned());
        AdmissionResponse {
            allowed: self.allowed,
            warnings: match self.warns {
                true => words::warnings(&sentences),
                false => Vec::new(),
            },
            status: (!self.allowed).then(|| self.status(answered)),
            audit_annotations: audit,
            ..AdmissionResponse::default()
        }
    }

    fn status(&self, answered: &Answered) -> Status {
        let is_final = answered.unresolved.values().any(|it| it.is_final);
        let help = match self.outcome {
            Outcome::Incomplete if is_final => words::next_step(&answered.unresolved).to_owned(),
            Outcome::Unknown if self.is_dry_run && !answered.judgement.missing.is_empty() => {
                "a dry run reads no images; apply the object without `--dry-run`".to_owned()
            }
            Outcome::Unknown => words::next_step(&answered.unresolved).to_owned(),
            _ => words::next_step_judged(&answered.judgement, self.mode == Mode::Enforce),
        };
        Status {
            code: 403,
            reason: "Forbidden",
            message: words::message(&self.reasons, &help),
        }
    }
}

/// What is not known yet, one sentence for each image.
fn unknown(outcome: Outcome, answered: &Answered) -> Vec<String> {
    let judgement = &answered.judgement;
    let unresolved = answered.unresolved.iter();
    // Otherwise the containers say it.
    let unresolved = unresolved.filter(|_| outcome == Outcome::Unknown);
    let unresolved =
        unresolved.map(|(image, it)| format!("{}: {}", shortened(image, 300), it.problem));
    let digests: BTreeSet<&str> = judgement
        .missing
        .iter()
        .map(|job| job.key.digest.as_str())
        .collect();
    let images = answered.digests.iter();
    let missing = images
        .filter(|(_, digest)| digests.contains(digest.as_str()))
        .map(|(image, _)| format!("{} was not read yet", shortened(image, 300)));
    let late = judgement
        .is_late
        .then(|| "the facts of the image are being loaded".to_owned());
    unresolved.chain(missing).chain(late).collect()
}
