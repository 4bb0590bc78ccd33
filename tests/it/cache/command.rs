//! `imgcheck cache`.

use super::*;

/// `imgcheck cache` on a directory.
fn cache_command(directory: &Path, arguments: &[&str]) -> String {
    let mut command = program::imgcheck();
    command
        .arg("cache")
        .args(arguments)
        .arg("--cache-dir")
        .arg(directory);
    let output = command.output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), message.as_str()), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_cache_is_shown_and_emptied() {
    let case = Case::new();
    case.run("cache", &[]);
    case.run("cache", &["--deep"]);
    let directory = case.path("cache");
    fs::write(directory.join("notes.txt"), "not ours").unwrap();
    let cache = cache(&directory, u64::MAX);
    let (key, bytes) = document(1, 100);
    cache.put(&key, &bytes);
    let version = "0123456789abcdef".to_owned();
    let diff_id = sha256(b"layer");
    cache.put(&Key::Facts { diff_id, version }, b"facts");

    let info: Value =
        serde_json::from_str(&cache_command(&directory, &["info", "-f", "json"])).unwrap();
    let counts = ["total", "facts", "stale", "documents"].map(|it| info[it]["entries"].clone());
    assert_eq!(counts, [10, 4, 1, 1]);
    assert_eq!(info["directory"], directory.to_str().unwrap());
    assert_eq!(info["limit"], 2_000_000_000);
    let sum: u64 = cache.list().unwrap().iter().map(|entry| entry.bytes).sum();
    assert_eq!(info["total"]["bytes"], sum);
    assert!(cache_command(&directory, &["info"]).contains("10 entries"));

    let removed = |arguments: &[&str]| cache_command(&directory, arguments);
    assert!(removed(&["clean", "--older-than", "1"]).starts_with("removed 0 entries"));
    assert!(removed(&["clean", "--stale"]).starts_with("removed 1 entry"));
    let kinds = cache.list().unwrap().into_iter().map(|entry| entry.kind);
    assert_eq!(
        kinds
            .filter(|kind| *kind == CacheEntryKind::Document)
            .count(),
        1
    );
    assert!(removed(&["clean"]).starts_with("removed 9 entries"));
    assert!(directory.join("notes.txt").exists());
    assert!(removed(&["clean"]).starts_with("removed 0 entries"));
    assert!(cache_command(&case.path("nowhere"), &["info"]).contains("0 entries"));
}

#[test]
fn an_unreadable_directory_is_an_error_of_the_command() {
    let case = Case::new();
    fs::write(case.path("file"), "no directory").unwrap();
    let mut command = program::imgcheck();
    command
        .args(["cache", "info", "--cache-dir"])
        .arg(case.path("file"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stderr).unwrap().contains("file"));
}
