//! Answers with an error status.

use reqwest::{Response, StatusCode};
use serde::Deserialize;

use super::body::Body;
use super::failure::{Failure, Kind, host, printable};
use super::retry::{RetryPolicy, retry_after};
use imgcheck_base::error::ErrorCode;

/// Bytes of the body that are read.
const BODY_LIMIT: u64 = 64 << 10;

/// What an answer with an error status means.
pub(super) async fn failure_of(response: Response, policy: RetryPolicy) -> Failure {
    let host = host(&response);
    let status = response.status();
    let wait = retry_after(response.headers());
    let body = Body::new(response, policy).read_all(BODY_LIMIT).await;
    let reason = body.ok().and_then(|body| reason(&body));
    let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    let kind = match status.as_u16() {
        401 => Kind::Final(ErrorCode::Unauthorized),
        403 => Kind::Final(ErrorCode::Forbidden),
        404 => Kind::Final(ErrorCode::NotFound),
        405 => Kind::Final(ErrorCode::Unsupported),
        408 => Kind::Temporary(ErrorCode::Timeout, wait),
        429 => Kind::Temporary(ErrorCode::RateLimited, wait),
        500 | 502 | 503 | 504 => Kind::Temporary(ErrorCode::Unreachable, wait),
        _ => Kind::Final(ErrorCode::Damaged),
    };
    Failure::new(kind, format!("{host} answered {}{reason}", name(status)))
}

fn name(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

/// The body of a refusal (OCI distribution specification, "Error Codes"), or one of GitLab or an OAuth2 server.
#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    errors: Vec<Reason>,
    message: Option<String>,
    error_description: Option<String>,
}

#[derive(Deserialize)]
struct Reason {
    #[serde(default)]
    code: String,
    message: Option<String>,
}

fn reason(body: &[u8]) -> Option<String> {
    let refusal: Refusal = serde_json::from_slice(body).ok()?;
    let text = match refusal.errors.into_iter().next() {
        Some(first) => match first.message {
            Some(message) if !message.is_empty() => format!("{}: {message}", first.code),
            _ => first.code,
        },
        None => refusal.error_description.or(refusal.message)?,
    };
    Some(printable(&text)).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_cannot_control_the_terminal() {
        let body = br#"{"errors":[{"code":"X","message":"\u001b[2Jgone\nnext"}]}"#;
        assert_eq!(reason(body).as_deref(), Some("X:  [2Jgone next"));
    }

    #[test]
    fn gitlab_gives_a_reason_without_a_code() {
        let hidden = br#"{"message":"404 Project Not Found"}"#;
        assert_eq!(reason(hidden).as_deref(), Some("404 Project Not Found"));
        let scope = br#"{"error":"insufficient_scope","error_description":"higher privileges","scope":"api"}"#;
        assert_eq!(reason(scope).as_deref(), Some("higher privileges"));
    }

    #[test]
    fn other_bodies_give_no_reason() {
        for body in [&b""[..], b"<html>", b"{}", br#"{"errors":[]}"#, b"[1]"] {
            assert_eq!(reason(body), None);
        }
    }
}
