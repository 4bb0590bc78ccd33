//! The HTTP client: trust, proxies, time limits.

use std::fs;
use std::path::Path;

use reqwest::Certificate;
use reqwest::blocking::{Client as Http, ClientBuilder, RequestBuilder, Response};
use reqwest::redirect::Policy;

use super::Options;
use super::failure::{Failure, Kind};
use super::retry::Patience;
use crate::error::{Error, ErrorCode, Result};
use crate::tls;

/// Hops from a registry to where it keeps its blobs.
const REDIRECTS: usize = 5;

/// Sends requests.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub http: Http,
    /// For requests with secrets in their body, which would go along with a redirect: it follows none.
    pub forms: Http,
    pub patience: Patience,
    pub insecure: bool,
    pub offline: bool,
    /// Why no host can be trusted, if so.
    no_authorities: Option<String>,
}

impl Client {
    /// An error if a certificate of the options cannot be read.
    pub fn new(options: &Options) -> Result<Self> {
        tls::install();
        let mut extra = Vec::new();
        for path in &options.ca_certificates {
            extra.extend(certificates(path)?);
        }
        let patience = options.patience;
        let builder = |policy: Policy| {
            builder(patience)
                .tls_certs_merge(extra.clone())
                .tls_danger_accept_invalid_certs(options.insecure)
                .redirect(policy)
        };
        let follows = || builder(redirects(options.insecure));
        let follows_none = || builder(Policy::none());
        let (http, forms, no_authorities) = match follows().build() {
            Ok(http) => (Ok(http), follows_none().build(), None),
            // A machine without authorities may still talk to registries without TLS.
            Err(error) => (
                follows().tls_certs_only([]).build(),
                follows_none().tls_certs_only([]).build(),
                Some(super::failure::chain(&error)),
            ),
        };
        let built = |client: reqwest::Result<Http>| {
            client.map_err(|error| {
                Error::new(ErrorCode::Unreachable, "HTTP client", error.to_string())
            })
        };
        Ok(Client {
            http: built(http)?,
            forms: built(forms)?,
            no_authorities,
            patience,
            insecure: options.insecure,
            offline: options.offline,
        })
    }

    /// Sends one request to a host. Any answer is an answer.
    pub fn send(&self, host: &str, request: RequestBuilder) -> Result<Response, Failure> {
        request.send().map_err(|error| {
            let failure = Failure::of_connection(host, error);
            match &self.no_authorities {
                Some(reason) if failure.kind == Kind::Certificate => Failure::new(
                    Kind::Certificate,
                    format!("{host} cannot be trusted, for this machine has no certificates of authorities: {reason}"),
                )
                .with_help(
                    "install the package ca-certificates, or name a file of certificates with --ca-cert FILE",
                ),
                _ => failure,
            }
        })
    }
}

/// One connection for each layer is faster than one for all, so HTTP/1.1.
fn builder(patience: Patience) -> ClientBuilder {
    Http::builder()
        .user_agent(concat!("imgcheck/", env!("CARGO_PKG_VERSION")))
        .http1_only()
        .referer(false)
        .connect_timeout(patience.connect)
        .timeout(patience.stall)
}

/// What began with TLS stays with it. The `Authorization` is dropped where another host, port or scheme follows.
fn redirects(insecure: bool) -> Policy {
    Policy::custom(move |attempt| {
        let before = attempt.previous();
        let leaves_tls = before.last().is_some_and(|url| url.scheme() == "https")
            && attempt.url().scheme() != "https";
        if before.len() > REDIRECTS {
            attempt.error("too many redirects")
        } else if leaves_tls && !insecure {
            attempt.error("a redirect to a place without TLS")
        } else {
            attempt.follow()
        }
    })
}

fn certificates(path: &Path) -> Result<Vec<Certificate>> {
    let refuse = |problem: String| Error::Usage {
        problem: format!("--ca-cert {}: {problem}", path.display()),
        help: Some("give a file with one or more certificates in PEM format".to_owned()),
    };
    let bytes = fs::read(path).map_err(|error| refuse(error.to_string()))?;
    match Certificate::from_pem_bundle(&bytes) {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(refuse("there is no certificate in it".to_owned())),
        Err(error) => Err(refuse(super::failure::chain(&error))),
    }
}
