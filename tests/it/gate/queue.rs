//! The queue: one scan for each image, none lost, errors that say what is wrong.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::registry::{self, error, respond, with};
use testkit::{Image, file, sha256};

use super::images::{ENFORCE, content, create, image, pod};
use super::server::{Home, Server};

/// A registry with many images that differ.
pub fn many(count: usize) -> (registry::Server, Arc<AtomicBool>) {
    let mut content = registry::Content::default();
    for at in 0..count {
        let image = Image::new("team/image:1", &[&[file("etc/number", at.to_string())]]);
        let one = registry::Content::of(&format!("v{at}"), &[image], false);
        content.blobs.extend(one.blobs);
        content.tags.extend(one.tags);
    }
    let is_open = Arc::new(AtomicBool::new(true));
    let open = is_open.clone();
    let server = registry::Server::new(move |seen| {
        // Only layers and configurations wait.
        while seen.part().starts_with("blobs/") && !open.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        content.answer(seen)
    });
    (server, is_open)
}

pub fn reviews(registry: &registry::Server, pods: usize, images: usize) -> Vec<Value> {
    let review = |at: usize| {
        let mut pod = pod(&format!("{}/team/image:v{}", registry.address, at % images));
        pod["metadata"]["name"] = json!(format!("train-{at}"));
        create(&pod)
    };
    (0..pods).map(review).collect()
}

/// How often each blob was asked for.
fn blobs(registry: &registry::Server) -> BTreeMap<String, usize> {
    let mut blobs = BTreeMap::new();
    for seen in registry.seen() {
        if seen.part().starts_with("blobs/") {
            *blobs.entry(seen.part().to_owned()).or_default() += 1;
        }
    }
    blobs
}

#[test]
fn a_storm_reads_each_image_once() {
    let (registry, _) = many(20);
    let server = Server::new(ENFORCE);
    let answers = server.post_all(
        "/admission/validate?timeout=10s",
        reviews(&registry, 100, 20),
    );
    assert!(answers.iter().all(|it| it.status == 200));
    server.wait_for("the scans", |server| {
        server.metric("imgcheck_scans_total{outcome=\"success\"}") == 20.0
            && server.metric("imgcheck_queue_jobs") == 0.0
    });
    assert!(
        blobs(&registry).values().all(|count| *count == 1),
        "{:?}",
        blobs(&registry)
    );
}

#[test]
fn what_was_accepted_survives_a_kill() {
    let (registry, is_open) = many(10);
    let home = Home::new(ENFORCE);
    let mut server = Server::start(&home, &[]);
    is_open.store(false, Ordering::SeqCst);
    let answers = server.post_all(
        "/admission/validate?timeout=10s",
        reviews(&registry, 20, 10),
    );
    for answer in answers {
        assert_eq!(
            answer.json()["response"]["auditAnnotations"]["verdict"],
            "unknown"
        );
    }
    server.signal("KILL");
    assert_eq!(server.wait(), None);
    is_open.store(true, Ordering::SeqCst);
    // Nobody asks again.
    let server = Server::start(&home, &[]);
    server.wait_for("the scans", |server| {
        server.metric("imgcheck_scans_total{outcome=\"success\"}") == 10.0
    });
    assert_eq!(server.metric("imgcheck_queue_jobs"), 0.0);
    for review in reviews(&registry, 10, 10) {
        assert_ne!(
            server.validate(&review)["auditAnnotations"]["verdict"],
            "unknown"
        );
    }
}

#[test]
fn a_registry_that_throttles_is_left_alone_for_as_long_as_it_asks() {
    let content = content();
    let throttled = Arc::new(AtomicBool::new(true));
    let is_throttled = throttled.clone();
    let registry = registry::Server::new(move |seen| {
        let is_blob = seen.part().starts_with("blobs/");
        match is_blob && is_throttled.swap(false, Ordering::SeqCst) {
            true => with(
                error(429, "TOOMANYREQUESTS", "slow down"),
                "retry-after",
                "2",
            ),
            false => content.answer(seen),
        }
    });
    let server = Server::new(ENFORCE);
    let start = std::time::Instant::now();
    let response = server.validate_read(&create(&pod(&image(&registry))));
    assert_eq!(response["allowed"], true, "{response}");
    assert!(start.elapsed() >= Duration::from_secs(2));
}

