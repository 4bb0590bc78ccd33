//! A page for people: what was decided lately and why, what waits, and the report behind each image. Pages change nothing, have no
//! script, and load nothing.

mod access;
mod answer;
mod filter;
mod overview;
mod report;
mod row;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;

use super::state::Gate;

/// The routes of all pages.
pub(super) fn routes(gate: &Gate) -> Router<Gate> {
    Router::new()
        .route("/", get(overview::overview))
        .route("/reports/{digest}", get(report::report))
        .route_layer(from_fn_with_state(gate.clone(), access::authenticated))
}
