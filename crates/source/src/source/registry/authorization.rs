//! Answers to the authentication challenges of a registry.

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{RequestBuilder, Response, Url};
use serde::Deserialize;

use super::access::Access;
use super::address::Address;
use super::body::Body;
use super::challenge::Challenge;
use super::client::Client;
use super::credentials::{self, Credentials, Lookup};
use super::failure::{Failure, Kind, printable};
use super::refusal;
use super::retry::RetryPolicy;
use super::token_server::check_address;
use imgcheck_base::error::ErrorCode;

/// The name of this program towards OAuth2 servers.
const CLIENT_ID: &str = "imgcheck";

/// Bytes of a token response that are read.
const RESPONSE_LIMIT: u64 = 1 << 20;

/// What a repository accepts as proof, and how it was obtained.
///
/// It is requested when a request is refused, and used for all requests until it is refused in turn, which happens in the
/// middle of long downloads. The announced lifetime of a token does not matter: using one for too long costs the same refused
/// request as using none.
pub(super) struct Authorization {
    pub header: HeaderValue,
    login: Login,
}

/// The credentials of an authorization, for messages.
struct Login {
    registry: String,
    /// Where the credentials come from; `None` for an anonymous token.
    origin: Option<String>,
    /// The user name and the password are sent with every request, so only they can be wrong.
    is_basic: bool,
    /// Configuration files and helpers that could not be used: ` (…)`, or empty.
    problems: String,
}

/// Obtains an authorization for one repository.
pub(super) struct Authorizer<'a> {
    pub client: &'a Client,
    pub address: &'a Address,
    pub base: &'a Url,
    /// The credentials of the request; `None` if they are looked up in the user's configuration.
    pub credentials: Option<&'a Credentials>,
    pub access: Access,
}

/// The response of a token server.
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Authorization {
    /// The failure of a request that was refused with this authorization.
    pub fn refused(&self, failure: Failure) -> Failure {
        self.login.refused(failure)
    }
}

impl Login {
    fn refused(&self, failure: Failure) -> Failure {
        let (problem, problems) = (failure.problem, &self.problems);
        let is_unauthorized = failure.kind == Kind::Final(ErrorCode::Unauthorized);
        match &self.origin {
            Some(origin) if self.is_basic && is_unauthorized => {
                wrong_credentials(&self.registry, origin, &problem)
            }
            Some(origin) => Failure::new(
                Kind::Final(ErrorCode::Forbidden),
                format!(
                    "repository not found, or access denied with the credentials from {origin}: {problem}{problems}"
                ),
            )
            .with_help(format!(
                "check the name of the repository, or {}",
                login(&self.registry)
            )),
            None => denied(&self.registry, &format!("{problem}{problems}")),
        }
    }
}

/// The failure of a request without credentials.
pub(super) fn denied(registry: &str, problem: &str) -> Failure {
    Failure::unauthorized(format!(
        "repository not found, or access denied (log in with `docker login {registry}`): {problem}"
    ))
    .with_help(format!(
        "check the name of the repository; if it is private, {}",
        login(registry)
    ))
}

fn wrong_credentials(registry: &str, origin: &str, problem: &str) -> Failure {
    Failure::unauthorized(format!(
        "{registry} rejected the user name or password from {origin}: {problem}"
    ))
    .with_help(login(registry))
}

fn login(registry: &str) -> String {
    format!("log in: docker login {registry}, or podman login {registry}")
}

