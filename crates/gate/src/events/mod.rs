//! `POST /v1/events`: registries announce pushed images, which are then read before a Pod needs them.
//!
//! Events are only hints that an image may be worth reading.

mod read;

use std::collections::BTreeSet;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::future::try_join_all;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::cluster::Puller;
use super::images::stored;
use super::queue::{Job, JobKey, Priority};
use super::server::{problem, unreceived};
use super::setup::View;
use super::state::Gate;
use imgcheck_base::error::Error;
use read::{Pushed, events};

/// The media type of several CloudEvents.
pub(super) const BATCH: &str = "application/cloudevents-batch+json";
/// Seconds after which an event that could not be stored should be sent again.
const AGAIN: &str = "30";

/// What became of events.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Received {
    /// Images that will be read, or were read already.
    pub queued: usize,
    /// Events without an image that may be read.
    pub ignored: usize,
}

/// Queues the images of events. The answer comes once they survive the end of the process.
pub(super) async fn receive(
    State(gate): State<Gate>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    match queue_all(&gate, &headers, body).await {
        Ok(received) => (StatusCode::ACCEPTED, Json(received)).into_response(),
        Err(response) => response,
    }
}

async fn queue_all(
    gate: &Gate,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Received, Response> {
    let body = body.map_err(|rejection| unreceived(&rejection))?;
    let document: Value = serde_json::from_slice(&body)
        .map_err(|error| problem(StatusCode::BAD_REQUEST, error.to_string()).into_response())?;
    let header = |name: &str| headers.get(name)?.to_str().ok();
    let is_batch = header(CONTENT_TYPE.as_str()).is_some_and(|it| it.starts_with(BATCH));
    let found = match &document {
        Value::Array(all) if is_batch && all.iter().all(Value::is_object) => {
            all.iter().map(|it| events(it, None)).collect()
        }
        Value::Object(_) if !is_batch => vec![events(&document, header("ce-type"))],
        _ => {
            let error = "the body is not an event: a JSON object, or an array in a batch";
            return Err(problem(StatusCode::BAD_REQUEST, error).into_response());
        }
    };
    let view = gate.view();
    let (mut jobs, mut received) = (
        Vec::new(),
        Received {
            queued: 0,
            ignored: 0,
        },
    );
    for events in found {
        let mut queued = 0;
        for pushed in events.pushed {
            let wanted = jobs_of(&pushed, &view);
            queued += usize::from(!wanted.is_empty());
            jobs.extend(wanted);
        }
        let ignored = events.count - queued;
        gate.metrics().events(events.from, "queued", queued);
        gate.metrics().events(events.from, "ignored", ignored);
        received.queued += queued;
        received.ignored += ignored;
    }
    let added = jobs.into_iter().map(|job| gate.queue().add(job));
    try_join_all(added).await.map_err(|error| busy(&error))?;
    Ok(received)
}

/// What is read of a pushed image: of an index, what the nodes can run.
fn jobs_of(pushed: &Pushed, view: &View) -> Vec<Job> {
    let name = stored(pushed.registry, pushed.repository, pushed.digest, view);
    let Ok(name) = name else {
        return Vec::new();
    };
    let registry = name.registry.unwrap_or_default();
    let repository = format!("{registry}/{}", name.repository);
    let classes = view.classes.iter().flatten();
    let known = classes.map(|class| class.architecture.as_str());
    let mut architectures: BTreeSet<&str> = known.filter(|it| !it.is_empty()).collect();
    if architectures.is_empty() || !pushed.is_index {
        architectures = BTreeSet::from([""]);
    }
    let job = |architecture: &str| Job {
        key: JobKey {
            digest: pushed.digest.to_owned(),
            architecture: architecture.to_owned(),
        },
        repository: repository.clone(),
        puller: Puller::default(),
        priority: Priority::Pushed,
        login: None,
    };
    architectures.into_iter().map(job).collect()
}

/// The queue is full, or cannot be written.
fn busy(error: &Error) -> Response {
    let refusal = problem(StatusCode::SERVICE_UNAVAILABLE, error.message());
    ([(RETRY_AFTER, AGAIN)], refusal).into_response()
}
