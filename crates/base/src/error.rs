//! Errors: one enum by stage, each with a stable code, what was being read, and what to do.

mod code;
mod failure;
mod panic;

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::time::Duration;

use crate::limits::LimitExceeded;
use crate::spelling::InvalidInput;
pub use code::ErrorCode;
pub use failure::Failure;
use failure::line;
pub use panic::caught;

/// The result of every fallible step.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error that ends the check of one image, or the whole run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The command line or an argument is wrong.
    Usage {
        /// What is wrong.
        problem: String,
        /// What to do.
        help: Option<String>,
    },
    /// A configuration file is wrong.
    Config {
        /// What is wrong; for a key or value a rendered diagnostic with file, line and column.
        problem: String,
        /// What to do.
        help: Option<String>,
    },
    /// A rule file or a knowledge table is wrong.
    Rule {
        /// A rendered diagnostic with file, line and column.
        problem: String,
    },
    /// A file that an image is built from is malformed.
    Malformed {
        /// A rendered diagnostic with file, line and column.
        problem: String,
    },
    /// The image was not found, or its source could not be read.
    Source(Box<Failure>),
    /// A layer could not be read completely.
    Layer(Box<Failure>),
    /// The image exceeds a limit, so it was not read completely.
    Limit {
        /// What was being read, and where in it.
        subject: String,
        /// The limit, and the value that exceeds it.
        exceeded: LimitExceeded,
    },
    /// The request was cancelled.
    Cancelled,
    /// The deadline of the request passed.
    Deadline,
    /// A report could not be written.
    Output(Box<Failure>),
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message())?;
        match self.help() {
            Some(help) => write!(formatter, "\n  help: {}", line(&help)),
            None => Ok(()),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(self.failure()?.cause.as_deref()?)
    }
}

/// Constructors.
impl Error {
    /// An [`Error::Usage`] without help.
    pub fn usage(problem: impl Into<String>) -> Self {
        Error::Usage {
            problem: problem.into(),
            help: None,
        }
    }

    /// An [`Error::Config`] without help.
    pub fn config(problem: impl Into<String>) -> Self {
        Error::Config {
            problem: problem.into(),
            help: None,
        }
    }

    /// An [`Error::Usage`] for a text of the command line.
    pub fn misread(misread: InvalidInput) -> Self {
        Error::usage(misread.problem).with_help(misread.help)
    }

    /// An [`Error::Source`] with this code.
    pub fn new(code: ErrorCode, subject: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::Source(Box::new(Failure::new(code, subject, problem)))
    }

    /// An [`Error::Source`]: the subject does not exist.
    pub fn not_found(subject: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::new(ErrorCode::NotFound, subject, problem)
    }

    /// An [`Error::Source`]: the subject is corrupt or incomplete.
    pub fn damaged(subject: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::new(ErrorCode::Damaged, subject, problem)
    }

    /// An [`Error::Source`]: imgcheck cannot read the subject.
    pub fn unsupported(subject: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::new(ErrorCode::Unsupported, subject, problem)
    }

    /// An [`Error::Source`] for an error of reading. An [`Error`] that passed through a reader keeps its code and help, and
    /// cancellation stays cancellation.
    pub fn io(subject: impl Into<String>, error: io::Error) -> Self {
        Failure::of_io(subject, "", error).map_or_else(|error| error, Error::Source)
    }

    /// An [`Error::Layer`] for a damaged layer.
    pub fn layer(subject: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::Layer(Box::new(Failure::new(ErrorCode::Damaged, subject, problem)))
    }

    /// An [`Error::Layer`] for an error of reading, as [`Error::io`]; an [`Error::Limit`] for a [`LimitExceeded`] within it.
    pub fn layer_io(subject: impl Into<String>, error: io::Error) -> Self {
        let subject = subject.into();
        match error.downcast::<LimitExceeded>() {
            Ok(exceeded) => Error::limit(format!("layer {subject}"), exceeded),
            Err(error) => Failure::of_io(subject, "cannot be read: ", error)
                .map_or_else(|error| error, Error::Layer),
        }
    }

    /// An [`Error::Limit`].
    pub fn limit(subject: impl Into<String>, exceeded: LimitExceeded) -> Self {
        Error::Limit {
            subject: subject.into(),
            exceeded,
        }
    }

