//! Whether an image runs on a class of nodes.

use super::super::judge;
use super::super::state::Checker;
use super::images::OnPlatform;
use crate::error::Result;
use crate::finding::{Finding, Severity};
use crate::policy::PolicyFacts;
use crate::report::{ClassReport, Verdict};
use crate::targets::nodes::NodeClass;
use crate::workload::{ClassFacts, Container};

/// Rules that report that there is no answer.
const UNANSWERED: [&str; 2] = ["gpu-unknown", "driver-unknown"];

/// Judges a class for a container, whose image was read for some platforms.
pub(super) fn judge_class(
    checker: &Checker,
    class: &NodeClass,
    container: &Container,
    platforms: &[OnPlatform],
    fleet: &PolicyFacts,
) -> Result<ClassReport> {
    let wanted = class.architecture.as_str();
    let fits = |it: &&OnPlatform| {
        wanted.is_empty() || it.architecture.is_empty() || it.architecture == wanted
    };
    let report = |verdict: Verdict, reason: String, findings: Vec<Finding>| ClassReport {
        name: class.target.name.clone(),
        verdict,
        reason,
        nodes: class.nodes.len(),
        findings,
    };
    if platforms.is_empty() {
        let reason = "the image could not be read".to_owned();
        return Ok(report(Verdict::Incomplete, reason, Vec::new()));
    }
    let Some(image) = platforms.iter().find(fits) else {
        let found: Vec<&str> = platforms
            .iter()
            .map(|it| it.architecture.as_str())
            .collect();
        let reason = format!(
            "its nodes are {wanted}, the image is for {}",
            found.join(" and ")
        );
        return Ok(report(Verdict::Fail, reason, Vec::new()));
    };
    if container.gpu.is_none() {
        return Ok(report(Verdict::Pass, String::new(), Vec::new()));
    }
    let findings = judge::on_target(checker, &image.analysis, fleet, &class.target)?;
    let is_error = |it: &&Finding| it.severity == Severity::Error;
    let is_open = |it: &&Finding| UNANSWERED.contains(&it.rule.as_str());
    let mut errors = findings.iter().filter(is_error);
    let certain = errors.clone().find(|it| !is_open(it));
    let unknown = match (&class.target.gpus.is_empty(), &class.target.driver) {
        (true, None) => "its GPUs and its driver are unknown",
        (true, _) => "its GPUs are unknown",
        (_, None) => "its driver is unknown",
        _ => "",
    };
    let (verdict, reason) = match (certain, errors.next()) {
        (Some(fault), _) => (Verdict::Fail, fault.message.clone()),
        (None, Some(open)) => (Verdict::Incomplete, open.message.clone()),
        (None, None) if !unknown.is_empty() => (Verdict::Incomplete, unknown.to_owned()),
        (None, None) => (Verdict::Pass, String::new()),
    };
    Ok(report(verdict, reason, findings))
}

/// A class as rules see it.
pub(super) fn facts(class: &NodeClass, verdict: &str, reason: &str) -> ClassFacts {
    ClassFacts {
        name: class.target.name.clone(),
        gpus: class.target.gpus.clone(),
        driver: class.target.driver.clone(),
        architecture: class.architecture.clone(),
        cdi: class.cdi,
        verdict: verdict.to_owned(),
        reason: reason.to_owned(),
    }
}
