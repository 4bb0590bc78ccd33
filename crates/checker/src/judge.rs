//! Judges analyzed images by the rules, the targets and the policy.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Instant;

use chrono::NaiveDate;

use super::analyze::{Analysis, parsed_reference};
use super::request::ImageRequest;
use super::state::Checker;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::gap::{Gap, GapCode};
use imgcheck_base::reference::name::Name;
use imgcheck_lint::workload::WorkloadFacts;
use imgcheck_model::finding::Finding;
use imgcheck_model::process::LoaderFacts;
use imgcheck_model::stack::ContainerToolkit;
use imgcheck_model::targets::{self, Target};
use imgcheck_report::{FileReport, ImageReport, Inspection, Verdict};
use imgcheck_rules::policy::{Member, Policy, PolicyFacts, PolicyOutcome, Subjects};
use imgcheck_rules::rules::{Facts, Questions, Rule};

/// Rules that report a command which certainly fails.
const COMMAND_FAILS: [&str; 3] = [
    "deploy-path-missing",
    "deploy-script-missing",
    "launch-program-missing",
];

/// The report of an image, and the indexes of the ignores that one of its findings matched.
pub(crate) struct Judgement {
    pub report: ImageReport,
    pub used_ignores: BTreeSet<usize>,
}

/// Judges one image.
pub(crate) fn judge(
    checker: &Checker,
    analysis: &Analysis,
    fleet: &PolicyFacts,
) -> Result<Judgement> {
    judge_on(checker, analysis, fleet, &checker.policy.targets, None)
}

/// Judges the image of a container. If the classes of its nodes are known, they were judged one by one before, and take the place of the
/// targets.
pub(crate) fn judge_deployed(
    checker: &Checker,
    analysis: &Analysis,
    fleet: &PolicyFacts,
    workload: WorkloadFacts,
) -> Result<Judgement> {
    let targets: &[Target] = match &workload.classes {
        Some(_) => &[],
        None => &checker.policy.targets,
    };
    judge_on(checker, analysis, fleet, targets, Some(workload))
}

fn judge_on(
    checker: &Checker,
    analysis: &Analysis,
    fleet: &PolicyFacts,
    targets: &[Target],
    workload: Option<WorkloadFacts>,
) -> Result<Judgement> {
    let start = Instant::now();
    let facts = analysis.facts();
    let knows_classes = workload.as_ref().is_some_and(|it| it.classes.is_some());
    let Analysis {
        inspection,
        model,
        typed,
        day,
        bounds,
        elapsed,
        ..
    } = analysis;
    let day = *day;
    let policy = &checker.policy;
    let tables = &checker.knowledge.targets;
    let libraries = &inspection.gpu.libraries;
    let unselectable = targets::unselectable(targets, libraries, &inspection.size, tables);
    let unselectable = unselectable.map_err(Error::misread)?;
    let input = target_input(inspection, facts.container_toolkit.as_ref());
    let targets = targets::judge(targets, &input, tables).map_err(Error::misread)?;
    let requests_gpus = workload
        .as_ref()
        .is_some_and(|it| it.container.gpu.is_some());
    let facts = Facts {
        loader: match !targets.is_empty() || requests_gpus {
            true => facts.loader.map(LoaderFacts::on_gpus),
            false => facts.loader,
        },
        targets: targets.clone(),
        policy: fleet.clone(),
        workload,
        ..facts
    };
    let applies = |rule: &Rule| !(knows_classes && rule.is_about_targets());
    let rules = &checker.rules;
    let found = rules.evaluate_some(&facts, bounds, applies);
    let found = found.map_err(|error| unjudged(inspection.name(), &error))?;
    let skipped = match checker.skipped_rules {
        true => rules.skipped(&facts, bounds, applies)?,
        false => BTreeMap::new(),
    };
    let mut judged = policy.apply(found, typed, day);
    let gaps = unsettled(&inspection.gaps, &judged);
    let mut coverage = policy.acknowledge(&gaps, typed, day);
    judged.used.append(&mut coverage.used);
    // The policy may have changed severities.
    judged.findings.sort_by_key(|it| Reverse(it.severity));
    let elapsed = *elapsed + start.elapsed();
    Ok(Judgement {
        report: ImageReport {
            facts: inspection.clone(),
            tree: model.tree.clone(),
            imports: model.imports.clone(),
            verdict: Verdict::of(&judged.findings, policy.fail_on)
                .unless_incomplete(&coverage.gaps, policy.strict),
            questions: Questions::of(&targets, fleet),
            targets,
            unselectable,
            findings: judged.findings,
            ignored: judged.ignored,
            muted: judged.muted,
            gaps: coverage.gaps,
            acknowledged: coverage.acknowledged,
            skipped,
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        },
        used_ignores: judged.used,
    })
}

/// The gaps without those about the start of a command that certainly fails.
fn unsettled(gaps: &[Gap], judged: &PolicyOutcome) -> Vec<Gap> {
    let ignored = judged.ignored.iter().map(|it| &it.finding);
    let mut findings = judged.findings.iter().chain(ignored);
    let fails = findings.any(|it| COMMAND_FAILS.contains(&it.rule.as_str()));
    let is_open = |it: &&Gap| !fails || it.code != GapCode::LaunchNotUnderstood;
    gaps.iter().filter(is_open).cloned().collect()
}

