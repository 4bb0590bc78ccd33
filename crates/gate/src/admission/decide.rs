//! From a question of the API server to an answer.

use std::collections::BTreeMap;
use std::slice::from_ref;

use chrono::Datelike;
use tokio::time::{Instant, timeout_at};

use super::deployed::{self, BREAK_GLASS, Deployed, NOT_UNDERSTOOD};
use super::record::Record;
use super::review::{AdmissionRequest, AdmissionResponse, Status};
use super::words;
use crate::judge::{Answered, Question};
use crate::queue::Priority;
use crate::setup::View;
use crate::state::Gate;
use imgcheck_base::excerpt::shortened;
use imgcheck_report::Verdict;
use imgcheck_rules::policy::gate::{Mode, OnMiss};

/// Maximum length of an audit annotation, in characters.
const ANNOTATION: usize = 1000;

/// The answer to a request.
pub(super) async fn decide(
    gate: &Gate,
    request: &AdmissionRequest,
    deadline: Instant,
) -> AdmissionResponse {
    let view = gate.view();
    if deployed::is_probe(request) {
        return probed(request, &view);
    }
    let mut deployed = match Deployed::read(request, &view) {
        Ok(deployed) => deployed,
        Err(NOT_UNDERSTOOD) => return not_understood(gate, request, &view),
        Err(why) => return passed(gate, why, BTreeMap::new()),
    };
    let mode = deployed.mode;
    let audit = BTreeMap::from([("mode", mode.as_str().to_owned())]);
    let kind = deployed.workload.kind.clone();
    let record = |allowed, passed| Record {
        request,
        kind: &kind,
        mode,
        allowed,
        passed,
    };
    if let Some(reason) = deployed.break_glass(request) {
        tracing::warn!(
            namespace = request.namespace,
            name = request.name,
            user = request.user_info.username,
            reason,
            "break-glass"
        );
        let why = format!("{reason} ({})", request.user_info.username);
        record(true, Some("break-glass")).unjudged(gate, &deployed.workload.containers, &[why]);
        let mut audit = audit;
        audit.insert("reason", shortened(reason, ANNOTATION));
        audit.insert("user", shortened(&request.user_info.username, ANNOTATION));
        let response = passed(gate, "break-glass", audit);
        let warning = format!(
            "let through unjudged: {BREAK_GLASS} says `{}`",
            shortened(reason, 60)
        );
        return AdmissionResponse {
            warnings: words::warnings(&[warning]),
            ..response
        };
    }
    let exempt = deployed.exempt();
    let record_exempt = |allowed| {
        for (container, reason) in &exempt {
            let record = record(allowed, Some("exemption"));
            record.unjudged(gate, from_ref(container), from_ref(reason));
        }
    };
    let exempted = exempt.iter();
    let exempted = exempted.map(|(container, reason)| format!("{}: {reason}", container.image));
    let exempted: Vec<String> = exempted.collect();
    if deployed.workload.containers.is_empty() {
        let mut audit = audit;
        audit.insert("reason", shortened(&exempted.join("; "), ANNOTATION));
        record_exempt(true);
        return passed(gate, "exemption", audit);
    }
    let question = Question {
        workload: deployed.workload.clone(),
        puller: deployed.puller.clone(),
        priority: Priority::Deployed,
        view: view.clone(),
        day: deployed.day,
    };
    let answered = gate.answer(question, deadline).await;
    let mut decision = Decision::of(&deployed, &answered);
    let about_images = decision.reasons.len();
    if !request.is_dry_run() {
        decision.enqueue(gate, &answered, deadline).await;
    }
    decision.apply_grace(gate, &deployed, &answered, request.is_dry_run());
    let notes = decision.reasons.get(about_images..).unwrap_or_default();
    let judged = record(decision.allowed, decision.passed);
    judged.judged(gate, &deployed.workload, &answered, notes);
    record_exempt(decision.allowed);
    let word = decision.outcome.as_str();
    gate.metrics()
        .admission(word, mode.as_str(), decision.allowed);
    if let Some(why) = decision.passed {
        gate.metrics().unjudged(why);
    }
    if !exempted.is_empty() {
        gate.metrics().unjudged("exemption");
        decision.exempted = exempted;
    }
    tracing::info!(
        uid = request.uid,
        namespace = request.namespace,
        kind = deployed.workload.kind,
        name = request.name,
        verdict = word,
        allowed = decision.allowed,
        mode = mode.as_str(),
        "admission"
    );
    decision.response(audit, &answered)
}

/// Says that the gate answers. Nothing is judged, and nothing will be stored.
fn probed(request: &AdmissionRequest, view: &View) -> AdmissionResponse {
    let mode = deployed::mode_of(request, view);
    let text = format!(
        "imgcheck {} answers; the mode of namespace {} is {}",
        env!("CARGO_PKG_VERSION"),
        request.namespace,
        mode.as_str()
    );
    AdmissionResponse {
        allowed: true,
        warnings: words::warnings(&[text]),
        ..AdmissionResponse::default()
    }
}

/// Allows what is not judged.
fn passed(
    gate: &Gate,
    why: &'static str,
    mut audit: BTreeMap<&'static str, String>,
) -> AdmissionResponse {
    gate.metrics().unjudged(why);
    audit.insert("passed", why.to_owned());
    AdmissionResponse {
        allowed: true,
        audit_annotations: audit,
        ..AdmissionResponse::default()
    }
}

