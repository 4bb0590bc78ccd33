//! A page of limited length, and the signs and links on it.

use super::escape::{address, code};
use crate::Verdict;
use crate::details::count;
use imgcheck_model::finding::{Finding, Severity};

/// The longest report. GitHub allows 65,536 characters in a comment; the rest is for the note on what was cut.
const LONGEST: usize = 65_000;

/// A page with a maximum length.
#[derive(Default)]
pub(super) struct Page {
    text: String,
    findings_left_out: usize,
    is_cut: bool,
}

impl Page {
    /// Adds a block if it fits. After the first block that does not fit, nothing is added.
    pub fn add(&mut self, block: &str) -> bool {
        let fits = !self.is_cut && self.text.len() + block.len() <= LONGEST;
        match fits {
            true => self.text.push_str(block),
            false => self.is_cut = true,
        }
        fits
    }

    pub fn add_finding(&mut self, block: &str) {
        self.findings_left_out += usize::from(!self.add(block));
    }

    pub fn finish(mut self) -> String {
        if self.is_cut {
            self.text.push_str(&format!(
                "\n> **This comment is truncated:** {} not shown, because GitHub allows at most 65,536 characters. \
                 Run `imgcheck --format text` to see everything.\n",
                match self.findings_left_out {
                    1 => "1 finding is".to_owned(),
                    several => format!("{} are", count(several, "finding")),
                }
            ));
        }
        self.text
    }
}

pub(super) fn verdict_sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✅",
        Verdict::Incomplete => "⚠️",
        Verdict::Fail => "❌",
    }
}

pub(super) fn severity_sign(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "❌",
        Severity::Warning => "⚠️",
        Severity::Note => "ℹ️",
    }
}

/// A link to the documentation of the rule; a user's rule may have a text instead of a web address.
pub(super) fn docs_link(finding: &Finding) -> String {
    match finding.docs.starts_with("https://") {
        true => format!("[what this means]({})", address(&finding.docs)),
        false => code(&finding.docs),
    }
}
