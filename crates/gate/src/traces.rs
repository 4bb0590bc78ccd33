//! Traces for a collector: OTLP over HTTP, configured by the standard variables (OpenTelemetry specification, "OTLP Exporter"). Without an
//! endpoint, nothing is traced, and tracing costs nothing.

use std::env;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use axum::http::HeaderMap;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{Bytes, HeaderExtractor, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::{Builder, Handle, Runtime};
use tracing::{Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use imgcheck_base::error::{Error, Result};
use imgcheck_source::tls::{self, Trust};

/// Where spans are sent to. One of them must be set.
const ENDPOINTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];
/// How they are sent.
const PROTOCOLS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
];
/// How long the collector may take, in milliseconds.
const TIMEOUTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
    "OTEL_EXPORTER_OTLP_TIMEOUT",
];
/// The timeout of the exporter if no variable sets one.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long the last spans may take when the server ends.
const LAST_SPANS: Duration = Duration::from_secs(5);
const NAME: &str = "imgcheck";

/// What sends traces.
#[derive(Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
    /// The threads of the SDK have no reactor.
    _runtime: Runtime,
}

impl Traces {
    /// What the environment asks for; `None` if it names no collector.
    ///
    /// # Errors
    /// A variable has a value that cannot be used.
    pub fn from_environment() -> Result<Option<Self>> {
        if first(&ENDPOINTS).is_none() || is("OTEL_SDK_DISABLED", "true") {
            return Ok(None);
        }
        if is("OTEL_TRACES_EXPORTER", "none") {
            return Ok(None);
        }
        if let Some((name, protocol)) = first(&PROTOCOLS)
            && protocol != "http/protobuf"
        {
            let problem = format!("{name}: `{protocol}` is not supported");
            return Err(Error::config(problem).with_help("use http/protobuf, port 4318"));
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("traces")
            .enable_all()
            .build()
            .map_err(|error| Error::io("the thread that sends traces", error))?;
        let client = Client {
            http: http_client()?,
            runtime: runtime.handle().clone(),
        };
        let exporter = SpanExporter::builder().with_http().with_http_client(client);
        let exporter = exporter.build().map_err(|error| unusable(&error))?;
        let provider = SdkTracerProvider::builder()
            .with_resource(resource())
            .with_batch_exporter(exporter);
        Ok(Some(Traces {
            provider: provider.build(),
            _runtime: runtime,
        }))
    }

    /// What hands the spans and events of this program over.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'s> LookupSpan<'s>,
    {
        let tracer = self.provider.tracer(NAME);
        let layer = tracing_opentelemetry::layer().with_tracer(tracer);
        let layer = layer.with_location(false).with_threads(false);
        layer.with_filter(filter_fn(|metadata| {
            let is_own = metadata.target().starts_with(NAME);
            is_own && *metadata.level() <= tracing::Level::INFO
        }))
    }

    /// Sends what was not sent yet.
    pub fn end(self) {
        if let Err(error) = self.provider.shutdown_with_timeout(LAST_SPANS) {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// Puts a span below that of the sender of a request, if it names one (`traceparent`, W3C Trace Context).
pub fn continue_trace(span: &Span, headers: &HeaderMap) {
    if headers.contains_key("traceparent") {
        let context = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
        // Without a collector there is nobody to tell.
        let _ = span.set_parent(context);
    }
}

/// Sends on a separate runtime.
struct Client {
    http: reqwest::Client,
    runtime: Handle,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Client")
    }
}

type Sending<'s> =
    Pin<Box<dyn Future<Output = std::result::Result<Response<Bytes>, HttpError>> + Send + 's>>;

impl HttpClient for Client {
    fn send_bytes<'c, 's>(&'c self, request: Request<Bytes>) -> Sending<'s>
    where
        'c: 's,
        Self: 's,
    {
        let http = self.http.clone();
        let sending = async move { http.send_bytes(request).await };
        let sending = self.runtime.spawn(sending);
        Box::pin(async move { sending.await? })
    }
}

fn http_client() -> Result<reqwest::Client> {
    let config = tls::client_config(Trust::Authorities(Vec::new()))
        .or_else(|_| tls::client_config(Trust::NoOne))
        .map_err(|error| unusable(&error))?;
    let timeout = match first(&TIMEOUTS) {
        None => TIMEOUT,
        Some((name, text)) => {
            let milliseconds = text.parse();
            let problem = |_| Error::config(format!("{name}: `{text}` is not a number"));
            Duration::from_millis(milliseconds.map_err(problem)?)
        }
    };
    reqwest::Client::builder()
        .tls_backend_preconfigured(config)
        .user_agent(concat!("imgcheck/", env!("CARGO_PKG_VERSION")))
        .timeout(timeout)
        .build()
        .map_err(|error| unusable(&error))
}

/// What the variables say about this process, with a name if they give none.
fn resource() -> Resource {
    let attributes = env::var("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let is_named = first(&["OTEL_SERVICE_NAME"]).is_some() || attributes.contains("service.name=");
    let resource = Resource::builder();
    match is_named {
        true => resource.build(),
        false => resource.with_service_name(NAME).build(),
    }
}

/// The first of the variables that is set and not empty.
fn first(names: &[&'static str]) -> Option<(&'static str, String)> {
    let value = |name: &&'static str| Some((*name, env::var(name).ok()?));
    names
        .iter()
        .filter_map(value)
        .find(|(_, value)| !value.is_empty())
}

fn is(name: &str, wanted: &str) -> bool {
    env::var(name).is_ok_and(|it| it.eq_ignore_ascii_case(wanted))
}

fn unusable(error: &dyn std::error::Error) -> Error {
    Error::config(format!("traces cannot be sent: {error}"))
}
