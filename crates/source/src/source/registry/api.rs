//! What the APIs of Harbor and GitLab share: pages of JSON that lead to the tags of many repositories.

use reqwest::Response;
use serde::de::DeserializeOwned;

use super::access::Access;
use super::address::Address;
use super::body::Body;
use super::failure::Failure;
use super::repository::Repository;
use crate::source::Request;
use imgcheck_base::error::Error;

/// Items of a page: the most that Harbor and GitLab send.
pub(super) const PAGE: usize = 100;
/// Pages of one list; a server that sends more never ends.
pub(super) const PAGES: usize = 1_000_000;
const PAGE_BYTES: u64 = 16 << 20;

/// What was listed, and the lists that could not be read to their end.
#[derive(Debug, Default)]
pub struct TagListing {
    /// All tags.
    pub tags: Vec<ListedTag>,
    /// What could not be listed, and why.
    pub errors: Vec<(String, Error)>,
}

/// A tag of a repository.
#[derive(Debug)]
pub struct ListedTag {
    /// With its registry: `registry.example/team/train`.
    pub repository: String,
    /// Name of the tag.
    pub tag: String,
    /// The digest of its manifest or index, if the API has it.
    pub digest: Option<String>,
    /// How often its repository was pulled, if the API counts that.
    pub pulls: Option<u64>,
}

impl TagListing {
    /// Keeps why a list could not be read to its end.
    pub(super) fn record(&mut self, what: &str, read: Result<(), Failure>) {
        if let Err(failure) = read {
            let error = failure.into_error(what);
            self.errors.push((what.to_owned(), error));
        }
    }
}

/// What `list` lists with requests to a host.
pub(super) fn list(
    host: &str,
    request: &Request,
    list: impl AsyncFnOnce(&Repository, &mut TagListing) -> Result<(), Failure>,
) -> TagListing {
    let mut listing = TagListing::default();
    let (credentials, end) = (
        request.credentials.clone(),
        request.bounds.cancellation.clone(),
    );
    let address = Address::of_registry(host);
    let repository = request
        .registries
        .repository(address, credentials, Access::Catalog, end);
    match repository {
        Ok(repository) => {
            let read = repository.run(list(&repository, &mut listing));
            listing.record(host, read);
        }
        Err(error) => listing.errors.push((host.to_owned(), error)),
    }
    listing
}

/// The items of a page of an API, such as `Harbor`.
pub(super) async fn items<T: DeserializeOwned>(
    repository: &Repository,
    response: Response,
    api: &str,
) -> Result<Vec<T>, Failure> {
    let mut body = Body::new(response, repository.policy());
    let bytes = body.read_all(PAGE_BYTES).await?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let host = &repository.address.registry;
        Failure::damaged(format!("{host} did not answer as {api} does: {error}"))
            .with_help(format!("if it is not {api}, write registry:{host}"))
    })
}

/// A number in a header of an answer.
pub(super) fn number(response: &Response, header: &str) -> Option<usize> {
    response.headers().get(header)?.to_str().ok()?.parse().ok()
}

/// # Errors
/// A list has fewer items than the server counts.
pub(super) fn check_total(host: &str, items: usize, total: Option<usize>) -> Result<(), Failure> {
    match total {
        Some(total) if items < total => Err(Failure::damaged(format!(
            "{host} sent {items} of {total} items"
        ))),
        _ => Ok(()),
    }
}

/// The failure of a list that has too many pages.
pub(super) fn endless(host: &str) -> Failure {
    Failure::damaged(format!("{host} sends pages without end"))
}

/// A text as one part of a path.
pub(super) fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut escaped, byte| {
        match byte {
            byte if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                escaped.push(char::from(byte));
            }
            byte => escaped.push_str(&format!("%{byte:02X}")),
        }
        escaped
    })
}
