//! Whether an image runs on a class of nodes.

use std::sync::Arc;

use super::super::judge;
use super::super::state::Checker;
use super::images::OnPlatform;
use super::schedule::Schedule;
use imgcheck_base::error::Result;
use imgcheck_lint::workload::{ClassFacts, Container};
use imgcheck_model::finding::{Finding, Severity};
use imgcheck_model::targets::nodes::NodeClass;
use imgcheck_report::{ClassReport, Verdict};
use imgcheck_rules::policy::PolicyFacts;

/// Rules that report an unanswerable question.
const UNANSWERED: [&str; 2] = ["gpu-unknown", "driver-unknown"];

/// The rule that reports a class of nodes without an answer.
pub(super) const UNKNOWN_CLASS: &str = "deploy-node-class-unknown";

/// Judges the classes that a container can land on. Its image was read for some platforms.
pub(super) fn judge_classes(
    checker: &Checker,
    schedule: &Schedule,
    container: &Container,
    platforms: &[OnPlatform],
    fleet: &PolicyFacts,
) -> Result<Vec<ClassReport>> {
    let classes = schedule.reachable.as_slice();
    let fits = |image: &OnPlatform, class: &NodeClass| {
        let (wanted, found) = (&class.architecture, &image.architecture);
        wanted.is_empty() || found.is_empty() || found == wanted
    };
    let image_of = |class: &Arc<NodeClass>| platforms.iter().position(|image| fits(image, class));
    let images: Vec<Option<usize>> = classes.iter().map(image_of).collect();
    let mut findings = vec![Vec::new(); classes.len()];
    for (at, image) in platforms.iter().enumerate() {
        let own = || (0..classes.len()).filter(|class| images[*class] == Some(at));
        if container.gpu.is_none() || own().next().is_none() {
            continue;
        }
        let targets: Vec<_> = own().map(|class| classes[class].target.clone()).collect();
        let found = judge::on_each_target(checker, &image.analysis, fleet, &targets)?;
        for (class, found) in own().zip(found) {
            findings[class] = found;
        }
    }
    let report = |(((class, nodes), image), findings): (_, Vec<Finding>)| {
        let class: &Arc<NodeClass> = class;
        let (verdict, reason) = match image {
            None if platforms.is_empty() => (
                Verdict::Incomplete,
                "the image could not be read".to_owned(),
            ),
            None => (Verdict::Fail, other_platform(class, platforms)),
            Some(_) if container.gpu.is_none() => (Verdict::Pass, String::new()),
            Some(_) => verdict(class, &findings),
        };
        ClassReport {
            name: class.target.name.clone(),
            verdict,
            reason,
            nodes,
            findings,
        }
    };
    let nodes = schedule.nodes.iter().copied();
    let all = classes.iter().zip(nodes).zip(images).zip(findings);
    Ok(all.map(report).collect())
}

fn other_platform(class: &NodeClass, platforms: &[OnPlatform]) -> String {
    let found = platforms.iter().map(|it| it.architecture.as_str());
    let found: Vec<&str> = found.collect();
    format!(
        "its nodes are {}, the image is for {}",
        class.architecture,
        found.join(" and ")
    )
}

/// The verdict on a class, by the findings that its target has, and the reason for it.
fn verdict(class: &NodeClass, findings: &[Finding]) -> (Verdict, String) {
    let is_open = |it: &&Finding| UNANSWERED.contains(&it.rule.as_str());
    let mut errors = findings.iter().filter(|it| it.severity == Severity::Error);
    let certain = errors.clone().find(|it| !is_open(it));
    let unknown = match (&class.target.gpus.is_empty(), &class.target.driver) {
        (true, None) => "its GPUs and its driver are unknown",
        (true, _) => "its GPUs are unknown",
        (_, None) => "its driver is unknown",
        _ => "",
    };
    match (certain, errors.next()) {
        (Some(fault), _) => (Verdict::Fail, fault.message.clone()),
        (None, Some(open)) => (Verdict::Incomplete, open.message.clone()),
        (None, None) if !unknown.is_empty() => (Verdict::Incomplete, unknown.to_owned()),
        (None, None) => (Verdict::Pass, String::new()),
    }
}

/// A class as rules see it.
pub(super) fn facts(class: &NodeClass, verdict: &str, reason: &str) -> ClassFacts {
    ClassFacts {
        name: class.target.name.clone(),
        gpus: class.target.gpus.clone(),
        driver: class.target.driver.clone(),
        architecture: class.architecture.clone(),
        cdi: class.cdi,
        declared: class.is_declared,
        verdict: verdict.to_owned(),
        reason: reason.to_owned(),
    }
}
