//! The stable codes of errors.

use std::fmt;
use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of error it is. The codes are stable and appear in the JSON report.
///
/// ```
/// assert_eq!(imgcheck_base::error::ErrorCode::NotFound.as_str(), "not-found");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorCode {
    /// The image, tag, platform or file does not exist.
    NotFound,
    /// A login is required, or the credentials are wrong.
    Unauthorized,
    /// The credentials are valid but do not give access, or a file may not be read.
    Forbidden,
    /// The registry limits requests; the error may say how long to wait.
    RateLimited,
    /// No connection could be made, or the server failed.
    Unreachable,
    /// The server did not answer in time, or the deadline of the request passed.
    Timeout,
    /// The image is corrupt, truncated, or does not have the promised digest; a file that an image is built from is malformed.
    Damaged,
    /// The format, compression or feature is not supported.
    Unsupported,
    /// The image exceeds a limit.
    Limit,
    /// The request was cancelled.
    Cancelled,
    /// The command line or an argument is wrong.
    Usage,
    /// A configuration file is wrong.
    Config,
    /// A rule file or a knowledge table is wrong.
    Rule,
    /// A report could not be written.
    Output,
    /// imgcheck panicked, which is a bug.
    Internal,
}

impl ErrorCode {
    /// The code in kebab case, as in the JSON report.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorCode::NotFound => "not-found",
            ErrorCode::Unauthorized => "unauthorized",
            ErrorCode::Forbidden => "forbidden",
            ErrorCode::RateLimited => "rate-limited",
            ErrorCode::Unreachable => "unreachable",
            ErrorCode::Timeout => "timeout",
            ErrorCode::Damaged => "damaged",
            ErrorCode::Unsupported => "unsupported",
            ErrorCode::Limit => "limit",
            ErrorCode::Cancelled => "cancelled",
            ErrorCode::Usage => "usage",
            ErrorCode::Config => "config",
            ErrorCode::Rule => "rule",
            ErrorCode::Output => "output",
            ErrorCode::Internal => "internal",
        }
    }

    pub(super) fn of_io(kind: io::ErrorKind) -> Self {
        use io::ErrorKind::*;
        match kind {
            NotFound => ErrorCode::NotFound,
            PermissionDenied => ErrorCode::Forbidden,
            TimedOut => ErrorCode::Timeout,
            ConnectionRefused | ConnectionReset | ConnectionAborted | HostUnreachable
            | NetworkUnreachable | NotConnected | BrokenPipe => ErrorCode::Unreachable,
            Unsupported => ErrorCode::Unsupported,
            _ => ErrorCode::Damaged,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_serialized_in_kebab_case() {
        for code in [ErrorCode::NotFound, ErrorCode::RateLimited, ErrorCode::Rule] {
            let text = serde_json::to_value(code).ok();
            assert_eq!(text, Some(code.as_str().into()));
        }
    }
}
