//! The HTTP client: trust, proxies, time limits.

use std::error::Error as StdError;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::redirect::Policy;
use reqwest::{Client as Http, ClientBuilder, RequestBuilder, Response};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::time::timeout;

use super::failure::{Failure, Kind, chain};
use super::guard::Guard;
use super::host_certificates::HostCertificates;
use super::options::Options;
use super::pace::Pace;
use super::retry::{RetryPolicy, retry_after};
use crate::source::runtime::Runtime;
use crate::tls::{self, Trust};
use imgcheck_base::error::{Error, ErrorCode, Result};

/// Redirects from a registry to its blob storage that are followed.
const REDIRECTS: usize = 5;

/// Sends requests.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub http: Http,
    /// For requests with secrets in their body, which a redirect would forward: it follows none.
    pub forms: Http,
    pub policy: RetryPolicy,
    pub insecure: bool,
    pub local_token_server: bool,
    pub offline: bool,
    pub runtime: Runtime,
    pace: Arc<Pace>,
    guard: Option<Guard>,
    /// Why no certificate can be trusted, if so.
    no_authorities: Option<String>,
}

impl Client {
    /// A client with the certificates that a registry has on this machine.
    ///
    /// # Errors
    /// A certificate cannot be read.
    pub fn new(options: &Options, own: HostCertificates, pace: Arc<Pace>) -> Result<Self> {
        let mut extra = own.authorities;
        for path in &options.ca_certificates {
            extra.extend(certificates(path)?);
        }
        let trust = match options.insecure {
            true => Trust::Anyone,
            false => Trust::Authorities(extra),
        };
        let (config, no_authorities) = match tls::client_config_as(trust, own.identity) {
            Ok(config) => (config, None),
            // A machine without certificate authorities may still reach registries without TLS.
            Err(error) => {
                let config = tls::client_config(Trust::NoOne).map_err(unusable)?;
                (config, Some(chain(&error)))
            }
        };
        let policy = options.policy;
        let http = |redirects: Policy| {
            let builder = builder(policy).tls_backend_preconfigured(config.clone());
            let builder = match &options.guard {
                Some(guard) => builder.dns_resolver(guard.clone()),
                None => builder,
            };
            builder.redirect(redirects).build().map_err(unusable)
        };
        Ok(Client {
            http: http(redirects(options.insecure, options.guard.clone()))?,
            forms: http(Policy::none())?,
            no_authorities,
            policy,
            insecure: options.insecure,
            local_token_server: options.local_token_server,
            offline: options.offline,
            guard: options.guard.clone(),
            runtime: Runtime::new().map_err(|error| Error::io("HTTP client", error))?,
            pace,
        })
    }

    /// Sends one request to a host, in its turn, and waits for the headers of the response, whatever its status. If the host asks for a
    /// pause, all requests to it wait.
    pub async fn send(&self, host: &str, request: RequestBuilder) -> Result<Response, Failure> {
        let (http, request) = request.build_split();
        let request = request.map_err(|error| Failure::of_connection(host, error))?;
        if let Some(guard) = &self.guard {
            guard.check(request.url()).map_err(refused)?;
        }
        self.pace.turn(host).await;
        let error = match timeout(self.policy.stall, http.execute(request)).await {
            Ok(Ok(response)) => {
                self.heed(host, &response);
                return Ok(response);
            }
            Ok(Err(error)) => error,
            Err(_) => {
                let seconds = self.policy.stall.as_secs();
                return Err(Failure::timeout(format!(
                    "the connection to {host} timed out: no response within {seconds} s"
                )));
            }
        };
        let failure = Failure::of_connection(host, error);
        match &self.no_authorities {
            Some(reason) if failure.kind == Kind::Untrusted => Err(Failure::new(
                Kind::Untrusted,
                format!(
                    "the certificate of {host} is not trusted, since this machine has no certificate authorities: {reason}"
                ),
            )
            .with_help(
                "install the package ca-certificates, or name a file of certificates with --ca-cert FILE",
            )),
            _ => Err(failure),
        }
    }

    /// How long a host has asked to be left alone from now on.
    pub fn pause_of(&self, host: &str) -> Option<Duration> {
        let now = Instant::now();
        let end = self.pace.paused_until(host, now)?;
        Some(end.duration_since(now))
    }

    /// A pause that is longer than this program waits concerns only the request that was refused, which fails.
    fn heed(&self, host: &str, response: &Response) {
        let is_busy = matches!(response.status().as_u16(), 429 | 503);
        let wait = retry_after(response.headers()).filter(|_| is_busy);
        if let Some(wait) = wait.filter(|wait| *wait <= self.policy.longest_wait) {
            self.pace.pause(host, wait);
        }
    }
}

/// Several connections, one for each layer, are faster than one for all of them, hence HTTP/1.1.
fn builder(policy: RetryPolicy) -> ClientBuilder {
    Http::builder()
        .user_agent(concat!("imgcheck/", env!("CARGO_PKG_VERSION")))
        .http1_only()
        .referer(false)
        .connect_timeout(policy.connect)
}

/// A redirect never leaves TLS. reqwest drops the `Authorization` header where host, port or scheme change.
fn redirects(insecure: bool, guard: Option<Guard>) -> Policy {
    Policy::custom(move |attempt| {
        let before = attempt.previous();
        let leaves_tls = before.last().is_some_and(|url| url.scheme() == "https")
            && attempt.url().scheme() != "https";
        if before.len() > REDIRECTS {
            attempt.error("too many redirects")
        } else if leaves_tls && !insecure {
            attempt.error("redirect from HTTPS to plain HTTP")
        } else if let Some(Err(problem)) = guard.as_ref().map(|it| it.check(attempt.url())) {
            attempt.error(problem)
        } else {
            attempt.follow()
        }
    })
}

fn refused(problem: String) -> Failure {
    Failure::new(Kind::Final(ErrorCode::Forbidden), problem)
}

fn unusable(error: impl StdError + Send + Sync + 'static) -> Error {
    Error::new(ErrorCode::Unreachable, "HTTP client", error.to_string()).with_cause(error)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let refuse = |problem: String| {
        Error::usage(format!("--ca-cert {}: {problem}", path.display()))
            .with_help("give a file with one or more certificates in PEM format")
    };
    let bytes = fs::read(path).map_err(|error| refuse(error.to_string()))?;
    let certificates = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(refuse("no certificate found".to_owned())),
        Err(error) => Err(refuse(chain(&error))),
    }
}
