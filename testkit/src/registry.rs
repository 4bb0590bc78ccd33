//! A registry on loopback whose answers are written by the test.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{Response, StatusCode};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::{Compression, Image, Item, oci_layout, sha256};

pub type Answer = Response<Body>;

/// A request, as it came in.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    /// Host and port.
    pub host: String,
    /// With the scheme and the host where a proxy is asked.
    pub target: String,
    pub path: String,
    pub query: String,
    pub authorization: Option<String>,
    pub range: Option<String>,
    /// `If-None-Match`.
    pub condition: Option<String>,
    pub if_match: Option<String>,
    pub user_agent: String,
    pub content_type: String,
    pub body: String,
    /// The body, which need not be text.
    pub bytes: Bytes,
    /// Requests for the same path before this one.
    pub before: usize,
}

/// A server on its own port, until it is dropped.
pub struct Server {
    /// Host and port.
    pub address: String,
    log: Arc<Mutex<Log>>,
    runtime: Option<Runtime>,
}

/// All requests, and how many there were for each path.
#[derive(Default)]
struct Log {
    requests: Vec<Seen>,
    counts: HashMap<String, usize>,
}

impl Server {
    pub fn new(answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let log = Arc::new(Mutex::new(Log::default()));
        let (own, answer) = (Arc::clone(&log), Arc::new(answer));
        let router = Router::new().fallback(move |request: Request| {
            let (log, answer) = (Arc::clone(&own), Arc::clone(&answer));
            async move {
                let request = understand(request, &log).await;
                // An answer may wait for another request, which a blocked worker would keep in its queue.
                let answer = tokio::task::spawn_blocking(move || answer(&request));
                Ok::<_, Infallible>(answer.await.unwrap())
            }
        });
        runtime.spawn(async move { axum::serve(listener, router).await });
        Server {
            address,
            log,
            runtime: Some(runtime),
        }
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.log.lock().unwrap().requests.clone()
    }

    /// How often a path was asked for whose last part begins so.
    pub fn count(&self, beginning: &str) -> usize {
        let seen = self.seen();
        seen.iter()
            .filter(|seen| seen.path.contains(&format!("/{beginning}")))
            .count()
    }

