//! Why a registry did not give what it was asked for, in one sentence.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::blocking::Response;
use serde::Deserialize;

use super::body::Body;
use super::retry::{Patience, retry_after};
use crate::error::{Error, ErrorCode};
use crate::limits::Passed;

/// Bytes of an error's body that are read, and letters of it that are shown.
const BODY_LIMIT: u64 = 64 << 10;
const SHOWN: usize = 300;

/// A request that failed.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub kind: Kind,
    /// What went wrong, with the host that said so.
    pub problem: String,
    /// What to do.
    pub help: Option<String>,
}

/// What can be done about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It may go well another time, but not before so long.
    Temporary(Option<Duration>),
    /// There was no connection.
    Unreachable,
    /// The other side cannot prove that it is who it should be.
    Certificate,
    /// Credentials are wrong or missing.
    Denied,
    /// There is no such thing.
    Absent,
    /// More than a limit allows.
    Limit(Passed),
    /// Anything else, for good.
    Final,
}

impl Failure {
    pub fn new(kind: Kind, problem: impl Into<String>) -> Self {
        Failure {
            kind,
            problem: problem.into(),
            help: None,
        }
    }

    pub fn with_help(self, help: impl Into<String>) -> Self {
        Failure {
            help: Some(help.into()),
            ..self
        }
    }

    /// What happened below HTTP: no connection, a broken one, no trust. Never the URL: that of a blob store holds a signature.
    pub fn of_connection(host: &str, error: reqwest::Error) -> Self {
        let error = error.without_url();
        let text = chain(&error);
        if find_rustls(&error).is_some_and(is_about_certificate) {
            return Failure::new(
                Kind::Certificate,
                format!("{host} shows a certificate that is not trusted: {text}"),
            )
            .with_help("name the authority that signed it with --ca-cert FILE, or trust anything with --insecure");
        }
        if error.is_connect() {
            return Failure::new(
                Kind::Unreachable,
                format!("{host} cannot be reached: {text}"),
            )
            .with_help("check the name of the registry, and the proxy if there must be one (HTTPS_PROXY, NO_PROXY)");
        }
        if error.is_redirect() || error.is_builder() {
            return Failure::new(Kind::Final, format!("{host}: {text}"));
        }
        Failure::new(
            Kind::Temporary(None),
            format!("the connection to {host} failed: {text}"),
        )
    }

    /// An answer that is a refusal.
    pub fn of_answer(response: Response, patience: Patience) -> Self {
        let host = host(&response);
        let status = response.status();
        let wait = retry_after(response.headers());
        let body = Body::new(response, patience).read_all(BODY_LIMIT);
        let reason = body.ok().and_then(|body| reason(&body));
        let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
        let kind = match status.as_u16() {
            401 | 403 => Kind::Denied,
            404 => Kind::Absent,
            408 | 429 | 500 | 502 | 503 | 504 => Kind::Temporary(wait),
            _ => Kind::Final,
        };
        Failure::new(kind, format!("{host} answered {}{reason}", name(status)))
    }

    /// An answer that is longer than a limit allows.
    pub fn of_limit(passed: Passed) -> Self {
        Failure::new(Kind::Limit(passed), passed.to_string())
    }

    /// As the error of a whole image.
    pub fn into_error(self, subject: &str) -> Error {
        match self.kind {
            Kind::Limit(passed) => Error::limit(subject, passed),
            kind => {
                let code = match kind {
                    Kind::Temporary(Some(_)) => ErrorCode::RateLimited,
                    Kind::Temporary(None) | Kind::Unreachable | Kind::Certificate => {
                        ErrorCode::Unreachable
                    }
                    Kind::Denied => ErrorCode::Unauthorized,
                    Kind::Absent => ErrorCode::NotFound,
                    Kind::Limit(_) | Kind::Final => ErrorCode::Damaged,
                };
                let error = Error::new(code, subject, self.problem);
                match self.help {
                    Some(help) => error.with_help(help),
                    None => error,
                }
            }
        }
    }
}

/// For readers, whose errors have no room for help.
impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        let help = failure
            .help
            .map_or_else(String::new, |help| format!("; {help}"));
        io::Error::other(format!("{}{help}", failure.problem))
    }
}

/// Host and port that answered, which after a redirect is another one than was asked.
pub(super) fn host(response: &Response) -> String {
    let url = response.url();
    let host = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn name(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

/// The body of a refusal (OCI distribution specification, "Error Codes").
#[derive(Deserialize)]
struct Refusal {
    errors: Vec<Reason>,
}

#[derive(Deserialize)]
struct Reason {
    #[serde(default)]
    code: String,
    message: Option<String>,
}

fn reason(body: &[u8]) -> Option<String> {
    let refusal: Refusal = serde_json::from_slice(body).ok()?;
    let first = refusal.errors.into_iter().next()?;
    let text = match first.message {
        Some(message) if !message.is_empty() => format!("{}: {message}", first.code),
        _ => first.code,
    };
    Some(printable(&text)).filter(|text| !text.is_empty())
}

/// Foreign text made fit for a message: no control characters, not too long.
pub(super) fn printable(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(SHOWN)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// What every error of the HTTP client begins with; the causes say more.
const EMPTY_WORDS: [&str; 4] = [
    "error sending request",
    "client error (",
    "error decoding response body",
    "request or response body error",
];

/// An error and its causes, without those that say nothing or only repeat the one before.
pub(super) fn chain(error: &dyn StdError) -> String {
    let mut texts = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        texts.push(cause.to_string());
        next = cause.source();
    }
    let last = texts.len() - 1;
    let mut told = String::new();
    for (at, text) in texts.iter().enumerate() {
        let empty = EMPTY_WORDS.iter().any(|word| text.starts_with(word));
        if (empty && at < last) || told.ends_with(text.as_str()) {
            continue;
        }
        if !told.is_empty() {
            told.push_str(": ");
        }
        told.push_str(text);
    }
    printable(&told)
}

/// The error of the TLS library among the causes; an [`io::Error`] hides what it holds from [`StdError::source`].
fn find_rustls<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(found) = cause.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        next = match cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(held) => Some(held),
            None => cause.source(),
        };
    }
    None
}

fn is_about_certificate(error: &rustls::Error) -> bool {
    matches!(
        error,
        rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_cannot_write_to_the_terminal() {
        let body = br#"{"errors":[{"code":"X","message":"\u001b[2Jgone\nnext"}]}"#;
        assert_eq!(reason(body).as_deref(), Some("X:  [2Jgone next"));
        assert_eq!(printable(&"a".repeat(400)).chars().count(), SHOWN + 1);
    }

    #[test]
    fn a_body_that_is_no_reason_says_nothing() {
        for body in [&b""[..], b"<html>", b"{}", br#"{"errors":[]}"#, b"[1]"] {
            assert_eq!(reason(body), None);
        }
    }
}
