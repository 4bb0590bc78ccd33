//! Being let in: answers to a registry's challenges, kept for as long as they hold.

use std::sync::{Mutex, MutexGuard, PoisonError};

use reqwest::Url;
use reqwest::blocking::{RequestBuilder, Response};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use serde::Deserialize;

use super::address::Address;
use super::body::Body;
use super::challenge::Challenge;
use super::client::Client;
use super::credentials::{self, Credential, Found, Secret};
use super::failure::{Failure, Kind};
use super::retry::Patience;

/// How this program is called towards OAuth2 servers.
const CLIENT_ID: &str = "imgcheck";

/// Bytes of an answer with a token.
const ANSWER_LIMIT: u64 = 1 << 20;

/// What opens one repository. It is asked for when a request is refused, once for all threads, and used for all requests
/// until it is refused in turn, as happens in the middle of long downloads. How long a token says that it holds does not
/// matter: to use one for too long costs the same refusal as to use none.
#[derive(Default)]
pub(super) struct Authorization {
    pass: Mutex<Option<Pass>>,
}

struct Pass {
    header: HeaderValue,
    /// With what it was got, for messages.
    note: String,
}

impl Authorization {
    /// The header that opens the repository, if one is known.
    pub fn header(&self) -> Option<HeaderValue> {
        self.lock().as_ref().map(|pass| pass.header.clone())
    }

    /// With what the repository was last tried to be opened, for messages.
    pub fn note(&self) -> Option<String> {
        self.lock().as_ref().map(|pass| pass.note.clone())
    }

    /// Answers the challenges to a request that was made with `refused`.
    pub fn answer(
        &self,
        client: &Client,
        address: &Address,
        base: &Url,
        refused: Option<&HeaderValue>,
        challenges: &[Challenge],
    ) -> Result<(), Failure> {
        let mut pass = self.lock();
        let renewed = pass
            .as_ref()
            .is_some_and(|pass| Some(&pass.header) != refused);
        if !renewed {
            *pass = None;
            let request = Entrance {
                client,
                address,
                base,
            };
            *pass = Some(request.pass(challenges)?);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Pass>> {
        self.pass.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where entrance is asked for.
struct Entrance<'a> {
    client: &'a Client,
    address: &'a Address,
    base: &'a Url,
}

/// What a token server answers.
#[derive(Deserialize)]
struct Answer {
    token: Option<String>,
    access_token: Option<String>,
}

impl Entrance<'_> {
    fn pass(&self, challenges: &[Challenge]) -> Result<Pass, Failure> {
        let found = credentials::find(&self.address.registry, &self.address.repository);
        let credential = found.credential.as_ref();
        let answer = match challenges.first() {
            Some(Challenge::Bearer {
                realm,
                service,
                scope,
            }) => self.token(realm, service.as_deref(), scope.as_deref(), credential),
            Some(Challenge::Basic) => self.basic(credential),
            None => Err(Failure::new(
                Kind::Denied,
                format!(
                    "{} wants to be convinced in a way that is not understood: neither Basic nor Bearer",
                    self.address.registry
                ),
            )),
        };
        let header = answer.map_err(|failure| match failure.kind {
            Kind::Denied => Failure {
                problem: format!("{} {}", failure.problem, note(&found)),
                help: Some(login(&self.address.registry)),
                ..failure
            },
            _ => failure,
        })?;
        Ok(Pass {
            header,
            note: note(&found),
        })
    }

    fn basic(&self, credential: Option<&Credential>) -> Result<HeaderValue, Failure> {
        let registry = &self.address.registry;
        let (user, password) = match credential.map(|credential| &credential.secret) {
            Some(Secret::Password { user, password }) => (user, password),
            Some(Secret::IdentityToken(_)) => {
                let problem = format!("{registry} wants a password, not an identity token");
                return Err(Failure::new(Kind::Denied, problem));
            }
            None => {
                let problem = format!("{registry} wants a user name and a password");
                return Err(Failure::new(Kind::Denied, problem));
            }
        };
        let request = self.client.http.get(self.base.clone());
        let request = request.basic_auth(user, Some(password)).build();
        let header = request
            .ok()
            .and_then(|mut request| request.headers_mut().remove(AUTHORIZATION));
        header.ok_or_else(|| {
            Failure::new(Kind::Final, "the user name or the password cannot be sent")
        })
    }

    /// A token for pulling, with the credential where there is one: everybody gets one for a public repository.
    fn token(
        &self,
        realm: &str,
        service: Option<&str>,
        scope: Option<&str>,
        credential: Option<&Credential>,
    ) -> Result<HeaderValue, Failure> {
        let url = self.realm(realm)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let pull = format!("repository:{}:pull", self.address.repository);
        let mut query = vec![("scope", scope.unwrap_or(&pull))];
        query.extend(service.map(|service| ("service", service)));
        let request = match credential.map(|credential| &credential.secret) {
            Some(Secret::IdentityToken(token)) => {
                query.extend([
                    ("grant_type", "refresh_token"),
                    ("refresh_token", token),
                    ("client_id", CLIENT_ID),
                ]);
                self.post(url, &query)
            }
            Some(Secret::Password { user, password }) => {
                query.push(("account", user));
                self.get(url, &query).basic_auth(user, Some(password))
            }
            None => self.get(url, &query),
        };
        let response = self.client.send(&host, request)?;
        if !response.status().is_success() {
            return Err(Failure::of_answer(response, self.client.patience));
        }
        read_token(&host, response, self.client.patience)
    }

    fn get(&self, mut url: Url, query: &[(&str, &str)]) -> RequestBuilder {
        url.query_pairs_mut().extend_pairs(query);
        self.client.http.get(url)
    }

    /// A form in the body, so that no token is in a URL. A redirect is not followed, for the form would be sent there, too.
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

    /// A password must not leave a registry with TLS for a server without.
    fn realm(&self, realm: &str) -> Result<Url, Failure> {
        let registry = &self.address.registry;
        let refuse = |why: &str| {
            let shown = super::failure::printable(realm);
            Failure::new(
                Kind::Final,
                format!("{registry} sends for a token to `{shown}`, {why}"),
            )
        };
        let url = Url::parse(realm).map_err(|_| refuse("which is not a URL"))?;
        match url.scheme() {
            "https" => Ok(url),
            "http" if self.base.scheme() == "http" || self.client.insecure => Ok(url),
            _ => Err(refuse("which is not protected by TLS")),
        }
    }
}

/// What to do when credentials are wrong or missing.
pub(super) fn login(registry: &str) -> String {
    format!("log in: docker login {registry}, or podman login {registry}")
}

/// With what it was tried, and why with nothing else.
fn note(found: &Found) -> String {
    let with = match &found.credential {
        Some(credential) => format!("with the credentials of {}", credential.origin),
        None => "without credentials".to_owned(),
    };
    if found.problems.is_empty() {
        with
    } else {
        format!("{with} ({})", found.problems.join("; "))
    }
}

fn read_token(host: &str, response: Response, patience: Patience) -> Result<HeaderValue, Failure> {
    let body = Body::new(response, patience).read_all(ANSWER_LIMIT)?;
    // Nothing of the body is shown: it may be a token.
    let refuse = || {
        Failure::new(
            Kind::Final,
            format!("{host} gave no token that can be used"),
        )
    };
    let answer: Answer = serde_json::from_slice(&body).map_err(|_| refuse())?;
    let token = answer.token.or(answer.access_token).ok_or_else(refuse)?;
    let mut header = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| refuse())?;
    header.set_sensitive(true);
    Ok(header)
}
