//! The existing tags nearest to a tag that does not exist.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde::Deserialize;

use super::body::Body;
use super::failure::Failure;
use super::link::next_query;
use super::repository::Repository;
use imgcheck_base::reference::name::is_tag;

/// Tags that are compared; some repositories have hundreds of thousands.
const TAG_LIMIT: usize = 10_000;
const PAGE: usize = 1_000;
/// A registry may send less than a page at a time.
const PAGE_LIMIT: usize = 30;
const PAGE_BYTES: u64 = 4 << 20;

/// Tags that are shown.
const SHOWN: usize = 8;

/// A page of tags (OCI distribution specification, "Listing Tags").
#[derive(Deserialize)]
struct Page {
    tags: Option<Vec<String>>,
}

/// The tags most similar to `tag`, best first. Empty if there are none or the registry does not list them.
pub(super) async fn near(repository: &Repository, tag: &str) -> Vec<String> {
    let tags = list(repository).await;
    tags.map_or_else(|_| Vec::new(), |tags| nearest(tag, tags))
}

async fn list(repository: &Repository) -> Result<Vec<String>, Failure> {
    let mut tags = Vec::new();
    let mut next = Some(format!("n={PAGE}"));
    for _ in 0..PAGE_LIMIT {
        let Some(query) = next.take() else { break };
        let (page, following) = page(repository, &query).await?;
        tags.extend(page.tags.unwrap_or_default());
        if tags.len() >= TAG_LIMIT {
            break;
        }
        next = following;
    }
    Ok(tags)
}

/// One page, and the query for the next.
async fn page(repository: &Repository, query: &str) -> Result<(Page, Option<String>), Failure> {
    let path = format!("tags/list?{query}");
    let response = repository.get(&path, |request| request).await?;
    let next = next_query(&response);
    let mut body = Body::new(response, repository.policy());
    let bytes = body.read_all(PAGE_BYTES).await?;
    let page = serde_json::from_slice(&bytes)
        .map_err(|error| Failure::damaged(format!("not a list of tags: {error}")))?;
    Ok((page, next))
}

/// Whether people use the tag: signatures are stored under tags that contain a digest, and a registry may list invalid tags.
fn is_for_people(tag: &str) -> bool {
    is_tag(tag) && !tag.starts_with("sha256-")
}

fn nearest(wanted: &str, tags: Vec<String>) -> Vec<String> {
    let words = words(wanted);
    let mut ranked: Vec<_> = tags
        .into_iter()
        .filter(|tag| is_for_people(tag))
        .map(|tag| {
            let shared = self::words(&tag).intersection(&words).count();
            let distance = strsim::damerau_levenshtein(wanted, &tag);
            // The newest of equals.
            (Reverse(shared), distance, Reverse(tag))
        })
        .collect();
    ranked.sort();
    ranked.dedup();
    ranked.truncate(SHOWN);
    ranked.into_iter().map(|(_, _, tag)| tag.0).collect()
}

/// The words of a tag, and of each version its prefixes: `2.8.1` is nearer to `2.8.0` than to `2.0.1`.
fn words(tag: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for word in tag.split(['-', '_', '+']) {
        let ends = word.match_indices('.').map(|(at, _)| at);
        words.extend(ends.chain([word.len()]).map(|end| word[..end].to_owned()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_versions_count_more_than_edits() {
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
    fn the_list_is_short_and_without_duplicates() {
        let tags = (0..100).map(|at| format!("v{}", at % 50)).collect();
        let near = nearest("v7", tags);
        assert_eq!(near.len(), SHOWN);
        assert_eq!(near[0], "v7");
        assert_ne!(near[1], "v7");
    }
}
