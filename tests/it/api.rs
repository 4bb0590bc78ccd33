//! The public API: facts depend on bytes only, judgement is pure, and requests do not disturb each other.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use imgcheck::{
    CacheOptions, Cancellation, Checker, CheckerBuilder, Credentials, Day, ErrorCode, ImageFacts,
    ImageReport, ImageRequest, Limit, Limits, Overlay, Progress, Severity, Subject,
};
use testkit::registry::{self, Content, Server};
use testkit::{
    Compression, Image, docker_archive, file, oci_layout, write_archive, write_directory,
};

use crate::program::repository;

const SAMPLE: &str = "testdata/sample/pytorch-cuda-v2.9.tar";
/// 200 ms on an idle machine.
const SOON: Duration = Duration::from_millis(500);
const DAY: (i32, u32, u32) = (2026, 11, 22);

fn day((year, month, day): (i32, u32, u32)) -> Day {
    Day::from_ymd_opt(year, month, day).unwrap()
}

fn checker() -> Checker {
    Checker::builder().build().unwrap()
}

fn request(path: &Path) -> ImageRequest {
    ImageRequest::new(path.to_str().unwrap())
}

fn sample(checker: &Checker) -> ImageFacts {
    checker.facts(&request(&repository(SAMPLE))).unwrap()
}

fn image() -> Image {
    let library = fs::read(std::env::current_exe().unwrap()).unwrap();
    let lower = [file("etc/os-release", "ID=debian\nVERSION_ID=12\n")];
    let upper = [
        file(
            "usr/lib/libexample.so.1",
            &library[..library.len().min(1 << 20)],
        ),
        file("opt/data", "x".repeat(10_000)),
    ];
    let labels = (0..200).map(|at| (format!("label-{at}"), "x".into()));
    Image {
        labels: serde_json::Value::Object(labels.collect()),
        ..Image::new("example:1", &[&lower, &upper])
    }
}

#[test]
fn the_public_types_are_shared_between_threads() {
    fn assert_shared<T: Send + Sync>() {}
    assert_shared::<Checker>();
    assert_shared::<ImageRequest>();
    assert_shared::<ImageFacts>();
    assert_shared::<Subject>();
    assert_shared::<imgcheck::Error>();
}

#[test]
fn an_archive_a_layout_and_a_registry_have_equal_facts() {
    let scratch = tempfile::tempdir().unwrap();
    let archive = scratch.path().join("image.tar");
    write_archive(&archive, &docker_archive(&[image()]));
    let plain = scratch.path().join("plain");
    write_directory(&plain, &oci_layout(&[image()], Compression::Plain, false));
    let gzip = scratch.path().join("gzip");
    write_directory(&gzip, &oci_layout(&[image()], Compression::Gzip, false));
    let server = Content::of("1", &[image()], false).serve();
    let remote = ImageRequest::new(server.reference("1"));
    let requests = [request(&archive), request(&plain), request(&gzip), remote];
    let encoded = requests.each_ref().map(|request| {
        // A new checker has seen nothing yet.
        let facts = checker().facts(request).unwrap();
        facts.encode().unwrap()
    });
    for other in &encoded[1..] {
        assert!(*other == encoded[0]);
    }
    let again = checker().facts(&requests[0]).unwrap().encode().unwrap();
    assert!(again == encoded[0]);
}

#[test]
fn facts_survive_encoding() {
    let checker = checker();
    let facts = sample(&checker);
    let decoded = ImageFacts::decode(&facts.encode().unwrap()).unwrap();
    assert_eq!(decoded, facts);
    let subject = Subject::new("pytorch-cuda:v2.9", day(DAY));
    assert_eq!(
        checker.judge(&decoded, &subject).unwrap(),
        checker.judge(&facts, &subject).unwrap()
    );
}

#[test]
fn a_facts_file_is_an_image() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("image.facts");
    let checker = checker();
    fs::write(&path, sample(&checker).encode().unwrap()).unwrap();
    // A fingerprint names the repository that the user typed, never the one that an archive records.
    let reports = [repository(SAMPLE), path].map(|image| {
        let request = request(&image).compare_with("pytorch-cuda:v2.9");
        checker.check(&[request]).images.remove(0)
    });
    assert_eq!(reports[0].findings, reports[1].findings);
    assert_eq!(reports[0].facts.stack, reports[1].facts.stack);
}

#[test]
fn damaged_facts_are_an_error() {
    let encoded = sample(&checker()).encode().unwrap();
    for end in (0..encoded.len()).step_by(61) {
        assert!(ImageFacts::decode(&encoded[..end]).is_err());
    }
    for at in (0..encoded.len()).step_by(61) {
        let mut damaged = encoded.clone();
        damaged[at] ^= 0x55;
        // A bit that is never read may change.
        let _ = ImageFacts::decode(&damaged);
    }
}

