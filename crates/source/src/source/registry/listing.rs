//! All repositories of a registry, and all tags of a repository, page by page (OCI distribution specification, "Listing Tags";
//! `_catalog` is of the distribution project).

use std::collections::HashSet;

use serde::Deserialize;

use super::access::Access;
use super::address::Address;
use super::body::Body;
use super::failure::Failure;
use super::link::next_query;
use super::repository::Repository;
use super::retry::retry;
use crate::source::Request;
use imgcheck_base::error::Error;
use imgcheck_base::reference::name::{Name, is_tag};

/// Names requested per page. Registries may send fewer.
const PAGE: usize = 1_000;
/// Some registries send all tags of a repository in one page.
const PAGE_BYTES: u64 = 64 << 20;
/// Names of one listing; a registry that sends more never ends.
const NAMES: usize = 20_000_000;

/// What was listed before the listing ended, and why it ended early, if it did.
#[derive(Debug)]
pub struct Listing {
    /// The names, each once, in the order of the registry.
    pub names: Vec<String>,
    /// Why the listing is incomplete.
    pub error: Option<Error>,
}

#[derive(Deserialize)]
struct Page {
    repositories: Option<Vec<String>>,
    tags: Option<Vec<String>>,
}

/// The repositories of a registry.
pub fn repositories(registry: &str, request: &Request) -> Listing {
    let address = Address::of_registry(registry);
    listing(registry, address, Access::Catalog, "_catalog", request)
}

/// The tags of a repository, such as `nvcr.io/nvidia/cuda`. Tags that no reference can have are left out.
pub fn tags(repository: &str, request: &Request) -> Listing {
    let name = match repository.parse::<Name>() {
        Ok(name) => name.canonical(),
        Err(error) => return Listing::failed(error),
    };
    let address = Address::of(&name);
    let mut listing = listing(repository, address, Access::Pull, "tags/list", request);
    listing.names.retain(|tag| is_tag(tag));
    listing
}

fn listing(
    subject: &str,
    address: Address,
    access: Access,
    path: &str,
    request: &Request,
) -> Listing {
    let (credentials, end) = (
        request.credentials.clone(),
        request.bounds.cancellation.clone(),
    );
    let repository = request
        .registries
        .repository(address, credentials, access, end);
    let repository = match repository {
        Ok(repository) => repository,
        Err(error) => return Listing::failed(error),
    };
    let mut names = Vec::new();
    let read = repository.run(read(&repository, path, &mut names));
    Listing {
        names,
        error: read.err().map(|failure| failure.into_error(subject)),
    }
}

/// Adds the names of all pages.
async fn read(repository: &Repository, path: &str, names: &mut Vec<String>) -> Result<(), Failure> {
    let registry = &repository.address.registry;
    let mut seen = HashSet::new();
    let mut query = format!("n={PAGE}");
    loop {
        let page = async || page(repository, path, &query).await;
        let (page, next) = retry(repository.policy(), page).await?;
        let before = names.len();
        let last = page.last().cloned();
        names.extend(page.into_iter().filter(|name| seen.insert(name.clone())));
        if names.len() > NAMES {
            let problem = format!("{registry} lists more than {NAMES} names");
            return Err(Failure::damaged(problem));
        }
        let is_repeated = last.is_some() && names.len() == before;
        query = match (next, last) {
            (Some(_), Some(_)) if is_repeated => {
                let problem = format!("{registry} sends a page of its list again and again");
                return Err(Failure::damaged(problem));
            }
            (Some(next), _) => next,
            // A registry may forget to say that there is more. One that knows nothing of pages sends the same names again.
            (None, Some(last)) if !is_repeated => format!("n={PAGE}&last={last}"),
            (None, _) => return Ok(()),
        };
    }
}

/// The names of a page, and the query for the next.
async fn page(
    repository: &Repository,
    path: &str,
    query: &str,
) -> Result<(Vec<String>, Option<String>), Failure> {
    let response = repository
        .get(&format!("{path}?{query}"), |request| request)
        .await?;
    let next = next_query(&response);
    let mut body = Body::new(response, repository.policy());
    let bytes = body.read_all(PAGE_BYTES).await?;
    let page: Page = serde_json::from_slice(&bytes).map_err(|error| {
        let registry = &repository.address.registry;
        Failure::damaged(format!("{registry} did not send a list of names: {error}"))
    })?;
    let names = page.repositories.or(page.tags).unwrap_or_default();
    Ok((names, next))
}

impl Listing {
    fn failed(error: Error) -> Self {
        Listing {
            names: Vec::new(),
            error: Some(error),
        }
    }
}
