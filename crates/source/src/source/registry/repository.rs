//! Requests to one repository of a registry.

use std::sync::Arc;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Method, RequestBuilder, Response, Url};
use tokio::sync::Mutex;

use super::access::Access;
use super::address::Address;
use super::authorization::{Authorization, Authorizer, denied};
use super::challenge::{Challenge, challenges};
use super::client::Client;
use super::credentials::Credentials;
use super::failure::{self, Failure, Kind, interrupted};
use super::refusal;
use super::retry::RetryPolicy;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::ErrorCode;

/// A repository, as one request reaches it.
pub(super) struct Repository {
    pub address: Address,
    pub client: Client,
    pub session: Arc<Session>,
    /// `None` if they are looked up in the user's configuration.
    pub credentials: Option<Credentials>,
    pub access: Access,
    pub cancellation: Cancellation,
    /// Whether a registry that limits requests is an error at once, and one that fails has one more attempt.
    pub at_once: bool,
}

/// What was learned about a repository. Requests without credentials of their own share it.
#[derive(Default)]
pub(super) struct Session {
    /// The start of the URLs of the registry, once it is known.
    base: Mutex<Option<Url>>,
    authorization: Mutex<Option<Authorization>>,
}

impl Repository {
    pub fn policy(&self) -> RetryPolicy {
        let policy = self.client.policy;
        RetryPolicy {
            waits_for_limits: !self.at_once,
            retries: if self.at_once { 1 } else { policy.retries },
            ..policy
        }
    }

    /// Blocks this thread until the future is complete or the request ends.
    pub fn run<T>(&self, future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let run = self.client.runtime.run(&self.cancellation, future);
        run.unwrap_or_else(|error| Err(interrupted(error)))
    }

    /// Requests a path below the repository once, such as `manifests/latest`, and answers a challenge. `prepare` adds headers.
    pub async fn get(
        &self,
        path: &str,
        prepare: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, Failure> {
        self.request(Method::GET, path, prepare).await
    }

    /// Requests a path of the server once, such as `/api/v2.0/projects`.
    pub async fn get_absolute(&self, path: &str) -> Result<Response, Failure> {
        let url = self.absolute(path).await?;
        self.request_url(Method::GET, url, |request| request).await
    }

    /// Requests a path of the server once, such as `/api/v4/projects`, with a token of its API or none, and answers no challenge.
    /// Returns the response, whatever its status.
    pub async fn get_with(
        &self,
        path: &str,
        token: Option<&HeaderValue>,
    ) -> Result<Response, Failure> {
        let request = self.client.http.get(self.absolute(path).await?);
        let request = match token {
            Some(token) => request.header(AUTHORIZATION, token),
            None => request,
        };
        self.client.send(&self.address.registry, request).await
    }

    async fn absolute(&self, path: &str) -> Result<Url, Failure> {
        let url = self.base().await?.join(path);
        url.map_err(|error| Failure::damaged(format!("`{path}`: {error}")))
    }

    /// Sends the user name and password, if there are any, with every request from now on: some APIs do not ask for them.
    pub async fn log_in(&self) -> Result<(), Failure> {
        let base = self.base().await?;
        let authorization = self.authorizer(&base).basic_if_known().await?;
        *self.session.authorization.lock().await = authorization;
        Ok(())
    }

    /// Same as [`get`](Self::get), by another method.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        prepare: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, Failure> {
        let base = self.base().await?;
        let path = match self.address.repository.as_str() {
            "" => path.to_owned(),
            repository => format!("{repository}/{path}"),
        };
        let url = base
            .join(&path)
            .map_err(|error| Failure::damaged(format!("`{path}`: {error}")))?;
        self.request_url(method, url, prepare).await
    }

