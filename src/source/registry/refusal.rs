//! Answers with an error status.

use reqwest::{Response, StatusCode};
use serde::Deserialize;

use super::body::Body;
use super::failure::{Failure, Kind, host, printable};
use super::retry::{RetryPolicy, retry_after};
use crate::error::ErrorCode;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_cannot_control_the_terminal() {
        let body = br#"{"errors":[{"code":"X","message":"\u001b[2Jgone\nnext"}]}"#;
        assert_eq!(reason(body).as_deref(), Some("X:  [2Jgone next"));
    }

    #[test]
    fn other_bodies_give_no_reason() {
        for body in [&b""[..], b"<html>", b"{}", br#"{"errors":[]}"#, b"[1]"] {
            assert_eq!(reason(body), None);
        }
    }
}
