//! The tags of a repository that are nearest to one that is not there.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use reqwest::Url;
use reqwest::blocking::Response;
use reqwest::header::LINK;
use serde::Deserialize;

use super::body::Body;
use super::failure::{Failure, Kind};
use super::repository::Repository;
use crate::reference::name::is_tag;

/// Tags that are looked at; some repositories have hundreds of thousands.
const TAG_LIMIT: usize = 10_000;
const PAGE: usize = 1_000;
/// A registry may give less than a page at a time.
const PAGE_LIMIT: usize = 30;
const PAGE_BYTES: u64 = 4 << 20;

/// Tags that are shown.
const SHOWN: usize = 8;

/// A page of tags (OCI distribution specification, "Listing Tags").
#[derive(Deserialize)]
struct Page {
    tags: Option<Vec<String>>,
}

/// The tags most like the wanted one, best first. Empty if there are none or the registry does not list them.
pub(super) fn near(repository: &Repository, wanted: &str) -> Vec<String> {
    list(repository).map_or_else(|_| Vec::new(), |tags| nearest(wanted, tags))
}

fn list(repository: &Repository) -> Result<Vec<String>, Failure> {
    let mut tags = Vec::new();
    let mut next = Some(format!("n={PAGE}"));
    for _ in 0..PAGE_LIMIT {
        let Some(query) = next.take() else { break };
        let (page, following) = page(repository, &query)?;
        tags.extend(page.tags.unwrap_or_default());
        if tags.len() >= TAG_LIMIT {
            break;
        }
        next = following;
    }
    Ok(tags)
}

/// One page, and the query for the next.
fn page(repository: &Repository, query: &str) -> Result<(Page, Option<String>), Failure> {
    let response = repository.get(&format!("tags/list?{query}"), |request| request)?;
    let next = next_query(&response);
    let bytes = Body::new(response, repository.patience()).read_all(PAGE_BYTES)?;
    let page = serde_json::from_slice(&bytes)
        .map_err(|error| Failure::new(Kind::Final, format!("not a list of tags: {error}")))?;
    Ok((page, next))
}

/// `Link: </v2/NAME/tags/list?…>; rel="next"`: of the target only the query is taken, so that no other host is asked.
fn next_query(response: &Response) -> Option<String> {
    let link = response.headers().get(LINK)?.to_str().ok()?;
    let (target, parameters) = link.strip_prefix('<')?.split_once('>')?;
    if !parameters.contains("next") {
        return None;
    }
    let target: Url = response.url().join(target).ok()?;
    target.query().map(str::to_owned)
}

/// Whether people would use the tag. Signatures are stored under tags made of digests, and what a registry lists may be no tag
/// at all.
fn is_for_people(tag: &str) -> bool {
    is_tag(tag) && !tag.starts_with("sha256-")
}

fn nearest(wanted: &str, tags: Vec<String>) -> Vec<String> {
    let parts = parts(wanted);
    let mut ranked: Vec<_> = tags
        .into_iter()
        .filter(|tag| is_for_people(tag))
        .map(|tag| {
            let shared = self::parts(&tag).intersection(&parts).count();
            let distance = strsim::damerau_levenshtein(wanted, &tag);
            // Of equals the newest.
            (Reverse(shared), distance, Reverse(tag))
        })
        .collect();
    ranked.sort();
    ranked.dedup();
    ranked.truncate(SHOWN);
    ranked.into_iter().map(|(_, _, tag)| tag.0).collect()
}

/// The parts of a tag, and of each version its beginnings: `2.8.1` is nearer to `2.8.0` than to `2.0.1`.
fn parts(tag: &str) -> BTreeSet<String> {
    let mut parts = BTreeSet::new();
    for part in tag.split(['-', '_', '+']) {
        let ends = part.match_indices('.').map(|(at, _)| at);
        parts.extend(ends.chain([part.len()]).map(|end| part[..end].to_owned()));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_count_more_than_letters() {
        let tags = [
            "latest",
            "1.0-cuda10.0",
            "2.8.0-cuda12.6-cudnn9-runtime",
            "2.8.0-cuda12.6-cudnn9-devel",
            "2.7.1-cuda11.8-cudnn9-runtime",
            "\u{1b}[2J",
            "sha256-0000000000000000000000000000000000000000000000000000000000000000.sig",
            "2.0.1-cuda11.7-cudnn8-runtime",
        ];
        let near = nearest(
            "2.8.0-cuda11.8",
            tags.iter().map(|&tag| tag.to_owned()).collect(),
        );
        let expected = [
            "2.8.0-cuda12.6-cudnn9-devel",
            "2.8.0-cuda12.6-cudnn9-runtime",
            "2.7.1-cuda11.8-cudnn9-runtime",
            "2.0.1-cuda11.7-cudnn8-runtime",
            "latest",
            "1.0-cuda10.0",
        ];
        assert_eq!(near[..3], expected[..3]);
        assert_eq!(near.len(), expected.len());
        assert!(near.iter().all(|tag| expected.contains(&tag.as_str())));
    }

    #[test]
    fn so_many_are_shown_and_none_twice() {
        let tags = (0..100).map(|at| format!("v{}", at % 50)).collect();
        let near = nearest("v7", tags);
        assert_eq!(near.len(), SHOWN);
        assert_eq!(near[0], "v7");
        assert_ne!(near[1], "v7");
    }
}
