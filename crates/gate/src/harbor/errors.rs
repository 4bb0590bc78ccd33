//! Errors as Harbor's interface has them: `{"error": {"message": …}}`.

use axum::Json;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

const ERROR: &str = "application/vnd.scanner.adapter.error+json; version=1.0";
/// Maximum length of an error that is translated, in bytes.
const MAX: usize = 64 * 1024;

/// Translates the errors of this server.
pub async fn as_harbor_reads_them(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, MAX).await.unwrap_or_default();
    let document = serde_json::from_slice::<Value>(&bytes).unwrap_or_default();
    let message = match document["error"].as_str() {
        Some(message) => message.to_owned(),
        None => String::from_utf8_lossy(&bytes).into_owned(),
    };
    let error = Json(json!({"error": {"message": message}}));
    let mut translated = (status, [(CONTENT_TYPE, ERROR)], error).into_response();
    for (name, value) in &parts.headers {
        // Its type and its length are of the other body.
        if !translated.headers().contains_key(name) && name != "content-length" {
            translated.headers_mut().insert(name.clone(), value.clone());
        }
    }
    translated
}
