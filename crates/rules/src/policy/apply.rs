//! The policy, and how it changes findings.

use std::collections::{BTreeSet, HashMap};

use chrono::NaiveDate;

use super::baseline::Baseline;
use super::expectation::{AllowedStack, Expectation};
use super::ignore::Ignore;
use super::size::SizeLimit;
use imgcheck_base::gap::Gap;
use imgcheck_base::glob::{glob, matches_any};
use imgcheck_lint::workload::Kind;
use imgcheck_model::finding::{AcknowledgedGap, Finding, IgnoreReason, IgnoredFinding, Severity};
use imgcheck_model::targets::Target;
use imgcheck_model::targets::nodes::Cluster;

/// Prefix of the rules that check the ignores themselves.
const ABOUT_IGNORES: &str = "policy-ignore-";

/// Everything that a check depends on beside the rules.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The lowest severity that fails; `None` never fails.
    pub fail_on: Option<Severity>,
    /// An image with a gap does not pass.
    pub strict: bool,
    /// The machines that the images must run on.
    pub targets: Vec<Target>,
    /// The node classes of clusters.
    pub clusters: Vec<Cluster>,
    /// Objects that start containers, beside those of the table.
    pub kinds: Vec<Kind>,
    /// Patterns of namespaces whose containers must name images by digest.
    pub digest_namespaces: Vec<String>,
    /// Overrides of the rules' severities.
    pub severities: Vec<SeverityChange>,
    /// Requirements for every image.
    pub expectations: Vec<Expectation>,
    /// Allowed combinations, one of which every image must match; empty if every combination is allowed.
    pub stacks: Vec<AllowedStack>,
    /// How large every image may be.
    pub sizes: Vec<SizeLimit>,
    /// Components that must have the same version in all images of a run.
    pub consistent: Vec<String>,
    /// Findings to suppress.
    pub ignores: Vec<Ignore>,
    /// Known findings.
    pub baseline: Baseline,
}

impl Default for Policy {
    /// The policy without a configuration: errors fail.
    fn default() -> Self {
        Policy {
            fail_on: Some(Severity::Error),
            strict: false,
            targets: Vec::new(),
            clusters: Vec::new(),
            kinds: Vec::new(),
            digest_namespaces: Vec::new(),
            severities: Vec::new(),
            expectations: Vec::new(),
            stacks: Vec::new(),
            sizes: Vec::new(),
            consistent: Vec::new(),
            ignores: Vec::new(),
            baseline: Baseline::default(),
        }
    }
}

/// Overrides the severity of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeverityChange {
    /// Rule id or pattern.
    pub rule: String,
    /// The severity; `None` disables the rules.
    pub severity: Option<Severity>,
}

/// Gaps after the policy was applied.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GapOutcome {
    /// Gaps that count.
    pub gaps: Vec<Gap>,
    /// Gaps that the configuration acknowledges.
    pub acknowledged: Vec<AcknowledgedGap>,
    /// Indexes of the ignores that applied to a gap.
    pub used: BTreeSet<usize>,
}

/// Findings after the policy was applied.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PolicyOutcome {
    /// Findings that count, in their original order.
    pub findings: Vec<Finding>,
    /// Suppressed findings.
    pub ignored: Vec<IgnoredFinding>,
    /// The subjects of the claims that findings contradict which do not count: they are ignored, or their rule is off.
    pub muted: BTreeSet<String>,
    /// Indexes of the ignores that applied to a finding.
    pub used: BTreeSet<usize>,
}

impl Policy {
    /// Whether containers of a namespace must name their images by digest.
    pub fn requires_digest(&self, namespace: &str) -> bool {
        matches_any(namespace, &self.digest_namespaces)
    }

