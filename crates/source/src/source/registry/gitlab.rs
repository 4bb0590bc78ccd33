//! All tags in the container registries of a GitLab, by its API: its registry lists repositories for administrators only
//! (GitLab REST API v4, "Container registry API", "REST API: Pagination").

use std::collections::HashSet;
use std::env;
use std::hash::Hash;

use futures_util::{StreamExt, stream};
use reqwest::header::HeaderValue;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::api::{self, ListedTag, PAGE, PAGES, TagListing, escaped};
use super::failure::{Failure, Kind};
use super::link::next_query;
use super::refusal;
use super::repository::Repository;
use super::retry::retry;
use crate::source::Request;
use imgcheck_base::error::ErrorCode;
use imgcheck_base::reference::name::{Name, is_tag};

/// Lists that are read at once.
const LISTS: usize = 8;
/// Lists that have no keyset pagination.
const BY_NUMBER: &str = "";
const PROJECTS_BY_KEY: &str = "&pagination=keyset&order_by=id&sort=asc";
const TAGS_BY_KEY: &str = "&pagination=keyset&sort=asc";

#[derive(Deserialize, Clone, PartialEq, Eq, Hash)]
struct Project {
    id: u64,
    path_with_namespace: String,
    /// `enabled`, `private` (for members) or `disabled`.
    container_registry_access_level: Option<String>,
}

/// A repository of container images; a project may have several.
#[derive(Deserialize, Clone, PartialEq, Eq, Hash)]
struct Images {
    id: u64,
    project_id: u64,
    /// The name of the repository, with its registry.
    location: String,
}

#[derive(Deserialize, Clone, PartialEq, Eq, Hash)]
struct Tag {
    name: String,
}

struct Page<T> {
    items: Vec<T>,
    /// The query of the next page.
    next: Option<String>,
    /// How many items the list has.
    total: Option<usize>,
}

/// The tags of a group with its subgroups, of a project, or of all projects of a GitLab that the token may see.
pub fn gitlab(host: &str, place: Option<&str>, request: &Request) -> TagListing {
    api::list(host, request, async |repository, listing| {
        let gitlab = Gitlab {
            host,
            repository,
            token: token(host)?,
        };
        let found = match place {
            Some(place) => gitlab.images_below(place, listing).await,
            None => gitlab.images_of_all_projects(listing).await,
        };
        let lists = stream::iter(&found).map(|images| gitlab.tags(images));
        gather(lists.buffered(LISTS), listing).await;
        Ok(())
    })
}

struct Gitlab<'g> {
    host: &'g str,
    repository: &'g Repository,
    token: Option<HeaderValue>,
}

