//! Comments in files that ignore findings.

use imgcheck_lint::lint::InlineIgnore;
use imgcheck_model::finding::{Finding, IgnoreReason, IgnoredFinding};

/// Separates the findings that a comment ignores, and marks the comments that ignore one.
pub fn separate(
    findings: Vec<Finding>,
    ignores: &mut [InlineIgnore],
) -> (Vec<Finding>, Vec<IgnoredFinding>) {
    let mut reason = |finding: &Finding| {
        let place = finding.location.as_ref()?;
        let mut here = ignores.iter_mut();
        let ignore = here.find(|it| it.applies(&finding.rule, place))?;
        ignore.used = true;
        Some(ignore.reason.clone())
    };
    let mut left = Vec::new();
    let mut ignored = Vec::new();
    for finding in findings {
        match reason(&finding) {
            Some(reason) => ignored.push(IgnoredFinding {
                finding,
                ignore: IgnoreReason {
                    reason,
                    expires: None,
                },
            }),
            None => left.push(finding),
        }
    }
    (left, ignored)
}
