//! The shared store on a server.

use std::net::TcpListener;

use super::shared::share;
use super::*;
use crate::s3::{S3, free_port};

#[test]
fn a_store_without_a_key_is_a_warning() {
    let case = Case::new();
    let url = format!("http://user:pass-word@127.0.0.1:{}/facts", free_port());
    let run = case.run("cache", &["--cache", &url]);
    assert!(run.is_read());
    assert_eq!(run.remarks.lines().count(), 1, "{}", run.remarks);
    assert!(run.remarks.contains("--cache-key") && !run.remarks.contains("pass-word"));
}

#[test]
fn a_bucket_is_shared() {
    let Some(server) = S3::start() else {
        return;
    };
    assert!(server.request("PUT").contains(" 200 "));
    let case = Case::new();
    share(&case, "s3://facts/of/layers", |command| {
        command
            .env("AWS_ENDPOINT", &server.address)
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ACCESS_KEY_ID", "key")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .env("KEY", "0123456789abcdef")
            .env("IMGCHECK_CACHE_KEY", "env://KEY")
    });
    let listed = server.request("GET");
    assert_eq!(
        listed.matches("<Key>of/layers/facts-").count(),
        2,
        "{listed}"
    );
}

#[test]
fn a_shared_cache_that_does_not_answer_is_a_warning() {
    let case = Case::new();
    // The kernel accepts connections, but nothing reads from them.
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let silent = silent.local_addr().unwrap();
    let closed = free_port();
    for url in [
        format!("http://user:pass-word@127.0.0.1:{closed}/facts"),
        format!("http://{silent}/facts"),
    ] {
        let cache = url.rsplit(':').next().unwrap().replace('/', "-");
        let key = case.path("key");
        fs::write(&key, "0123456789abcdef").unwrap();
        let arguments = ["--cache", &url, "--cache-key", key.to_str().unwrap()];
        let run = case.run(&cache, &arguments);
        assert!(run.is_read());
        assert_eq!(run.remarks.lines().count(), 1, "{}", run.remarks);
        assert!(run.remarks.contains("127.0.0.1") && !run.remarks.contains("pass-word"));
        // Its own directory still serves.
        assert!(case.run(&cache, &arguments).is_cached());
    }
}
