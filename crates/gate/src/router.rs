//! Which path leads where.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use super::server::{self, problem};
use super::state::Gate;
use super::{admission, events, harbor, page, rest};

/// All routes. What is not admission and not a probe needs a certificate or a token.
pub(crate) fn router(gate: Gate) -> Router {
    let protected = Router::new()
        .route("/v1/check", post(rest::check))
        .route("/v1/verdicts/{digest}", get(rest::verdict))
        .route("/v1/events", post(events::receive))
        .route("/metrics", get(server::metrics))
        .route("/openapi.json", get(rest::description))
        .route_layer(from_fn_with_state(gate.clone(), server::authenticated));
    Router::new()
        .route("/admission/validate", post(admission::validate))
        .route("/admission/mutate", post(admission::mutate))
        .route("/livez", get(server::live))
        .route("/readyz", get(server::ready))
        .merge(protected)
        .merge(harbor::routes(&gate))
        .merge(page::routes(&gate))
        .fallback(missing)
        .method_not_allowed_fallback(not_allowed)
        .layer(DefaultBodyLimit::max(server::MAX_BODY))
        .layer(from_fn_with_state(gate.clone(), server::observed))
        .with_state(gate)
}

async fn missing() -> Response {
    problem(StatusCode::NOT_FOUND, "nothing is served at this path").into_response()
}

async fn not_allowed() -> Response {
    problem(
        StatusCode::METHOD_NOT_ALLOWED,
        "this path does not support the method",
    )
    .into_response()
}
