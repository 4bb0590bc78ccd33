//! Comments in files that ignore findings.

use imgcheck_lint::lint::InlineIgnore;
use imgcheck_model::finding::{Finding, IgnoreReason, IgnoredFinding};

/// Separates the findings that a comment ignores.
pub fn separate(
    findings: Vec<Finding>,
    ignores: &[InlineIgnore],
) -> (Vec<Finding>, Vec<IgnoredFinding>) {
    let reason = |finding: &Finding| {
        let place = finding.location.as_ref()?;
        let mut here = ignores
            .iter()
            .filter(|it| it.file == place.file && it.lines.contains(&place.line));
        let ignore = here.find(|it| it.rules.contains(&finding.rule))?;
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
