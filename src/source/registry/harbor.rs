//! All artifacts of a Harbor, by its API, which does not forget pages and gives digests with the tags (Harbor API v2.0).

use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::access::Access;
use super::address::Address;
use super::body::Body;
use super::failure::Failure;
use super::repository::Repository;
use super::retry::retry;
use crate::digest;
use crate::error::Error;
use crate::reference::name::is_tag;
use crate::source::Request;

/// Items of a page: the most that Harbor sends.
const PAGE: usize = 100;
const PAGE_BYTES: u64 = 16 << 20;
/// Pages of one list; a server that sends more never ends.
const PAGES: usize = 1_000_000;

/// What was listed, and the lists that could not be read to their end.
#[derive(Debug, Default)]
pub struct HarborListing {
    /// All tags, each with its digest.
    pub tags: Vec<HarborTag>,
    /// What could not be listed, and why.
    pub errors: Vec<(String, Error)>,
}

/// A tag of Harbor.
#[derive(Debug)]
pub struct HarborTag {
    /// With the name of its project.
    pub repository: String,
    /// The tag.
    pub tag: String,
    /// The digest of its manifest or index.
    pub digest: String,
    /// How often its repository was pulled.
    pub pulls: Option<u64>,
}

/// A project, a repository or a tag.
#[derive(Deserialize)]
struct Named {
    name: String,
    /// Of a repository.
    pull_count: Option<u64>,
}

#[derive(Deserialize)]
struct Artifact {
    digest: String,
    tags: Option<Vec<Named>>,
}

/// The tags of all repositories of a Harbor that the user may see, or of one project.
pub fn harbor(host: &str, project: Option<&str>, request: &Request) -> HarborListing {
    let mut listing = HarborListing::default();
    let (credentials, end) = (request.credentials.clone(), request.cancellation.clone());
    let repository = request.registries.repository(
        Address::of_registry(host),
        credentials,
        Access::Catalog,
        end,
    );
    let repository = match repository {
        Ok(repository) => repository,
        Err(error) => {
            listing.errors.push((host.to_owned(), error));
            return listing;
        }
    };
    let harbor = Harbor {
        host,
        repository: &repository,
    };
    if let Err(failure) = repository.run(harbor.list(project, &mut listing)) {
        listing
            .errors
            .push((host.to_owned(), failure.into_error(host)));
    }
    listing
}

struct Harbor<'h> {
    host: &'h str,
    repository: &'h Repository,
}

impl Harbor<'_> {
    async fn list(&self, project: Option<&str>, into: &mut HarborListing) -> Result<(), Failure> {
        // Its API does not ask for a password: it shows less.
        self.repository.log_in().await?;
        let projects = match project {
            Some(project) => vec![Named {
                name: project.to_owned(),
                pull_count: None,
            }],
            None => self.all("projects", self.host, into).await,
        };
        for project in projects {
            let project = project.name;
            let path = format!("projects/{}/repositories", escaped(&project));
            let what = format!("{}/{project}", self.host);
            for repository in self.all::<Named>(&path, &what, into).await {
                self.list_repository(&project, &repository, into).await;
            }
        }
        Ok(())
    }

    async fn list_repository(&self, project: &str, repository: &Named, into: &mut HarborListing) {
        let name = &repository.name;
        let own = name
            .strip_prefix(project)
            .and_then(|it| it.strip_prefix('/'));
        // Harbor wants slashes to be escaped twice.
        let own = escaped(&escaped(own.unwrap_or(name)));
        let path = format!("projects/{}/repositories/{own}/artifacts", escaped(project));
        let what = format!("{}/{name}", self.host);
        for artifact in self.all::<Artifact>(&path, &what, into).await {
            let tags = artifact.tags.unwrap_or_default().into_iter();
            let tags = tags.filter(|tag| is_tag(&tag.name));
            if digest::hexadecimal(&artifact.digest).is_some() {
                into.tags.extend(tags.map(|tag| HarborTag {
                    repository: name.clone(),
                    tag: tag.name,
                    digest: artifact.digest.clone(),
                    pulls: repository.pull_count,
                }));
            }
        }
    }

    /// The items of a list as far as it could be read; why it could not be read further is an error of the listing.
    async fn all<T: DeserializeOwned>(
        &self,
        path: &str,
        what: &str,
        into: &mut HarborListing,
    ) -> Vec<T> {
        let mut items = Vec::new();
        if let Err(failure) = self.pages(path, &mut items).await {
            let error = failure.into_error(what);
            into.errors.push((what.to_owned(), error));
        }
        items
    }

    async fn pages<T: DeserializeOwned>(
        &self,
        path: &str,
        items: &mut Vec<T>,
    ) -> Result<(), Failure> {
        for number in 1..=PAGES {
            let path = format!("/api/v2.0/{path}?page={number}&page_size={PAGE}");
            let page = async || self.page::<T>(&path).await;
            let (page, total) = retry(self.repository.policy(), page).await?;
            let is_last = page.len() < PAGE;
            items.extend(page);
            let total = total.unwrap_or(items.len());
            if is_last && items.len() < total {
                let problem = format!("{} sent {} of {total} items", self.host, items.len());
                return Err(Failure::damaged(problem));
            }
            if is_last {
                return Ok(());
            }
        }
        Err(Failure::damaged(format!(
            "{} sends pages without end",
            self.host
        )))
    }

    /// The items of a page, and how many items the list has.
    async fn page<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<(Vec<T>, Option<usize>), Failure> {
        let response = self.repository.get_absolute(path).await?;
        let total = total(response.headers());
        let mut body = Body::new(response, self.repository.policy());
        let bytes = body.read_all(PAGE_BYTES).await?;
        let items = serde_json::from_slice(&bytes).map_err(|error| {
            let host = self.host;
            Failure::damaged(format!("{host} did not answer as Harbor does: {error}"))
                .with_help(format!("if it is not Harbor, write registry:{host}"))
        })?;
        Ok((items, total))
    }
}

fn total(headers: &HeaderMap) -> Option<usize> {
    headers.get("x-total-count")?.to_str().ok()?.parse().ok()
}

/// A text as one part of a path.
fn escaped(text: &str) -> String {
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
