//! The result of a check.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use imgcheck_base::gap::Gap;
use imgcheck_model::finding::{Finding, Severity};

/// What stands above errors that do not count.
pub const NOT_COUNTED: &str = "NOT COUNTED";

/// What stands above the findings of a container that passes, and that no node can take.
pub const WARNING: &str = "WARNING";

/// Rules whose warnings say that no node can take the container.
pub const UNSCHEDULABLE: [&str; 2] = ["deploy-gpu-resource-misspelled", "deploy-no-node-class"];

/// The result of a check.
///
/// ```
/// assert!(imgcheck::Verdict::Fail > imgcheck::Verdict::Pass);
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No finding is as severe as the threshold.
    Pass,
    /// No finding is, but something that matters could not be judged.
    Incomplete,
    /// At least one finding is.
    Fail,
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.above(&[]))
    }
}

impl Verdict {
    /// The verdict in documents: `pass`, `incomplete` or `fail`.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Incomplete => "incomplete",
            Verdict::Fail => "fail",
        }
    }

    /// The verdict on findings; `fail_on` is the lowest severity that fails, and `None` never fails.
    pub fn of(findings: &[Finding], fail_on: Option<Severity>) -> Self {
        match fail_on {
            Some(threshold) if findings.iter().any(|finding| finding.severity >= threshold) => {
                Verdict::Fail
            }
            _ => Verdict::Pass,
        }
    }

    /// The verdict as a heading of these findings: a pass never stands above an error, which `--fail-on never` does not count, nor above the
    /// warning that nothing runs.
    pub fn above<'f>(self, findings: impl IntoIterator<Item = &'f Finding>) -> &'static str {
        let (mut has_error, mut is_unschedulable) = (false, false);
        for finding in findings {
            has_error |= finding.severity == Severity::Error;
            is_unschedulable |= UNSCHEDULABLE.contains(&finding.rule.as_str());
        }
        match self {
            Verdict::Pass if has_error => NOT_COUNTED,
            Verdict::Pass if is_unschedulable => WARNING,
            Verdict::Pass => "PASS",
            Verdict::Incomplete => "INCOMPLETE",
            Verdict::Fail => "FAIL",
        }
    }

    /// A pass becomes incomplete if there are gaps and the check is `strict`, or one of them prevents a pass.
    pub fn unless_incomplete(self, gaps: &[Gap], strict: bool) -> Self {
        let counts = |gap: &Gap| strict || gap.code.prevents_pass();
        match self {
            Verdict::Pass if gaps.iter().any(counts) => Verdict::Incomplete,
            other => other,
        }
    }
}
