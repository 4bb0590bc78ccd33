//! Where the next page of a list is (RFC 8288, "Web Linking").

use reqwest::header::LINK;
use reqwest::{Response, Url};

/// The query of the next page; only the query, so that no other host is contacted. `None` if the server names no next page.
pub(super) fn next_query(response: &Response) -> Option<String> {
    let mut links = response.headers().get_all(LINK).iter();
    let target = links.find_map(|it| it.to_str().ok().and_then(next_target))?;
    let target: Url = response.url().join(target).ok()?;
    target.query().map(str::to_owned)
}

/// The target of `<…>; rel="next"` among the links of a header: GitLab names the previous page first.
fn next_target(header: &str) -> Option<&str> {
    let mut links = header.split('<').skip(1);
    links.find_map(|link| {
        let (target, parameters) = link.split_once('>')?;
        parameters.contains("next").then_some(target)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_one_of_several_links() {
        let all = r#"<https://x/a?page=1>; rel="prev", <https://x/a?page=3>; rel="next", <https://x/a?page=1,9>; rel="first""#;
        assert_eq!(next_target(all), Some("https://x/a?page=3"));
        let registry = r#"</v2/x/tags/list?last=next&n=1>; rel="next""#;
        assert_eq!(next_target(registry), Some("/v2/x/tags/list?last=next&n=1"));
        for none in [
            "",
            "next",
            "<x; rel=next",
            r#"<https://x/next>; rel="prev""#,
        ] {
            assert_eq!(next_target(none), None, "{none}");
        }
    }
}
