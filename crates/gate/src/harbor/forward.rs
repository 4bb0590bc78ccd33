//! Another scanner of Harbor's interface, which scans the same images: a project of Harbor has only one scanner.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::scans::{Scan, Scans};
use super::types::GENERIC_REPORT;
use crate::flights::Flights;
use crate::metrics::Metrics;
use imgcheck_base::error::{Error, Result as ImgcheckResult};
use imgcheck_base::excerpt::{shortened, without_controls};
use imgcheck_source::tls::{self, Trust};

const REQUEST: &str = "application/vnd.scanner.adapter.scan.request+json; version=1.1";
/// Harbor's timeout for an answer, minus the time to build it.
const PATIENCE: Duration = Duration::from_secs(4);
/// Maximum time for one request.
const LONGEST: Duration = Duration::from_secs(60);
/// The largest report, in bytes.
const MAX_REPORT: usize = 64 * 1024 * 1024;
/// How often in a row the other scanner may be out of reach: about a minute.
const MISSES: u32 = 12;
/// Maximum length of a shown error, in characters.
const SHOWN: usize = 300;

/// What the other scanner found; `None` while it scans, or the reason why there is no report.
pub type Findings = Result<Option<Arc<Theirs>>, String>;

/// The parts of the other scanner's report that imgcheck uses.
#[derive(Debug, Default, Deserialize)]
pub struct Theirs {
    /// Its vulnerabilities, unchanged.
    #[serde(default)]
    pub vulnerabilities: Option<Vec<Value>>,
    /// The worst of them.
    #[serde(default)]
    pub severity: Option<String>,
}

/// Asks the other scanner.
#[derive(Debug)]
pub struct Forwarder {
    http: Client,
    flights: Flights<String, Findings>,
    scans: Arc<Scans>,
    metrics: Arc<Metrics>,
}

/// Why the other scanner has no answer.
enum Trouble {
    /// It may have one later.
    Later(String),
    /// It never will.
    Final(String),
}

impl Forwarder {
    /// # Errors
    /// The HTTP client cannot be made.
    pub fn new(scans: Arc<Scans>, metrics: Arc<Metrics>) -> ImgcheckResult<Self> {
        let unusable = |error: &dyn std::error::Error| {
            Error::config(format!("no HTTP client for `forward`: {error}"))
        };
        // A machine without certificate authorities may still have a scanner without TLS.
        let config = tls::client_config(Trust::Authorities(Vec::new()))
            .or_else(|_| tls::client_config(Trust::NoOne))
            .map_err(|error| unusable(&error))?;
        let http = Client::builder()
            .tls_backend_preconfigured(config)
            .user_agent(concat!("imgcheck/", env!("CARGO_PKG_VERSION")))
            .http1_only()
            // A redirect is an answer: the report is not ready.
            .redirect(Policy::none())
            .timeout(LONGEST)
            .build()
            .map_err(|error| unusable(&error))?;
        Ok(Forwarder {
            http,
            flights: Flights::default(),
            scans,
            metrics,
        })
    }

    /// Forwards a scan, or requests its report. Work that takes longer than Harbor waits continues.
    pub async fn findings(&self, base: &str, id: &str, scan: &Scan) -> Findings {
        let asking = Asking {
            http: self.http.clone(),
            scans: self.scans.clone(),
            base: base.to_owned(),
            id: id.to_owned(),
            scan: scan.clone(),
        };
        let work = || asking.ask(self.metrics.clone());
        match timeout(PATIENCE, self.flights.join(id.to_owned(), work)).await {
            Ok(Some(findings)) => findings,
            Ok(None) | Err(_) => Ok(None),
        }
    }
}

struct Asking {
    http: Client,
    scans: Arc<Scans>,
    base: String,
    id: String,
    scan: Scan,
}