/// Whoever keeps facts may be given facts that no layer has.
#[test]
fn facts_that_no_layer_has_are_judged_or_an_error() {
    let checker = checker();
    let facts = serde_json::to_value(sample(&checker)).unwrap();
    let paths = [
        "",
        "/",
        "..",
        "../../etc/passwd",
        "a//b",
        "./a",
        "a/../..",
        "\u{0}",
        "usr",
    ];
    for path in paths {
        let mut hostile = facts.clone();
        for layer in hostile["layers"].as_array_mut().unwrap() {
            let entries = layer["facts"]["entries"].as_array_mut().unwrap();
            for entry in entries.iter_mut().step_by(3) {
                entry["path"] = path.into();
            }
        }
        let hostile: ImageFacts = serde_json::from_value(hostile).unwrap();
        let _ = checker.judge(&hostile, &Subject::new("example:1", day(DAY)));
    }
}

#[test]
fn judgement_depends_on_its_arguments_only() {
    let scratch = tempfile::tempdir().unwrap();
    let configuration = scratch.path().join("imgcheck.yaml");
    let ignore = "ignore: [{rule: claim-torch-version, reason: renamed, expires: 2026-11-22}]";
    fs::write(&configuration, ignore).unwrap();
    let checker = Checker::builder().configuration(configuration).build();
    let checker = checker.unwrap();
    let facts = sample(&checker);
    let subject = Subject::new("pytorch-cuda:v2.9", day(DAY));
    let rules = |subject: &Subject| -> Vec<String> {
        let findings = checker.judge(&facts, subject).unwrap();
        findings.into_iter().map(|finding| finding.rule).collect()
    };
    let claim = "claim-torch-version".to_owned();
    assert_eq!(rules(&subject), rules(&subject));
    assert!(!rules(&subject).contains(&claim));
    // The ignore has expired.
    assert!(rules(&subject.clone().on(day((2026, 11, 23)))).contains(&claim));
    let honest = subject
        .with_reference("pytorch-cuda:v2.8")
        .on(day((2027, 1, 1)));
    assert!(!rules(&honest).contains(&claim));
}

/// Reading of an image does not go on before that of another has begun.
#[derive(Default)]
struct Together {
    begun: Mutex<usize>,
    changed: Condvar,
}

impl Progress for Together {
    fn image(&self, _: &str, _: usize, _: u64) {
        let mut begun = self.begun.lock().unwrap();
        *begun += 1;
        self.changed.notify_all();
        let limit = Duration::from_secs(60);
        let alone = |begun: &mut usize| *begun < 2;
        let waited = self.changed.wait_timeout_while(begun, limit, alone);
        assert!(!waited.unwrap().1.timed_out(), "it is read alone");
    }
    fn advance(&self, _: u64) {}
    fn layer(&self) {}
    fn note(&self, _: &str) {}
    fn finish(&self) {}
}

#[test]
fn images_are_read_at_the_same_time_and_reported_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let together = Arc::new(Together::default());
    let names = ["one:1", "two:2", "three:3", "four:4", "five:5", "six:6"];
    let mut requests = names.map(|name| {
        let path = directory.path().join(name);
        let image = Image {
            reference: Some(name.to_owned()),
            ..image()
        };
        write_directory(&path, &oci_layout(&[image], Compression::Gzip, false));
        request(&path).progress(together.clone())
    });
    requests[2] = request(Path::new("missing.tar"));
    let report = checker().check(&requests);
    let references: Vec<&str> = report.images.iter().map(|it| it.facts.name()).collect();
    assert_eq!(references, ["one:1", "two:2", "four:4", "five:5", "six:6"]);
    let errors: Vec<&str> = report.errors.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(errors, ["missing.tar"]);
}

/// Fails at an event.
struct Failing;

impl Progress for Failing {
    fn image(&self, _: &str, _: usize, _: u64) {}
    fn advance(&self, _: u64) {
        panic!("nobody counts");
    }
    fn layer(&self) {}
    fn note(&self, _: &str) {}
    fn finish(&self) {}
}

#[test]
fn a_panic_is_an_error_that_costs_no_other_image() {
    let (checker, path) = (checker(), repository(SAMPLE));
    let requests = [request(&path).progress(Arc::new(Failing)), request(&path)];
    let report = checker.check(&requests);
    let [error] = &report.errors[..] else {
        panic!("{:?}", report.errors)
    };
    assert_eq!(error.error.code(), ErrorCode::Internal);
    assert!(
        error
            .error
            .message()
            .ends_with("imgcheck panicked: nobody counts")
    );
    assert_eq!((report.images.len(), error.error.exit_code()), (1, 3));
    assert!(checker.facts(&requests[1]).is_ok());
}

#[test]
fn tags_of_one_image_share_what_is_known_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let tagged = |tag: &str| Image {
        reference: Some(tag.to_owned()),
        ..image()
    };
    let images = [tagged("example:1"), tagged("torch:2.8.0-cuda12.8")];
    let layout = oci_layout(&images, Compression::Gzip, false);
    write_directory(directory.path(), &layout);
    let report = checker().check(&[request(directory.path())]);
    let [one, two] = &report.images[..] else {
        panic!("{} images, {:?}", report.images.len(), report.errors)
    };
    assert!(Arc::ptr_eq(&one.facts.stack, &two.facts.stack));
    let loaders = [one, two].map(|it| it.facts.loader.as_ref().unwrap());
    assert!(Arc::ptr_eq(loaders[0], loaders[1]));
    let origins = |image: &ImageReport| -> Vec<String> {
        let claims = image.facts.claims.iter();
        claims.map(|claim| claim.origin.clone()).collect()
    };
    assert!(!origins(one).contains(&"tag".to_owned()));
    assert!(origins(two).contains(&"tag".to_owned()));
}

