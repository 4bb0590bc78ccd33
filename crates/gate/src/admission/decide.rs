//! From a question of the API server to an answer.

use std::collections::BTreeMap;
use std::slice::from_ref;

use tokio::time::Instant;

use super::decision::Decision;
use super::deployed::{self, BREAK_GLASS, Deployed, NOT_UNDERSTOOD};
use super::record::Record;
use super::review::{ANNOTATION, AdmissionRequest, AdmissionResponse};
use super::words;
use crate::judge::Question;
use crate::queue::Priority;
use crate::setup::View;
use crate::state::Gate;
use imgcheck_base::excerpt::shortened;
use imgcheck_rules::policy::gate::Mode;

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
    decision.is_dry_run = request.is_dry_run();
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
    let mut response = decision.response(audit, &answered);
    let ignored = [
        deployed::wrong_mode(request, &view),
        deployed.without_break_glass(request),
    ];
    let ignored: Vec<String> = ignored.into_iter().flatten().collect();
    response.warnings.extend(words::warnings(&ignored));
    response
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
