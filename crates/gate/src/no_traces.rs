//! A build without the feature `otel` sends no traces.

use axum::http::HeaderMap;
use tracing::Span;
use tracing_subscriber::layer::Identity;

use imgcheck_base::error::Result;

/// What sends traces: nothing does.
#[derive(Debug)]
pub struct Traces(());

impl Traces {
    /// Nothing, whatever the environment asks for.
    ///
    /// # Errors
    /// None.
    pub fn from_environment() -> Result<Option<Self>> {
        Ok(None)
    }

    /// Hands nothing over.
    pub fn layer(&self) -> Identity {
        Identity::new()
    }

    /// There is nothing to send.
    pub fn end(self) {}
}

/// Does nothing: without the feature `otel`, no trace continues.
pub fn continue_trace(_: &Span, _: &HeaderMap) {}