    /// An [`Error::Limit`] that a layer exceeds at an entry, or at a byte of its archive.
    pub fn layer_limit(layer: &str, place: &str, exceeded: LimitExceeded) -> Self {
        Error::limit(format!("layer {layer}: {place}"), exceeded)
    }

    /// An [`Error::Layer`] for a digest mismatch; `what` is the kind of digest.
    pub fn damaged_layer(subject: &str, what: &str, found: &str, expected: &str) -> Self {
        Self::layer(
            subject,
            format!("damaged: its {what} is {found}, expected {expected}"),
        )
    }

    /// An [`Error::Output`].
    pub fn output(
        subject: impl Into<String>,
        error: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        let cause = error.into();
        let mut failure = Failure::new(ErrorCode::Output, subject, cause.to_string());
        failure.cause = Some(cause);
        Error::Output(Box::new(failure))
    }

    /// The same problem in a file that is judged, where the reader takes every file for a rule file.
    pub fn in_judged_file(self) -> Self {
        match self {
            Error::Rule { problem } => Error::Malformed { problem },
            error => error,
        }
    }

    /// Sets the help, of the variants that have one.
    pub fn with_help(mut self, text: impl Into<String>) -> Self {
        match &mut self {
            Error::Usage { help, .. } | Error::Config { help, .. } => *help = Some(text.into()),
            Error::Source(failure) | Error::Layer(failure) | Error::Output(failure) => {
                failure.help = Some(text.into());
            }
            Error::Rule { .. }
            | Error::Malformed { .. }
            | Error::Limit { .. }
            | Error::Cancelled
            | Error::Deadline => {}
        }
        self
    }

    /// Sets the underlying error, of the variants that have one.
    pub fn with_cause(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        if let Some(failure) = self.failure_mut() {
            failure.cause = Some(cause.into());
        }
        self
    }

    /// Sets how long the registry asked to wait.
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        if let Some(failure) = self.failure_mut() {
            failure.retry_after = Some(wait);
        }
        self
    }

    /// Puts text in front of the problem, of a [`Failure`].
    pub fn in_context(mut self, text: impl fmt::Display) -> Self {
        if let Some(failure) = self.failure_mut() {
            failure.problem.insert_str(0, &text.to_string());
        }
        self
    }

    fn failure_mut(&mut self) -> Option<&mut Failure> {
        match self {
            Error::Source(failure) | Error::Layer(failure) | Error::Output(failure) => {
                Some(failure)
            }
            _ => None,
        }
    }
}

/// What an error says.
impl Error {
    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Error::Usage { .. } => ErrorCode::Usage,
            Error::Config { .. } => ErrorCode::Config,
            Error::Rule { .. } => ErrorCode::Rule,
            Error::Malformed { .. } => ErrorCode::Damaged,
            Error::Source(failure) | Error::Layer(failure) | Error::Output(failure) => failure.code,
            Error::Limit { .. } => ErrorCode::Limit,
            Error::Cancelled => ErrorCode::Cancelled,
            Error::Deadline => ErrorCode::Timeout,
        }
    }

    /// What was being read: a path, a reference, a digest.
    pub fn subject(&self) -> Option<&str> {
        match self {
            Error::Limit { subject, .. } => Some(subject),
            _ => self.failure().map(|failure| failure.subject.as_str()),
        }
    }

    /// The text without the help.
    pub fn message(&self) -> String {
        match self {
            Error::Usage { problem, .. } => line(problem),
            Error::Limit { subject, exceeded } => format!("{}: {exceeded}", line(subject)),
            Error::Source(failure) | Error::Output(failure) => failure.message(),
            Error::Layer(failure) => format!("layer {}", failure.message()),
            Error::Config { problem, .. }
            | Error::Rule { problem }
            | Error::Malformed { problem } => problem.clone(),
            Error::Cancelled => "the request was cancelled".to_owned(),
            Error::Deadline => "the deadline passed before the request was finished".to_owned(),
        }
    }

    /// What to do.
    pub fn help(&self) -> Option<String> {
        match self {
            Error::Usage { help, .. } | Error::Config { help, .. } => help.clone(),
            Error::Limit { exceeded, .. } => Some(exceeded.help()),
            _ => self.failure()?.help.clone(),
        }
    }

    /// How long the registry asked to wait, of a [`ErrorCode::RateLimited`] error.
    pub fn retry_after(&self) -> Option<Duration> {
        self.failure()?.retry_after
    }

    /// 2 for what the user wrote, 3 for what could not be read or written. A failed scan is never a pass.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Usage { .. }
            | Error::Config { .. }
            | Error::Rule { .. }
            | Error::Malformed { .. } => 2,
            _ => 3,
        }
    }

    /// Whether the request ended from outside: it was cancelled, or its deadline passed.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Error::Cancelled | Error::Deadline)
    }

    /// The text for use within a sentence, without the leading `error: ` of a diagnostic.
    pub fn quoted(&self) -> String {
        let text = self.to_string();
        match text.strip_prefix("error: ") {
            Some(rest) => rest.to_owned(),
            None => text,
        }
    }

    fn failure(&self) -> Option<&Failure> {
        match self {
            Error::Source(failure) | Error::Layer(failure) | Error::Output(failure) => {
                Some(failure)
            }
            _ => None,
        }
    }
}