/// The findings that an image has on each target, beside those that it has everywhere.
pub(crate) fn on_each_target(
    checker: &Checker,
    analysis: &Analysis,
    fleet: &PolicyFacts,
    targets: &[Target],
) -> Result<Vec<Vec<Finding>>> {
    let inspection = &analysis.inspection;
    let tables = &checker.knowledge.targets;
    let facts = Facts {
        policy: fleet.clone(),
        ..analysis.facts()
    };
    let input = target_input(inspection, facts.container_toolkit.as_ref());
    let targets = targets::judge(targets, &input, tables).map_err(Error::misread)?;
    let targets: Vec<_> = targets.into_iter().map(|it| vec![it]).collect();
    let rules = &checker.rules;
    let found = rules.evaluate_on_targets(&facts, &targets, &analysis.bounds);
    let found = found.map_err(|error| unjudged(inspection.name(), &error))?;
    let judged = |found| {
        let policy = &checker.policy;
        policy.apply(found, &analysis.typed, analysis.day).findings
    };
    Ok(found.into_iter().map(judged).collect())
}

/// Judges a container whose image could not be read, by what its reference promises.
pub(crate) fn judge_unread(
    checker: &Checker,
    image: &str,
    workload: WorkloadFacts,
    settings: &ImageRequest,
) -> Result<PolicyOutcome> {
    // What is wrong with the reference itself was said when it could not be read.
    let reference = Some(image).filter(|it| it.parse::<Name>().is_ok());
    let claims = reference.and_then(|it| checker.knowledge.grammar.claims(it).ok());
    let facts = Facts {
        workload: Some(workload),
        ..Facts::of_reference(parsed_reference(reference), claims.unwrap_or_default())
    };
    let bounds = checker.bounds(settings.limits, &settings.cancellation);
    let found = checker.rules.evaluate(&facts, &bounds)?;
    Ok(checker.policy.apply(found, image, settings.day))
}

/// The fingerprints of all findings of an image.
pub(crate) fn fingerprints(
    checker: &Checker,
    analysis: &Analysis,
    fleet: &PolicyFacts,
) -> Result<HashSet<String>> {
    let report = judge(checker, analysis, fleet)?.report;
    let ignored = report.ignored.into_iter().map(|it| it.finding);
    let all = report.findings.into_iter().chain(ignored);
    Ok(all.map(|finding| finding.fingerprint).collect())
}

/// An image for which a rule cannot be evaluated counts as one that cannot be read.
fn unjudged(image: &str, error: &Error) -> Error {
    const PROBLEM: &str = "it cannot be judged";
    match error {
        Error::Limit { subject, exceeded } => {
            Error::limit(format!("{image}: {PROBLEM}: {subject}"), *exceeded)
        }
        Error::Cancelled => Error::Cancelled,
        Error::Deadline => Error::Deadline,
        error => Error::damaged(image, format!("{PROBLEM}: {}", error.quoted())),
    }
}

/// What the policy demands of the images of one call, whose versions may have to agree.
pub(crate) fn fleet(policy: &Policy, images: &[&Analysis]) -> PolicyFacts {
    let mut namesakes: HashMap<&str, usize> = HashMap::new();
    for image in images {
        *namesakes.entry(image.inspection.name()).or_default() += 1;
    }
    let member = |image: &&Analysis| {
        let name = image.inspection.name();
        let versions = image.model.facts.versions.iter().flatten();
        let consistent = versions.filter(|(name, _)| policy.consistent.contains(name));
        Member {
            image: match namesakes[name] {
                1 => name.to_owned(),
                _ => format!("{name} ({})", image.inspection.platform),
            },
            versions: consistent
                .map(|(name, version)| (name.clone(), version.clone()))
                .collect(),
        }
    };
    policy.facts(&images.iter().map(member).collect::<Vec<_>>())
}

/// What decides whether an image runs on a target.
fn target_input<'i>(
    facts: &'i Inspection,
    toolkit: Option<&'i ContainerToolkit>,
) -> targets::TargetInput<'i> {
    targets::TargetInput {
        depth: facts.depth,
        gpu: &facts.gpu,
        loader: facts.loader.as_deref(),
        stack: &facts.stack,
        driver: facts.driver.as_ref(),
        toolkit,
    }
}

/// What the rules say about the ignores of the configuration once everything was judged: those that have expired, and those that
/// no finding about one of the `subjects` matched. `None` if there is nothing to say.
pub(crate) fn configuration(
    checker: &Checker,
    subjects: Subjects,
    used: &BTreeSet<usize>,
    day: NaiveDate,
) -> Result<Option<FileReport>> {
    let policy = &checker.policy;
    if policy.ignores.is_empty() {
        return Ok(None);
    }
    let facts = Facts {
        policy: policy.ignore_facts(subjects, used, day),
        ..Facts::default()
    };
    let found = checker.rules.evaluate(&facts, &checker.limits.into())?;
    let file = found.iter().find_map(|finding| finding.location.as_ref());
    let Some(file) = file.map(|location| location.file.clone()) else {
        return Ok(None);
    };
    let judged = policy.apply(found, &file, day);
    Ok((!judged.findings.is_empty()).then(|| FileReport {
        verdict: Verdict::of(&judged.findings, policy.fail_on),
        file,
        kind: String::new(),
        findings: judged.findings,
        ignored: judged.ignored,
        gaps: Vec::new(),
    }))
}
