//! Findings that were known before: only new ones fail.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::finding::{Finding, IgnoreReason, Severity};

/// The largest baseline file, in bytes: reports of a thousand images.
const MAX_FILE: u64 = 512 * 1024 * 1024;
/// The reason of an ignored finding that the baseline knows.
pub const REASON: &str = "in the baseline";
/// What a file of ours begins with.
const SCHEMA: &str = "imgcheck/baseline/v1";

/// Known findings by fingerprint, each with the worst severity that it had. Rebuilding an image does not change a fingerprint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    severities: HashMap<String, Severity>,
}

/// A baseline file, or as much of a report as makes one.
#[derive(Deserialize)]
struct File {
    schema: String,
    /// Of a baseline.
    #[serde(default)]
    findings: Vec<Known>,
    /// Of a report on images.
    #[serde(default)]
    images: Vec<Subject>,
    /// Of a report on files.
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
    /// A file without it makes a finding known whatever its severity.
    #[serde(default = "worst")]
    severity: Severity,
    #[serde(default)]
    ignore: Option<Because>,
}

fn worst() -> Severity {
    Severity::Error
}

#[derive(Deserialize)]
struct Because {
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
    /// Reads a file that [`Baseline::text`] made, or a report in JSON.
    ///
    /// # Errors
    /// [`Error::Usage`]: the file cannot be read, or is neither.
    pub fn load(path: &Path) -> Result<Self> {
        let help = "make one with --write-baseline FILE, or name a report of -f json";
        let refuse = |problem: &dyn std::fmt::Display| Error::Usage {
            problem: format!("the baseline {}: {problem}", path.display()),
            help: Some(help.to_owned()),
        };
        if !path.exists() {
            return Err(refuse(&"there is no such file"));
        }
        let text = super::read_text(path, MAX_FILE)?;
        let file: File = serde_json::from_str(&text).map_err(|error| refuse(&error))?;
        match file.schema.as_str() {
            SCHEMA | "imgcheck/report/v1" | "imgcheck/lint/v1" => Ok(file.baseline()),
            other => Err(refuse(&format!(
                "`{}` is no report on images",
                other.escape_debug()
            ))),
        }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.severities.is_empty()
    }

    /// Why a finding does not count, if it is known, and was no milder.
    pub fn reason(&self, finding: &Finding) -> Option<IgnoreReason> {
        let known = self.severities.get(&finding.fingerprint)?;
        (finding.severity <= *known).then(|| IgnoreReason {
            reason: REASON.to_owned(),
            expires: None,
        })
    }

    /// The text of a file that makes findings known; each comes with the name of its image.
    ///
    /// # Errors
    /// None that can be had: the texts are plain.
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
        // In an order of its own, so that a new one changes few lines.
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
        // An ignore of the configuration ends with its last day; here it would hold for ever.
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