impl Asking {
    async fn ask(self, metrics: Arc<Metrics>) -> Findings {
        let asked = match &self.scan.forwarded {
            None => self.submit().await.map(|()| None),
            Some(theirs) => self.fetch(theirs).await,
        };
        let problem = match asked {
            Ok(found) => {
                self.scans.reached(&self.id, true);
                if found.is_some() {
                    metrics.forward("success");
                }
                return Ok(found.map(Arc::new));
            }
            Err(Trouble::Later(problem)) => {
                tracing::warn!(scan = self.id, problem, "the other scanner does not answer");
                if self.scans.reached(&self.id, false) < MISSES {
                    return Ok(None);
                }
                problem
            }
            Err(Trouble::Final(problem)) => problem,
        };
        metrics.forward("failure");
        Err(format!("the scanner under `forward`: {problem}"))
    }

    /// Hands the scan over, with the credentials as Harbor sent them.
    async fn submit(&self) -> Result<(), Trouble> {
        let mut body = json!(self.scan.request);
        body["enabled_capabilities"] =
            json!([{"type": "vulnerability", "produces_mime_types": [GENERIC_REPORT]}]);
        let request = self.http.post(self.url(&["scan"])?);
        let request = request.header(CONTENT_TYPE, REQUEST).body(body.to_string());
        let response = send(request).await?;
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        let answer: Value = serde_json::from_slice(&read(response).await?).unwrap_or_default();
        match answer["id"].as_str() {
            Some(theirs) if !theirs.is_empty() => {
                self.scans.forwarded(&self.id, Some(theirs.to_owned()));
                Ok(())
            }
            _ => Err(Trouble::Final("it gave the scan no id".to_owned())),
        }
    }

    async fn fetch(&self, theirs: &str) -> Result<Option<Theirs>, Trouble> {
        let request = self.http.get(self.url(&["scan", theirs, "report"])?);
        let response = send(request.header(ACCEPT, GENERIC_REPORT)).await?;
        match response.status() {
            StatusCode::OK => {
                let report = serde_json::from_slice(&read(response).await?);
                let report = report.map_err(|error| {
                    Trouble::Final(format!("it sent no report on vulnerabilities: {error}"))
                })?;
                Ok(Some(report))
            }
            StatusCode::FOUND => Ok(None),
            StatusCode::NOT_FOUND => {
                self.scans.forwarded(&self.id, None);
                Err(Trouble::Later("it no longer knows the scan".to_owned()))
            }
            _ => Err(refusal(response).await),
        }
    }

    fn url(&self, parts: &[&str]) -> Result<Url, Trouble> {
        let invalid = || Trouble::Final(format!("`{}` is not an address", self.base));
        let mut url = Url::parse(&self.base).map_err(|_| invalid())?;
        let mut path = url.path_segments_mut().map_err(|()| invalid())?;
        path.pop_if_empty().extend(["api", "v1"]).extend(parts);
        drop(path);
        Ok(url)
    }
}

async fn send(request: RequestBuilder) -> Result<Response, Trouble> {
    request.send().await.map_err(unreached)
}

async fn read(mut response: Response) -> Result<Vec<u8>, Trouble> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(unreached)? {
        if bytes.len() + piece.len() > MAX_REPORT {
            return Err(Trouble::Final(
                "its report is larger than 64 MiB".to_owned(),
            ));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn unreached(error: reqwest::Error) -> Trouble {
    let error = error.without_url();
    let cause = error.source().map(|cause| format!(": {cause}"));
    Trouble::Later(format!("{error}{}", cause.unwrap_or_default()))
}

/// What an error says. A proxy, or a scanner that starts, may have an answer later.
async fn refusal(response: Response) -> Trouble {
    let status = response.status();
    let bytes = match read(response).await {
        Ok(bytes) => bytes,
        Err(trouble) => return trouble,
    };
    let document: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let message = document["error"]["message"].as_str().unwrap_or_default();
    let message = without_controls(&shortened(message, SHOWN));
    let problem = format!("it answered {status}: {message}");
    match status {
        StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT
        | StatusCode::TOO_MANY_REQUESTS => Trouble::Later(problem),
        _ => Trouble::Final(problem),
    }
}
