//! Failing registries and networks: temporary failures are retried, all others are errors and never a pass.

use std::time::Duration;

use super::run::{Run, alike, check, image, image_of, report_of_layout};
use testkit::registry::{
    Answer, Content, Seen, Server, broken, error, partial, respond, trickle, with,
};

/// A registry that answers in its own way where `fault` has something to say.
fn faulty(
    fault: impl Fn(&Seen, &Content) -> Option<Answer> + Send + Sync + 'static,
) -> (Server, String) {
    let content = Content::of("1", &[image()], false);
    let layer = content.layer();
    let server =
        Server::new(move |seen| fault(seen, &content).unwrap_or_else(|| content.answer(seen)));
    (server, layer)
}

#[test]
fn a_web_page_in_place_of_a_manifest_is_named() {
    let server = Server::new(|seen| match seen.path.as_str() {
        "/v2/" => respond(200, "{}"),
        _ => with(
            respond(200, "<html>Please log in to the proxy</html>"),
            "content-type",
            "text/html; charset=utf-8",
        ),
    });
    check(&server.reference("1")).fails_with(&[
        "answered with a web page (text/html)",
        "it may be the login page of a proxy",
    ]);
}

#[test]
fn without_a_connection_only_digests_are_found() {
    let (server, _) = faulty(|_, _| None);
    let run = Run::new(&server.reference("1")).arg("--offline");
    run.go().fails_with(&[
        "the cache does not contain the image",
        &format!(
            "name one that was read before {}/team/image@sha256:",
            server.address
        ),
    ]);
}

/// A registry whose largest layer comes in another way.
fn faulty_layer(fault: impl Fn(&Seen, &[u8]) -> Option<Answer> + Send + Sync + 'static) -> Server {
    let (server, _) = faulty(move |seen, content| {
        let layer = content.layer();
        let blob = &content.blobs[&layer];
        seen.is_blob(&layer).then(|| fault(seen, blob)).flatten()
    });
    server
}

/// A registry whose manifest comes in another way.
fn faulty_manifest(fault: impl Fn(&Seen) -> Option<Answer> + Send + Sync + 'static) -> Server {
    let (server, _) = faulty(move |seen, _| {
        seen.part()
            .starts_with("manifests/")
            .then(|| fault(seen))
            .flatten()
    });
    server
}

#[test]
fn a_dropped_connection_is_resumed() {
    let server =
        faulty_layer(|seen, blob| (seen.before == 0).then(|| broken(&blob[..100_000], blob.len())));
    let report = check(&server.reference("1")).report();
    assert_eq!(alike(&report), alike(&report_of_layout(&[image()])));
    let ranges: Vec<String> = server
        .seen()
        .into_iter()
        .filter_map(|seen| seen.range)
        .collect();
    assert_eq!(ranges, ["bytes=100000-"]);
}

#[test]
fn a_registry_without_range_support_sends_the_blob_again() {
    let server = faulty_layer(|seen, blob| {
        Some(match seen.before {
            0 => broken(&blob[..100_000], blob.len()),
            _ => respond(200, blob.to_vec()),
        })
    });
    let report = check(&server.reference("1")).report();
    assert_eq!(alike(&report), alike(&report_of_layout(&[image()])));
}

#[test]
fn a_connection_that_always_drops_is_an_error() {
    let server = faulty_layer(|_, blob| Some(broken(&blob[..10], blob.len())));
    check(&server.reference("1")).fails_with(&[
        "layer sha256:",
        "the connection to 127.0.0.1:",
        " broke: ",
        "(after 10 of ",
        "(2 attempts)",
    ]);
}

/// Bytes that arrived before do not allow endless attempts.
#[test]
fn a_registry_that_fails_late_in_a_layer_is_an_error() {
    let content = Content::of("1", &[image_of(3_000_000)], false);
    let layer = content.layer();
    let server = Server::new(move |seen| match (seen.is_blob(&layer), seen.before) {
        (true, 0) => broken(
            &content.blobs[&layer][..9 << 20],
            content.blobs[&layer].len(),
        ),
        (true, _) => error(503, "UNAVAILABLE", "gone"),
        _ => content.answer(seen),
    });
    check(&server.reference("1")).fails_with(&[
        "answered 503",
        "(after 9437184 of ",
        "(2 attempts)",
    ]);
}

#[test]
fn a_wrong_range_is_rejected() {
    let server = faulty_layer(|seen, blob| {
        Some(match seen.before {
            0 => broken(&blob[..100_000], blob.len()),
            _ => partial(99_000, blob),
        })
    });
    check(&server.reference("1"))
        .fails_with(&["sent a different range than requested (bytes from 100000)"]);
}

#[test]
fn a_wrong_length_is_rejected() {
    for surplus in [-1_isize, 1] {
        let server = faulty_layer(move |_, blob| {
            let mut bytes = blob.to_vec();
            bytes.resize(blob.len().saturating_add_signed(surplus), 0);
            Some(respond(200, bytes))
        });
        check(&server.reference("1")).fails_with(&["its manifest says "]);
    }
}