#[test]
fn the_loader_is_replayed_from_facts() {
    let checker = checker();
    let facts = sample(&checker);
    let process = |overlay: Overlay| {
        let subject = Subject::new("pytorch-cuda:v2.9", day(DAY)).launched_with(overlay);
        let report = checker.report(&facts, &subject).unwrap();
        report.facts.loader.unwrap().processes[0].clone()
    };
    let own = process(Overlay::default());
    let mut pod = Overlay::default();
    pod.env
        .insert("LD_LIBRARY_PATH".to_owned(), "/opt/lib".to_owned());
    let overlaid = process(pod);
    assert_ne!(own.library_path_from, overlaid.library_path_from);
    assert_eq!(overlaid.library_path_from, "overlay");
}

#[test]
fn requests_run_at_the_same_time() {
    let checker = checker();
    let expected = sample(&checker);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..8).map(|_| scope.spawn(|| sample(&checker))).collect();
        for reader in readers {
            assert_eq!(reader.join().unwrap(), expected);
        }
    });
}

/// A registry that demands one of two passwords for anything, with the users that it has let in.
fn guarded() -> Server {
    let content = Content::of("1", &[image()], false);
    Server::new(move |seen| match seen.authorization.as_deref() {
        // "anna:a" and "ben:b".
        Some("Basic YW5uYTph" | "Basic YmVuOmI=") => content.answer(seen),
        _ => registry::with(
            registry::error(401, "UNAUTHORIZED", "authentication required"),
            "www-authenticate",
            "Basic realm=\"registry\"",
        ),
    })
}

fn password(user: &str, password: &str) -> Credentials {
    Credentials::Password {
        user: user.to_owned(),
        password: password.to_owned(),
    }
}

#[test]
fn credentials_are_for_one_request() {
    let server = guarded();
    let checker = checker();
    let request = || ImageRequest::new(server.reference("1"));
    let code = |request: &ImageRequest| checker.facts(request).err().map(|error| error.code());
    let anna = request().credentials(password("anna", "a"));
    assert_eq!(code(&anna), None);
    // The same checker has used valid credentials before.
    assert_eq!(code(&request()), Some(ErrorCode::Unauthorized));
    let wrong = request().credentials(password("anna", "wrong"));
    assert_eq!(code(&wrong), Some(ErrorCode::Unauthorized));
    let before = server.seen().len();
    assert_eq!(code(&request().credentials(password("ben", "b"))), None);
    let users: Vec<_> = server.seen().split_off(before);
    let is_bens = |user: &str| user == "Basic YmVuOmI=";
    let mut users = users
        .iter()
        .filter_map(|seen| seen.authorization.as_deref());
    assert!(users.all(is_bens));
}

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

#[test]
fn the_limits_of_a_request_apply_to_reading_and_judging() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("image.facts");
    let checker = checker();
    let facts = sample(&checker);
    fs::write(&path, facts.encode().unwrap()).unwrap();
    let limits = |limit: Limit| {
        let mut limits = Limits::default();
        limits.set(limit, 1);
        limits
    };
    for limit in [Limit::FactsBytes, Limit::Layers, Limit::Entries] {
        let within = request(&path).limits(limits(limit));
        let report = checker.check(&[within]);
        assert_eq!(report.errors.len(), 1, "{limit:?}");
        assert_eq!(report.errors[0].error.code(), ErrorCode::Limit, "{limit:?}");
    }
    let subject = Subject::new("pytorch-cuda:v2.9", day(DAY));
    assert!(checker.judge(&facts, &subject).is_ok());
    for limit in [Limit::LoaderObjects, Limit::RuleItems] {
        let error = checker.judge(&facts, &subject.clone().limits(limits(limit)));
        assert_eq!(error.unwrap_err().code(), ErrorCode::Limit, "{limit:?}");
    }
}

#[test]
fn options_are_checked_when_a_checker_is_built() {
    let code = |build: CheckerBuilder| build.build().err().map(|error| error.code());
    let build = Checker::builder;
    assert_eq!(code(build().gpus(["h1000"])), Some(ErrorCode::Usage));
    assert_eq!(code(build().driver("new")), Some(ErrorCode::Usage));
    assert_eq!(code(build().expect("torch")), Some(ErrorCode::Usage));
    assert_eq!(code(build().rules("no/such")), Some(ErrorCode::Usage));
    assert_eq!(
        code(build().configuration("no/such")),
        Some(ErrorCode::Usage)
    );
    assert_eq!(code(build().fail_on(Some(Severity::Note))), None);
}
