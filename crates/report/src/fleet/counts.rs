//! What the summary and the page say about a whole fleet, in bounded memory.

use std::collections::BTreeMap;

use super::record::{FleetFinding, FleetRecord, FleetRuns, FleetStatus};
use super::sharing::Sharing;
use super::tally::{Tally, Top};
use crate::Verdict;
use imgcheck_base::excerpt::shortened;
use imgcheck_model::finding::Severity;

/// Characters of a message that are kept.
const MESSAGE: usize = 400;
/// Characters of a reference that are kept.
const REFERENCE: usize = 400;
/// Messages of one reference that are kept.
const MESSAGES: usize = 4;

/// A fleet, counted. Everything is counted by reference, so an image with three tags counts three times; only bases count images.
#[derive(Debug)]
pub(super) struct Counts {
    pub verdicts: Tally<Verdict>,
    /// References that pass though they have errors, which do not count by `--fail-on never`.
    pub not_counted: u64,
    /// References with a finding of the rule, by the worst severity of it in that image.
    pub rules: Tally<(String, Severity)>,
    /// Codes of what failed or was skipped.
    pub codes: Tally<(FleetStatus, String)>,
    pub gaps: Tally<&'static str>,
    /// PyTorch and CUDA, major and minor; empty for what an image does not have. Images with neither are not counted.
    pub stacks: Tally<(String, String)>,
    /// Minimum drivers, as numbers that can be compared and as text.
    pub drivers: Tally<(Vec<u32>, String)>,
    pub architectures: Tally<String>,
    /// References with code for at least one architecture.
    pub with_code: u64,
    pub targets: Tally<(String, FleetRuns)>,
    pub sharing: Sharing,
    /// Tags that lie, by Pods.
    pub lies: Top<Row>,
    /// References that fail for other reasons.
    pub failing: Top<Row>,
    /// References that are incomplete.
    pub incomplete: Top<Row>,
    /// References that failed or were skipped.
    pub unread: Top<Row>,
    /// Verdicts here and there, if records are compared.
    pub moves: Tally<(Verdict, Verdict)>,
    /// Rules with new findings, and with findings that are gone.
    pub new: Tally<String>,
    pub gone: Tally<String>,
    /// References that get worse.
    pub worse: Top<Row>,
    /// Whether anybody counted Pods.
    pub knows_pods: bool,
    /// Whether a registry says how often repositories were pulled.
    pub knows_pulls: bool,
}

/// A reference in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub reference: String,
    pub status: FleetStatus,
    pub verdict: Option<Verdict>,
    /// The code of what failed or was skipped.
    pub code: String,
    pub pods: Option<u64>,
    /// What is wrong, at most [`MESSAGES`].
    pub messages: Vec<String>,
    /// How many messages are left out.
    pub more: usize,
}

impl Counts {
    /// Keeps at most so many references in each list.
    pub fn new(rows: usize) -> Self {
        Counts {
            verdicts: Tally::default(),
            not_counted: 0,
            rules: Tally::default(),
            codes: Tally::default(),
            gaps: Tally::default(),
            stacks: Tally::default(),
            drivers: Tally::default(),
            architectures: Tally::default(),
            with_code: 0,
            targets: Tally::default(),
            sharing: Sharing::default(),
            lies: Top::new(rows),
            failing: Top::new(rows),
            incomplete: Top::new(rows),
            unread: Top::new(rows),
            moves: Tally::default(),
            new: Tally::default(),
            gone: Tally::default(),
            worse: Top::new(rows),
            knows_pods: false,
            knows_pulls: false,
        }
    }

    /// Counts a record.
    pub fn add(&mut self, record: &FleetRecord) {
        self.knows_pods |= record.pods.is_some();
        self.knows_pulls |= record.pulls.is_some();
        let importance = importance_of(record);
        if record.status != FleetStatus::Judged {
            let code = record.code.clone().unwrap_or_default();
            self.codes.add((record.status, code));
            // What failed comes before what was left out on purpose.
            let failed = u64::from(record.status == FleetStatus::Failed);
            self.unread
                .add(importance.saturating_mul(2).saturating_add(failed), || {
                    Row::of(record, record.message.iter().map(String::as_str))
                });
            return;
        }
        if let Some(verdict) = record.verdict {
            self.verdicts.add(verdict);
            let has_error = (record.findings.iter()).any(|it| it.severity == Severity::Error);
            self.not_counted += u64::from(verdict == Verdict::Pass && has_error);
        }
        self.findings(record, importance);
        self.contents(record);
        self.compared(record, importance);
    }

    fn findings(&mut self, record: &FleetRecord, importance: u64) {
        for (rule, severity) in worst_by_rule(&record.findings) {
            self.rules.add((rule.to_owned(), severity));
        }
        for gap in &record.gaps {
            self.gaps.add(gap.as_str());
        }
        let findings = record.findings.iter();
        if record.findings.iter().any(is_broken_claim) {
            let broken = findings.filter(|it| is_broken_claim(it));
            self.lies.add(importance, || {
                Row::of(record, broken.map(|it| it.message.as_str()))
            });
        } else if record.verdict == Some(Verdict::Fail) {
            let worst = findings.clone().map(|it| it.severity).max();
            let worst = findings.filter(|it| Some(it.severity) == worst);
            self.failing.add(importance, || {
                Row::of(record, worst.map(|it| it.message.as_str()))
            });
        }
        if record.verdict == Some(Verdict::Incomplete) {
            let gaps = record.gaps.iter().map(|gap| gap.as_str());
            self.incomplete.add(importance, || Row::of(record, gaps));
        }
    }