/// Whoever waits for an admission has no time for further attempts.
#[test]
fn a_registry_that_limits_requests_is_named_at_once() {
    let registry = registry::Server::new(|seen| match seen.part().starts_with("manifests/") {
        true => with(
            error(429, "TOOMANYREQUESTS", "slow down"),
            "retry-after",
            "60",
        ),
        false => respond(200, "{}"),
    });
    let server = Server::new(ENFORCE);
    let review = create(&pod(&image(&registry)));
    let start = std::time::Instant::now();
    let first = server.validate(&review);
    // The pause that the registry asks for holds for other images, too.
    let other = format!("{}/team/other:1", registry.address);
    let second = server.validate(&create(&pod(&other)));
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
    for (response, words) in [
        (&first, "429 Too Many Requests; it asks to retry after 60 s"),
        (&second, "limits requests; it asks to retry after 60 s"),
    ] {
        assert_eq!(response["allowed"], false);
        let message = response["status"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
        assert!(
            message.contains("log in with a pull secret, or use a mirror"),
            "{message}"
        );
        assert!(!message.contains("try again in a minute"), "{message}");
    }
    assert_eq!(registry.count("manifests"), 1);
}

/// So it is if the first request, which only asks whether it is a registry, is refused.
#[test]
fn a_registry_that_refuses_every_request_is_named_at_once() {
    for (status, code, words) in [
        (
            429,
            "TOOMANYREQUESTS",
            "limits requests; it asks to retry after 60 s",
        ),
        (500, "UNKNOWN", "answered 500 Internal Server Error"),
    ] {
        let registry =
            registry::Server::new(move |_| with(error(status, code, "no"), "retry-after", "60"));
        let server = Server::new(ENFORCE);
        let start = std::time::Instant::now();
        let response = server.validate(&create(&pod(&image(&registry))));
        let elapsed = start.elapsed();
        assert!(elapsed < Duration::from_secs(3), "{elapsed:?}");
        let message = response["status"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
        let waits = message.matches("it asks to retry after").count();
        assert_eq!(waits, 1, "{message}");
    }
}

#[test]
fn a_failure_is_named_and_not_tried_all_the_time() {
    let content = content();
    let layer = content.layer();
    let registry = registry::Server::new(move |seen| match seen.is_blob(&layer) {
        true => respond(200, "not the layer"),
        false => content.answer(seen),
    });
    let server = Server::new(ENFORCE);
    let review = create(&pod(&image(&registry)));
    let response = server.validate_read(&review);
    assert_eq!(
        (
            &response["allowed"],
            &response["auditAnnotations"]["verdict"]
        ),
        (&json!(false), &json!("incomplete"))
    );
    let message = response["status"]["message"].as_str().unwrap();
    assert!(
        message.contains("trainer: ") && message.contains("sha256:"),
        "{message}"
    );
    for _ in 0..5 {
        server.validate(&review);
    }
    assert_eq!(
        server.metric("imgcheck_scans_total{outcome=\"failure\"}"),
        1.0
    );
}

#[test]
fn a_store_that_cannot_be_used_is_an_error_that_says_so() {
    let home = Home::new(ENFORCE);
    std::fs::create_dir(home.path("state")).unwrap();
    home.write("state/queue.redb", "this is not a queue");
    assert!(home.failure(&[]).contains("queue.redb"));
    std::fs::remove_file(home.path("state/queue.redb")).unwrap();
    let server = Server::start(&home, &[]);
    assert!(home.failure(&[]).contains("another process uses the queue"));
    drop(server);
    // Cut off in the middle, as by a full disk.
    let bytes = std::fs::read(home.path("state/queue.redb")).unwrap();
    std::fs::write(home.path("state/queue.redb"), &bytes[..bytes.len() / 2]).unwrap();
    assert!(home.failure(&[]).contains("queue.redb"));
}

/// As for a user who may not write to the default, `/var/lib/imgcheck`.
#[test]
fn a_state_that_cannot_be_created_is_an_error_that_names_the_option() {
    let home = Home::new(ENFORCE);
    home.write("state", "a file");
    assert!(home.failure(&[]).contains("--state"));
}

#[test]
fn credentials_of_one_do_not_answer_another() {
    // Two names of one registry: the image behind the second needs a login that the server does not have.
    let content = Arc::new(content());
    let open = content.clone();
    let open = registry::Server::new(move |seen| open.answer(seen));
    let closed = registry::Server::new(move |seen| {
        with(
            error(401, "UNAUTHORIZED", &format!("no access to {}", seen.path)),
            "www-authenticate",
            "Basic realm=\"x\"",
        )
    });
    let server = Server::new(ENFORCE);
    assert_eq!(
        server.validate_read(&create(&pod(&image(&open))))["allowed"],
        true
    );
    let response = server.validate(&create(&pod(&image(&closed))));
    assert_eq!(response["allowed"], false, "{response}");
    assert_eq!(response["auditAnnotations"]["verdict"], "unknown");
    let digest = sha256(
        content
            .manifest("2.8.0-cuda12.8-cudnn9-runtime")
            .to_string()
            .as_bytes(),
    );
    let by_digest = format!("{}/team/image@{digest}", closed.address);
    assert_eq!(server.validate(&create(&pod(&by_digest)))["allowed"], false);
}
