//! What the rules say of the configuration itself, once all that a call names was judged.

use std::collections::BTreeSet;

use chrono::NaiveDate;

use crate::error::Result;
use crate::policy::{Policy, Subjects};
use crate::report::{FileReport, Verdict};
use crate::rules::{Facts, RuleSet};

/// Ignores that are over, or that nothing meets: `used` are the indexes of those that a finding about one of the `subjects` met.
/// `None` if the rules say nothing.
///
/// # Errors
/// A rule cannot be evaluated.
pub fn judge_ignores(
    subjects: Subjects,
    used: &BTreeSet<usize>,
    rules: &RuleSet,
    policy: &Policy,
    today: NaiveDate,
) -> Result<Option<FileReport>> {
    if policy.ignores.is_empty() {
        return Ok(None);
    }
    let facts = Facts {
        policy: policy.ignore_facts(subjects, used, today),
        ..Facts::default()
    };
    let found = rules.evaluate(&facts)?;
    let file = found.iter().find_map(|finding| finding.location.as_ref());
    let file = file.map(|location| location.file.clone());
    let judged = policy.apply(found, file.as_deref().unwrap_or_default(), today);
    Ok(file
        .filter(|_| !judged.findings.is_empty())
        .map(|file| FileReport {
            file,
            verdict: Verdict::of(&judged.findings, policy.fail_on),
            findings: judged.findings,
            ignored: judged.ignored,
        }))
}
