//! Who may ask for what is not admission: clients with a certificate of a listed authority, or with a token.

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Client;
use super::request::problem;
use crate::state::Gate;

/// Lets a request through if its client is known.
pub async fn authenticated(
    State(gate): State<Gate>,
    Extension(client): Extension<Client>,
    request: Request,
    next: Next,
) -> Response {
    if client.is_certified || gate.tokens().accepts(request.headers()) {
        return next.run(request).await;
    }
    let mut answer = problem(
        StatusCode::UNAUTHORIZED,
        "a bearer token or a client certificate is required",
    )
    .into_response();
    let challenge = HeaderValue::from_static("Bearer");
    answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    answer
}
