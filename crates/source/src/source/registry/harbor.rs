//! All artifacts of a Harbor, by its API, which does not forget pages and gives digests with the tags (Harbor API v2.0).

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::api::{self, ListedTag, PAGE, PAGES, TagListing, escaped};
use super::failure::Failure;
use super::repository::Repository;
use super::retry::retry;
use crate::source::Request;
use imgcheck_base::digest;
use imgcheck_base::reference::name::is_tag;

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

/// The tags of all repositories of a Harbor that the user may see, or of one project, each with its digest.
pub fn harbor(host: &str, project: Option<&str>, request: &Request) -> TagListing {
    api::list(host, request, async |repository, listing| {
        Harbor { host, repository }.list(project, listing).await
    })
}

struct Harbor<'h> {
    host: &'h str,
    repository: &'h Repository,
}

impl Harbor<'_> {
    async fn list(&self, project: Option<&str>, into: &mut TagListing) -> Result<(), Failure> {
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

    async fn list_repository(&self, project: &str, repository: &Named, into: &mut TagListing) {
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
                into.tags.extend(tags.map(|tag| ListedTag {
                    repository: what.clone(),
                    tag: tag.name,
                    digest: Some(artifact.digest.clone()),
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
        into: &mut TagListing,
    ) -> Vec<T> {
        let mut items = Vec::new();
        into.record(what, self.pages(path, &mut items).await);
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
            if is_last {
                return api::check_total(self.host, items.len(), total);
            }
        }
        Err(api::endless(self.host))
    }

    /// The items of a page, and how many items the list has.
    async fn page<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<(Vec<T>, Option<usize>), Failure> {
        let response = self.repository.get_absolute(path).await?;
        let total = api::number(&response, "x-total-count");
        let items = api::items(self.repository, response, "Harbor").await?;
        Ok((items, total))
    }
}