    /// Overrides the severities of findings, and separates suppressed ones.
    ///
    /// `name` is the reference or path that the user typed, never one that an image records; `today` decides which ignores are still valid.
    pub fn apply(&self, findings: Vec<Finding>, name: &str, today: NaiveDate) -> PolicyOutcome {
        let mut outcome = PolicyOutcome::default();
        // Matched once for each rule: there may be many findings and many ignores.
        let mut matching_ignores: HashMap<String, Vec<(usize, &Ignore)>> = HashMap::new();
        for mut finding in findings {
            let subject = finding.claim.as_ref().map(|claim| claim.subject.clone());
            match self.severity(&finding) {
                Some(severity) => finding.severity = severity,
                None => {
                    outcome.muted.extend(subject);
                    continue;
                }
            }
            let matching_ignores = matching_ignores
                .entry(finding.rule.clone())
                .or_insert_with(|| self.matching_ignores(&finding.rule, name, today));
            let ignored = reason(matching_ignores, finding.file(), &mut outcome.used);
            let reason = ignored.or_else(|| self.baseline.reason(&finding));
            match reason {
                Some(ignore) => {
                    outcome.muted.extend(subject);
                    outcome.ignored.push(IgnoredFinding { finding, ignore });
                }
                None => outcome.findings.push(finding),
            }
        }
        outcome
    }

    /// Separates the gaps that the configuration acknowledges; `name` and `today` as in [`apply`](Self::apply).
    pub fn acknowledge(&self, gaps: &[Gap], name: &str, today: NaiveDate) -> GapOutcome {
        let mut outcome = GapOutcome::default();
        for gap in gaps {
            let matching = self.valid_ignores(name, today, |ignore| {
                let pattern = ignore.gap();
                pattern.is_some_and(|pattern| glob(gap.code.as_str(), pattern))
            });
            match reason(&matching, gap.path.as_deref(), &mut outcome.used) {
                Some(ignore) => outcome.acknowledged.push(AcknowledgedGap {
                    gap: gap.clone(),
                    ignore,
                }),
                None => outcome.gaps.push(gap.clone()),
            }
        }
        outcome
    }

    /// The valid ignores for a rule and an image or file, with their indexes.
    fn matching_ignores(&self, rule: &str, name: &str, today: NaiveDate) -> Vec<(usize, &Ignore)> {
        // A pattern must not suppress the finding that an ignore has expired or is unused.
        let is_exact = rule.starts_with(ABOUT_IGNORES);
        self.valid_ignores(name, today, |ignore| {
            let pattern = ignore.rule();
            pattern.is_some_and(|pattern| match is_exact {
                true => pattern == rule,
                false => glob(rule, pattern),
            })
        })
    }

    fn valid_ignores(
        &self,
        name: &str,
        today: NaiveDate,
        matches: impl Fn(&Ignore) -> bool,
    ) -> Vec<(usize, &Ignore)> {
        let ignores = self.ignores.iter().enumerate();
        ignores
            .filter(|(_, ignore)| {
                !ignore.expired(today) && matches(ignore) && ignore.concerns(name)
            })
            .collect()
    }

    /// Whether a rule is disabled.
    pub fn disables(&self, rule: &str) -> bool {
        self.change(rule).is_some_and(|it| it.severity.is_none())
    }

    /// The severity of a finding; `None` if its rule is disabled.
    fn severity(&self, finding: &Finding) -> Option<Severity> {
        self.change(&finding.rule)
            .map_or(Some(finding.severity), |change| change.severity)
    }

    /// What overrides the severity of a rule. One by id wins over one by pattern, and a later pattern over an earlier one.
    fn change(&self, id: &str) -> Option<&SeverityChange> {
        let last = |matches: &dyn Fn(&str) -> bool| {
            let mut changes = self.severities.iter().rev();
            changes.find(|change| matches(&change.rule))
        };
        last(&|rule| rule == id).or_else(|| last(&|pattern| glob(id, pattern)))
    }
}

/// The reason of the first ignore that covers a file; all that do are added to `used`.
fn reason(
    ignores: &[(usize, &Ignore)],
    file: Option<&str>,
    used: &mut BTreeSet<usize>,
) -> Option<IgnoreReason> {
    let applied = ignores.iter().filter(|(_, ignore)| ignore.covers(file));
    used.extend(applied.clone().map(|(index, _)| *index));
    applied.map(|(_, ignore)| ignore.reason()).next()
}
