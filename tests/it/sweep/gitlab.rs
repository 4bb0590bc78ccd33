//! GitLab, by its own API, in the format of GitLab 18. Its registry is another server, as it is for most.

use serde_json::json;
use testkit::registry::{Answer, Seen, Server, respond, with};

use super::*;

const TOKEN: &str = "glpat-secret";
const JOB_TOKEN: &str = "glcbt-secret";

/// What a GitLab, or a proxy before it, says about further pages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paging {
    /// All that GitLab documents.
    Full,
    /// No `Link`.
    Numbers,
    /// Nothing.
    Silent,
}

#[derive(Clone)]
struct Gitlab {
    paging: Paging,
    /// The registry has a metadata database.
    by_key: bool,
    /// Tags of `vision/train` that get lost.
    lost: usize,
    /// Answers instead of the second page of these tags.
    second: fn(&Seen) -> Option<Answer>,
}

const GITLAB: Gitlab = Gitlab {
    paging: Paging::Full,
    by_key: true,
    lost: 0,
    second: |_| None,
};

/// A project, its number, its visibility, and its repositories.
type Project = (u64, &'static str, &'static str, Vec<String>);

fn projects() -> Vec<Project> {
    let many = (0..130).map(|at| format!("vision/many/{at}"));
    vec![
        (1, "text/train", "enabled", vec!["text/train".to_owned()]),
        (
            2,
            "vision/train",
            "enabled",
            vec!["vision/train".to_owned()],
        ),
        (3, "vision/many", "enabled", many.collect()),
        (4, "text/off", "disabled", vec![]),
        (5, "text/members", "private", vec![]),
    ]
}

/// A public project, two private ones with 250 and 130 tags, one without a registry, and one whose registry is for others.
fn content() -> Fleet {
    let mut fleet = Fleet::default();
    let image = |own: &str| small_image("debian", own);
    push(&mut fleet, "text/train", "v0", &image("text"));
    for tag in 0..250 {
        let image = image(&format!("vision {}", tag % 3));
        push(&mut fleet, "vision/train", &format!("v{tag:03}"), &image);
    }
    for at in 0..130 {
        push(
            &mut fleet,
            &format!("vision/many/{at}"),
            "v0",
            &image("many"),
        );
    }
    fleet
}

impl Gitlab {
    /// The server of the API, and that of the registry.
    fn serve(&self) -> (Server, Server) {
        let fleet = content();
        let registry = fleet.clone().serve();
        let (own, address) = (self.clone(), registry.address.clone());
        let api = Server::new(move |seen| own.answer(&fleet, &address, seen));
        (api, registry)
    }

    fn answer(&self, fleet: &Fleet, registry: &str, seen: &Seen) -> Answer {
        let token = seen.authorization.as_deref().unwrap_or_default();
        let token = token.strip_prefix("Bearer ").unwrap_or_default();
        if !["", TOKEN, JOB_TOKEN].contains(&token) {
            return refused(401, "401 Unauthorized");
        }
        let Some(path) = seen.path.strip_prefix("/api/v4/") else {
            return respond(404, "<html>not a registry</html>");
        };
        let may_see = |path: &str| token == TOKEN || path.starts_with("text/");
        let all = projects();
        let visible = all.iter().filter(|it| may_see(it.1));
        let words: Vec<&str> = path.split('/').collect();
        let by_id = |id: &str| {
            let name = id.replace("%2F", "/");
            all.iter().find(|it| it.0.to_string() == id || it.1 == name)
        };
        match words[..] {
            ["projects"] => {
                let project = |it: &Project| json!({"id": it.0, "path_with_namespace": it.1, "container_registry_access_level": it.2});
                let items: Vec<Value> = visible.map(project).collect();
                self.list(seen, items, 0, "id_after", "id")
            }
            ["groups", ..] if token == JOB_TOKEN => refused(401, "401 Unauthorized"),
            ["groups", group, "registry", "repositories"] => {
                let below = format!("{group}/");
                let of_group: Vec<&Project> =
                    visible.filter(|it| it.1.starts_with(&below)).collect();
                if of_group.is_empty() {
                    return refused(404, "404 Group Not Found");
                }
                let items = of_group
                    .into_iter()
                    .flat_map(|it| repositories(registry, it));
                self.list(seen, items.collect(), 0, "", "")
            }
            ["projects", id, "registry", "repositories", ref rest @ ..] => {
                let Some(project) = by_id(id).filter(|it| may_see(it.1)) else {
                    return refused(404, "404 Project Not Found");
                };
                if project.2 != "enabled" {
                    return refused(403, "403 Forbidden");
                }
                let [number, "tags"] = rest else {
                    return self.list(seen, repositories(registry, project).collect(), 0, "", "");
                };
                let at: usize = number.parse().unwrap();
                self.tags(fleet, registry, &project.3[at % 1000], seen)
            }
            _ => refused(404, "404 Not Found"),
        }
    }

