//! Why a registry did not deliver, and whether another attempt may help.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use reqwest::Response;

use super::guard::InternalAddress;
use imgcheck_base::error::{Error, ErrorCode};
use imgcheck_base::excerpt::{shortened, without_controls};
use imgcheck_base::limits::LimitExceeded;

/// Characters of a text from outside that a message shows.
const SHOWN: usize = 300;

/// A request that failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub kind: Kind,
    /// What went wrong, including the host.
    pub problem: String,
    /// What to do.
    pub help: Option<String>,
}

/// What can be done about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Another attempt may succeed, but not before the time of `Retry-After`.
    Temporary(ErrorCode, Option<Duration>),
    /// No connection could be made. Another attempt may help if there was one before.
    Unreachable,
    /// The certificate is not trusted.
    Untrusted,
    /// The server does not speak TLS.
    NotTls,
    /// Another attempt would fail in the same way.
    Final(ErrorCode),
    /// A limit is exceeded.
    Limit(LimitExceeded),
    /// The request was cancelled.
    Cancelled,
    /// The deadline of the request passed.
    Deadline,
}

impl Failure {
    pub fn new(kind: Kind, problem: impl Into<String>) -> Self {
        Failure {
            kind,
            problem: problem.into(),
            help: None,
        }
    }

    /// The registry does not follow the specification, or sent bytes with the wrong digest.
    pub fn damaged(problem: impl Into<String>) -> Self {
        Failure::new(Kind::Final(ErrorCode::Damaged), problem)
    }

    pub fn unsupported(problem: impl Into<String>) -> Self {
        Failure::new(Kind::Final(ErrorCode::Unsupported), problem)
    }

    pub fn not_found(problem: impl Into<String>) -> Self {
        Failure::new(Kind::Final(ErrorCode::NotFound), problem)
    }

    pub fn unauthorized(problem: impl Into<String>) -> Self {
        Failure::new(Kind::Final(ErrorCode::Unauthorized), problem)
    }

    pub fn with_help(self, help: impl Into<String>) -> Self {
        Failure {
            help: Some(help.into()),
            ..self
        }
    }

    /// The server did not answer in time.
    pub fn timeout(problem: impl Into<String>) -> Self {
        Failure::new(Kind::Temporary(ErrorCode::Timeout, None), problem)
    }

    /// A failure below HTTP: no connection, a broken one, an untrusted certificate. The message never shows the URL, since the
    /// URL of a blob store may contain a signature.
    pub fn of_connection(host: &str, error: reqwest::Error) -> Self {
        let error = error.without_url();
        let text = chain(&error);
        if find_rustls(&error).is_some_and(is_about_certificate) {
            return Failure::new(
                Kind::Untrusted,
                format!("the certificate of {host} is not trusted: {text}"),
            )
            .with_help(
                "add the certificate authority with --ca-cert FILE, or trust any certificate with --insecure",
            );
        }
        if let Some(refused) = InternalAddress::cause_of(&error) {
            return Failure::new(Kind::Final(ErrorCode::Forbidden), refused.to_string());
        }
        if error.is_connect() && find_rustls(&error).is_some_and(is_no_tls) {
            return Failure::new(Kind::NotTls, format!("{host} does not speak TLS: {text}"))
                .with_help(
                    "check the port; --insecure uses plain HTTP, if the registry has no TLS",
                );
        }
        if error.is_connect() {
            return Failure::new(
                Kind::Unreachable,
                format!("{host} cannot be reached: {text}"),
            )
            .with_help(
                "check the name of the registry, and the proxy if one is required (HTTPS_PROXY, NO_PROXY)",
            );
        }
        if error.is_redirect() || error.is_builder() {
            return Failure::damaged(format!("{host}: {text}"));
        }
        Failure::new(
            Kind::Temporary(ErrorCode::Unreachable, None),
            format!("the connection to {host} failed: {text}"),
        )
    }

