//! The page for people.

pub mod texts;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use reqwest::Method;
use serde_json::json;

use super::images::{ENFORCE, content, create, deployment, enforce_with, image, pod, registry};
use super::server::{Server, TOKEN, client};

/// A digest that nobody asked for.
const NOBODY: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// A server whose nodes have a driver that is too old.
fn failing() -> Server {
    Server::new(&enforce_with(&[(
        "gpu: h100, driver: '570.86.10'",
        "gpu: a100, driver: '470.82.01'",
    )]))
}

/// What a reader sees.
fn text(page: &str) -> String {
    let body = page.split("<body>").nth(1).unwrap();
    let tags = Regex::new("<[^>]*>").unwrap();
    let text = tags.replace_all(body, " ").replace("&#60;", "<");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn shown(server: &Server, path: &str) -> String {
    let answer = server.get(path);
    assert_eq!(answer.status, 200, "{answer:?}");
    text(&answer.text)
}

/// The links to reports on a page.
fn reports(page: &str) -> Vec<String> {
    let link = Regex::new(r#"href="(/reports/[^"]*)""#).unwrap();
    let links = link.captures_iter(page);
    links.map(|found| found[1].to_owned()).collect()
}

#[test]
fn a_person_logs_in_with_a_token_as_password() {
    let server = Server::new(ENFORCE);
    let client = client(&server.home);
    let without = server
        .send_with(&client, Method::GET, "/", "", None)
        .unwrap();
    assert_eq!(without.status, 401);
    let challenge = without.headers["www-authenticate"].to_str().unwrap();
    assert!(challenge.starts_with("Basic realm="), "{challenge}");
    assert!(without.text.contains("<h1>Login required</h1>"));
    for wrong in [
        basic("", ""),
        basic("ada", "wrong"),
        basic(TOKEN, ""),
        basic("ada", "# for tests"),
        format!("Basic {TOKEN}"),
        format!("Basic {}", STANDARD.encode(TOKEN)),
        format!("Bearer {}", STANDARD.encode(format!("ada:{TOKEN}"))),
        TOKEN.to_owned(),
    ] {
        assert_eq!(server.get_as("/", &wrong).status, 401, "{wrong}");
        let report = server.get_as(&format!("/reports/{NOBODY}"), &wrong);
        assert_eq!(report.status, 401, "{wrong}");
    }
    for right in [
        basic("ada", TOKEN),
        basic("", TOKEN),
        format!("Bearer {TOKEN}"),
    ] {
        assert_eq!(server.get_as("/", &right).status, 200, "{right}");
    }
    // A browser repeats a password in requests that other sites make it send.
    for path in ["/metrics", "/openapi.json", "/v1/verdicts/x"] {
        assert_eq!(
            server.get_as(path, &basic("ada", TOKEN)).status,
            401,
            "{path}"
        );
    }
}

#[test]
fn a_page_lets_a_browser_do_nothing_else() {
    let server = Server::new(ENFORCE);
    for path in ["/", "/?verdict=all", &format!("/reports/{NOBODY}")] {
        let answer = server.get(path);
        let header = |name: &str| answer.headers[name].to_str().unwrap();
        assert_eq!(header("content-type"), "text/html; charset=utf-8");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        let policy = header("content-security-policy");
        for part in [
            "default-src 'none'",
            "style-src 'sha256-",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        for wrong in ["<script", " style=", " src=", "@import", "url("] {
            assert!(!answer.text.contains(wrong), "{path}: {wrong}");
        }
        for right in ["<html lang=\"en\">", "<h1", "name=\"viewport\""] {
            assert!(answer.text.contains(right), "{path}: {right}");
        }
    }
}

#[test]
fn it_says_what_was_denied_and_why_with_the_report_behind_it() {
    let (registry, server) = (registry(), failing());
    let page = shown(&server, "/");
    assert!(page.contains("Nothing was decided yet."), "{page}");
    assert!(page.contains("No image waits."), "{page}");
    let review = create(&pod(&image(&registry)));
    assert_eq!(server.validate_read(&review)["allowed"], false);
    assert_eq!(server.validate(&review)["allowed"], false);
    server.validate_read(&create(&deployment(&image(&registry))));
    let answer = server.get("/");
    let page = text(&answer.text);
    for words in [
        "ml Pod train",
        "ml Deployment train",
        &image(&registry),
        "denied fail",
        "let through fail · only its Pods are denied",
        "trainer: the image does not run on the only node class",
        "470.82.01",
        "(deploy-no-node-class)",
        "runs on 0 of 1 node class",
        "always denied",
        "1 denied 1 let through without a pass 0 pass 0 images wait",
    ] {
        assert!(page.contains(words), "no {words:?} in: {page}");
    }
    // The Deployment came last.
    assert!(page.find("Deployment train") < page.find("Pod train"));
    let links = reports(&answer.text);
    assert_eq!(links.len(), 2, "{links:?}");
    for (link, object) in links.iter().zip(["Deployment ml/train", "Pod ml/train"]) {
        let report = server.get(link);
        assert_eq!(report.status, 200, "{report:?}");
        let policy = report.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        let report = text(&report.text);
        // As the object starts it, with the loader model as a picture.
        for words in [
            &format!("{object}, trainer: {}", image(&registry)),
            "FAIL",
            "deploy-no-node-class",
            "470.82.01",
            "Loader model",
        ] {
            assert!(report.contains(words), "no {words:?} in: {report}");
        }
    }
    // The image alone, which may run elsewhere.
    let digest = links[0].split('?').next().unwrap();
    let alone = server.get(digest);
    assert_eq!(alone.status, 200);
    let alone = text(&alone.text);
    assert!(
        alone.contains("PASS") && !alone.contains("Pod ml/train"),
        "{alone}"
    );
    let reference = format!("{digest}?reference={}/team/pytorch:2.9.0", registry.address);
    let broken = text(&server.get(&reference).text);
    assert!(broken.contains("claim-torch-version"), "{broken}");
}

#[test]
fn decisions_can_be_filtered() {
    let registry = registry();
    let server = Server::new(&enforce_with(&[
        (
            "gpu: h100, driver: '570.86.10'",
            "gpu: a100, driver: '470.82.01'",
        ),
        ("mode: enforce", "mode: enforce, namespaces: {dev: warn}"),
    ]));
    let mut review = create(&pod(&image(&registry)));
    server.validate_read(&review);
    review["request"]["namespace"] = json!("dev");
    review["request"]["name"] = json!("notebook");
    server.validate_read(&review);
    let has = |query: &str| {
        let page = shown(&server, query);
        (page.contains("Pod train"), page.contains("Pod notebook"))
    };
    assert_eq!(has("/"), (true, true));
    assert_eq!(has("/?namespace=&image=&verdict="), (true, true));
    assert_eq!(has("/?namespace=dev"), (false, true));
    assert_eq!(has("/?namespace=de"), (false, false));
    assert_eq!(has("/?verdict=denied"), (true, false));
    assert_eq!(has("/?verdict=let-through"), (false, true));
    assert_eq!(has("/?verdict=fail&namespace=ml"), (true, false));
    assert_eq!(has("/?verdict=pass"), (false, false));
    assert_eq!(has("/?image=team/image"), (true, true));
    assert_eq!(has("/?image=team%2Fother"), (false, false));
    assert!(shown(&server, "/?namespace=x").contains("No decision matches."));
    let page = server.get("/?namespace=dev&image=team&verdict=fail").text;
    for kept in [
        "<option value=\"dev\" selected>",
        "value=\"team\"",
        "<option value=\"fail\" selected>",
    ] {
        assert!(page.contains(kept), "{kept}: {page}");
    }
    for wrong in ["/?verdict=all", "/?page=x", "/?page=-1"] {
        assert_eq!(server.get(wrong).status, 400, "{wrong}");
    }
}

#[test]
fn pods_of_one_owner_are_one_line_and_many_lines_have_pages() {
    let (registry, server) = (registry(), failing());
    let review = create(&pod(&image(&registry)));
    server.validate_read(&review);
    let of_replica_set = |at: usize| {
        let mut review = review.clone();
        let metadata = &mut review["request"]["object"]["metadata"];
        metadata["name"] = json!(format!("train-7d9f-{at}"));
        metadata["ownerReferences"] =
            json!([{"kind": "ReplicaSet", "name": "train-7d9f", "controller": true}]);
        review["request"]["name"] = json!("");
        review
    };
    for at in 0..5 {
        server.validate(&of_replica_set(at));
    }
    let page = shown(&server, "/");
    assert!(
        page.contains("ReplicaSet train-7d9f Pod train-7d9f-4"),
        "{page}"
    );
    assert!(page.contains("5 times since"), "{page}");
    assert!(page.contains("Decided 1 to 2 of 2"), "{page}");
    let others = (0..120).map(|at| {
        let mut review = review.clone();
        review["request"]["name"] = json!(format!("job-{at}"));
        review
    });
    server.post_all("/admission/validate?timeout=10s", others.collect());
    let first = server.get("/").text;
    assert!(text(&first).contains("Decided 1 to 100 of 122"), "{first}");
    assert!(first.contains(">Older</button>") && !first.contains(">Newer</button>"));
    let second = server.get("/?page=2").text;
    assert!(text(&second).contains("Decided 101 to 122 of 122"));
    assert!(second.contains(">Newer</button>") && !second.contains(">Older</button>"));
    assert!(shown(&server, "/?page=99999").contains("Decided 101 to 122 of 122"));
}

#[test]
fn what_waits_is_shown_and_has_no_report_yet() {
    let content = content();
    let is_open = Arc::new(AtomicBool::new(false));
    let open = Arc::clone(&is_open);
    let slow = testkit::registry::Server::new(move |seen| {
        // Layers do not come yet.
        while seen.part().starts_with("blobs/") && !open.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        content.answer(seen)
    });
    let server = Server::new(ENFORCE);
    let response = server.validate(&create(&pod(&image(&slow))));
    assert_eq!(response["auditAnnotations"]["verdict"], "unknown");
    server.wait_for("the scan", |server| {
        shown(server, "/").contains("being read")
    });
    let answer = server.get("/");
    let page = text(&answer.text);
    for words in [
        "denied not known yet",
        "it was not read yet",
        "1 image waits",
        &format!("{}/team/image sha256:", slow.address),
        "being read ml an object is created",
    ] {
        assert!(page.contains(words), "no {words:?} in: {page}");
    }
    assert!(shown(&server, "/?namespace=other").contains("No image of this filter waits."));
    let link = &reports(&answer.text)[0];
    let early = server.get(link);
    assert_eq!(early.status, 404);
    assert!(text(&early.text).contains("Not read yet"), "{early:?}");
    assert!(early.text.contains("waits to be read"));
    is_open.store(true, Ordering::SeqCst);
    server.wait_for("the report", |server| server.get(link).status == 200);
}

#[test]
fn a_report_that_nobody_can_make_says_why() {
    let (registry, server) = (registry(), Server::new(ENFORCE));
    for (path, status, words) in [
        (format!("/reports/{NOBODY}"), 404, "Not read yet"),
        (
            format!("/reports/{NOBODY}?decision=0123456789abcdef"),
            404,
            "does not have the decision",
        ),
        (
            "/reports/sha256:0".to_owned(),
            400,
            "does not end in a digest",
        ),
        (
            "/reports/..%2f..%2fetc".to_owned(),
            400,
            "does not end in a digest",
        ),
        (
            format!("/reports/{NOBODY}?reference=oci:/etc"),
            400,
            "No such report",
        ),
        (
            format!("/reports/{NOBODY}?architecture=../x"),
            400,
            "architecture",
        ),
    ] {
        let answer = server.get(&path);
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(text(&answer.text).contains(words), "{path}: {answer:?}");
    }
    server.validate_read(&create(&pod(&image(&registry))));
    let link = &reports(&server.get("/").text)[0];
    assert_eq!(server.get(link).status, 200);
    let id = link.split('=').nth(1).unwrap();
    let other = server.get(&format!("/reports/{NOBODY}?decision={id}"));
    assert_eq!(other.status, 404);
    // No byte of an image was ever read for a page.
    assert_eq!(server.get("/v1/verdicts/x").status, 400);
}

#[test]
fn dry_runs_leave_no_trace_and_exceptions_do() {
    let registry = registry();
    let server = Server::new(&enforce_with(&[
        (
            "gpu: h100, driver: '570.86.10'",
            "gpu: a100, driver: '470.82.01'",
        ),
        (
            "mode: enforce",
            "mode: enforce, break-glass: true, exemptions: [{image: '*/team/*', namespace: legacy, reason: moves in March}]",
        ),
    ]));
    let review = create(&pod(&image(&registry)));
    let mut dry = review.clone();
    dry["request"]["dryRun"] = json!(true);
    assert_eq!(server.validate(&dry)["allowed"], false);
    let mut broken = dry.clone();
    broken["request"]["object"]["metadata"]["annotations"] =
        json!({"imgcheck.io/break-glass": "outage 4711"});
    assert_eq!(server.validate(&broken)["allowed"], true);
    let mut exempt = dry.clone();
    exempt["request"]["namespace"] = json!("legacy");
    assert_eq!(server.validate(&exempt)["allowed"], true);
    assert!(shown(&server, "/").contains("Nothing was decided yet."));
    for review in [&mut broken, &mut exempt] {
        review["request"]["dryRun"] = json!(false);
        assert_eq!(server.validate(review)["allowed"], true);
    }
    let page = shown(&server, "/?verdict=unjudged");
    for words in [
        "let through not judged · break-glass",
        "outage 4711 (ada)",
        "legacy Pod train",
        "let through not judged · exemption",
        "moves in March",
        "no digest",
    ] {
        assert!(page.contains(words), "no {words:?} in: {page}");
    }
}

#[test]
fn a_tag_that_the_registry_does_not_have_is_not_found() {
    let missing = testkit::registry::Server::new(|_| testkit::registry::respond(404, ""));
    let server = Server::new(&enforce_with(&[]));
    server.validate(&create(&pod(&image(&missing))));
    let page = shown(&server, "/?verdict=not-found");
    assert!(page.contains("denied not found"), "{page}");
    assert!(!shown(&server, "/").contains("denied not known yet"));
}
