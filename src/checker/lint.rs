//! Files that an image is built from: what their base images promise, and what the rules say.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use chrono::NaiveDate;

use crate::claims::Grammar;
use crate::error::Result;
use crate::finding::{Finding, Location};
use crate::lint::{Base, BaseFinding, Sources};
use crate::policy::{Judged, Policy};
use crate::report::{FileReport, ReferenceReport, Verdict};
use crate::rules::{Facts, RuleSet};

/// A file, judged.
#[derive(Debug)]
pub struct Linted {
    /// What is told of it.
    pub report: FileReport,
    /// Indexes of the policy's ignores that some finding met.
    pub used_ignores: BTreeSet<usize>,
}

/// Judges a file by the rules.
///
/// # Errors
/// A rule cannot be evaluated.
pub fn lint(
    mut sources: Sources,
    grammar: &Grammar,
    rules: &RuleSet,
    policy: &Policy,
    today: NaiveDate,
) -> Result<Linted> {
    let mut known: BTreeMap<String, ReferenceReport> = BTreeMap::new();
    for base in sources
        .stages
        .iter_mut()
        .filter_map(|stage| stage.base.as_mut())
    {
        let Some(reference) = &base.reference else {
            continue;
        };
        if !known.contains_key(reference) {
            known.insert(reference.clone(), super::claims(reference, grammar, rules)?);
        }
        if let Some(report) = known.get(reference) {
            base.claims.clone_from(&report.claims);
            base.findings = report
                .findings
                .iter()
                .map(|finding| of_reference(base, finding))
                .collect();
        }
    }
    let file = sources.file.clone();
    let found = rules.evaluate(&Facts::of_sources(sources))?;
    let Judged {
        mut findings,
        ignored,
        used,
    } = policy.apply(found, &file, today);
    findings.sort_by_key(|finding| {
        let place = finding.location.as_ref();
        place.map(|place| {
            (
                place.file != file,
                place.file.clone(),
                place.line,
                place.column,
            )
        })
    });
    Ok(Linted {
        report: FileReport {
            verdict: Verdict::of(&findings, policy.fail_on),
            file,
            findings,
            ignored,
        },
        used_ignores: used,
    })
}

/// What a rule says of a base image, with the piece of the reference that it means.
fn of_reference(base: &Base, finding: &Finding) -> BaseFinding {
    let claim = finding.claim.as_ref();
    let found = claim.and_then(|claim| match claim.origin.as_str() {
        "tag" => Some((base.written.rfind(&claim.text)?, &claim.text)),
        _ => Some((base.written.find(&claim.text)?, &claim.text)),
    });
    let whole = base.location.clone();
    let width = whole.end_column.saturating_sub(whole.column);
    let location = match found {
        Some((at, text)) if base.written.chars().count() == width => {
            let column = whole.column + base.written[..at].chars().count();
            Location {
                column,
                end_column: column + text.chars().count(),
                ..whole
            }
        }
        _ => whole,
    };
    BaseFinding {
        rule: finding.rule.clone(),
        severity: finding.severity,
        message: finding.message.clone(),
        help: finding.help.clone().unwrap_or_default(),
        location,
    }
}

/// Says each finding once: in the report of the file that it stands in, if there is one, else in the first. A Dockerfile is
/// judged with the requirements that it installs.
pub fn once(reports: &mut [FileReport], policy: &Policy) {
    type Key = (String, String, String, usize, usize);
    let key = |finding: &Finding| -> Option<Key> {
        let place = finding.location.as_ref()?;
        let file = place.file.trim_start_matches("./").to_owned();
        let (rule, message) = (finding.rule.clone(), finding.message.clone());
        Some((rule, file, message, place.line, place.column))
    };
    let own = |report: &FileReport, key: &Key| report.file.trim_start_matches("./") == key.1;
    let mut said: HashSet<Key> = reports
        .iter()
        .flat_map(|report| {
            report
                .findings
                .iter()
                .filter_map(key)
                .filter(|key| own(report, key))
        })
        .collect();
    for report in reports {
        let mut findings = std::mem::take(&mut report.findings);
        findings
            .retain(|finding| key(finding).is_none_or(|key| own(report, &key) || said.insert(key)));
        report.verdict = Verdict::of(&findings, policy.fail_on);
        report.findings = findings;
    }
}
