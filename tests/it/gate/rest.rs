//! What other programs ask.

use reqwest::Method;
use serde_json::json;

use super::images::{ENFORCE, image, registry};
use super::server::{Server, client};
use crate::program;

#[test]
fn an_image_is_queued_then_reported() {
    let (registry, server) = (registry(), Server::new(ENFORCE));
    let question = json!({"reference": image(&registry)});
    let queued = server.post("/v1/check", &question);
    assert_eq!(queued.status, 202, "{queued:?}");
    let href = queued.json()["href"].as_str().unwrap().to_owned();
    assert_eq!(queued.headers["location"], href);
    assert_eq!(queued.headers["retry-after"], "5");
    server.wait_for("a verdict", |server| server.get(&href).status == 200);
    let report = server.post("/v1/check", &question);
    assert_eq!(report.status, 200);
    let report = report.json();
    assert_eq!(report["schema"], "imgcheck/report/v1");
    assert_eq!(report["images"][0]["verdict"], "pass");
    assert_eq!(report["images"][0]["reference"], image(&registry).as_str());
    // Other machines, and another environment.
    let mut old = question.clone();
    old["targets"] = json!({"gpus": ["a100"], "driver": "470.82.01"});
    assert_eq!(
        server.post("/v1/check", &old).json()["images"][0]["verdict"],
        "fail"
    );
    // A verdict by digest alone has no reference; with one its promises count.
    assert_eq!(
        server.get(&href).json()["images"][0]["reference"],
        json!(null)
    );
    let wrong = format!(
        "{href}?reference={}/team/pytorch:2.9.0-cuda12.8",
        registry.address
    );
    assert_eq!(server.get(&wrong).json()["images"][0]["verdict"], "fail");
}

#[test]
fn questions_are_checked() {
    let server = Server::new(ENFORCE);
    for (question, problem) in [
        (json!({}), "the body: missing field `reference`"),
        (json!([]), "the body: invalid type: sequence"),
        (json!({"reference": 7}), "`reference`: invalid type"),
        (json!(["a/b:1", "", {}, null]), "the body: invalid type"),
        (
            json!({"reference": "a/b:1", "overlay": [null, null]}),
            "`overlay`: invalid type",
        ),
        (
            json!({"reference": "a/b:1", "unknown": 1}),
            "`unknown`: unknown field",
        ),
        (
            json!({"reference": "a/b:1", "architecture": "../x"}),
            "`architecture` is not one, such as amd64",
        ),
        (
            json!({"reference": "oci:/etc"}),
            "`reference`: `oci:/etc` is not a valid image reference",
        ),
        (
            json!({"reference": "a/b:1", "targets": {"gpus": ["h1000"]}}),
            "`targets.gpus`: unknown GPU `h1000`; ",
        ),
        (
            json!({"reference": "a/b:1", "targets": {"gpus": "h100"}}),
            "`targets.gpus`: invalid type: string \"h100\", expected a sequence",
        ),
        (
            json!({"reference": "a/b:1", "targets": {"gpu": ["h100"]}}),
            "`targets.gpu`: unknown field `gpu`, expected `gpus` or `driver`",
        ),
        (
            json!({"reference": "a/b:1", "targets": {"driver": "x"}}),
            "`targets.driver`: `x` is not a driver version; use the full version",
        ),
        (
            json!({"reference": "a/b:1", "targets": {"gpus": ["b200"], "driver": "535.183.06"}}),
            "`targets`: driver 535.183.06 is too old for B200",
        ),
        (
            json!({"reference": "a/b:1", "overlay": {"command": "x"}}),
            "`overlay.command`: invalid type",
        ),
    ] {
        let answer = server.post("/v1/check", &question);
        assert_eq!(answer.status, 400, "{question}: {answer:?}");
        let answer = answer.json();
        let error = answer["error"].as_str().unwrap();
        assert!(error.starts_with(problem), "{question}: {error}");
    }
    for (path, status) in [
        ("/v1/verdicts/sha256:0", 400),
        ("/v1/verdicts/..%2f..%2fetc", 400),
        (&*format!("/v1/verdicts/sha256:{}", "0".repeat(64)), 404),
        (
            &*format!("/v1/verdicts/sha256:{}?reference=oci:/etc", "0".repeat(64)),
            400,
        ),
        ("/v1/check", 405),
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, status, "{path}: {answer:?}");
    }
    assert_eq!(
        server
            .post("/v1/check", &json!({"reference": "127.0.0.1:1/a/b:1"}))
            .status,
        502
    );
}

#[test]
fn everything_but_admission_and_probes_needs_a_token() {
    let server = Server::new(ENFORCE);
    let client = client(&server.home);
    let status = |method: Method, path: &str, token: Option<&str>| {
        server
            .send_with(&client, method, path, "", token)
            .unwrap()
            .status
    };
    for (method, path) in [
        (Method::POST, "/v1/check"),
        (Method::GET, "/v1/verdicts/x"),
        (Method::POST, "/v1/events"),
        (Method::GET, "/metrics"),
        (Method::GET, "/openapi.json"),
    ] {
        for token in [
            None,
            Some(""),
            Some("wrong"),
            Some("secret-toke"),
            Some("# for tests"),
        ] {
            assert_eq!(status(method.clone(), path, token), 401, "{path} {token:?}");
        }
    }
    assert_eq!(status(Method::GET, "/livez", None), 200);
    assert_eq!(status(Method::GET, "/readyz", None), 200);
    assert_eq!(status(Method::POST, "/admission/validate", None), 400);
    // Tokens can be replaced.
    server.home.write("tokens", "another\n");
    server.signal("HUP");
    server.wait_for("the new token", |_| {
        status(Method::GET, "/metrics", Some("another")) == 200
    });
    assert_eq!(status(Method::GET, "/metrics", Some("secret-token")), 401);
}

#[test]
fn the_description_is_made_from_the_types() {
    let server = Server::new(ENFORCE);
    let served = server.get("/openapi.json");
    let printed = program::imgcheck()
        .args(["serve", "--print-openapi"])
        .output()
        .unwrap();
    assert_eq!(served.text.as_bytes(), printed.stdout);
    let description = served.json();
    assert_eq!(description["openapi"], "3.1.0");
    // Every reference leads somewhere.
    let text = served.text.as_str();
    let references = regex::Regex::new(r##""\$ref": "#([^"]+)""##).unwrap();
    let mut count = 0;
    for found in references.captures_iter(text) {
        assert!(description.pointer(&found[1]).is_some(), "{}", &found[1]);
        count += 1;
    }
    assert!(count > 20);
    let schema =
        json!({"$ref": "#/components/schemas/Report", "components": description["components"]});
    let validator = jsonschema::validator_for(&schema).unwrap();
    let registry = registry();
    let question = json!({"reference": image(&registry)});
    server.wait_for("a report", |server| {
        server.post("/v1/check", &question).status == 200
    });
    let report = server.post("/v1/check", &question).json();
    let errors: Vec<String> = validator
        .iter_errors(&report)
        .map(|it| it.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new());
}
