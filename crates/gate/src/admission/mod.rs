//! What an API server asks before it stores an object.

mod decide;
mod decision;
mod deployed;
mod mutate;
mod record;
mod review;
mod scope;
mod words;

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, FromRequestParts, Query, Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio::time::Instant;

use super::server::{problem, unreceived};
use super::state::Gate;
use review::{AdmissionRequest, AdmissionResponse, Answer};

/// What Kubernetes waits if a webhook does not say how long.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum timeout of a webhook (Kubernetes).
const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long before the API server's timeout the answer is sent: a tenth of it, within these. The API server counts from before it connects.
const MARGIN: Duration = Duration::from_millis(100);
const LONGEST_MARGIN: Duration = Duration::from_millis(500);

/// What an API server adds to the URL.
#[derive(Debug, Deserialize)]
struct Parameters {
    /// `timeoutSeconds` of the webhook, as Go writes durations: `10s`.
    timeout: Option<String>,
}

/// `POST /admission/validate`.
pub(super) async fn validate(
    State(gate): State<Gate>,
    Deadline(deadline): Deadline,
    request: AdmissionRequest,
) -> Response {
    let response = decide::decide(&gate, &request, deadline).await;
    answer(&request, response)
}

/// `POST /admission/mutate`.
pub(super) async fn mutate(
    State(gate): State<Gate>,
    Deadline(deadline): Deadline,
    request: AdmissionRequest,
) -> Response {
    let response = mutate::pin(&gate, &request, deadline).await;
    answer(&request, response)
}

impl<S: Send + Sync> FromRequest<S> for AdmissionRequest {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|rejection| unreceived(&rejection))?;
        AdmissionRequest::parse(&body)
            .map_err(|error| problem(StatusCode::BAD_REQUEST, error).into_response())
    }
}

fn answer(request: &AdmissionRequest, response: AdmissionResponse) -> Response {
    let response = AdmissionResponse {
        uid: request.uid.clone(),
        ..response
    };
    Json(Answer::from(response)).into_response()
}

/// The time at which the answer must be given. It counts from before the body is read.
pub(super) struct Deadline(Instant);

impl<S: Send + Sync> FromRequestParts<S> for Deadline {
    type Rejection = QueryRejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, QueryRejection> {
        let Query(Parameters { timeout }) = Query::from_request_parts(parts, state).await?;
        let given = timeout.as_deref().and_then(duration);
        let timeout = given.unwrap_or(DEFAULT_TIMEOUT).min(LONGEST_TIMEOUT);
        Ok(Deadline(Instant::now() + own_time(timeout)))
    }
}

/// How long this server may take so that the answer arrives before the API server's timeout.
fn own_time(timeout: Duration) -> Duration {
    let margin = (timeout / 10).clamp(MARGIN, LONGEST_MARGIN);
    timeout.saturating_sub(margin).max(timeout / 2)
}

/// A duration as Go writes it: `1m30s`, `10s`, `500ms`.
fn duration(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u32 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let one = match &rest[..unit] {
            "ms" => Duration::from_millis(1),
            "s" => Duration::from_secs(1),
            "m" => Duration::from_secs(60),
            _ => return None,
        };
        total = total.checked_add(one.checked_mul(number)?)?;
        rest = &rest[unit..];
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_given_before_the_api_server_gives_up() {
        for (timeout, own) in [
            (10_000, 9_500),
            (3_000, 2_700),
            (1_000, 900),
            (200, 100),
            (50, 25),
            (0, 0),
        ] {
            let (timeout, own) = (Duration::from_millis(timeout), Duration::from_millis(own));
            assert_eq!(own_time(timeout), own);
        }
    }

    #[test]
    fn durations_are_those_of_go() {
        for (text, milliseconds) in [
            ("10s", 10_000),
            ("1m30s", 90_000),
            ("500ms", 500),
            ("0s", 0),
        ] {
            assert_eq!(
                duration(text),
                Some(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
        for text in ["", "10", "s", "1h", "-1s", "1.5s", "99999999999s"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
