//! Harbor, by its own API, in the format of Harbor 2.11.

use serde_json::json;
use testkit::registry::{Answer, Seen, Server, error, respond, with};

use super::*;

/// `robot$sweep:secret`.
const BASIC: &str = "Basic cm9ib3Qkc3dlZXA6c2VjcmV0";

/// A Harbor with the public project `text` and the private project `vision`, whose repository has a slash in its name.
fn harbor(lost: usize) -> (Server, Fleet) {
    let mut content = Fleet::default();
    push(
        &mut content,
        "text/train",
        "v0",
        &small_image("debian", "text"),
    );
    for tag in 0..150 {
        let image = small_image("debian", &format!("vision {}", tag % 3));
        push(
            &mut content,
            "vision/train/large",
            &format!("v{tag}"),
            &image,
        );
    }
    let fleet = content.clone();
    (Server::new(move |seen| answer(&fleet, seen, lost)), content)
}

fn answer(fleet: &Fleet, seen: &Seen, lost: usize) -> Answer {
    let Some(path) = seen.path.strip_prefix("/api/v2.0/") else {
        return fleet.answer(seen);
    };
    let may_see = seen.authorization.as_deref() == Some(BASIC);
    let names: &[&str] = if may_see {
        &["text", "vision"]
    } else {
        &["text"]
    };
    match path {
        "projects" => list(
            seen,
            names.iter().map(|it| json!({"name": it, "repo_count": 1})),
            0,
        ),
        "projects/text/repositories" => list(seen, repositories("text/train"), 0),
        "projects/vision/repositories" if may_see => {
            list(seen, repositories("vision/train/large"), 0)
        }
        "projects/text/repositories/train/artifacts" => {
            list(seen, artifacts(fleet, "text/train"), 0)
        }
        "projects/vision/repositories/train%252Flarge/artifacts" if may_see => {
            list(seen, artifacts(fleet, "vision/train/large"), lost)
        }
        _ => error(404, "NOT_FOUND", "project not found"),
    }
}

fn repositories(name: &str) -> std::vec::IntoIter<Value> {
    vec![json!({"id": 1, "name": name, "project_id": 1, "artifact_count": 1, "pull_count": 7})]
        .into_iter()
}

/// An artifact for each tag, and one without.
fn artifacts(fleet: &Fleet, name: &str) -> std::vec::IntoIter<Value> {
    let tags = fleet.repositories[name].tags.iter();
    let artifact = |(tag, digest): (&String, &String)| {
        json!({"id": 1, "type": "IMAGE", "digest": digest, "tags": [{"id": 1, "name": tag, "immutable": false}],
            "pull_time": "2026-11-01T00:00:00.000Z", "push_time": "2026-10-01T00:00:00.000Z", "size": 7})
    };
    let mut all: Vec<Value> = tags.map(artifact).collect();
    all.push(json!({"id": 2, "type": "IMAGE", "digest": testkit::sha256(b"x"), "tags": null}));
    all.into_iter()
}

/// A page. Harbor says how many items there are, of which some may get lost.
fn list(seen: &Seen, items: impl Iterator<Item = Value>, lost: usize) -> Answer {
    let parameter = |name: &str| -> usize {
        let pairs = seen.query.split('&').filter_map(|it| it.split_once('='));
        pairs
            .into_iter()
            .find(|(key, _)| *key == name)
            .unwrap()
            .1
            .parse()
            .unwrap()
    };
    let (page, size) = (parameter("page"), parameter("page_size"));
    let items: Vec<Value> = items.collect();
    let total = items.len().to_string();
    let kept = items.len() - lost;
    let page: Vec<Value> = items
        .into_iter()
        .take(kept)
        .skip((page - 1) * size)
        .take(size)
        .collect();
    with(
        respond(200, Value::Array(page).to_string()),
        "x-total-count",
        &total,
    )
}

/// The totals of a plan, with a login or without, and the exit code.
fn plan(case: &Case, server: &Server, source: &str, is_logged_in: bool) -> (Value, i32) {
    let auths = match is_logged_in {
        true => json!({"auths": {&server.address: {"auth": BASIC.trim_start_matches("Basic ")}}}),
        false => json!({}),
    };
    write(case, "config.json", &auths.to_string());
    let source = format!("harbor:{}{source}", server.address);
    let mut command = case.sweep(&["plan", &source, "-o", "plan", "-f", "json"]);
    let output = command
        .env("DOCKER_CONFIG", case.path(""))
        .output()
        .unwrap();
    let totals = serde_json::from_slice(&output.stdout);
    let totals = totals.unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    (totals, output.status.code().unwrap())
}

#[test]
fn harbor_lists_tags_with_their_digests() {
    let case = Case::new();
    let (server, _) = harbor(0);
    let (totals, code) = plan(&case, &server, "", true);
    assert_eq!((&totals["planned"], code), (&json!(151), 0), "{totals}");
    assert_eq!(totals["images"], 4);
    assert!(server.seen().iter().all(|it| it.method != "HEAD"));
    assert!(case.run(&[]).status.success());
    let (records, _) = case.judge(&[]);
    assert!(records.iter().all(|it| it["status"] == "judged"));
    let name = format!("{}/vision/train/large:v149", server.address);
    let record = records.iter().find(|it| it["reference"] == name.as_str());
    assert_eq!(record.unwrap()["pulls"], 7);
    // Without a login, Harbor shows public projects.
    let (totals, code) = plan(&case, &server, "", false);
    assert_eq!((&totals["planned"], code), (&json!(1), 0), "{totals}");
    let (totals, code) = plan(&case, &server, "/vision", true);
    assert_eq!((&totals["planned"], code), (&json!(150), 0), "{totals}");
}

#[test]
fn a_list_of_harbor_that_lacks_something_makes_the_plan_incomplete() {
    let case = Case::new();
    let (server, _) = harbor(20);
    let (totals, code) = plan(&case, &server, "", true);
    assert_eq!((&totals["planned"], code), (&json!(1 + 131), 3), "{totals}");
    let (totals, code) = plan(&case, &server, "/no-such-project", true);
    assert_eq!((&totals["listed"], code), (&json!(0), 3), "{totals}");
    let other = fleet().serve();
    let (totals, code) = plan(&case, &other, "", true);
    assert_eq!((&totals["complete"], code), (&json!(false), 3), "{totals}");
}
