//! The HTML report behind a decision, or of an image by its digest.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use chrono::Utc;
use serde::Deserialize;

use super::answer::{self, message, message_with_link};
use crate::cluster::Puller;
use crate::image_query::ImageQuery;
use crate::images::{Image, Images, named};
use crate::judge::Question;
use crate::queue::Priority;
use crate::recent::{ImageDecision, JudgedObject};
use crate::setup::View;
use crate::state::{Gate, LONGEST_JUDGEMENT};
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_checker::{Format, Report, View as ReportView};
use imgcheck_launch::Overlay;

/// Which report on a digest is requested.
#[derive(Debug, Deserialize)]
pub struct ReportQuery {
    /// The id of a decision: the report judges what its object starts. Without one, it judges the image alone.
    decision: Option<String>,
    #[serde(default)]
    reference: String,
    #[serde(default)]
    architecture: String,
}

/// `GET /reports/{digest}`.
pub async fn report(
    State(gate): State<Gate>,
    Path(digest): Path<String>,
    query: std::result::Result<Query<ReportQuery>, QueryRejection>,
) -> Response {
    match report_on(&gate, digest, query).await {
        Ok(response) | Err(response) => response,
    }
}

async fn report_on(
    gate: &Gate,
    digest: String,
    query: std::result::Result<Query<ReportQuery>, QueryRejection>,
) -> std::result::Result<Response, Response> {
    let unusable = |text: &str| message(StatusCode::BAD_REQUEST, "No such report", text);
    let Query(query) = query.map_err(|rejection| unusable(&rejection.body_text()))?;
    let view = gate.view();
    let image = ImageQuery {
        reference: query.reference,
        architecture: query.architecture,
    };
    let job = image.job(digest.clone(), &view);
    let job = job.map_err(|problem| unusable(&problem))?;
    let decision = match query.decision {
        Some(id) => Some(decided(gate, &id, &digest).ok_or_else(|| undecided(&digest))?),
        None => None,
    };
    let permit = gate.0.judges.clone().acquire_owned().await;
    let worker = gate.clone();
    let work = move || {
        let _permit = permit;
        let checker = view.setup.checker.with_pictures();
        let report = match &decision {
            Some((decision, object)) => worker.report_of(decision, object, &view)?,
            None => worker.judged(&checker, &job, &image.reference, Overlay::default())?,
        };
        let text = report.map(|it| it.render(ReportView::Findings, Format::Html, None));
        text.transpose()
    };
    let made = tokio::task::spawn_blocking(work).await;
    match made.unwrap_or(Err(Error::Cancelled)) {
        Ok(Some(text)) => Ok(answer::report(text)),
        Ok(None) => Err(unread(gate, &digest)),
        Err(error) => Err(unreadable(&error)),
    }
}

/// The decision with an id, and its object; `None` if it is not held here, or is about a different image now.
fn decided(gate: &Gate, id: &str, digest: &str) -> Option<(Arc<ImageDecision>, Arc<JudgedObject>)> {
    let decision = gate.recent().line(id)?.decision;
    let object = decision.judged.clone()?;
    (decision.digest.as_deref() == Some(digest)).then_some((decision, object))
}

fn undecided(digest: &str) -> Response {
    let text = "It was dropped, was made by another replica, is about a different digest now, or its object is too large to keep.";
    let href = format!("/reports/{digest}");
    let link = (href.as_str(), "The report on the image alone");
    let title = "This process does not have the decision";
    message_with_link(StatusCode::NOT_FOUND, title, text, link)
}

impl Gate {
    /// The report on the containers of an object that start an image, judged now; `None` if the image was not read yet. It blocks.
    ///
    /// # Errors
    /// The image cannot be judged.
    fn report_of(
        &self,
        decision: &ImageDecision,
        object: &JudgedObject,
        view: &Arc<View>,
    ) -> Result<Option<Report>> {
        let question = Question {
            workload: object.workload.clone(),
            puller: Puller::default(),
            priority: Priority::Asked,
            view: view.clone(),
            day: Utc::now().date_naive(),
        };
        let found = object.digests.iter().map(|(reference, digest)| {
            let image = named(reference, view).map(|name| Image {
                repository: format!("{}/{}", name.registry.unwrap_or_default(), name.repository),
                digest: digest.clone(),
            });
            (reference.clone(), image)
        });
        let images: Images = found.collect();
        let deadline = std::time::Instant::now() + LONGEST_JUDGEMENT / 2;
        let cancellation = Cancellation::default().with_deadline(deadline);
        let checker = view.setup.checker.with_pictures();
        let (mut report, lacking) = self.report_on(&checker, &question, &images, &cancellation);
        cancellation.check()?;
        for workload in &mut report.workloads {
            workload.containers.retain(|it| it.image == decision.image);
        }
        report.errors.retain(|it| it.name == decision.image);
        let mut containers = report.workloads.iter().flat_map(|it| &it.containers);
        if containers.any(|it| it.judged.is_some()) {
            return Ok(Some(report));
        }
        let mut missing = lacking.missing.iter();
        if missing.any(|job| Some(&job.key.digest) == decision.digest.as_ref()) {
            return Ok(None);
        }
        let error = report.errors.into_iter().next().map(|it| it.error);
        Err(error.unwrap_or_else(|| Error::not_found(&decision.image, "could not be judged")))
    }
}

fn unread(gate: &Gate, digest: &str) -> Response {
    let (_, waiting) = gate.queue().pending(|job| job.key.digest == digest, 0);
    let text = match waiting {
        0 => "Nobody has asked this server to read the image, or what was read was dropped.",
        _ => "The image waits to be read, or is being read. Load this page again in a minute.",
    };
    message(StatusCode::NOT_FOUND, "Not read yet", text)
}

/// The image could not be read or judged.
fn unreadable(error: &Error) -> Response {
    let status = match error.code() {
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::Timeout | ErrorCode::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    message(status, "The image has no report", &error.message())
}
