//! The shared store.

use super::*;

#[test]
fn a_directory_is_shared() {
    let case = Case::new();
    fs::create_dir(case.path("shared")).unwrap();
    let url = format!("file://{}", case.path("shared").display());
    share(&case, &url, |command| command);
    // Facts, and that the blob of each has its diff ID.
    assert_eq!(case.files("shared").len(), 4);
    // Damaged entries are ignored and replaced.
    for path in case.files("shared") {
        fs::write(path, "damaged").unwrap();
    }
    let third = case.run("third", &["--cache", &url]);
    assert!(third.is_read() && third.remarks.is_empty());
    assert!(case.run("fourth", &["--cache", &url]).is_cached());
}

#[test]
fn an_image_of_a_registry_is_read_with_a_shared_cache() {
    let case = Case::new();
    fs::create_dir(case.path("shared")).unwrap();
    let url = format!("file://{}", case.path("shared").display());
    let server = crate::samples::content().serve();
    let image = server.reference(crate::samples::TAG);
    for cache in ["first", "second"] {
        let mut command = crate::program::imgcheck();
        command.env_remove("IMGCHECK_NO_CACHE");
        command.args(["check", &image, "--cache", &url, "--cache-dir"]);
        let output = command.arg(case.path(cache)).output().unwrap();
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), shown.as_str()), (Some(0), ""));
    }
    assert_eq!(server.count("blobs/"), 4, "each blob once");
}

/// Two machines on one shared cache, the second of which then works without it.
pub fn share(case: &Case, url: &str, environment: impl Fn(&mut Command) -> &mut Command) {
    let run = |cache| Run::of(environment(&mut case.command(cache)).args(["--cache", url]));
    let (first, second) = (run("first"), run("second"));
    assert_eq!((first.remarks.as_str(), second.remarks.as_str()), ("", ""));
    assert!(first.is_read() && second.is_cached());
    assert_eq!(first.report, second.report);
    assert!(case.run("second", &[]).is_cached());
}

#[test]
fn an_entry_that_the_key_did_not_sign_is_not_believed() {
    let case = Case::new();
    let shared = case.path("shared");
    fs::create_dir(&shared).unwrap();
    let url = format!("file://{}", shared.display());
    let run = |cache: &str, key: &str| {
        let mut command = case.command(cache);
        command.args(["--cache", &url, "--cache-key", "env://KEY"]);
        Run::of(command.env("KEY", key))
    };
    const KEY: &str = "0123456789abcdef";
    assert!(run("first", KEY).is_read());
    let signed = run("second", KEY);
    assert!(signed.is_cached() && signed.remarks.is_empty());
    assert!(run("third", "another key of somebody").is_read());
    // That run signed them with its own key.
    assert!(run("fourth", KEY).is_read());

    // A directory that everybody can write to serves only with the key.
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(run("fifth", KEY).is_cached());
    let open = case.run("sixth", &["--cache", &url]);
    assert!(open.is_read());
    assert!(open.remarks.contains("--cache-key"), "{}", open.remarks);
}

#[test]
fn an_invalid_store_is_an_error() {
    let case = Case::new();
    for url in ["nonsense", "ftp://server/facts", "s3://", "/a/directory"] {
        let output = case
            .command("cache")
            .args(["--cache", url])
            .output()
            .unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{url}: {message}");
        assert!(message.contains("s3://BUCKET/PREFIX"), "{message}");
    }
}

#[test]
fn a_directory_that_does_not_exist_is_not_created() {
    let case = Case::new();
    let missing = case.path("missing");
    let url = format!("file://{}", missing.display());
    let output = case
        .command("cache")
        .args(["--cache", &url])
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    let help = format!("help: create it: mkdir -p {}", missing.display());
    assert!(
        error.contains("does not exist") && error.contains(&help),
        "{error}"
    );
    assert!(!missing.exists());
}

#[test]
#[cfg(not(feature = "object-storage"))]
fn a_build_without_object_storage_says_so() {
    let case = Case::new();
    for url in ["s3://bucket/facts", "https://user:pass-word@server/facts"] {
        let mut command = case.command("cache");
        let output = command.args(["--cache", url]).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.contains("--cache: this imgcheck was built without object storage"),
            "{error}"
        );
        assert!(
            error.contains("--features object-storage") && !error.contains("pass-word"),
            "{error}"
        );
    }
}