    /// Says how long the registry asks to wait, if it does.
    pub fn with_wait(self) -> Self {
        let Kind::Temporary(_, Some(wait)) = self.kind else {
            return self;
        };
        let seconds = wait.as_secs_f64().ceil();
        Failure {
            problem: format!("{}; it asks to retry after {seconds} s", self.problem),
            ..self
        }
    }

    pub fn code(&self) -> ErrorCode {
        match self.kind {
            Kind::Temporary(code, _) | Kind::Final(code) => code,
            Kind::Unreachable | Kind::Untrusted | Kind::NotTls => ErrorCode::Unreachable,
            Kind::Limit(_) => ErrorCode::Limit,
            Kind::Cancelled => ErrorCode::Cancelled,
            Kind::Deadline => ErrorCode::Timeout,
        }
    }

    /// The error of an image or a layer.
    pub fn into_error(self, subject: &str) -> Error {
        let code = self.code();
        let error = match self.kind {
            Kind::Limit(exceeded) => return Error::limit(subject, exceeded),
            Kind::Cancelled => return Error::Cancelled,
            Kind::Deadline => return Error::Deadline,
            Kind::Temporary(_, Some(wait)) => {
                Error::new(code, subject, self.problem).with_retry_after(wait)
            }
            _ => Error::new(code, subject, self.problem),
        };
        match self.help {
            Some(help) => error.with_help(help),
            None => error,
        }
    }
}

impl From<LimitExceeded> for Failure {
    fn from(exceeded: LimitExceeded) -> Self {
        Failure::new(Kind::Limit(exceeded), exceeded.to_string())
    }
}

/// The request ended from outside.
pub(super) fn interrupted(error: Error) -> Failure {
    let kind = match error {
        Error::Deadline => Kind::Deadline,
        _ => Kind::Cancelled,
    };
    Failure::new(kind, error.message())
}

/// Host and port of the server that answered; after a redirect, not the original one.
pub(super) fn host(response: &Response) -> String {
    let url = response.url();
    let host = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Makes text from outside fit for a message: no control characters, at most 300 characters.
pub(super) fn printable(text: &str) -> String {
    without_controls(&shortened(text, SHOWN))
}

/// How messages of the HTTP client begin that only introduce their cause.
const INTRODUCTIONS: [&str; 4] = [
    "error sending request",
    "client error (",
    "error decoding response body",
    "request or response body error",
];

/// An error and its causes, without introductions and repetitions.
pub(super) fn chain(error: &dyn StdError) -> String {
    let mut texts = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        texts.push(cause.to_string());
        next = cause.source();
    }
    let last = texts.len() - 1;
    let mut chain = String::new();
    for (at, text) in texts.iter().enumerate() {
        let is_introduction = INTRODUCTIONS.iter().any(|start| text.starts_with(start));
        if (is_introduction && at < last) || chain.ends_with(text.as_str()) {
            continue;
        }
        if !chain.is_empty() {
            chain.push_str(": ");
        }
        chain.push_str(text);
    }
    printable(&chain)
}

/// The error of the TLS library among the causes; an [`io::Error`] hides its content from [`StdError::source`].
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
            Some(inner) => Some(inner),
            None => cause.source(),
        };
    }
    None
}

/// Whether the server sent something other than TLS, such as an answer in plain HTTP.
fn is_no_tls(error: &rustls::Error) -> bool {
    matches!(error, rustls::Error::InvalidMessage(_))
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
    fn a_long_text_is_cut() {
        assert_eq!(printable(&"a".repeat(400)).chars().count(), SHOWN + 1);
    }

    #[test]
    fn a_rate_limit_contains_its_wait() {
        let wait = Duration::from_secs(7);
        let kind = Kind::Temporary(ErrorCode::RateLimited, Some(wait));
        let error = Failure::new(kind, "slow down").into_error("x");
        assert_eq!(error.code(), ErrorCode::RateLimited);
        assert_eq!(error.retry_after(), Some(wait));
    }
}
