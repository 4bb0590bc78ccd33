//! A cancelled request ends at once, whatever it is waiting for, and so does one past its deadline.

use std::thread;
use std::time::{Duration, Instant};

use imgcheck_base::bounds::Bounds;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, ErrorCode};
use imgcheck_base::reference::transport::ImageReference;
use imgcheck_source::source::registry::{Credentials, Options, Registries, RetryPolicy};
use imgcheck_source::source::{self, LayerData, Request};

use super::run::image;
use testkit::registry::{Answer, Content, Seen, Server, error, respond, trickle, with};

/// Time until a request is cancelled: it is waiting by then.
const BEFORE: Duration = Duration::from_millis(500);
/// A request takes 200 ms to end on an idle machine, and a minute or forever if it is not cancelled.
const SOON: Duration = Duration::from_secs(10);

fn registries() -> Registries {
    Registries::new(Options {
        policy: RetryPolicy {
            first_wait: Duration::from_secs(60),
            longest_wait: Duration::from_secs(600),
            ..RetryPolicy::default()
        },
        ..Options::default()
    })
}

/// Opens an image and reads its layers.
fn pull(target: &ImageReference, request: &Request) -> Result<(), Error> {
    for image in source::open(target, request)? {
        for layer in &image.layers {
            let LayerData::Remote(blob) = &layer.data else {
                panic!("not a remote layer")
            };
            let read = blob
                .open()
                .and_then(|mut bytes| std::io::copy(&mut bytes, &mut std::io::sink()));
            read.map_err(|error| Error::layer_io(layer.name(), error))?;
        }
    }
    Ok(())
}

/// Asserts that a pull from this server ends soon after it is cancelled, and soon after its deadline.
#[track_caller]
fn ends_soon(server: &Server) {
    ends_soon_at(&server.reference("1"));
}

#[track_caller]
fn ends_soon_at(reference: &str) {
    let target = ImageReference::parse(reference);
    for has_deadline in [false, true] {
        let cancellation = Cancellation::default();
        let start = Instant::now();
        let request = Request {
            registries: registries(),
            bounds: Bounds {
                cancellation: match has_deadline {
                    true => cancellation.with_deadline(start + BEFORE),
                    false => cancellation.clone(),
                },
                ..Bounds::default()
            },
            ..Request::default()
        };
        let canceller = (!has_deadline).then(|| {
            thread::spawn(move || {
                thread::sleep(BEFORE);
                cancellation.cancel();
            })
        });
        let error = pull(&target, &request).unwrap_err();
        let elapsed = start.elapsed();
        let expected = match has_deadline {
            true => ErrorCode::Timeout,
            false => ErrorCode::Cancelled,
        };
        assert_eq!(error.code(), expected, "{error}");
        assert!(elapsed >= BEFORE, "{elapsed:?}: {error}");
        assert!(elapsed < BEFORE + SOON, "{elapsed:?}: {error}");
        if let Some(canceller) = canceller {
            canceller.join().unwrap();
        }
    }
}

fn faulty(fault: impl Fn(&Seen, &Content) -> Option<Answer> + Send + Sync + 'static) -> Server {
    let content = Content::of("1", &[image()], false);
    Server::new(move |seen| fault(seen, &content).unwrap_or_else(|| content.answer(seen)))
}

#[test]
fn while_waiting_for_headers() {
    // Accepts connections, and never answers.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let kept = thread::spawn(move || {
        let connections: Vec<_> = listener.incoming().take(4).flatten().collect();
        drop(connections);
    });
    let reference = format!("docker://{address}/team/image:1");
    ends_soon_at(&reference);
    drop(kept);
}

#[test]
fn while_waiting_for_a_manifest() {
    ends_soon(&faulty(|seen, _| {
        let is_manifest = seen.part().starts_with("manifests/");
        is_manifest.then(|| trickle(100, Duration::from_secs(600)))
    }));
}

#[test]
fn while_a_layer_trickles_in() {
    ends_soon(&faulty(|seen, content| {
        let layer = content.layer();
        seen.is_blob(&layer)
            .then(|| trickle(content.blobs[&layer].len(), Duration::from_millis(20)))
    }));
}

#[test]
fn during_a_backoff() {
    ends_soon(&faulty(|seen, content| {
        seen.is_blob(&content.layer()).then(|| respond(503, ""))
    }));
}

#[test]
fn while_the_registry_limits_requests() {
    ends_soon(&faulty(|seen, _| {
        let is_manifest = seen.part().starts_with("manifests/");
        is_manifest.then(|| {
            let answer = error(429, "TOOMANYREQUESTS", "pull rate limit");
            with(answer, "retry-after", "300")
        })
    }));
}

#[test]
fn a_rate_limit_says_how_long_to_wait() {
    let server = faulty(|seen, _| {
        let is_manifest = seen.part().starts_with("manifests/");
        is_manifest.then(|| with(respond(429, ""), "retry-after", "3600"))
    });
    let request = Request {
        registries: registries(),
        ..Request::default()
    };
    let error = pull(&ImageReference::parse(&server.reference("1")), &request).unwrap_err();
    assert_eq!(error.code(), ErrorCode::RateLimited);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
}

/// Two requests that share their registries do not share credentials, not even the tokens obtained with them.
#[test]
fn credentials_of_a_request_are_used_for_it_only() {
    let content = Content::of("1", &[image()], false);
    let server = Server::new(move |seen| match seen.authorization.as_deref() {
        _ if seen.path == "/v2/" => respond(200, "{}"),
        // user:secret
        Some("Basic dXNlcjpzZWNyZXQ=") => content.answer(seen),
        _ => with(
            error(401, "UNAUTHORIZED", "authentication required"),
            "www-authenticate",
            r#"Basic realm="registry""#,
        ),
    });
    let target = ImageReference::parse(&server.reference("1"));
    let registries = registries();
    let code = |password: Option<&str>| {
        let request = Request {
            registries: registries.clone(),
            credentials: password.map(|password| Credentials::Password {
                user: "user".to_owned(),
                password: password.to_owned(),
            }),
            ..Request::default()
        };
        pull(&target, &request).map_err(|error| error.code())
    };
    assert_eq!(code(None), Err(ErrorCode::Unauthorized));
    assert_eq!(code(Some("secret")), Ok(()));
    assert_eq!(code(None), Err(ErrorCode::Unauthorized));
    assert_eq!(code(Some("wrong")), Err(ErrorCode::Unauthorized));
    assert_eq!(code(Some("secret")), Ok(()));
}
