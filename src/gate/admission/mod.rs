//! What an API server asks before it stores an object.

mod decide;
mod mutate;
mod review;
mod scope;
mod words;

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio::time::Instant;

use super::server::{problem, unreceived};
use super::state::Gate;
use review::{AdmissionRequest, AdmissionResponse, Answer};

/// What Kubernetes waits if a webhook does not say how long.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest that it waits.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long before the API server gives up the answer is given.
const MARGIN: Duration = Duration::from_millis(100);

/// What an API server adds to the URL.
#[derive(Debug, Deserialize)]
pub(super) struct Parameters {
    /// `timeoutSeconds` of the webhook, as Go writes durations: `10s`.
    timeout: Option<String>,
}

/// `POST /admission/validate`.
pub(super) async fn validate(
    State(gate): State<Gate>,
    Query(parameters): Query<Parameters>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let deadline = deadline(&parameters);
    let request = match read(body) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    let response = decide::decide(&gate, &request, deadline).await;
    answer(&request, response)
}

/// `POST /admission/mutate`.
pub(super) async fn mutate(
    State(gate): State<Gate>,
    Query(parameters): Query<Parameters>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let deadline = deadline(&parameters);
    let request = match read(body) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    let response = mutate::pin(&gate, &request, deadline).await;
    answer(&request, response)
}

fn read(body: Result<Bytes, BytesRejection>) -> Result<AdmissionRequest, Box<Response>> {
    let body = body.map_err(|rejection| unreceived(&rejection))?;
    AdmissionRequest::parse(&body).map_err(|error| {
        problem(StatusCode::BAD_REQUEST, error)
            .into_response()
            .into()
    })
}

fn answer(request: &AdmissionRequest, response: AdmissionResponse) -> Response {
    let response = AdmissionResponse {
        uid: request.uid.clone(),
        ..response
    };
    Json(Answer::from(response)).into_response()
}

/// The time at which the answer must be given.
fn deadline(parameters: &Parameters) -> Instant {
    let given = parameters.timeout.as_deref().and_then(duration);
    let timeout = given.unwrap_or(DEFAULT_TIMEOUT).min(LONGEST_TIMEOUT);
    let own = timeout.saturating_sub(MARGIN).max(timeout / 2);
    Instant::now() + own
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
