//! `/livez`, `/readyz`, `/metrics`.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::request::problem;
use crate::state::Gate;

/// The text format of OpenMetrics, which Prometheus reads.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The process answers.
pub async fn live() -> &'static str {
    "ok\n"
}

/// Whether requests should be sent here: the cluster is known, the queue can be written, and the server is not about to end.
pub async fn ready(State(gate): State<Gate>) -> Response {
    match gate.obstacle() {
        None => "ok\n".into_response(),
        Some(obstacle) => problem(StatusCode::SERVICE_UNAVAILABLE, obstacle).into_response(),
    }
}

/// All metrics.
pub async fn metrics(State(gate): State<Gate>) -> Response {
    let out_of_date = gate.0.cluster.out_of_date().as_secs_f64();
    gate.metrics().out_of_date.set(out_of_date);
    ([(CONTENT_TYPE, METRICS)], gate.metrics().text()).into_response()
}
