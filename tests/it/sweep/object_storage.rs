//! Stores that are reached over a network.

use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use testkit::registry::{Server, held, respond, with};

use super::stores::interrupt;
use super::*;
use crate::s3::S3;
use crate::sweep_case::lines;

/// Runs the plan of a case with a store that speaks S3.
fn run_with_s3(case: &Case, store: &Server) -> Output {
    let plan = case.path("plan");
    let mut command = sweep(&["run", plan.to_str().unwrap()]);
    with_s3(&mut command, store).output().unwrap()
}

fn with_s3<'a>(command: &'a mut Command, store: &Server) -> &'a mut Command {
    command
        .args(["--store", "s3://facts/sweep", "--store-key", "env://KEY"])
        .env("AWS_ENDPOINT", format!("http://{}", store.address))
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_ACCESS_KEY_ID", "key")
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .env("KEY", "0123456789abcdef")
}

#[test]
fn a_store_that_ignores_conditions_is_said_at_the_start() {
    let case = Case::new();
    let registry = fleet().serve();
    case.plan(&[&format!("registry:{}", registry.address)]);
    let before = registry.seen().len();
    let store = Server::new(|seen| match seen.method.as_str() {
        "POST" => respond(
            200,
            "<DeleteResult><Deleted><Key>x</Key></Deleted></DeleteResult>",
        ),
        "HEAD" => {
            let answer = with(
                respond(200, ""),
                "last-modified",
                "Mon, 23 Nov 2026 10:00:00 GMT",
            );
            with(with(answer, "content-length", "0"), "etag", "\"x\"")
        }
        _ => with(respond(200, ""), "etag", "\"x\""),
    });
    let output = run_with_s3(&case, &store);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("ignores conditions"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(registry.seen().len(), before);
}

#[test]
fn a_store_that_others_can_write_to_needs_a_key() {
    let case = Case::new();
    let samples = crate::program::repository("testdata/sample");
    let output = imgcheck()
        .args(["sweep", "plan", samples.to_str().unwrap(), "-o"])
        .arg(case.path("plan"))
        .args(["--store", "s3://facts/sweep"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("--store-key"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_store_that_refuses_conditions_is_said_at_the_start() {
    let case = Case::new();
    let registry = fleet().serve();
    case.plan(&[&format!("registry:{}", registry.address)]);
    let before = registry.seen().len();
    let store = Server::new(|seen| match (seen.method.as_str(), &seen.condition) {
        ("PUT", Some(_)) => respond(
            501,
            "<Error><Code>NotImplemented</Code><Message>If-None-Match</Message></Error>",
        ),
        ("POST", _) => respond(
            200,
            "<DeleteResult><Deleted><Key>x</Key></Deleted></DeleteResult>",
        ),
        _ => with(respond(200, ""), "etag", "\"x\""),
    });
    let output = run_with_s3(&case, &store);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(
        error.contains("refuses conditional writes (If-None-Match)"),
        "{error}"
    );
    assert!(
        error.contains("help: use a store with conditional writes"),
        "{error}"
    );
    assert_eq!(registry.seen().len(), before);
}

#[test]
fn an_interrupted_plan_is_written_to_a_slow_store() {
    let content = fleet();
    let server = Server::new(move |seen| match seen.path.contains("/manifests/") {
        true => held(Arc::default(), b"x"),
        false => content.answer(seen),
    });
    let written = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&written);
    let store = Server::new(move |seen| {
        if seen.method == "PUT" && seen.path.contains("plan") {
            thread::sleep(Duration::from_secs(3));
            done.store(true, Ordering::Relaxed);
        }
        with(respond(200, ""), "etag", "\"x\"")
    });
    let source = format!("registry:{}", server.address);
    let mut planning = sweep(&["plan", &source, "-o", "store:fleet"]);
    interrupt(with_s3(&mut planning, &store), || {
        server
            .seen()
            .iter()
            .any(|it| it.path.contains("/manifests/"))
    });
    assert!(written.load(Ordering::Relaxed));
}

#[test]
fn a_bucket_is_a_store_and_a_key_signs_it() {
    let Some(server) = S3::start() else {
        return;
    };
    assert!(server.request("PUT").contains(" 200 "));
    let case = Case::new();
    let registry = samples().serve();
    let run = |arguments: &[&str], key: &str| {
        let mut command = imgcheck();
        command
            .current_dir(case.path(""))
            .args(["sweep"])
            .args(arguments)
            .args([
                "--store",
                "s3://facts/sweep",
                "--no-progress",
                "--store-key",
                "env://KEY",
            ])
            .env("AWS_ENDPOINT", &server.address)
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ACCESS_KEY_ID", "key")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .env("KEY", key);
        command.output().unwrap()
    };
    const KEY: &str = "0123456789abcdef";
    let source = format!("registry:{}", registry.address);
    let planned = run(&["plan", "-o", "store:all", &source], KEY);
    assert!(planned.status.success(), "{}", text(&planned.stderr));
    let read = run(&["run", "store:all"], KEY);
    assert!(read.status.success(), "{}", text(&read.stderr));
    let judged = run(&["judge", "store:all", "-f", "jsonl"], KEY);
    assert_eq!(
        (lines(&judged.stdout).len(), judged.status.code()),
        (2, Some(1))
    );
    // Others do not believe it.
    let other = run(
        &["judge", "store:all", "-f", "jsonl"],
        "another key of somebody",
    );
    assert_eq!(other.status.code(), Some(3));
    assert!(
        text(&other.stderr).contains("no plan `all`"),
        "{}",
        text(&other.stderr)
    );
}
