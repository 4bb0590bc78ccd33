//! References that lead nowhere.

use serde_json::json;

use super::run::check;
use testkit::registry::{Content, Server, error, respond, with};

#[test]
fn near_tags_are_listed() {
    let mut content = Content::default();
    for tag in [
        "2.8.0-cuda12.6-cudnn9-runtime",
        "2.7.1-cuda11.8-cudnn9-runtime",
        "1.13.1-cuda11.6-cudnn8-devel",
        "latest",
    ] {
        content.tag(tag, tag);
    }
    let server = content.serve();
    check(&server.reference("2.8.0-cuda11.8")).fails_with(&[
        "answered 404 Not Found (MANIFEST_UNKNOWN: manifest unknown)",
        "the repository has no tag `2.8.0-cuda11.8`",
        "help: the nearest tags are 2.8.0-cuda12.6-cudnn9-runtime, 2.7.1-cuda11.8-cudnn9-runtime, ",
    ]);
}

#[test]
fn tags_come_in_pages_from_the_registry_alone() {
    let elsewhere = Server::new(|_| respond(200, r#"{"tags":["wrong"]}"#));
    let other = elsewhere.address.clone();
    let server = Server::new(move |seen| match (seen.part(), seen.query.as_str()) {
        ("tags/list", "n=1000") => with(
            respond(200, json!({"tags": ["v1"]}).to_string()),
            "link",
            "</v2/team/image/tags/list?last=v1&n=1>; rel=\"next\"",
        ),
        ("tags/list", "last=v1&n=1") => with(
            respond(200, json!({"tags": ["v2"]}).to_string()),
            "link",
            &format!("<http://{other}/v2/team/image/tags/list?last=v2>; rel=\"next\""),
        ),
        ("tags/list", _) => respond(200, json!({"tags": null}).to_string()),
        _ => Content::default().answer(seen),
    });
    check(&server.reference("v3")).fails_with(&["the nearest tags are v2, v1\n"]);
    assert_eq!(elsewhere.seen().len(), 0);
}

#[test]
fn tag_listing_stops_after_a_limit() {
    let server = Server::new(|seen| match seen.part() {
        "tags/list" => with(
            respond(
                200,
                json!({"tags": [format!("v{}", seen.before)]}).to_string(),
            ),
            "link",
            &format!(
                "</v2/team/image/tags/list?last={}>; rel=\"next\"",
                seen.before
            ),
        ),
        _ => Content::default().answer(seen),
    });
    check(&server.reference("v3")).fails_with(&["the nearest tags are v3, v9"]);
    assert!(server.count("tags") < 100);
}

#[test]
fn without_tags_there_is_no_suggestion() {
    let server = Server::new(|seen| match seen.path.as_str() {
        "/v2/" => respond(200, "{}"),
        _ => error(404, "NAME_UNKNOWN", "repository name not known to registry"),
    });
    check(&server.reference("1")).fails_with(&[
        "repository not found, or the repository has no tag `1` (",
        "help: check the spelling of the repository and the tag",
    ]);
}

#[test]
fn a_forbidden_repository_may_not_exist() {
    for status in [401, 403] {
        let server = Server::new(move |seen| match seen.path.as_str() {
            "/v2/" => respond(200, "{}"),
            _ => error(
                status,
                "DENIED",
                "requested access to the resource is denied",
            ),
        });
        check(&server.reference("1")).fails_with(&[
            &format!("answered {status} "),
            "(DENIED: requested access to the resource is denied)",
            "docker login",
        ]);
    }
}
