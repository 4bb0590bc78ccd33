//! A registry with many repositories, which it lists page by page.

use std::collections::BTreeMap;

use serde_json::json;

use crate::registry::{Answer, Content, Seen, Server, error, respond, with};

/// A registry with many repositories.
#[derive(Debug, Clone)]
pub struct Fleet {
    pub repositories: BTreeMap<String, Content>,
    /// Names of one page.
    pub page: usize,
    /// Whether a page says that there is another: `Link: <…>; rel="next"`.
    pub links: bool,
}

impl Default for Fleet {
    fn default() -> Self {
        Fleet {
            repositories: BTreeMap::new(),
            page: 100,
            links: true,
        }
    }
}

impl Fleet {
    pub fn answer(&self, seen: &Seen) -> Answer {
        let Some(path) = seen.path.strip_prefix("/v2/") else {
            return error(404, "UNSUPPORTED", "no such page");
        };
        if path.is_empty() {
            return respond(200, "{}");
        }
        if path == "_catalog" {
            return self.list("repositories", self.repositories.keys(), seen);
        }
        let parts = ["/tags/list", "/manifests/", "/blobs/"];
        let at = parts.iter().filter_map(|part| path.rfind(part)).max();
        let (name, rest) = path.split_at(at.unwrap_or(0));
        let Some(content) = self.repositories.get(name) else {
            return error(404, "NAME_UNKNOWN", "repository name not known to registry");
        };
        if rest == "/tags/list" {
            return self.list("tags", content.tags.keys(), seen);
        }
        let answer = content.answer(&Seen {
            path: format!("/v2/team/image{rest}"),
            ..seen.clone()
        });
        match rest
            .strip_prefix("/manifests/")
            .and_then(|tag| content.tags.get(tag))
        {
            Some(digest) => with(answer, "docker-content-digest", digest),
            None => answer,
        }
    }

    fn list<'n>(&self, what: &str, names: impl Iterator<Item = &'n String>, seen: &Seen) -> Answer {
        let last = seen
            .query
            .split('&')
            .find_map(|it| it.strip_prefix("last="));
        let mut left = names.filter(|name| last.is_none_or(|last| name.as_str() > last));
        let page: Vec<&String> = left.by_ref().take(self.page).collect();
        let answer = respond(200, json!({what: page}).to_string());
        match (page.last(), left.next(), self.links) {
            (Some(last), Some(_), true) => {
                let link = format!("<{}?n={}&last={last}>; rel=\"next\"", seen.path, self.page);
                with(answer, "link", &link)
            }
            _ => answer,
        }
    }

    pub fn serve(self) -> Server {
        Server::new(move |seen| self.answer(seen))
    }
}
