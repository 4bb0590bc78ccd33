//! What other programs ask: `POST /v1/check` and `GET /v1/verdicts/{digest}`.

mod openapi;
mod types;

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use super::cluster::Puller;
use super::image_query::{ImageQuery, check_architecture};
use super::object::{Object, from_body};
use super::queue::{Job, JobKey, Priority};
use super::server::{problem, unreceived};
use super::state::{Gate, LONGEST_JUDGEMENT};
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_checker::{Checker, Format, Report, View as ReportView};
use imgcheck_launch::Overlay;
pub use openapi::openapi;
use types::{CheckRequest, Queued};

/// Seconds after which it is worth to ask again.
const AGAIN: &str = "5";

/// `POST /v1/check`.
pub(super) async fn check(
    State(gate): State<Gate>,
    body: std::result::Result<Bytes, BytesRejection>,
) -> Response {
    match check_body(&gate, body).await {
        Ok(response) | Err(response) => response,
    }
}

async fn check_body(
    gate: &Gate,
    body: std::result::Result<Bytes, BytesRejection>,
) -> std::result::Result<Response, Response> {
    let body = body.map_err(|rejection| unreceived(&rejection))?;
    let wrong = |error: String| refused(StatusCode::BAD_REQUEST, error);
    let asked: CheckRequest = from_body(&body)
        .map_err(|error| wrong(format!("{error}; /openapi.json describes the fields")))?;
    check_architecture(&asked.architecture).map_err(|error| wrong(error.to_owned()))?;
    let view = gate.view();
    let checker = match &asked.targets {
        None => view.setup.checker.clone(),
        Some(Object(targets)) => {
            let checker = targets.apply(&view.setup.checker);
            Arc::new(checker.map_err(wrong)?)
        }
    };
    let deadline = Instant::now() + LONGEST_JUDGEMENT / 4;
    let found = gate
        .image(&asked.reference, &Puller::default(), &view, deadline)
        .await;
    let image = found.map_err(|unresolved| {
        let status = match unresolved.code {
            ErrorCode::Usage => StatusCode::BAD_REQUEST,
            ErrorCode::NotFound => StatusCode::NOT_FOUND,
            ErrorCode::Forbidden => StatusCode::FORBIDDEN,
            _ => StatusCode::BAD_GATEWAY,
        };
        let problem = match status {
            StatusCode::BAD_REQUEST => format!("`reference`: {}", unresolved.problem),
            _ => unresolved.problem,
        };
        refused(status, problem)
    })?;
    let job = Job {
        key: JobKey {
            digest: image.digest,
            architecture: asked.architecture,
        },
        repository: image.repository,
        puller: Puller::default(),
        priority: Priority::Asked,
        login: None,
    };
    let subject = (asked.reference, asked.overlay);
    match gate.report(checker, job.clone(), subject).await? {
        Some(report) => Ok(report),
        None => {
            gate.queue()
                .add_unless_failed(job.clone())
                .await
                .map_err(|error| unavailable(&error))?;
            Ok(queued(&job))
        }
    }
}

/// `GET /v1/verdicts/{digest}`.
pub(super) async fn verdict(
    State(gate): State<Gate>,
    Path(digest): Path<String>,
    Query(query): Query<ImageQuery>,
) -> Response {
    match verdict_of(&gate, digest, query).await {
        Ok(response) | Err(response) => response,
    }
}

async fn verdict_of(
    gate: &Gate,
    digest: String,
    query: ImageQuery,
) -> std::result::Result<Response, Response> {
    let view = gate.view();
    let job = query.job(digest, &view);
    let job = job.map_err(|error| refused(StatusCode::BAD_REQUEST, error))?;
    let subject = (query.reference, Overlay::default());
    match gate
        .report(view.setup.checker.clone(), job.clone(), subject)
        .await?
    {
        Some(report) => Ok(report),
        None if gate.queue().contains(&job.key) => Ok(queued(&job)),
        None => Err(refused(
            StatusCode::NOT_FOUND,
            "no image with this digest was read; ask for it with POST /v1/check",
        )),
    }
}

/// `GET /openapi.json`.
pub(super) async fn description() -> Response {
    ([(CONTENT_TYPE, "application/json")], openapi()).into_response()
}

impl Gate {
    /// The report of an image; `None` if it was not read yet.
    async fn report(
        &self,
        checker: Arc<Checker>,
        job: Job,
        subject: (String, Overlay),
    ) -> std::result::Result<Option<Response>, Response> {
        let gate = self.clone();
        let work = move || gate.report_now(&checker, &job, subject);
        let text = tokio::task::spawn_blocking(work).await;
        let text = text.unwrap_or_else(|_| Err(Error::Cancelled));
        match text {
            Ok(Some(text)) => Ok(Some(
                ([(CONTENT_TYPE, "application/json")], text).into_response(),
            )),
            Ok(None) => Ok(None),
            Err(error) => Err(unavailable(&error)),
        }
    }

    fn report_now(
        &self,
        checker: &Checker,
        job: &Job,
        (reference, overlay): (String, Overlay),
    ) -> Result<Option<String>> {
        let report = self.judged(checker, job, &reference, overlay)?;
        let render = |it: Report| it.render(ReportView::Findings, Format::Json, None);
        report.map(render).transpose()
    }
}

fn queued(job: &Job) -> Response {
    let href = match job.key.architecture.as_str() {
        "" => format!("/v1/verdicts/{}", job.key.digest),
        architecture => format!(
            "/v1/verdicts/{}?architecture={architecture}",
            job.key.digest
        ),
    };
    let headers = [(LOCATION, href.clone()), (RETRY_AFTER, AGAIN.to_owned())];
    let body = Queued {
        status: "queued",
        digest: job.key.digest.clone(),
        href,
    };
    (StatusCode::ACCEPTED, headers, Json(body)).into_response()
}

fn refused(status: StatusCode, error: impl Into<String>) -> Response {
    problem(status, error).into_response()
}

/// The image could not be read, or the queue not be written.
fn unavailable(error: &Error) -> Response {
    let status = match error.code() {
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::Output | ErrorCode::Timeout | ErrorCode::Cancelled => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    refused(status, error.message())
}
