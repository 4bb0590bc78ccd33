//! Which decisions a person wants to see.

use serde::Deserialize;

use crate::queue::Job;
use crate::recent::{ImageDecision, ImageVerdict};

/// What the form of the overview sends.
#[derive(Debug, Default, Deserialize)]
pub struct Filter {
    /// The namespace; all if empty.
    #[serde(default)]
    pub namespace: String,
    /// A part of the image or of its digest; all if empty.
    #[serde(default)]
    pub image: String,
    /// The name of a [`Selection`]; all if empty.
    #[serde(default)]
    pub verdict: String,
    /// Which page of the decisions, from 1.
    pub page: Option<usize>,
}

/// Decisions of one kind.
pub struct Selection {
    /// Its name in a URL.
    pub name: &'static str,
    /// What people read.
    pub label: &'static str,
    /// Whether a decision is one.
    pub has: fn(&ImageDecision) -> bool,
}

/// All kinds.
pub const SELECTIONS: [Selection; 8] = [
    Selection {
        name: "denied",
        label: "denied",
        has: |it| !it.allowed,
    },
    Selection {
        name: "let-through",
        label: "let through without a pass",
        has: |it| it.allowed && it.verdict != ImageVerdict::Pass,
    },
    Selection {
        name: "pass",
        label: "pass",
        has: |it| it.verdict == ImageVerdict::Pass,
    },
    Selection {
        name: "fail",
        label: "fail",
        has: |it| it.verdict == ImageVerdict::Fail,
    },
    Selection {
        name: "incomplete",
        label: "incomplete",
        has: |it| it.verdict == ImageVerdict::Incomplete,
    },
    Selection {
        name: "not-found",
        label: "not found",
        has: |it| it.verdict == ImageVerdict::NotFound,
    },
    Selection {
        name: "unknown",
        label: "not known yet",
        has: |it| it.verdict == ImageVerdict::Unknown,
    },
    Selection {
        name: "unjudged",
        label: "not judged",
        has: |it| it.verdict == ImageVerdict::Unjudged,
    },
];

impl Filter {
    /// The kind of decisions to show; `None` for all.
    ///
    /// # Errors
    /// There is no such kind.
    pub fn selection(&self) -> Result<Option<&'static Selection>, &'static str> {
        if self.verdict.is_empty() {
            return Ok(None);
        }
        let found = SELECTIONS.iter().find(|it| it.name == self.verdict);
        found
            .map(Some)
            .ok_or("There is no such verdict to filter by.")
    }

    /// Whether anything is left out.
    pub fn is_set(&self) -> bool {
        [&self.namespace, &self.image, &self.verdict]
            .iter()
            .any(|it| !it.is_empty())
    }

    /// Whether a decision matches the namespace and image of the filter.
    pub fn matches(&self, decision: &ImageDecision) -> bool {
        let digest = decision.digest.as_deref().unwrap_or_default();
        self.matches_namespace(&decision.namespace)
            && (decision.image.contains(self.image.trim()) || digest.contains(self.image.trim()))
    }

    /// Whether a job matches the namespace and image of the filter.
    pub fn matches_job(&self, job: &Job) -> bool {
        self.matches_namespace(&job.puller.namespace)
            && (job.repository.contains(self.image.trim())
                || job.key.digest.contains(self.image.trim()))
    }

    fn matches_namespace(&self, namespace: &str) -> bool {
        self.namespace.is_empty() || self.namespace == namespace
    }
}
