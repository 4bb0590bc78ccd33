//! Ignores: findings that the configuration suppresses, and gaps that it acknowledges.

use chrono::NaiveDate;

use imgcheck_base::glob::glob;
use imgcheck_model::finding::{IgnoreReason, Location};

use super::image_pattern::matches_name;

/// What an ignore suppresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IgnoreTarget {
    /// Findings, by rule id or pattern.
    Rule(String),
    /// Gaps, by code or pattern.
    Gap(String),
}

/// Findings or gaps to suppress, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignore {
    /// What it suppresses.
    pub target: IgnoreTarget,
    /// Pattern of the references or paths that the user types; `None` for all images.
    pub image: Option<String>,
    /// Pattern of files that findings or gaps are about; `None` for all.
    pub path: Option<String>,
    /// Why they are suppressed.
    pub reason: String,
    /// The last day it is valid.
    pub expires: Option<NaiveDate>,
    /// Position of the entry in the configuration.
    pub location: Location,
}

impl Ignore {
    /// Id or pattern of the rules whose findings it suppresses.
    pub fn rule(&self) -> Option<&str> {
        match &self.target {
            IgnoreTarget::Rule(rule) => Some(rule),
            IgnoreTarget::Gap(_) => None,
        }
    }

    /// Code or pattern of the gaps that it acknowledges.
    pub fn gap(&self) -> Option<&str> {
        match &self.target {
            IgnoreTarget::Rule(_) => None,
            IgnoreTarget::Gap(gap) => Some(gap),
        }
    }

    /// Whether its last day has passed.
    pub fn expired(&self, today: NaiveDate) -> bool {
        self.expires.is_some_and(|last| today > last)
    }

    /// Whether it applies to an image or file of this name. A pattern may match the name as written or in full, and one without a tag
    /// every tag of a repository.
    pub fn concerns(&self, name: &str) -> bool {
        self.image
            .as_ref()
            .is_none_or(|pattern| matches_path(name, pattern) || matches_name(name, pattern))
    }

    /// Whether it applies to findings about this file. Without a pattern it also applies to findings about no file.
    pub fn covers(&self, path: Option<&str>) -> bool {
        let pattern = self.path.as_ref();
        pattern.is_none_or(|pattern| path.is_some_and(|path| matches_path(path, pattern)))
    }

    /// The reason for a suppressed finding.
    pub fn reason(&self) -> IgnoreReason {
        IgnoreReason {
            reason: self.reason.clone(),
            expires: self.expires.map(|day| day.to_string()),
        }
    }
}

/// Whether a pattern matches a path, either of which may begin with `./`.
fn matches_path(path: &str, pattern: &str) -> bool {
    let plain = |path| str::strip_prefix(path, "./").unwrap_or(path);
    glob(plain(path), plain(pattern))
}
