//! Requests to one repository of a registry.

use std::sync::{Mutex, PoisonError};

use reqwest::Url;
use reqwest::blocking::{RequestBuilder, Response};
use reqwest::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};

use super::address::Address;
use super::authorization::{Authorization, login};
use super::challenge::challenges;
use super::client::Client;
use super::failure::{Failure, Kind};
use super::retry::Patience;

/// A repository, with what its registry wants to know and gave out.
pub(super) struct Repository {
    pub address: Address,
    client: Client,
    authorization: Authorization,
    /// The beginning of its registry's URLs, once it is known.
    base: Mutex<Option<Url>>,
}

impl Repository {
    pub fn new(address: Address, client: Client) -> Self {
        Repository {
            address,
            client,
            authorization: Authorization::default(),
            base: Mutex::new(None),
        }
    }

    pub fn patience(&self) -> Patience {
        self.client.patience
    }

    /// Asks once for a part of the repository, as in `manifests/latest`; a challenge is answered. `prepare` adds headers.
    pub fn get(
        &self,
        part: &str,
        prepare: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, Failure> {
        let base = self.base()?;
        let path = format!("{}/{part}", self.address.repository);
        let url = base
            .join(&path)
            .map_err(|error| Failure::new(Kind::Final, format!("`{path}`: {error}")))?;
        let send = |header: Option<&HeaderValue>| {
            let request = prepare(self.client.http.get(url.clone()));
            let request = match header {
                Some(header) => request.header(AUTHORIZATION, header.clone()),
                None => request,
            };
            self.client.send(&self.address.registry, request)
        };
        let header = self.authorization.header();
        let response = send(header.as_ref())?;
        // Where blobs are kept is another's place, whose challenges are none of ours.
        let ours = response.url().origin() == base.origin();
        let challenged =
            response.status() == 401 && response.headers().contains_key(WWW_AUTHENTICATE);
        if !ours || !challenged {
            return self.accepted(response);
        }
        let challenges = challenges(response.headers());
        drop(response);
        self.authorization.answer(
            &self.client,
            &self.address,
            &base,
            header.as_ref(),
            &challenges,
        )?;
        self.accepted(send(self.authorization.header().as_ref())?)
    }

    fn accepted(&self, response: Response) -> Result<Response, Failure> {
        if response.status().is_success() {
            return Ok(response);
        }
        let failure = Failure::of_answer(response, self.client.patience);
        if failure.kind != Kind::Denied {
            return Err(failure);
        }
        let tried = self
            .authorization
            .note()
            .map_or_else(String::new, |note| format!(" {note}"));
        let problem = format!(
            "{}{tried}: there is no such repository, or it is not for everybody",
            failure.problem
        );
        let login = login(&self.address.registry);
        Err(Failure::new(Kind::Denied, problem)
            .with_help(format!("check its name; if it is private, {login}")))
    }

    /// Finds out how the registry is spoken to, where there is a choice.
    fn base(&self) -> Result<Url, Failure> {
        if self.client.offline {
            let problem = format!(
                "{} is not asked (--offline), and not all is known from earlier runs",
                self.address.registry
            );
            return Err(Failure::new(Kind::Final, problem));
        }
        let mut known = self.base.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(base) = known.as_ref() {
            return Ok(base.clone());
        }
        let mut bases = Vec::new();
        for text in self.address.bases(self.client.insecure) {
            bases.push(
                Url::parse(&text)
                    .map_err(|error| Failure::new(Kind::Final, format!("`{text}`: {error}")))?,
            );
        }
        let base = match &bases[..] {
            [only] => only.clone(),
            _ => self.first_that_answers(&bases)?,
        };
        *known = Some(base.clone());
        Ok(base)
    }

    fn first_that_answers(&self, bases: &[Url]) -> Result<Url, Failure> {
        let mut failures: Vec<Failure> = Vec::new();
        for base in bases {
            let request = self.client.http.get(base.clone());
            match self.client.send(&self.address.registry, request) {
                Ok(_) => return Ok(base.clone()),
                // Who has a certificate speaks TLS; nothing else will be tried.
                Err(failure) if failure.kind == Kind::Certificate => return Err(failure),
                Err(failure) => failures.push(failure),
            }
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

impl std::fmt::Debug for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.address.fmt(f)
    }
}
