//! An image that has to be read.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cluster::Puller;
use imgcheck_base::error::ErrorCode;
use imgcheck_source::source::registry::Credentials;

/// An image to read. Credentials are not stored with it: they are looked up again when it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// What is read.
    pub key: JobKey,
    /// Where: `registry/repository`.
    pub repository: String,
    /// Whose pull secrets count.
    pub puller: Puller,
    /// How urgent it is.
    pub priority: Priority,
    /// Credentials for this repository that came with the request. They are not written to the file of the queue with the job.
    #[serde(skip)]
    pub login: Option<Credentials>,
}

/// Identifies what is read; requests with an equal key share one job.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JobKey {
    /// The digest of the manifest or index.
    pub digest: String,
    /// `amd64`, `arm64`; empty for the default.
    pub architecture: String,
}

/// How urgent a job is; the least value comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Priority {
    /// A Pod waits for it.
    Deployed,
    /// A client requested it.
    Asked,
    /// It was pushed.
    Pushed,
}

/// An image that waits to be read, or is being read.
#[derive(Debug, Clone)]
pub struct Pending {
    /// What is read.
    pub job: Job,
    /// How far it is.
    pub progress: Progress,
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It runs.
    Running,
    /// It waits.
    Waiting {
        /// It does not start before this time is over.
        wait: Duration,
        /// How often it was tried.
        attempts: u32,
    },
}

/// How a scan ended.
#[derive(Debug)]
pub enum Outcome {
    /// The facts are known.
    Done,
    /// It is tried again after this time. Other jobs of the registry wait, too, if the registry asked for it.
    Retry {
        /// How long to wait.
        wait: Duration,
        /// Whether the registry asked for the delay.
        by_registry: bool,
        /// The kind of failure.
        code: ErrorCode,
        /// What is wrong.
        problem: String,
    },
    /// Another attempt would fail in the same way.
    Failed(ErrorCode, String),
}

impl Job {
    /// The registry.
    pub fn registry(&self) -> &str {
        self.repository.split('/').next().unwrap_or_default()
    }

    /// The image by its digest: `registry/repository@sha256:…`.
    pub fn reference(&self) -> String {
        format!("{}@{}", self.repository, self.key.digest)
    }
}
