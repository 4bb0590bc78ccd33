//! Baselines: known findings, which do not fail.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use imgcheck_base::error::{Error, Result};
use imgcheck_model::finding::{Finding, IgnoreReason, Severity};

/// The largest baseline file, in bytes: reports of a thousand images.
const MAX_FILE: u64 = 512 * 1024 * 1024;
/// The reason of a finding that the baseline suppresses.
pub const REASON: &str = "in the baseline";
/// The schema of a baseline file.
const SCHEMA: &str = "imgcheck/baseline/v1";

/// Known findings by fingerprint, each with its worst severity. A rebuilt image keeps its fingerprints.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    severities: HashMap<String, Severity>,
}

/// A baseline file, or the part of a report that is used as one.
#[derive(Deserialize)]
struct File {
    schema: String,
    /// In a baseline.
    #[serde(default)]
    findings: Vec<Known>,
    /// In a report of `check`.
    #[serde(default)]
    images: Vec<Subject>,
    /// In a report of `lint`.
    #[serde(default)]
    files: Vec<Subject>,
}

#[derive(Deserialize)]
struct Subject {
    #[serde(default)]
    findings: Vec<Known>,
    #[serde(default)]
    ignored: Vec<Known>,
}

#[derive(Deserialize)]
struct Known {
    fingerprint: String,
    /// Without a severity, the finding is known whatever its severity.
    #[serde(default = "worst")]
    severity: Severity,
    #[serde(default)]
    ignore: Option<KnownIgnore>,
}

fn worst() -> Severity {
    Severity::Error
}

#[derive(Deserialize)]
struct KnownIgnore {
    reason: String,
}

/// One finding in a file of ours: what it is, for whoever reviews the file.
#[derive(Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct Entry<'f> {
    image: &'f str,
    rule: &'f str,
    message: &'f str,
    severity: Severity,
    fingerprint: &'f str,
}

impl Baseline {
    /// Reads a file written by [`Baseline::text`], or a JSON report.
    ///
    /// # Errors
    /// [`Error::Config`]: the file cannot be read, or is neither.
    pub fn load(path: &Path) -> Result<Self> {
        let refuse = |problem: &dyn std::fmt::Display| {
            let help = "create one with --write-baseline FILE, or use a JSON report";
            Error::config(format!("baseline {}: {problem}", path.display())).with_help(help)
        };
        if !path.exists() {
            return Err(refuse(&"file not found"));
        }
        let text = super::read::read_text(path, None, MAX_FILE)?;
        let file: File = serde_json::from_str(&text).map_err(|error| refuse(&error))?;
        match file.schema.as_str() {
            SCHEMA | "imgcheck/report/v1" | "imgcheck/lint/v1" => Ok(file.baseline()),
            other => Err(refuse(&format!(
                "schema `{}` is not that of a baseline or a report",
                other.escape_debug()
            ))),
        }
    }

    /// Why a finding is suppressed: it is known, and not more severe than before.
    pub fn reason(&self, finding: &Finding) -> Option<IgnoreReason> {
        let known = self.severities.get(&finding.fingerprint)?;
        (finding.severity <= *known).then(|| IgnoreReason {
            reason: REASON.to_owned(),
            expires: None,
        })
    }

    /// The known findings in a fixed order, each with its severity.
    pub(super) fn known(&self) -> Vec<String> {
        let known = self.severities.iter();
        let known = known.map(|(finding, it)| format!("known: {finding} {}", it.as_str()));
        let mut known: Vec<String> = known.collect();
        known.sort();
        known
    }

    /// The text of a baseline file; each finding comes with the name of its image.
    pub fn text<'f>(
        findings: impl Iterator<Item = (&'f str, &'f Finding)>,
    ) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct Document<'f> {
            schema: &'static str,
            findings: Vec<Entry<'f>>,
        }
        let mut entries: Vec<Entry> = findings
            .map(|(image, finding)| Entry {
                image,
                rule: &finding.rule,
                message: &finding.message,
                severity: finding.severity,
                fingerprint: &finding.fingerprint,
            })
            .collect();
        // Sorted, so that a new finding changes few lines.
        entries.sort();
        let mut text = serde_json::to_string_pretty(&Document {
            schema: SCHEMA,
            findings: entries,
        })?;
        text.push('\n');
        Ok(text)
    }
}

impl File {
    fn baseline(self) -> Baseline {
        let subjects = self.images.into_iter().chain(self.files);
        // An ignore may expire; in a baseline it would hold forever.
        let known = |known: &Known| known.ignore.as_ref().is_some_and(|it| it.reason == REASON);
        let reported = subjects.flat_map(|subject| {
            let ignored = subject.ignored.into_iter().filter(known);
            subject.findings.into_iter().chain(ignored)
        });
        let all = self.findings.into_iter().chain(reported);
        let mut severities = HashMap::new();
        for known in all {
            let worst = severities
                .entry(known.fingerprint)
                .or_insert(known.severity);
            *worst = known.severity.max(*worst);
        }
        Baseline { severities }
    }
}