    pub fn reference(&self, tag: &str) -> String {
        format!("docker://{}/team/image:{tag}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn understand(request: Request, log: &Mutex<Log>) -> Seen {
    let (parts, body) = request.into_parts();
    let header = |name: &str| {
        let value = parts.headers.get(name)?;
        Some(value.to_str().unwrap().to_owned())
    };
    let body = axum::body::to_bytes(body, 64 << 20).await.unwrap();
    let mut log = log.lock().unwrap();
    let path = parts.uri.path().to_owned();
    let count = log.counts.entry(path.clone()).or_default();
    let before = std::mem::replace(count, *count + 1);
    let seen = Seen {
        method: parts.method.to_string(),
        host: header("host").unwrap_or_default(),
        target: parts.uri.to_string(),
        before,
        path,
        query: parts.uri.query().unwrap_or_default().to_owned(),
        authorization: header("authorization"),
        range: header("range"),
        condition: header("if-none-match"),
        if_match: header("if-match"),
        user_agent: header("user-agent").unwrap_or_default(),
        content_type: header("content-type").unwrap_or_default(),
        body: String::from_utf8_lossy(&body).into_owned(),
        bytes: body,
    };
    log.requests.push(seen.clone());
    seen
}

impl Seen {
    /// What follows `/v2/team/image/`, or the whole path.
    pub fn part(&self) -> &str {
        self.path
            .strip_prefix("/v2/team/image/")
            .unwrap_or(&self.path)
    }

    pub fn is_blob(&self, digest: &str) -> bool {
        self.part() == format!("blobs/{digest}")
    }

    /// The first byte that is asked for.
    pub fn start(&self) -> usize {
        let range = self.range.as_deref().unwrap_or("bytes=0-");
        let (start, _) = range["bytes=".len()..].split_once('-').unwrap();
        start.parse().unwrap()
    }
}

/// What a sound registry has.
#[derive(Debug, Clone, Default)]
pub struct Content {
    pub blobs: BTreeMap<String, Vec<u8>>,
    /// Digests of manifests, by tag.
    pub tags: BTreeMap<String, String>,
}

impl Content {
    /// The images as one index of their platforms if `index` is set, under a tag.
    pub fn of(tag: &str, images: &[Image], index: bool) -> Self {
        let mut content = Content::default();
        for item in oci_layout(images, Compression::Gzip, index) {
            let Item::File(path, bytes) = item else {
                panic!("not a file")
            };
            if path == "index.json" {
                let top: Value = serde_json::from_slice(&bytes).unwrap();
                let digest = top["manifests"][0]["digest"].as_str().unwrap();
                content.tags.insert(tag.to_owned(), digest.to_owned());
            } else if path.starts_with("blobs/") {
                content.blobs.insert(sha256(&bytes), bytes);
            }
        }
        content
    }

    /// Puts a document under a tag.
    pub fn tag(&mut self, tag: &str, document: impl Into<Vec<u8>>) -> String {
        let document = document.into();
        let digest = sha256(&document);
        self.blobs.insert(digest.clone(), document);
        self.tags.insert(tag.to_owned(), digest.clone());
        digest
    }

    /// The digest of the largest blob, which is a layer.
    pub fn layer(&self) -> String {
        let largest = self.blobs.iter().max_by_key(|(_, bytes)| bytes.len());
        largest.unwrap().0.clone()
    }

    /// The manifest under a tag.
    pub fn manifest(&self, tag: &str) -> Value {
        serde_json::from_slice(&self.blobs[&self.tags[tag]]).unwrap()
    }

    /// As a sound registry answers (OCI distribution specification).
    pub fn answer(&self, seen: &Seen) -> Answer {
        match seen.part().split_once('/') {
            _ if seen.path == "/v2/" => respond(200, "{}"),
            Some(("manifests", named)) => {
                let digest = self.tags.get(named).map_or(named, String::as_str);
                match self.blobs.get(digest) {
                    Some(bytes) => respond(200, bytes.clone()),
                    None => error(404, "MANIFEST_UNKNOWN", "manifest unknown"),
                }
            }
            Some(("blobs", digest)) => match self.blobs.get(digest) {
                Some(bytes) => range(seen, bytes),
                None => error(404, "BLOB_UNKNOWN", "blob unknown to registry"),
            },
            Some(("tags", "list")) => {
                let tags: Vec<&String> = self.tags.keys().collect();
                respond(200, serde_json::json!({"tags": tags}).to_string())
            }
            _ => error(404, "NAME_UNKNOWN", "repository name not known to registry"),
        }
    }

    pub fn serve(self) -> Server {
        Server::new(move |seen| self.answer(seen))
    }
}

/// The wanted bytes of a blob.
pub fn range(seen: &Seen, bytes: &[u8]) -> Answer {
    if seen.range.is_none() {
        return respond(200, bytes.to_vec());
    }
    partial(seen.start(), bytes)
}

/// The bytes from one on.
pub fn partial(start: usize, bytes: &[u8]) -> Answer {
    let mut answer = respond(206, bytes[start..].to_vec());
    let value = format!("bytes {start}-{}/{}", bytes.len() - 1, bytes.len());
    answer
        .headers_mut()
        .insert("content-range", value.parse().unwrap());
    answer
}

pub fn respond(status: u16, body: impl Into<Body>) -> Answer {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    answer
}

pub fn with(mut answer: Answer, name: &'static str, value: &str) -> Answer {
    answer.headers_mut().append(name, value.parse().unwrap());
    answer
}

/// A refusal in the registry's words.
pub fn error(status: u16, code: &str, message: &str) -> Answer {
    let body = serde_json::json!({"errors": [{"code": code, "message": message}]});
    respond(status, body.to_string())
}

/// Promises `length` bytes, gives those it has, and breaks the connection.
pub fn broken(bytes: &[u8], length: usize) -> Answer {
    let piece = stream::iter([Ok(Bytes::copy_from_slice(bytes))]);
    let end = stream::once(async {
        // The input must arrive.
        tokio::time::sleep(Duration::from_millis(300)).await;
        Err(io::Error::other("the end"))
    });
    let body = Body::from_stream(piece.chain(end));
    with(respond(200, body), "content-length", &length.to_string())
}

/// These bytes, but not before the gate is open.
pub fn held(gate: Arc<AtomicBool>, bytes: &[u8]) -> Answer {
    let bytes = Bytes::copy_from_slice(bytes);
    let length = bytes.len().to_string();
    let body = Body::from_stream(stream::once(async move {
        while !gate.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok::<_, Infallible>(bytes)
    }));
    with(respond(200, body), "content-length", &length)
}

/// Promises `length` bytes and gives one of them now and then.
pub fn trickle(length: usize, pause: Duration) -> Answer {
    let pieces = stream::unfold((), move |()| async move {
        tokio::time::sleep(pause).await;
        Some((Ok::<_, Infallible>(Bytes::from_static(b"x")), ()))
    });
    let body = Body::from_stream(pieces);
    with(respond(200, body), "content-length", &length.to_string())
}