/// Allows an object that is not understood. Its Pods are judged when they are created.
fn not_understood(gate: &Gate, request: &AdmissionRequest, view: &View) -> AdmissionResponse {
    let mode = deployed::mode_of(request, view);
    let kind = request.object["kind"].as_str().unwrap_or_default();
    let warning = format!(
        "not judged: {} has an image or a GPU request in no container that imgcheck understands; its Pods are judged when they are created",
        shortened(kind, 60)
    );
    let warnings = match mode {
        Mode::Audit => Vec::new(),
        Mode::Warn | Mode::Enforce => words::warnings(&[warning]),
    };
    let audit = BTreeMap::from([("mode", mode.as_str().to_owned())]);
    AdmissionResponse {
        warnings,
        ..passed(gate, NOT_UNDERSTOOD, audit)
    }
}

/// What is known about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Pass,
    Incomplete,
    Fail,
    /// An image has no digest, or was not read yet.
    Unknown,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Incomplete => "incomplete",
            Outcome::Fail => "fail",
            Outcome::Unknown => "unknown",
        }
    }
}

/// The answer, before it is worded.
struct Decision {
    outcome: Outcome,
    mode: Mode,
    allowed: bool,
    /// Why it is allowed without a pass.
    passed: Option<&'static str>,
    is_deniable: bool,
    warns: bool,
    /// Why it does not pass.
    reasons: Vec<String>,
    /// Where it does not run, though it passes.
    partly: Vec<String>,
    exempted: Vec<String>,
}

impl Decision {
    fn of(deployed: &Deployed, answered: &Answered) -> Self {
        let (mode, judgement) = (deployed.mode, &answered.judgement);
        // What enforces lets nothing pass that nobody looked at.
        let strict = mode == Mode::Enforce;
        let may_change = answered.unresolved.values().any(|it| !it.is_final);
        let is_known = judgement.missing.is_empty() && !judgement.is_late && !may_change;
        let outcome = match judgement.verdict(strict) {
            Verdict::Fail => Outcome::Fail,
            _ if !is_known => Outcome::Unknown,
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
        let is_silent = passed == Some("on-miss") && on_miss == OnMiss::Allow;
        Decision {
            outcome,
            mode,
            allowed,
            passed,
            is_deniable: deployed.is_deniable,
            warns: mode > Mode::Audit && !is_silent,
            reasons: reasons(outcome, answered, strict),
            partly: match outcome {
                Outcome::Pass => words::partly(judgement),
                _ => Vec::new(),
            },
            exempted: Vec::new(),
        }
    }

    /// Has the missing images read.
    async fn enqueue(&mut self, gate: &Gate, answered: &Answered, deadline: Instant) {
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
    fn apply_grace(
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

    fn response(
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
        let is_tag = answered.digests.keys().any(|image| !image.contains('@'));
        add(
            "judged-by",
            vec![if is_tag { "tag" } else { "digest" }.to_owned()],
        );
        let findings = judgement.containers.iter().flat_map(|it| &it.findings);
        let mut rules: Vec<String> = findings.map(|it| it.rule.clone()).collect();
        rules.sort();
        rules.dedup();
        add("rules", rules);
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
        let mut sentences = self.reasons.clone();
        if self.allowed && self.mode == Mode::Enforce && !self.is_deniable && !sentences.is_empty()
        {
            sentences.push("this namespace enforces: its Pods will be denied".to_owned());
        }
        sentences.extend(self.partly.iter().cloned());
        AdmissionResponse {
            allowed: self.allowed,
            warnings: match self.allowed && self.warns {
                true => words::warnings(&sentences),
                false => Vec::new(),
            },
            status: (!self.allowed).then(|| self.status(answered)),
            audit_annotations: audit,
            ..AdmissionResponse::default()
        }
    }

    fn status(&self, answered: &Answered) -> Status {
        let help = match self.outcome {
            Outcome::Unknown => words::next_step(&answered.unresolved),
            _ => "see `imgcheck preflight` for the whole report",
        };
        Status {
            code: 403,
            reason: "Forbidden",
            message: words::message(&self.reasons, help),
        }
    }
}

fn reasons(outcome: Outcome, answered: &Answered, strict: bool) -> Vec<String> {
    let judgement = &answered.judgement;
    let mut reasons = match outcome {
        Outcome::Pass => return Vec::new(),
        // Containers whose images are missing have their sentence below.
        Outcome::Unknown => Vec::new(),
        _ => words::reasons(judgement, strict),
    };
    let unresolved = answered.unresolved.iter();
    // Otherwise the containers say it.
    let unresolved = unresolved.filter(|_| outcome == Outcome::Unknown);
    reasons
        .extend(unresolved.map(|(image, it)| format!("{}: {}", shortened(image, 300), it.problem)));
    let missing = judgement.missing.iter().map(|job| job.reference());
    let missing: std::collections::BTreeSet<String> = missing.collect();
    reasons.extend(
        missing
            .into_iter()
            .map(|it| format!("{it} was not read yet")),
    );
    if judgement.is_late {
        reasons.push("the facts of the image are being loaded".to_owned());
    }
    reasons
}
