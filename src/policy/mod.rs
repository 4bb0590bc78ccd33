//! What the team asked for: the configuration file, with what the command line and the environment say above it.
//!
//! Everything that is asked of an image (expectations, allowed stacks, agreement) is given to the rules as [`PolicyFacts`]; no
//! judgement is made here. [`Policy::apply`] does what comes after the rules: severities, ignores, the baseline.

pub mod baseline;
pub mod config;
pub mod discover;
mod expectation;
mod facts;
mod file;
mod ignore;

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use chrono::NaiveDate;

use crate::error::{Error, Result};
use crate::finding::{Finding, IgnoreReason, IgnoredFinding, Severity};
use crate::glob::glob;
use crate::targets::Target;

pub use baseline::Baseline;
pub use config::Config;
pub use expectation::{AllowedStack, Expectation, Requirement, subjects};
pub use facts::{
    ExpectationFacts, IgnoreFacts, Member, PolicyFacts, RequirementFacts, StackFacts, Subjects,
};
pub use ignore::Ignore;

/// How the ids of the rules begin that judge the ignores themselves.
const ABOUT_IGNORES: &str = "policy-ignore-";

/// All that a check is judged by, beside the rules.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The least severity that fails; `None` never fails.
    pub fail_on: Option<Severity>,
    /// The machines that the images must run on.
    pub targets: Vec<Target>,
    /// Severities in place of the rules' own.
    pub severities: Vec<SeverityChange>,
    /// What each image must hold.
    pub expectations: Vec<Expectation>,
    /// The combinations of which each image must be one; any if there are none.
    pub stacks: Vec<AllowedStack>,
    /// Parts of the stack whose versions must agree over all images of one call.
    pub consistent: Vec<String>,
    /// Findings that do not count.
    pub ignores: Vec<Ignore>,
    /// Findings that were known before.
    pub baseline: Baseline,
}

impl Default for Policy {
    /// What holds where nobody asked for anything: an error fails.
    fn default() -> Self {
        Policy {
            fail_on: Some(Severity::Error),
            targets: Vec::new(),
            severities: Vec::new(),
            expectations: Vec::new(),
            stacks: Vec::new(),
            consistent: Vec::new(),
            ignores: Vec::new(),
            baseline: Baseline::default(),
        }
    }
}

/// Another severity for the findings of some rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeverityChange {
    /// Id of a rule, or a pattern of ids.
    pub rule: String,
    /// The severity; `None` turns the rules off.
    pub severity: Option<Severity>,
}

/// Findings after the policy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judged {
    /// Those that count, in the order they had.
    pub findings: Vec<Finding>,
    /// Those that do not.
    pub ignored: Vec<IgnoredFinding>,
    /// Indexes of the ignores that some finding met.
    pub used: BTreeSet<usize>,
}

impl Policy {
    /// Gives findings about an image or file their severities, and takes out those that do not count.
    ///
    /// `name` is the reference of the image, or the file; `today` decides which ignores still hold.
    pub fn apply(&self, findings: Vec<Finding>, name: &str, today: NaiveDate) -> Judged {
        let mut judged = Judged::default();
        // By rule: there may be as many findings as ignores.
        let mut speaking: HashMap<String, Vec<(usize, &Ignore)>> = HashMap::new();
        for mut finding in findings {
            match self.severity(&finding) {
                Some(severity) => finding.severity = severity,
                None => continue,
            }
            let speaking = speaking
                .entry(finding.rule.clone())
                .or_insert_with(|| self.speaking(&finding.rule, name, today));
            let matching: Vec<(usize, &Ignore)> = speaking
                .iter()
                .filter(|(_, ignore)| ignore.covers(finding.file()))
                .copied()
                .collect();
            judged.used.extend(matching.iter().map(|(index, _)| *index));
            let reason = match matching.first() {
                Some((_, ignore)) => Some(ignore.reason()),
                None => self.baseline.reason(&finding),
            };
            match reason {
                Some(ignore) => judged.ignored.push(IgnoredFinding { finding, ignore }),
                None => judged.findings.push(finding),
            }
        }
        judged
    }

    /// The ignores that hold today and speak of findings of a rule about an image or file, with their indexes.
    fn speaking(&self, rule: &str, name: &str, today: NaiveDate) -> Vec<(usize, &Ignore)> {
        // An ignore that is meant for other findings must not hide that it is over, or that another is.
        let exactly = rule.starts_with(ABOUT_IGNORES);
        let means = |ignore: &Ignore| match exactly {
            true => ignore.rule == rule,
            false => glob(rule, &ignore.rule),
        };
        let ignores = self.ignores.iter().enumerate();
        ignores
            .filter(|(_, ignore)| !ignore.expired(today) && means(ignore) && ignore.concerns(name))
            .collect()
    }

    /// The severity of a finding, `None` if its rule is off. A change of the very rule counts before one of a pattern, and of
    /// those the last.
    fn severity(&self, finding: &Finding) -> Option<Severity> {
        let last = |meant: &dyn Fn(&str) -> bool| {
            let mut changes = self.severities.iter().rev();
            changes.find(|change| meant(&change.rule))
        };
        last(&|rule| rule == finding.rule)
            .or_else(|| last(&|pattern| glob(&finding.rule, pattern)))
            .map_or(Some(finding.severity), |change| change.severity)
    }

    /// What is asked of one image, among all images of the call.
    pub fn facts(&self, fleet: &[Member]) -> PolicyFacts {
        PolicyFacts::of_image(self, fleet)
    }

    /// The ignores as facts of the whole call, after all its images or files were judged: `used` is what [`Policy::apply`] gave
    /// for them.
    pub fn ignore_facts(
        &self,
        subjects: Subjects,
        used: &BTreeSet<usize>,
        today: NaiveDate,
    ) -> PolicyFacts {
        PolicyFacts::of_call(self, subjects, used, today)
    }
}

/// The text of a file that the user names.
///
/// # Errors
/// [`Error::Usage`]: it cannot be read, is no text, or is larger than `limit` bytes.
fn read_text(path: &Path, limit: u64) -> Result<String> {
    let refuse = |problem: String| Error::Usage {
        problem: format!("{}: {problem}", path.display()),
        help: None,
    };
    let read = || -> io::Result<String> {
        let mut text = String::new();
        // Not by the length that the file system tells: a pipe has none.
        fs::File::open(path)?
            .take(limit + 1)
            .read_to_string(&mut text)?;
        Ok(text)
    };
    let text = read().map_err(|error| refuse(error.to_string()))?;
    match text.len() as u64 > limit {
        true => Err(refuse(format!("the file has more than {limit} bytes"))),
        false => Ok(text),
    }
}

impl Ignore {
    fn reason(&self) -> IgnoreReason {
        IgnoreReason {
            reason: self.reason.clone(),
            expires: self.expires.map(|day| day.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