impl Authorizer<'_> {
    /// Answers the first of the challenges, of which the best is first.
    pub async fn authorize(&self, challenges: &[Challenge]) -> Result<Authorization, Failure> {
        let registry = &self.address.registry;
        let lookup = self.lookup().await;
        let login = Login {
            registry: registry.clone(),
            origin: lookup.origin.clone(),
            is_basic: challenges.first() == Some(&Challenge::Basic),
            problems: match lookup.problems.is_empty() {
                true => String::new(),
                false => format!(" ({})", lookup.problems.join("; ")),
            },
        };
        let header = match challenges.first() {
            Some(Challenge::Bearer { realm, service }) => {
                self.token(realm, service.as_deref(), &lookup, &login)
                    .await?
            }
            Some(Challenge::Basic) => self.basic(&lookup, &login)?,
            None => {
                return Err(Failure::unsupported(format!(
                    "{registry} requires an unsupported authentication scheme (neither Basic nor Bearer)"
                )));
            }
        };
        Ok(Authorization { header, login })
    }

    /// The user name and password without a challenge.
    pub async fn basic_if_known(&self) -> Result<Option<Authorization>, Failure> {
        let lookup = self.lookup().await;
        if !matches!(lookup.credentials, Some(Credentials::Password { .. })) {
            return Ok(None);
        }
        let login = Login {
            registry: self.address.registry.clone(),
            origin: lookup.origin.clone(),
            is_basic: true,
            problems: String::new(),
        };
        let header = self.basic(&lookup, &login)?;
        Ok(Some(Authorization { header, login }))
    }

    /// A credential helper may hang, so it runs on a separate thread.
    async fn lookup(&self) -> Lookup {
        if let Some(credentials) = self.credentials {
            return Lookup::of_request(credentials.clone());
        }
        let Address {
            registry,
            repository,
            ..
        } = self.address;
        let (registry, repository) = (registry.clone(), repository.clone());
        let lookup = tokio::task::spawn_blocking(move || credentials::find(&registry, &repository));
        lookup.await.unwrap_or_default()
    }

    fn login_required(&self, lookup: &Lookup, login: &Login) -> Failure {
        let registry = &self.address.registry;
        Failure::unauthorized(format!(
            "{registry} requires a login, and no credentials were found in {}{}",
            lookup.searched, login.problems
        ))
        .with_help(self::login(registry))
    }

    fn basic(&self, lookup: &Lookup, login: &Login) -> Result<HeaderValue, Failure> {
        let registry = &self.address.registry;
        let (user, password) = match &lookup.credentials {
            Some(Credentials::Password { user, password }) => (user, password),
            Some(Credentials::IdentityToken(_)) => {
                let origin = login.origin.as_deref().unwrap_or_default();
                return Err(Failure::unauthorized(format!(
                    "{registry} requires a password, and {origin} contains an identity token"
                ))
                .with_help(self::login(registry)));
            }
            None => return Err(self.login_required(lookup, login)),
        };
        let request = self.client.http.get(self.base.clone());
        let request = request.basic_auth(user, Some(password)).build();
        let header = request
            .ok()
            .and_then(|mut request| request.headers_mut().remove(AUTHORIZATION));
        header.ok_or_else(|| {
            Failure::unauthorized(
                "the user name or the password contains characters that HTTP cannot send",
            )
        })
    }

    /// A token, anonymous if there are no credentials: anyone gets one to pull from a public repository.
    async fn token(
        &self,
        realm: &str,
        service: Option<&str>,
        lookup: &Lookup,
        login: &Login,
    ) -> Result<HeaderValue, Failure> {
        let url = self.realm(realm)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let scope = self.access.scope(&self.address.repository);
        if lookup.credentials.is_some() && !self.client.local_token_server {
            check_address(self.base, &url).await?;
        }
        // Not the scope of the challenge, which could ask for more.
        let mut query = vec![("scope", &*scope)];
        query.extend(service.map(|service| ("service", service)));
        let request = match &lookup.credentials {
            Some(Credentials::IdentityToken(token)) => {
                query.extend([
                    ("grant_type", "refresh_token"),
                    ("refresh_token", token),
                    ("client_id", CLIENT_ID),
                ]);
                self.post(url, &query)
            }
            Some(Credentials::Password { user, password }) => {
                query.push(("account", user));
                self.get(url, &query).basic_auth(user, Some(password))
            }
            None => self.get(url, &query),
        };
        let response = self.client.send(&host, request).await?;
        if response.status().is_success() {
            return read_token(&host, response, self.client.policy).await;
        }
        let failure = refusal::failure_of(response, self.client.policy).await;
        Err(match (failure.kind, &login.origin) {
            (Kind::Final(ErrorCode::Unauthorized), Some(origin)) => {
                wrong_credentials(&self.address.registry, origin, &failure.problem)
            }
            (Kind::Final(ErrorCode::Unauthorized | ErrorCode::Forbidden), None) => {
                let required = self.login_required(lookup, login);
                Failure {
                    problem: format!("{}: {}", required.problem, failure.problem),
                    ..required
                }
            }
            (Kind::Final(ErrorCode::Forbidden), Some(_)) => login.refused(failure),
            _ => failure,
        })
    }

    fn get(&self, mut url: Url, query: &[(&str, &str)]) -> RequestBuilder {
        url.query_pairs_mut().extend_pairs(query);
        self.client.http.get(url)
    }

    /// A form in the body, so that no token is in a URL. Redirects are not followed, since they would forward the form.
    fn post(&self, url: Url, form: &[(&str, &str)]) -> RequestBuilder {
        let mut encoder = self.base.clone();
        encoder.query_pairs_mut().clear().extend_pairs(form);
        let body = encoder.query().unwrap_or_default().to_owned();
        self.client
            .forms
            .post(url)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(body)
    }

    /// The URL of the token server. A registry with TLS must not send a password to a server without.
    fn realm(&self, realm: &str) -> Result<Url, Failure> {
        let registry = &self.address.registry;
        let refuse = |why: &str| {
            let shown = printable(realm);
            Failure::damaged(format!(
                "{registry} names the token server `{shown}`, which {why}"
            ))
        };
        let url = Url::parse(realm).map_err(|_| refuse("is not a URL"))?;
        match url.scheme() {
            "https" => Ok(url),
            "http" if self.base.scheme() == "http" || self.client.insecure => Ok(url),
            _ => Err(refuse("does not use TLS")),
        }
    }
}

async fn read_token(
    host: &str,
    response: Response,
    policy: RetryPolicy,
) -> Result<HeaderValue, Failure> {
    let body = Body::new(response, policy).read_all(RESPONSE_LIMIT).await?;
    // The message never shows the body, which may contain a token.
    let refuse = || Failure::damaged(format!("{host} sent no usable token"));
    let response: Token = serde_json::from_slice(&body).map_err(|_| refuse())?;
    let token = response
        .token
        .or(response.access_token)
        .ok_or_else(refuse)?;
    let mut header = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| refuse())?;
    header.set_sensitive(true);
    Ok(header)
}
