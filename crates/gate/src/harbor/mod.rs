//! Harbor's interface for scanners, version 1.2 (goharbor/pluggable-scanner-spec): Harbor hands over images, and asks for their reports.

mod errors;
pub mod forward;
mod report;
pub mod scans;
mod target;
mod types;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;

use super::object::from_body;
use super::server::{self, problem, unreceived};
use super::state::Gate;
use forward::Findings;
use imgcheck_launch::Overlay;
use report::Kind;
use scans::Scan;
use types::{CONSUMED, GENERIC_REPORT, ScanRequest, scanner};

const METADATA: &str = "application/vnd.scanner.adapter.metadata+json; version=1.1";
const ACCEPTED: &str = "application/vnd.scanner.adapter.scan.response+json; version=1.0";
/// Seconds after which it is worth to ask again. Harbor reads no number above 127.
const AGAIN: &str = "5";

/// The paths of the interface. Clients need a certificate or a token, as for all but admission.
pub(super) fn routes(gate: &Gate) -> Router<Gate> {
    Router::new()
        .route("/api/v1/metadata", get(metadata))
        .route("/api/v1/scan", post(scan))
        .route("/api/v1/scan/{id}/report", get(report))
        .route_layer(from_fn_with_state(gate.clone(), server::authenticated))
        .route_layer(from_fn(errors::as_harbor_reads_them))
}

/// `GET /api/v1/metadata`.
async fn metadata() -> Response {
    let metadata = json!({
        "scanner": scanner(),
        "capabilities": [{
            "type": "vulnerability",
            "consumes_mime_types": CONSUMED,
            "produces_mime_types": [GENERIC_REPORT],
        }],
        "properties": {
            "harbor.scanner-adapter/scanner-type": "gpu-stack",
            // Not a token, which could expire while the image waits.
            "harbor.scanner-adapter/registry-authorization-type": "Basic",
        },
    });
    ([(CONTENT_TYPE, METADATA)], Json(metadata)).into_response()
}

/// `POST /api/v1/scan`.
async fn scan(State(gate): State<Gate>, body: Result<Bytes, BytesRejection>) -> Response {
    match accept(&gate, body).await {
        Ok(response) | Err(response) => response,
    }
}

async fn accept(gate: &Gate, body: Result<Bytes, BytesRejection>) -> Result<Response, Response> {
    let body = body.map_err(|rejection| unreceived(&rejection))?;
    let request: ScanRequest =
        from_body(&body).map_err(|error| refused(StatusCode::BAD_REQUEST, error))?;
    target::is_capable(&request)
        .map_err(|problem| refused(StatusCode::NOT_IMPLEMENTED, problem))?;
    let scan = target::scan(request, &gate.view())
        .map_err(|problem| refused(StatusCode::UNPROCESSABLE_ENTITY, problem))?;
    let job = scan.job();
    let stored = async {
        let id = gate.0.scans.add(scan).await?;
        gate.queue().add(job).await?;
        Ok(id)
    };
    let id = stored
        .await
        .map_err(|error: imgcheck_base::error::Error| failed(error.message()))?;
    let headers = [(CONTENT_TYPE, ACCEPTED)];
    Ok((StatusCode::ACCEPTED, headers, Json(json!({"id": id}))).into_response())
}

/// `GET /api/v1/scan/{id}/report`.
async fn report(
    State(gate): State<Gate>,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Response {
    match answer(&gate, id, &headers).await {
        Ok(response) | Err(response) => response,
    }
}

async fn answer(
    gate: &Gate,
    id: Result<Path<String>, PathRejection>,
    headers: &HeaderMap,
) -> Result<Response, Response> {
    let kind = Kind::of(headers).ok_or_else(|| {
        let problem = format!("only reports of the type {GENERIC_REPORT} are made");
        refused(StatusCode::NOT_IMPLEMENTED, problem)
    })?;
    let unknown = || refused(StatusCode::NOT_FOUND, "no scan with this id was asked for");
    let Path(id) = id.map_err(|_| unknown())?;
    let scan = gate.0.scans.get(&id).ok_or_else(unknown)?;
    let ours = judge(gate, scan.clone()).await;
    // Their report may be large: once they have the scan, it is fetched when ours is there.
    let theirs = match (&ours, &scan.forwarded) {
        (Ok(None), Some(_)) => Ok(None),
        _ => others(gate, &id, &scan).await,
    };
    match (ours, theirs) {
        (Err(problem), _) | (_, Err(problem)) => {
            gate.0.scans.answered(&id);
            Err(failed(problem))
        }
        (Ok(Some(ours)), Ok(Some(theirs))) => {
            let text = report::text(kind, &ours, &theirs, &scan.request.artifact);
            let text = text.map_err(|error| failed(error.message()))?;
            gate.0.scans.answered(&id);
            Ok(([(CONTENT_TYPE, kind.as_str())], text).into_response())
        }
        _ => Ok((StatusCode::FOUND, [("refresh-after", AGAIN)]).into_response()),
    }
}

/// What the other scanner says about an image, if there is one.
async fn others(gate: &Gate, id: &str, scan: &Scan) -> Findings {
    match &gate.view().setup.config().harbor.forward {
        Some(base) => gate.0.forwarder.findings(base, id, scan).await,
        None => Ok(Some(Default::default())),
    }
}

/// What imgcheck says about an image; `None` while it is being read.
///
/// # Errors
/// Why it cannot be judged.
async fn judge(gate: &Gate, scan: Scan) -> Result<Option<imgcheck_checker::Report>, String> {
    let job = scan.job();
    let judging = gate.clone();
    let work = move || {
        let checker = judging.view().setup.checker.clone();
        judging.judged(&checker, &scan.job(), &scan.reference(), Overlay::default())
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(Some(report))) => match report.errors.first() {
            Some(unread) => Err(unread.error.message()),
            None => Ok(Some(report)),
        },
        Ok(Ok(None)) if gate.queue().contains(&job.key) => Ok(None),
        // Its facts are no longer known.
        Ok(Ok(None)) => match gate.queue().add(job).await {
            Ok(()) => Ok(None),
            Err(error) => Err(error.message()),
        },
        Ok(Err(error)) if error.is_interrupted() => Ok(None),
        Ok(Err(error)) => Err(error.message()),
        Err(_) => Err("the image cannot be judged".to_owned()),
    }
}

impl Gate {
    /// Forgets scans whose time is over, for ever.
    pub(super) async fn forget_scans(self) {
        let mut minutes = tokio::time::interval(std::time::Duration::from_secs(60));
        loop {
            minutes.tick().await;
            self.0.scans.forget();
        }
    }
}

fn refused(status: StatusCode, error: impl Into<String>) -> Response {
    problem(status, error).into_response()
}

/// The only status by which Harbor's interface ends a scan without a report.
fn failed(error: impl Into<String>) -> Response {
    refused(StatusCode::INTERNAL_SERVER_ERROR, error)
}
