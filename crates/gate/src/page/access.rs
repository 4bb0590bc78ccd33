//! Who may look at pages: whoever may use REST, and people whose browser asks them for a token.
//!
//! Browsers cannot send bearer tokens, so pages accept a token as the password of any user (HTTP Basic, RFC 7617). Only pages do: a browser
//! repeats a password in requests that other sites make it send, and those must find nothing that they could change.

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use super::answer::message;
use crate::server::Client;
use crate::state::Gate;

/// Lets a request through if its client is known.
pub async fn authenticated(
    State(gate): State<Gate>,
    Extension(client): Extension<Client>,
    request: Request,
    next: Next,
) -> Response {
    let (tokens, headers) = (gate.tokens(), request.headers());
    let is_known = client.is_certified || tokens.accepts(headers);
    if is_known || tokens.accepts_password(headers) {
        return next.run(request).await;
    }
    let text = match tokens.path() {
        Some(_) => "Log in with any user name and a token of this server as the password.",
        None => "This server has no tokens: a client certificate is required.",
    };
    let mut answer = message(StatusCode::UNAUTHORIZED, "Login required", text);
    // Without tokens no password would be right.
    if tokens.path().is_some() {
        let challenge = HeaderValue::from_static("Basic realm=\"imgcheck\", charset=\"UTF-8\"");
        answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    answer
}
