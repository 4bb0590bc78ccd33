//! Requests do not disturb each other.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use imgcheck::{Credentials, ErrorCode, ImageRequest, Progress};
use testkit::registry::{self, Content, Server};
use testkit::{Compression, Image, oci_layout, write_directory};

use super::{SAMPLE, checker, image, request, sample};
use crate::program::repository;

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
