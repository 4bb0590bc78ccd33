//! A failure to read or write one thing.

use std::error::Error as StdError;
use std::time::Duration;

use super::code::ErrorCode;

/// A failure to read or write one thing.
#[derive(Debug)]
pub struct Failure {
    /// The kind of failure.
    pub code: ErrorCode,
    /// What was being read: a path, a reference, a digest, an entry of a layer.
    pub subject: String,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub help: Option<String>,
    /// How long the registry asked to wait.
    pub retry_after: Option<Duration>,
    /// The error of the operating system or of a library. `problem` already contains its text.
    pub cause: Option<Box<dyn StdError + Send + Sync>>,
}

impl Failure {
    pub(super) fn new(
        code: ErrorCode,
        subject: impl Into<String>,
        problem: impl Into<String>,
    ) -> Self {
        Failure {
            code,
            subject: subject.into(),
            problem: problem.into(),
            help: None,
            retry_after: None,
            cause: None,
        }
    }

    pub(super) fn message(&self) -> String {
        format!("{}: {}", line(&self.subject), line(&self.problem))
    }
}

/// Keeps text from an image on one line, so that it cannot imitate help or another message.
pub(super) fn line(text: &str) -> String {
    text.replace('\n', "\\n")
}
