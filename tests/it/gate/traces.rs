//! Traces, as a collector receives them.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri};
use reqwest::Method;
use tokio::runtime::Runtime;

use super::images::{ENFORCE, create, image, pod, registry};
use super::server::{Home, PATIENCE, Server, TOKEN};

/// A span, as OTLP has it (opentelemetry-proto, `trace/v1/trace.proto`).
#[derive(Debug, Clone)]
struct Span {
    trace: String,
    id: String,
    parent: String,
    name: String,
    kind: u64,
    /// Keys and values of attributes, texts and numbers.
    attributes: Vec<(String, String)>,
    /// The `service.name` of the resource.
    service: String,
}

impl Span {
    fn attribute(&self, key: &str) -> &str {
        let mut attributes = self.attributes.iter();
        let found = attributes.find(|(name, _)| name == key);
        found.map_or("", |(_, value)| value)
    }
}

/// The path, the content type with a header, and the body of a request.
type Received = (String, String, Vec<u8>);

/// A collector on loopback.
struct Collector {
    address: String,
    received: Arc<Mutex<Vec<Received>>>,
    _runtime: Runtime,
}

impl Collector {
    fn new(status: StatusCode) -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0");
        let listener = runtime.block_on(listener).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let received = Arc::new(Mutex::new(Vec::new()));
        let kept = received.clone();
        let receive = move |uri: Uri, headers: HeaderMap, body: Bytes| async move {
            let header = |name: &str| headers.get(name).map_or("", |it| it.to_str().unwrap());
            let headers = format!("{} {}", header("content-type"), header("x-key"));
            let received = (uri.path().to_owned(), headers, body.to_vec());
            kept.lock().unwrap().push(received);
            status
        };
        let router = Router::new().fallback(receive);
        runtime.spawn(async move { axum::serve(listener, router).await });
        Collector {
            address,
            received,
            _runtime: runtime,
        }
    }

    fn spans(&self) -> Vec<Span> {
        let received = self.received.lock().unwrap();
        received
            .iter()
            .flat_map(|(_, _, body)| spans(body))
            .collect()
    }

    /// Waits for a span.
    #[track_caller]
    fn span(&self, wanted: impl Fn(&Span) -> bool) -> Span {
        let start = Instant::now();
        loop {
            let spans = self.spans();
            if let Some(span) = spans.iter().find(|it| wanted(it)) {
                return span.clone();
            }
            assert!(start.elapsed() < PATIENCE, "{spans:?}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

/// The fields of a message: their numbers, and bytes or numbers (protobuf, "Encoding").
fn fields(mut message: &[u8]) -> Vec<(u64, Vec<u8>, u64)> {
    fn varint(message: &mut &[u8]) -> u64 {
        let mut value = 0;
        for place in 0.. {
            let (byte, rest) = message.split_first().unwrap();
            *message = rest;
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut fields = Vec::new();
    while !message.is_empty() {
        let tag = varint(&mut message);
        let (bytes, number) = match tag & 7 {
            0 => (Vec::new(), varint(&mut message)),
            kind => {
                let length = match kind {
                    1 => 8,
                    5 => 4,
                    _ => varint(&mut message) as usize,
                };
                let (bytes, rest) = message.split_at(length);
                message = rest;
                (bytes.to_vec(), 0)
            }
        };
        fields.push((tag >> 3, bytes, number));
    }
    fields
}

/// The messages in a field.
fn messages(message: &[u8], field: u64) -> Vec<Vec<u8>> {
    let all = fields(message).into_iter();
    all.filter(|(number, _, _)| *number == field)
        .map(|(_, bytes, _)| bytes)
        .collect()
}

fn attributes(message: &[u8], field: u64) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let attribute = |message: Vec<u8>| {
        let value = &messages(&message, 2)[0];
        let value = match fields(value).first() {
            Some((1, bytes, _)) => text(bytes),
            Some((_, _, number)) => number.to_string(),
            None => String::new(),
        };
        (text(&messages(&message, 1)[0]), value)
    };
    messages(message, field)
        .into_iter()
        .map(attribute)
        .collect()
}

fn spans(request: &[u8]) -> Vec<Span> {
    let mut spans = Vec::new();
    for resource in messages(request, 1) {
        let about = attributes(&messages(&resource, 1)[0], 1).into_iter();
        let service = about.filter(|(key, _)| key == "service.name");
        let service: String = service.map(|(_, value)| value).collect();
        let scopes = messages(&resource, 2).into_iter();
        for span in scopes.flat_map(|scope| messages(&scope, 2)) {
            let bytes = |field| messages(&span, field).pop().unwrap_or_default();
            let hexadecimal =
                |field| -> String { bytes(field).iter().map(|it| format!("{it:02x}")).collect() };
            let mut numbers = fields(&span).into_iter();
            spans.push(Span {
                trace: hexadecimal(1),
                id: hexadecimal(2),
                parent: hexadecimal(4),
                name: String::from_utf8(bytes(5)).unwrap(),
                kind: numbers.find(|it| it.0 == 6).map_or(0, |it| it.2),
                attributes: attributes(&span, 9),
                service: service.clone(),
            });
        }
    }
    spans
}

#[test]
fn a_trace_goes_on_from_its_sender_to_judgement_and_registry() {
    let (registry, collector) = (registry(), Collector::new(StatusCode::OK));
    let endpoint = format!("http://{}", collector.address);
    let server = Server::start_in(
        &Home::new(ENFORCE),
        &[],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=secret"),
            ("OTEL_BSP_SCHEDULE_DELAY", "100"),
        ],
    );
    let review = create(&pod(&image(&registry)));
    server.validate_read(&review);
    let own = collector.span(|it| it.name == "POST /admission/validate");
    assert_eq!(own.service, "imgcheck");
    // A server (SPAN_KIND_SERVER), with the names of the semantic conventions.
    assert_eq!(own.kind, 2, "{own:?}");
    assert_eq!(own.attribute("http.route"), "/admission/validate");
    assert_eq!(own.attribute("http.request.method"), "POST");
    assert_eq!(own.attribute("http.response.status_code"), "200");
    assert_eq!(own.parent, "");
    let below = |name: &str, parent: &Span| {
        let (name, trace, id) = (name.to_owned(), parent.trace.clone(), parent.id.clone());
        collector.span(move |it| it.name == name && it.trace == trace && it.parent == id)
    };
    let resolved = below("resolve", &own);
    assert_eq!(resolved.attribute("server.address"), registry.address);
    below("judge", &own);
    let scan = collector.span(|it| it.name == "scan");
    assert!(scan.attribute("image").starts_with(&registry.address));
    // The sender is known.
    let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    let sent = |flags: &str, path: &str| {
        server.get_with(path, "traceparent", &format!("00-{trace}-{parent}-{flags}"));
    };
    sent("00", "/openapi.json");
    sent("01", "/v1/verdicts/x");
    let continued = collector.span(|it| it.name == "GET /v1/verdicts/{digest}");
    assert_eq!(continued.trace, trace);
    assert_eq!(continued.parent, parent);
    assert_eq!(continued.attribute("http.response.status_code"), "400");
    assert!(!continued.attribute("request.id").is_empty());
    // Probes, and what the sender does not record, are not traced.
    server.get("/livez");
    let spans = collector.spans();
    let mut names = spans.iter().map(|it| it.name.as_str());
    assert!(
        !names.any(|it| it.contains("livez") || it.contains("openapi")),
        "{spans:?}"
    );
    let received = collector.received.lock().unwrap();
    for (path, headers, _) in received.iter() {
        assert_eq!(path, "/v1/traces");
        assert_eq!(headers, "application/x-protobuf secret");
    }
    drop(received);
    // Logs stay as they are.
    let lines = server.logged("request");
    assert!(
        lines
            .iter()
            .all(|it| it.get("span").is_none() && it.get("spans").is_none())
    );
}

#[test]
fn the_last_spans_are_sent_before_the_end() {
    let collector = Collector::new(StatusCode::OK);
    let endpoint = format!("http://{}/custom/path", collector.address);
    let mut server = Server::start_in(
        &Home::new(ENFORCE),
        &[],
        &[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &endpoint),
            ("OTEL_SERVICE_NAME", "gate of tests"),
            ("OTEL_BSP_SCHEDULE_DELAY", "3600000"),
        ],
    );
    server.get("/openapi.json");
    assert!(collector.spans().is_empty());
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let span = collector.span(|it| it.name == "GET /openapi.json");
    assert_eq!(span.service, "gate of tests");
    assert_eq!(collector.received.lock().unwrap()[0].0, "/custom/path");
}

#[test]
fn a_collector_that_fails_changes_no_answer() {
    let refusing = Collector::new(StatusCode::SERVICE_UNAVAILABLE);
    for address in [refusing.address.as_str(), "127.0.0.1:1"] {
        let endpoint = format!("http://{address}");
        let mut server = Server::start_in(
            &Home::new(ENFORCE),
            &[],
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
                ("OTEL_BSP_SCHEDULE_DELAY", "50"),
            ],
        );
        for _ in 0..20 {
            assert_eq!(server.get("/openapi.json").status, 200);
        }
        server.signal("TERM");
        assert_eq!(server.wait(), Some(0));
    }
}

#[test]
fn nothing_is_sent_unless_a_collector_is_named() {
    let collector = Collector::new(StatusCode::OK);
    let endpoint = format!("http://{}", collector.address);
    for environment in [
        &[("OTEL_BSP_SCHEDULE_DELAY", "50")][..],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
            ("OTEL_SDK_DISABLED", "true"),
        ],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
            ("OTEL_TRACES_EXPORTER", "none"),
        ],
    ] {
        let mut server = Server::start_in(&Home::new(ENFORCE), &[], environment);
        server.send(Method::GET, "/openapi.json", "");
        server.signal("TERM");
        assert_eq!(server.wait(), Some(0));
        assert!(collector.received.lock().unwrap().is_empty());
    }
    let failure = Home::new(ENFORCE).failure_in(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
    ]);
    assert!(failure.contains("OTEL_EXPORTER_OTLP_PROTOCOL"), "{failure}");
    assert!(failure.contains("use http/protobuf"), "{failure}");
    assert!(!failure.contains(TOKEN));
}