impl Gitlab<'_> {
    /// The repositories of a group or of a project. A path is one of them.
    async fn images_below(&self, place: &str, into: &mut TagListing) -> Vec<Images> {
        let id = escaped(place);
        let path = |what: &str| format!("{what}/{id}/registry/repositories");
        let mut images = Vec::new();
        let mut read = self.pages(&path("groups"), BY_NUMBER, &mut images).await;
        // The token of a job may ask for its project, but for no group.
        if let Err(failure) = &read
            && matches!(
                failure.code(),
                ErrorCode::NotFound | ErrorCode::Unauthorized
            )
        {
            read = self.pages(&path("projects"), BY_NUMBER, &mut images).await;
        }
        into.record(&format!("{}/{place}", self.host), read);
        images
    }

    async fn images_of_all_projects(&self, into: &mut TagListing) -> Vec<Images> {
        let mut projects = Vec::new();
        let read = self.pages("projects", PROJECTS_BY_KEY, &mut projects).await;
        into.record(self.host, read);
        let lists = stream::iter(&projects).map(|project| self.images_of(project));
        let mut lists = lists.buffered(LISTS);
        let mut all = Vec::new();
        while let Some((images, what, read)) = lists.next().await {
            all.extend(images);
            into.record(&what, read);
        }
        all
    }

    /// The repositories of a project, its name, and why they could not be listed to the end.
    async fn images_of(&self, project: &Project) -> (Vec<Images>, String, Result<(), Failure>) {
        let mut images = Vec::new();
        let what = format!("{}/{}", self.host, project.path_with_namespace);
        let access = project.container_registry_access_level.as_deref();
        if access == Some("disabled") {
            return (images, what, Ok(()));
        }
        let path = format!("projects/{}/registry/repositories", project.id);
        let read = match self.pages(&path, BY_NUMBER, &mut images).await {
            // Only members may see it.
            Err(failure) if access == Some("private") && failure.code() == ErrorCode::Forbidden => {
                Ok(())
            }
            read => read,
        };
        (images, what, read)
    }

    async fn tags(&self, images: &Images) -> TagListing {
        let mut listing = TagListing::default();
        let name = &images.location;
        let is_repository = name
            .parse::<Name>()
            .is_ok_and(|it| it.registry.is_some() && it.tag.is_none() && it.digest.is_none());
        if !is_repository {
            let problem = "GitLab names a repository that no reference can name";
            listing.record(name, Err(Failure::damaged(problem)));
            return listing;
        }
        let path = format!(
            "projects/{}/registry/repositories/{}/tags",
            images.project_id, images.id
        );
        let mut tags: Vec<Tag> = Vec::new();
        let mut read = self.pages(&path, TAGS_BY_KEY, &mut tags).await;
        // A registry without a metadata database (405).
        if let Err(failure) = &read
            && failure.code() == ErrorCode::Unsupported
        {
            read = self.pages(&path, BY_NUMBER, &mut tags).await;
        }
        listing.record(name, read);
        let tags = tags.into_iter().filter(|tag| is_tag(&tag.name));
        listing.tags.extend(tags.map(|tag| ListedTag {
            repository: name.clone(),
            tag: tag.name,
            digest: None,
            pulls: None,
        }));
        listing
    }

    /// Adds the items of all pages, each once: pages by number move while others push.
    async fn pages<T: DeserializeOwned + Clone + Eq + Hash>(
        &self,
        path: &str,
        order: &str,
        items: &mut Vec<T>,
    ) -> Result<(), Failure> {
        let (mut queries, mut known) = (HashSet::new(), HashSet::new());
        let mut query = format!("per_page={PAGE}{order}");
        for number in 1..=PAGES {
            let address = format!("/api/v4/{path}?{query}");
            if !queries.insert(query) {
                let problem = "sends a page of its list again and again";
                return Err(Failure::damaged(format!("{} {problem}", self.host)));
            }
            let page = async || self.page::<T>(&address).await;
            let page = retry(self.repository.policy(), page).await?;
            let (is_full, before) = (page.items.len() >= PAGE, known.len());
            let new = page.items.into_iter();
            items.extend(new.filter(|item| known.insert(item.clone())));
            // A proxy may have removed what says that there is another page.
            let is_perhaps_more = is_full && known.len() > before;
            let after = || format!("per_page={PAGE}&page={}", number + 1);
            query = match page.next.or_else(|| is_perhaps_more.then(after)) {
                Some(next) => next,
                None => return api::check_total(self.host, known.len(), page.total),
            };
        }
        Err(api::endless(self.host))
    }

    async fn page<T: DeserializeOwned>(&self, path: &str) -> Result<Page<T>, Failure> {
        let token = self.token.as_ref();
        let response = self.repository.get_with(path, token).await?;
        if !response.status().is_success() {
            let failure = refusal::failure_of(response, self.repository.policy()).await;
            return Err(self.explained(failure));
        }
        let number = api::number(&response, "x-next-page");
        let by_number = number.map(|number| format!("per_page={PAGE}&page={number}"));
        Ok(Page {
            next: next_query(&response).or(by_number),
            total: api::number(&response, "x-total"),
            items: api::items(self.repository, response, "GitLab").await?,
        })
    }

    /// A refusal says what to do about the token. GitLab hides what a token may not see: it answers 404.
    fn explained(&self, failure: Failure) -> Failure {
        let is_refusal = matches!(
            failure.kind,
            Kind::Final(ErrorCode::Unauthorized | ErrorCode::Forbidden | ErrorCode::NotFound)
        );
        match (is_refusal, &self.token) {
            (false, _) => failure,
            (true, Some(_)) => failure.with_help(
                "check the name of the group or project, and that the token may see it and has the scope read_api",
            ),
            (true, None) => failure.with_help(
                "check the name of the group or project; if it is private, set GITLAB_TOKEN to a token with the scope read_api",
            ),
        }
    }
}

/// The token for a GitLab: that of the user, or within a job of the same GitLab that of the job. A redirect to another host drops this
/// header, unlike `PRIVATE-TOKEN`.
fn token(host: &str) -> Result<Option<HeaderValue>, Failure> {
    let of = |name: &str| env::var(name).ok().filter(|it| !it.trim().is_empty());
    let is_own = |url: &String| {
        let bare = url.split_once("://").map_or("", |(_, rest)| rest);
        bare.trim_end_matches('/') == host
    };
    let of_job = || {
        of("CI_SERVER_URL")
            .filter(is_own)
            .and_then(|_| of("CI_JOB_TOKEN"))
    };
    let Some(token) = of("GITLAB_TOKEN").or_else(of_job) else {
        return Ok(None);
    };
    let header = HeaderValue::from_str(&format!("Bearer {}", token.trim()));
    let mut header = header.map_err(|_| {
        Failure::unauthorized("the token of GitLab contains characters that HTTP cannot send")
    })?;
    header.set_sensitive(true);
    Ok(Some(header))
}

/// Adds listings as they come.
async fn gather(
    mut listings: impl stream::Stream<Item = TagListing> + Unpin,
    into: &mut TagListing,
) {
    while let Some(listing) = listings.next().await {
        into.tags.extend(listing.tags);
        into.errors.extend(listing.errors);
    }
}