impl Failure {
    /// `Err` for an [`Error`] within the I/O error that is no failure of reading: a cancellation, a limit.
    fn of_io(
        subject: impl Into<String>,
        prefix: &str,
        error: io::Error,
    ) -> Result<Box<Self>, Error> {
        let kind = error.kind();
        let inner = match error.downcast::<Error>() {
            Ok(inner) => inner,
            Err(error) => {
                let problem = format!("{prefix}{error}");
                return Ok(Box::new(Failure {
                    cause: Some(error.into()),
                    ..Failure::new(ErrorCode::of_io(kind), subject, problem)
                }));
            }
        };
        match inner {
            Error::Source(inner) | Error::Layer(inner) | Error::Output(inner) => {
                let subject = subject.into();
                let problem = match inner.subject == subject {
                    true => format!("{prefix}{}", inner.problem),
                    false => format!("{prefix}{}", inner.message()),
                };
                Ok(Box::new(Failure {
                    subject,
                    problem,
                    ..*inner
                }))
            }
            other => Err(other),
        }
    }
}

/// Lets an error pass through a reader; [`Error::io`] and [`Error::layer_io`] take it out again.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        io::Error::other(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_an_image_stays_on_one_line() {
        let error = Error::damaged("x\n  help: run this", "a\nb").with_help("c\nd");
        assert_eq!(
            error.to_string(),
            "x\\n  help: run this: a\\nb\n  help: c\\nd"
        );
        assert_eq!(error.message(), "x\\n  help: run this: a\\nb");
        assert_eq!(Error::layer("a\nb", "c").to_string(), "layer a\\nb: c");
    }

    #[test]
    fn exit_codes_follow_from_codes() {
        assert_eq!(Error::usage("x").exit_code(), 2);
        assert_eq!(Error::config("x").exit_code(), 2);
        assert_eq!(Error::Cancelled.exit_code(), 3);
        assert_eq!(Error::not_found("x", "y").exit_code(), 3);
    }

    #[test]
    fn an_error_survives_a_reader() {
        let wait = Duration::from_secs(7);
        let limited = Error::new(ErrorCode::RateLimited, "example.com", "too many requests")
            .with_help("wait")
            .with_retry_after(wait);
        let error = Error::layer_io("sha256:1", limited.into());
        assert_eq!(error.code(), ErrorCode::RateLimited);
        assert_eq!(error.retry_after(), Some(wait));
        assert_eq!(error.help().as_deref(), Some("wait"));
        assert_eq!(
            error.message(),
            "layer sha256:1: cannot be read: example.com: too many requests"
        );
        let cancelled = Error::layer_io("sha256:1", Error::Cancelled.into());
        assert_eq!(cancelled.code(), ErrorCode::Cancelled);
    }

    #[test]
    fn a_system_error_is_the_source() {
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let error = Error::io("/x", missing);
        assert_eq!(error.code(), ErrorCode::NotFound);
        let cause = StdError::source(&error);
        assert!(cause.is_some_and(|cause| cause.is::<io::Error>()));
    }
}