#[test]
fn a_truncated_stream_is_an_error() {
    let server = faulty_layer(|_, blob| {
        // Without a length.
        let piece = axum::body::Bytes::copy_from_slice(&blob[..5000]);
        let pieces = futures_util::stream::iter([Ok::<_, std::io::Error>(piece)]);
        Some(respond(200, axum::body::Body::from_stream(pieces)))
    });
    check(&server.reference("1")).fails_with(&["ended early", "(after 5000 of "]);
}

#[test]
fn damaged_bytes_are_an_error() {
    let server = faulty_layer(|_, blob| {
        let mut bytes = blob.to_vec();
        bytes[50_000] ^= 1;
        Some(respond(200, bytes))
    });
    check(&server.reference("1")).fails_with(&["damaged: its digest is sha256:"]);

    // The config, and a manifest that is asked for by its digest.
    for part in ["config", "manifest"] {
        let content = Content::of("1", &[image()], false);
        let manifest = content.tags["1"].clone();
        let config = content.manifest("1")["config"]["digest"].clone();
        let digest = match part {
            "config" => config.as_str().unwrap().to_owned(),
            _ => manifest.clone(),
        };
        let server = Server::new(move |seen| match seen.path.ends_with(&digest) {
            true => respond(
                200,
                format!("{} ", String::from_utf8_lossy(&content.blobs[&digest])),
            ),
            false => content.answer(seen),
        });
        let reference = format!("docker://{}/team/image@{manifest}", server.address);
        check(&reference).fails_with(&["damaged", "sha256:"]);
    }
}

#[test]
fn a_digest_that_the_registry_itself_contradicts_is_an_error() {
    let server = faulty_manifest(|_| {
        let digest = format!("sha256:{}", "0".repeat(64));
        Some(with(respond(200, "{}"), "docker-content-digest", &digest))
    });
    check(&server.reference("1")).fails_with(&["sent a damaged manifest"]);
}

#[test]
fn a_busy_registry_is_retried() {
    for status in [429, 500, 502, 503, 504] {
        let server = faulty_manifest(move |seen| {
            (seen.before == 0).then(|| with(error(status, "BUSY", "slow down"), "retry-after", "1"))
        });
        check(&server.reference("1")).report();
        assert_eq!(server.count("manifests"), 2, "{status}");
    }
    let server = faulty_layer(|seen, _| (seen.before == 0).then(|| respond(503, "")));
    check(&server.reference("1")).report();
}

#[test]
fn a_registry_that_stays_busy_is_an_error() {
    let server = faulty_manifest(|_| Some(error(500, "UNKNOWN", "disk full")));
    check(&server.reference("1")).fails_with(&[
        "team/image:1: 127.0.0.1:",
        "answered 500 Internal Server Error (UNKNOWN: disk full) (2 attempts)",
    ]);
    assert_eq!(server.count("manifests"), 2);
    let server = faulty_layer(|_, _| Some(respond(503, "")));
    check(&server.reference("1")).fails_with(&["answered 503 Service Unavailable (2 attempts)"]);
}

#[test]
fn a_long_retry_after_is_an_error() {
    let server = faulty_manifest(|_| {
        Some(with(
            error(429, "TOOMANYREQUESTS", "pull rate limit"),
            "retry-after",
            "3600",
        ))
    });
    check(&server.reference("1")).fails_with(&[
        "429 Too Many Requests (TOOMANYREQUESTS: pull rate limit)",
        "asks to retry after 3600 s",
    ]);
    assert_eq!(server.count("manifests"), 1);
}

#[test]
fn a_slow_trickle_is_an_error() {
    let server = faulty_layer(|_, blob| Some(trickle(blob.len(), Duration::from_millis(100))));
    let run = Run::new(&server.reference("1")).arg("--retries=0");
    run.arg("--stall-timeout=2").go().fails_with(&[
        "the connection to 127.0.0.1:",
        "is too slow: ",
        " bytes in ",
    ]);
}

#[test]
fn silence_is_an_error() {
    let silent = Duration::from_secs(60);
    for server in [
        faulty_layer(move |_, blob| Some(trickle(blob.len(), silent))),
        faulty_manifest(move |_| Some(trickle(100, silent))),
    ] {
        let run = Run::new(&server.reference("1")).arg("--retries=0");
        run.arg("--stall-timeout=2")
            .go()
            .fails_with(&["the connection to 127.0.0.1:", "timed out"]);
    }
}

#[test]
fn a_slow_connection_is_resumed() {
    let server = faulty_layer(|seen, blob| {
        (seen.before == 0).then(|| trickle(blob.len(), Duration::from_secs(60)))
    });
    let run = Run::new(&server.reference("1")).arg("--stall-timeout=2");
    run.go().report();
}

#[test]
fn an_unreachable_registry_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    check(&format!("docker://{address}/team/image:1")).fails_with(&[
        "cannot be reached",
        "Connection refused",
        "help: check the name",
    ]);
    check("docker://registry.invalid/team/image:1")
        .fails_with(&["registry.invalid cannot be reached"]);
}