    fn tags(&self, fleet: &Fleet, registry: &str, name: &str, seen: &Seen) -> Answer {
        if !self.by_key && seen.query.contains("pagination=keyset") {
            return refused(405, "405 Method Not Allowed");
        }
        let is_second = name == "vision/train" && seen.before % 3 == 1;
        if is_second && let Some(answer) = (self.second)(seen) {
            return answer;
        }
        let tag = |tag: &String| json!({"name": tag, "path": format!("{name}:{tag}"), "location": format!("{registry}/{name}:{tag}")});
        let tags = fleet.repositories[name].tags.keys().map(tag).collect();
        let lost = if name == "vision/train" { self.lost } else { 0 };
        self.list(seen, tags, lost, "last", "name")
    }

    /// A page: after a key if the request wants that and the list has keys, else by number.
    fn list(&self, seen: &Seen, items: Vec<Value>, lost: usize, after: &str, key: &str) -> Answer {
        let parameter = |name: &str| {
            let mut pairs = seen.query.split('&').filter_map(|it| it.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let size: usize = parameter("per_page").unwrap().parse().unwrap();
        let address = format!("http://{}{}", seen.host, seen.path);
        let text = |item: &Value| item[key].to_string().replace('"', "");
        let total = items.len();
        let kept = items.into_iter().take(total - lost);
        if parameter("pagination") == Some("keyset") && !key.is_empty() {
            let start = parameter(after).unwrap_or_default();
            let mut left = kept.skip_while(|it| !start.is_empty() && text(it) != start);
            if !start.is_empty() {
                left.next();
            }
            let page: Vec<Value> = left.by_ref().take(size).collect();
            let next = left.next().and(page.last()).map(text);
            let answer = respond(200, json!(page).to_string());
            return match next.filter(|_| self.paging == Paging::Full) {
                Some(next) => with(
                    answer,
                    "link",
                    &format!(
                        "<{address}?{}&{after}={next}>; rel=\"next\"",
                        base(&seen.query, after)
                    ),
                ),
                None => answer,
            };
        }
        let number: usize = parameter("page").map_or(1, |it| it.parse().unwrap());
        let page: Vec<Value> = kept.skip((number - 1) * size).take(size).collect();
        let answer = respond(200, json!(page).to_string());
        if self.paging == Paging::Silent {
            return answer;
        }
        let is_last = number * size >= total;
        let next = if is_last {
            String::new()
        } else {
            (number + 1).to_string()
        };
        let answer = with(
            with(answer, "x-next-page", &next),
            "x-total",
            &total.to_string(),
        );
        let link = |number: usize, relation: &str| {
            format!("<{address}?page={number}&per_page={size}>; rel=\"{relation}\"")
        };
        let previous = (number > 1).then(|| link(number - 1, "prev"));
        let next = (!is_last).then(|| link(number + 1, "next"));
        let links = previous
            .into_iter()
            .chain(next)
            .chain([link(1, "first"), link(total.div_ceil(size).max(1), "last")]);
        match self.paging {
            Paging::Full => with(answer, "link", &links.collect::<Vec<_>>().join(", ")),
            _ => answer,
        }
    }
}

/// A query without a parameter.
fn base(query: &str, without: &str) -> String {
    let pairs = query
        .split('&')
        .filter(|it| !it.starts_with(&format!("{without}=")));
    pairs.collect::<Vec<_>>().join("&")
}

fn repositories(registry: &str, project: &Project) -> impl Iterator<Item = Value> {
    let (id, path) = (project.0, project.1);
    let repositories = project.3.iter().enumerate();
    let all: Vec<Value> = repositories
        .map(|(at, name)| {
            json!({"id": id * 1000 + at as u64, "name": name.strip_prefix(path).unwrap().trim_start_matches('/'), "path": name,
                "project_id": id, "location": format!("{registry}/{name}"), "created_at": "2026-01-10T13:38:57.391Z",
                "cleanup_policy_started_at": null, "status": null})
        })
        .collect();
    all.into_iter()
}

fn refused(status: u16, message: &str) -> Answer {
    respond(status, json!({"message": message}).to_string())
}

/// The totals of a plan with these variables, what the program said, and the exit code.
fn plan(
    case: &Case,
    server: &Server,
    path: &str,
    variables: &[(&str, &str)],
) -> (Value, String, i32) {
    let source = format!("gitlab:{}{path}", server.address);
    let mut command = case.sweep(&["plan", &source, "-o", "plan", "-f", "json"]);
    for name in ["GITLAB_TOKEN", "CI_JOB_TOKEN", "CI_SERVER_URL"] {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let totals = serde_json::from_slice(&output.stdout);
    let totals = totals.unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let plan = std::fs::read_to_string(case.path("plan")).unwrap();
    (totals, plan, output.status.code().unwrap())
}

const ALL: usize = 1 + 250 + 130;

#[test]
fn gitlab_lists_groups_projects_and_all_that_a_token_may_see() {
    let case = Case::new();
    let (server, registry) = GITLAB.serve();
    let own = [("GITLAB_TOKEN", TOKEN)];
    for (path, planned) in [
        ("", ALL),
        ("/vision", 380),
        ("/vision/train", 250),
        ("/text/train/", 1),
    ] {
        let (totals, _, code) = plan(&case, &server, path, &own);
        assert_eq!(
            (&totals["planned"], &totals["listed"], code),
            (&json!(planned), &json!(planned), 0),
            "{path} {totals}"
        );
    }
    assert!(server.seen().iter().all(|it| it.method == "GET"));
    assert!(registry.seen().iter().all(|it| it.authorization.is_none()));
    let name = format!("{}/text/train:v0", registry.address);
    assert!(case.run(&[]).status.success());
    let (records, code) = case.judge(&[]);
    assert_eq!((records[0]["reference"].as_str(), code), (Some(&*name), 0));
    // Without a token, GitLab shows public projects.
    let (totals, _, code) = plan(&case, &server, "", &[]);
    assert_eq!((&totals["planned"], code), (&json!(1), 0), "{totals}");
}

#[test]
fn pages_of_gitlab_are_found_whatever_a_proxy_leaves_of_the_headers() {
    let case = Case::new();
    for paging in [Paging::Full, Paging::Numbers, Paging::Silent] {
        for by_key in [true, false] {
            let gitlab = Gitlab {
                paging,
                by_key,
                ..GITLAB
            };
            let (server, _registry) = gitlab.serve();
            let (totals, _, code) = plan(&case, &server, "/vision", &[("GITLAB_TOKEN", TOKEN)]);
            assert_eq!(
                (&totals["planned"], code),
                (&json!(380), 0),
                "{by_key} {totals}"
            );
        }
    }
}

#[test]
fn a_job_asks_its_own_gitlab_with_its_token() {
    let case = Case::new();
    let (server, _registry) = GITLAB.serve();
    let url = format!("http://{}/", server.address);
    let of_job = [("CI_JOB_TOKEN", JOB_TOKEN), ("CI_SERVER_URL", &*url)];
    let (totals, _, code) = plan(&case, &server, "/text/train", &of_job);
    assert_eq!((&totals["planned"], code), (&json!(1), 0), "{totals}");
    let has_token = |it: &Seen| it.authorization.as_deref() == Some("Bearer glcbt-secret");
    assert!(server.seen().iter().any(has_token));
    let elsewhere = [
        ("CI_JOB_TOKEN", JOB_TOKEN),
        ("CI_SERVER_URL", "https://gitlab.example"),
    ];
    let (other, _registry) = GITLAB.serve();
    plan(&case, &other, "/text/train", &elsewhere);
    assert!(other.seen().iter().all(|it| it.authorization.is_none()));
}

#[test]
fn a_token_does_not_follow_a_redirect_to_another_host() {
    let case = Case::new();
    let (elsewhere, _registry) = GITLAB.serve();
    let to = elsewhere.address.clone();
    let moved = Server::new(move |seen| {
        let location = format!("http://{to}{}?{}", seen.path, seen.query);
        with(respond(301, ""), "location", &location)
    });
    plan(&case, &moved, "/vision", &[("GITLAB_TOKEN", TOKEN)]);
    assert!(!elsewhere.seen().is_empty());
    assert!(elsewhere.seen().iter().all(|it| it.authorization.is_none()));
}

#[test]
fn a_list_of_gitlab_that_lacks_something_makes_the_plan_incomplete() {
    let case = Case::new();
    let own = [("GITLAB_TOKEN", TOKEN)];
    let incomplete = |gitlab: Gitlab, path: &str, planned: usize, said: &str| {
        let (server, _registry) = gitlab.serve();
        let (totals, plan, code) = plan(&case, &server, path, &own);
        assert_eq!(
            (&totals["planned"], code),
            (&json!(planned), 3),
            "{said} {totals}"
        );
        assert_eq!(totals["complete"], false);
        assert!(
            plan.contains(said),
            "{said}: {}",
            plan.lines().next_back().unwrap()
        );
    };
    let lost = Gitlab {
        by_key: false,
        lost: 20,
        ..GITLAB
    };
    incomplete(lost, "/vision", 360, "230 of 250 items");
    let second = |second: fn(&Seen) -> Option<Answer>| Gitlab { second, ..GITLAB };
    incomplete(
        second(|_| Some(respond(500, ""))),
        "",
        ALL - 150,
        "500 Internal Server Error",
    );
    incomplete(
        second(|_| Some(respond(200, "<html>"))),
        "",
        ALL - 150,
        "did not answer as GitLab does",
    );
    let looping = |seen: &Seen| {
        let link = format!("<{}?{}>; rel=\"next\"", seen.path, seen.query);
        Some(with(respond(200, "[]"), "link", &link))
    };
    incomplete(second(looping), "", ALL - 150, "again and again");
    incomplete(GITLAB, "/no/such/project", 0, "404 Project Not Found");
    let (server, _registry) = GITLAB.serve();
    let (totals, plan, code) = plan(&case, &server, "/vision", &[]);
    assert_eq!((&totals["listed"], code), (&json!(0), 3), "{totals}");
    assert!(plan.contains("GITLAB_TOKEN"), "{plan}");
}