    fn contents(&mut self, record: &FleetRecord) {
        let version = |name: &str| {
            record
                .stack
                .get(name)
                .map(|it| major_minor(it))
                .unwrap_or_default()
        };
        let (torch, cuda) = (version("torch"), version("cuda"));
        if !torch.is_empty() || !cuda.is_empty() {
            self.stacks.add((torch, cuda));
        }
        if let Some(driver) = &record.minimum_driver {
            self.drivers.add((numbers(driver), shortened(driver, 40)));
        }
        self.with_code += u64::from(!record.architectures.is_empty());
        for name in &record.architectures {
            self.architectures.add(shortened(name, 40));
        }
        for target in &record.targets {
            self.targets
                .add((shortened(&target.name, 200), target.runs));
        }
        self.sharing.add(record);
    }

    fn compared(&mut self, record: &FleetRecord, importance: u64) {
        let Some((here, other)) = record.verdict.zip(record.against.as_ref()) else {
            return;
        };
        self.moves.add((here, other.verdict));
        for (rule, _) in worst_by_rule(&other.new) {
            self.new.add(rule.to_owned());
        }
        for (rule, _) in worst_by_rule(&other.gone) {
            self.gone.add(rule.to_owned());
        }
        if other.verdict > here {
            let messages = other.new.iter().map(|it| it.message.as_str());
            self.worse.add(importance, || Row {
                verdict: Some(other.verdict),
                ..Row::of(record, messages)
            });
        }
    }

    /// How many references each rule has findings in, the most first, with the worst severity.
    pub fn by_rule(&self) -> Vec<(String, Severity, u64)> {
        let mut rules: BTreeMap<&str, (Severity, u64)> = BTreeMap::new();
        for ((rule, severity), count) in self.rules.iter() {
            let (worst, all) = rules.entry(rule).or_insert((*severity, 0));
            *worst = (*worst).max(*severity);
            *all += count;
        }
        let rules = rules.into_iter();
        let mut all: Vec<(String, Severity, u64)> = rules
            .map(|(rule, (severity, count))| (rule.to_owned(), severity, count))
            .collect();
        all.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
        all
    }

    /// How many references run on each target, do not, are not known to, and have no GPU code.
    pub fn by_target(&self) -> Vec<(&str, [u64; 4])> {
        const COLUMNS: [FleetRuns; 4] = [
            FleetRuns::Yes,
            FleetRuns::No,
            FleetRuns::Unknown,
            FleetRuns::NoGpuCode,
        ];
        let mut names: Vec<&String> = self.targets.iter().map(|((name, _), _)| name).collect();
        names.dedup();
        let of = |name: &String| COLUMNS.map(|runs| self.targets.of(&(name.clone(), runs)));
        let targets = names.into_iter().map(|name| (name.as_str(), of(name)));
        targets.collect()
    }

    /// What became of the records, as they came: judged, failed, skipped.
    pub fn status(&self, status: FleetStatus) -> u64 {
        match status {
            FleetStatus::Judged => self.verdicts.iter().map(|(_, count)| count).sum(),
            other => {
                let own = self
                    .codes
                    .iter()
                    .filter(|((status, _), _)| *status == other);
                own.map(|(_, count)| count).sum()
            }
        }
    }
}

/// What most Pods use comes first, then what is pulled most often.
fn importance_of(record: &FleetRecord) -> u64 {
    let pulls = record.pulls.unwrap_or_default().min(u64::from(u32::MAX));
    let pods = record.pods.unwrap_or_default();
    pods.saturating_mul(1 << 32).saturating_add(pulls)
}

impl Row {
    fn of<'m>(record: &FleetRecord, messages: impl Iterator<Item = &'m str>) -> Self {
        let mut messages = messages;
        let kept = messages.by_ref().take(MESSAGES);
        let kept: Vec<String> = kept.map(|it| shortened(it, MESSAGE)).collect();
        Row {
            reference: shortened(&record.reference, REFERENCE),
            status: record.status,
            verdict: record.verdict,
            code: record
                .code
                .as_deref()
                .map(|it| shortened(it, 80))
                .unwrap_or_default(),
            pods: record.pods,
            messages: kept,
            more: messages.count(),
        }
    }
}

/// Whether a finding contradicts a claim; a note does not.
pub(super) fn is_broken_claim(finding: &FleetFinding) -> bool {
    finding.rule.starts_with("claim-") && finding.severity > Severity::Note
}

/// Each rule once, with its worst severity.
fn worst_by_rule(findings: &[FleetFinding]) -> BTreeMap<&str, Severity> {
    let mut rules = BTreeMap::new();
    for finding in findings {
        let worst = rules
            .entry(finding.rule.as_str())
            .or_insert(finding.severity);
        *worst = finding.severity.max(*worst);
    }
    rules
}

/// `2.9` of `2.9.1+cu128`.
fn major_minor(version: &str) -> String {
    let mut pieces = version.split(['.', '+', '-', ' ']);
    let two: Vec<&str> = pieces.by_ref().take(2).collect();
    shortened(&two.join("."), 20)
}

/// `[535, 183, 6]` of `535.183.06`.
pub(super) fn numbers(version: &str) -> Vec<u32> {
    let pieces = version.split('.').take(4);
    pieces.map_while(|piece| piece.parse().ok()).collect()
}
