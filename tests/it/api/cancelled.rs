//! Requests that end early.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use imgcheck::{CacheOptions, Cancellation, Checker, CheckerBuilder, ErrorCode, ImageRequest};
use testkit::registry::{self, Content, Server};
use testkit::{Compression, Image, file, oci_layout, write_directory};

use super::{SAMPLE, checker, image, request};
use crate::program::repository;

/// 200 ms on an idle machine. A request that ended by itself would not have the code that is expected.
const SOON: Duration = Duration::from_secs(5);

/// Cancels a request while it runs: it returns soon, and its cache is unchanged.
fn assert_ends_soon(build: CheckerBuilder, image_request: impl FnOnce() -> ImageRequest) {
    let scratch = tempfile::tempdir().unwrap();
    let cache = CacheOptions {
        directory: Some(scratch.path().to_owned()),
        ..CacheOptions::default()
    };
    let checker = build.cache(cache).build().unwrap();
    let layout = tempfile::tempdir().unwrap();
    let before = [Image::new("before:1", &[&[file("opt/before", "before")]])];
    write_directory(
        layout.path(),
        &oci_layout(&before, Compression::Gzip, false),
    );
    let facts = checker.facts(&request(layout.path())).unwrap();
    let kept = listing(scratch.path());
    assert!(!kept.is_empty());
    let cancellation = Cancellation::default();
    let cancelled_request = image_request().cancellation(cancellation.clone());
    let (report, delay) = thread::scope(|scope| {
        let running = scope.spawn(|| (checker.check(&[cancelled_request]), Instant::now()));
        thread::sleep(Duration::from_millis(300));
        if running.is_finished() {
            panic!(
                "the request has ended by itself: {:?}",
                running.join().unwrap().0.errors
            );
        }
        let cancelled = Instant::now();
        cancellation.cancel();
        let (report, end) = running.join().unwrap();
        (report, end.duration_since(cancelled))
    });
    let codes: Vec<_> = report.errors.iter().map(|it| it.error.code()).collect();
    assert_eq!(codes, [ErrorCode::Cancelled]);
    assert!(delay < SOON, "{delay:?}");
    // Documents that were complete may have been added, nothing else.
    let mut left = listing(scratch.path());
    left.retain(|name, _| !name.starts_with("document-"));
    assert!(
        kept.iter()
            .all(|(name, bytes)| left.get(name) == Some(bytes))
    );
    let is_of_image = |name: &String| {
        let kinds = ["facts-", "model-", "verified-"];
        kinds.iter().any(|kind| name.starts_with(kind))
    };
    assert!(left.keys().all(is_of_image));
    assert_eq!(checker.facts(&request(layout.path())).unwrap(), facts);
}

fn listing(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files
        .map(|file| {
            let name = file.file_name().into_string().unwrap();
            (name, fs::read(file.path()).unwrap())
        })
        .collect()
}

#[test]
fn a_cancelled_request_stops_inflating() {
    let scratch = tempfile::tempdir().unwrap();
    let large = [file("opt/large", vec![b'x'; 512 << 20])];
    let images = [Image::new("example:1", &[&large])];
    write_directory(
        scratch.path(),
        &oci_layout(&images, Compression::Gzip, false),
    );
    assert_ends_soon(Checker::builder(), || request(scratch.path()));
}

#[test]
fn a_cancelled_request_leaves_a_registry_that_hangs() {
    let content = Content::of("1", &[image()], false);
    let layer = content.layer();
    let length = content.blobs[&layer].len();
    let server = Server::new(move |seen| match seen.is_blob(&layer) {
        true => registry::trickle(length, Duration::from_secs(60)),
        false => content.answer(seen),
    });
    assert_ends_soon(Checker::builder(), || {
        ImageRequest::new(server.reference("1"))
    });
}

#[test]
fn a_cancelled_request_ends_a_back_off() {
    let server = Server::new(|_| {
        let limited = registry::error(429, "TOOMANYREQUESTS", "slow down");
        registry::with(limited, "retry-after", "60")
    });
    assert_ends_soon(Checker::builder(), || {
        ImageRequest::new(server.reference("1"))
    });
}

#[test]
fn a_cancelled_request_ends_the_evaluation_of_a_rule() {
    let scratch = tempfile::tempdir().unwrap();
    let rule = scratch.path().join("team-slow.yaml");
    // The image has 200 labels.
    let slow = (0..4).fold("true".to_owned(), |inner, _| {
        format!("image.labels.all(x, {inner})")
    });
    let keys = "id: team-slow\ntitle: t\nseverity: note\nsince: '1'\nmessage: m\nwhy: w\n";
    fs::write(&rule, format!("{keys}fail: '{slow}'\n")).unwrap();
    let layout = scratch.path().join("layout");
    write_directory(&layout, &oci_layout(&[image()], Compression::Gzip, false));
    assert_ends_soon(Checker::builder().rules(rule), || request(&layout));
}

#[test]
fn a_deadline_is_a_timeout() {
    let deadline = Instant::now();
    let request =
        request(&repository(SAMPLE)).cancellation(Cancellation::default().with_deadline(deadline));
    let error = checker().facts(&request).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Timeout);
}
