//! What happens to every request: an id, a time limit, a line in the log.

use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::timeout;
use tracing::{Instrument, Span};

use crate::state::Gate;
use crate::traces::continue_trace;

/// The largest body of a request, in bytes: that of the largest object of Kubernetes (etcd), twice.
pub const MAX_BODY: usize = 3 * 1024 * 1024;
/// Maximum time for a request, its body included. An API server waits 30 s at most.
const LONGEST: Duration = Duration::from_secs(35);
/// The status in log and metrics of a request whose client did not wait for the answer (as in nginx).
const ABANDONED: u16 = 499;
/// The header with the id of a request.
const ID: &str = "x-request-id";
/// The longest id that a client may choose.
const MAX_ID: usize = 64;

/// What is wrong with a request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Problem {
    /// What is wrong, in one sentence.
    pub error: String,
}

/// An answer that says what is wrong.
pub fn problem(status: StatusCode, error: impl Into<String>) -> (StatusCode, Json<Problem>) {
    let error = error.into();
    (status, Json(Problem { error }))
}

/// An answer to a body that could not be received.
pub fn unreceived(rejection: &BytesRejection) -> Response {
    let status = rejection.status();
    let error = match status {
        StatusCode::PAYLOAD_TOO_LARGE => "the body is larger than 3 MiB".to_owned(),
        _ => rejection.body_text(),
    };
    problem(status, error).into_response()
}

/// Gives a request an id and a time limit, and logs it.
pub async fn observed(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let id = given_id(&request).unwrap_or_else(|| gate.new_id());
    let path = request.extensions().get::<MatchedPath>();
    // Paths that nobody serves would be labels without number.
    let path = path.map_or_else(|| "other".to_owned(), |it| it.as_str().to_owned());
    let span = span(&request, &path, &id);
    let mut logged = Logged {
        gate,
        id: id.clone(),
        method: request.method().clone(),
        path,
        start,
        status: ABANDONED,
    };
    let answered = timeout(LONGEST, next.run(request).instrument(span.clone())).await;
    let mut response = answered.unwrap_or_else(|_| {
        problem(StatusCode::REQUEST_TIMEOUT, "the request took too long").into_response()
    });
    let status = response.status().as_u16();
    logged.status = status;
    span.record("http.response.status_code", status);
    if status >= 500 {
        span.record("otel.status_code", "ERROR");
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(ID, value);
    }
    response
}

/// Logs and counts a request at its end. If the client disconnects before the answer, as an API server does at its timeout, the server drops the
/// work, and this with it.
struct Logged {
    gate: Gate,
    id: String,
    method: Method,
    path: String,
    start: Instant,
    status: u16,
}

impl Drop for Logged {
    fn drop(&mut self) {
        let (id, method, path, status) = (&self.id, &self.method, &*self.path, self.status);
        let seconds = self.start.elapsed().as_secs_f64();
        self.gate.metrics().request(path, status, seconds);
        match status {
            ABANDONED => {
                tracing::warn!(%id, %method, path, status, seconds, "the client disconnected before the answer");
            }
            _ => tracing::info!(%id, %method, path, status, seconds, "request"),
        }
    }
}

/// The span of a request, with the names of OpenTelemetry; none for probes.
fn span(request: &Request, path: &str, id: &str) -> Span {
    if ["/livez", "/readyz", "/metrics"].contains(&path) {
        return Span::none();
    }
    let method = request.method().as_str();
    let span = tracing::info_span!(
        "request",
        otel.name = format!("{method} {path}"),
        otel.kind = "server",
        otel.status_code = tracing::field::Empty,
        http.request.method = method,
        http.route = path,
        http.response.status_code = tracing::field::Empty,
        request.id = id,
    );
    continue_trace(&span, request.headers());
    span
}

/// The id that the client chose, if it is one.
fn given_id(request: &Request) -> Option<String> {
    let given = request.headers().get(ID)?.to_str().ok()?;
    let is_letter = |c: u8| c.is_ascii_alphanumeric() || b"-_.".contains(&c);
    let is_id = !given.is_empty() && given.len() <= MAX_ID && given.bytes().all(is_letter);
    is_id.then(|| given.to_owned())
}