    /// Like [`request`](Self::request), for an address that the registry named. It must be its own.
    pub async fn request_url(
        &self,
        method: Method,
        url: Url,
        prepare: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, Failure> {
        let base = self.base().await?;
        if url.origin() != base.origin() {
            let problem = "the registry names an address of another server for an upload";
            return Err(Failure::unsupported(format!(
                "{}: {problem}",
                self.address.registry
            )));
        }
        let send = async |header: Option<HeaderValue>| {
            let request = prepare(self.client.http.request(method.clone(), url.clone()));
            let request = match header {
                Some(header) => request.header(AUTHORIZATION, header),
                None => request,
            };
            self.client.send(&self.address.registry, request).await
        };
        let header = self.header().await;
        let response = send(header.clone()).await?;
        // A blob storage on another host must not ask for the credentials of the registry.
        if response.url().origin() != base.origin() {
            return match response.status().is_success() {
                true => Ok(response),
                false => Err(refusal::failure_of(response, self.policy()).await),
            };
        }
        let is_challenged =
            response.status() == 401 && response.headers().contains_key(WWW_AUTHENTICATE);
        if !is_challenged {
            return self.accepted(response).await;
        }
        let challenges = challenges(response.headers());
        drop(response);
        self.authorize(&base, header.as_ref(), &challenges).await?;
        let response = send(self.header().await).await?;
        self.accepted(response).await
    }

    async fn header(&self) -> Option<HeaderValue> {
        let authorization = self.session.authorization.lock().await;
        authorization.as_ref().map(|it| it.header.clone())
    }

    /// Answers the challenges to a request that was sent with `refused`, unless another thread did so meanwhile.
    async fn authorize(
        &self,
        base: &Url,
        refused: Option<&HeaderValue>,
        challenges: &[Challenge],
    ) -> Result<(), Failure> {
        let mut authorization = self.session.authorization.lock().await;
        let current = authorization.as_ref().map(|it| &it.header);
        if current.is_none() || current == refused {
            *authorization = None;
            *authorization = Some(self.authorizer(base).authorize(challenges).await?);
        }
        Ok(())
    }

    fn authorizer<'a>(&'a self, base: &'a Url) -> Authorizer<'a> {
        Authorizer {
            client: &self.client,
            address: &self.address,
            base,
            credentials: self.credentials.as_ref(),
            access: self.access,
        }
    }

    async fn accepted(&self, response: Response) -> Result<Response, Failure> {
        if response.status().is_success() {
            return match is_web_page(&response) {
                true => Err(self.not_a_registry(&response)),
                false => Ok(response),
            };
        }
        let failure = refusal::failure_of(response, self.policy()).await;
        if !matches!(
            failure.kind,
            Kind::Final(ErrorCode::Unauthorized | ErrorCode::Forbidden)
        ) {
            return Err(failure);
        }
        let authorization = self.session.authorization.lock().await;
        Err(match &*authorization {
            Some(authorization) => authorization.refused(failure),
            None => denied(&self.address.registry, &failure.problem),
        })
    }

    /// The failure of an answer that is a page for people.
    fn not_a_registry(&self, response: &Response) -> Failure {
        let registry = &self.address.registry;
        let host = failure::host(response);
        Failure::damaged(format!("{host} answered with a web page (text/html), as no registry does")).with_help(format!(
            "it may be the login page of a proxy: open https://{registry}/v2/ in a browser, and check the name of the registry and HTTPS_PROXY and NO_PROXY"
        ))
    }

    /// The start of the URLs of the registry. Where both HTTPS and HTTP are possible, the first that answers.
    async fn base(&self) -> Result<Url, Failure> {
        self.check_pause()?;
        if self.client.offline {
            let (registry, repository) = (&self.address.registry, &self.address.repository);
            let problem = format!(
                "--offline forbids requests to {registry}, and the cache does not contain the image"
            );
            let failure = Failure::new(Kind::Final(ErrorCode::Unreachable), problem);
            return Err(failure.with_help(format!(
                "the cache finds images by digest only, because a tag may have moved: name one that was read before {registry}/{repository}@sha256:…"
            )));
        }
        let mut known = self.session.base.lock().await;
        if let Some(base) = known.as_ref() {
            return Ok(base.clone());
        }
        let mut bases = Vec::new();
        for text in self.address.bases(self.client.insecure) {
            let base = Url::parse(&text);
            bases.push(base.map_err(|error| Failure::damaged(format!("`{text}`: {error}")))?);
        }
        let base = match &bases[..] {
            [only] => only.clone(),
            _ => self.first_that_answers(&bases).await?,
        };
        *known = Some(base.clone());
        Ok(base)
    }

    /// # Errors
    /// Nobody waits, and the registry has asked for a pause that is not over.
    fn check_pause(&self) -> Result<(), Failure> {
        let host = &self.address.registry;
        match self.client.pause_of(host).filter(|_| self.at_once) {
            Some(wait) => {
                let kind = Kind::Temporary(ErrorCode::RateLimited, Some(wait));
                Err(Failure::new(kind, format!("{host} limits requests")))
            }
            None => Ok(()),
        }
    }

    async fn first_that_answers(&self, bases: &[Url]) -> Result<Url, Failure> {
        let mut failures: Vec<Failure> = Vec::new();
        for base in bases {
            let request = self.client.http.get(base.clone());
            match self.client.send(&self.address.registry, request).await {
                Ok(_) => return Ok(base.clone()),
                // The server uses TLS, or has an internal address, so plain HTTP is not tried.
                Err(failure)
                    if matches!(
                        failure.kind,
                        Kind::Untrusted | Kind::Final(ErrorCode::Forbidden)
                    ) =>
                {
                    return Err(failure);
                }
                Err(failure) => failures.push(failure),
            }
        }
        // What the server says in plain HTTP says more.
        if failures.len() > 1 {
            failures.retain(|it| it.kind != Kind::NotTls);
        }
        let mut problems: Vec<&str> = failures
            .iter()
            .map(|failure| failure.problem.as_str())
            .collect();
        problems.dedup();
        let failure = Failure::new(Kind::Unreachable, problems.join("; "));
        let help = failures.iter().find_map(|failure| failure.help.clone());
        Err(Failure { help, ..failure })
    }
}

/// Whether an answer is a page for people, as that of a proxy that wants a login.
fn is_web_page(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|it| it.to_str().ok()).unwrap_or_default();
    kind.trim_start()
        .to_ascii_lowercase()
        .starts_with("text/html")
}

impl std::fmt::Debug for Repository {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.address.fmt(formatter)
    }
}
