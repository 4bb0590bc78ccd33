//! A queue on a disk that is full or takes nothing, and clocks that jump, while the gate runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testkit::disk::Disk;
use testkit::tools::tool;

use super::images::{ENFORCE, create, image, pod, registry};
use super::queue::{many, reviews};
use super::server::{Home, Server};

/// A server whose state is on a small disk, which is dropped last.
fn server() -> Option<(Disk, Server)> {
    let home = Home::new(ENFORCE);
    std::fs::create_dir(home.path("state")).unwrap();
    let disk = Disk::mount(&home.path("state"), "4m")?;
    Some((disk, Server::start(&home, &[])))
}

fn allowed(response: &Value) -> bool {
    response["allowed"].as_bool().unwrap()
}

#[test]
fn a_full_disk_is_said_and_never_a_pass_and_ends_with_the_cause() {
    let Some((disk, server)) = server() else {
        return;
    };
    let (healthy, (others, _)) = (registry(), many(2));
    let known = create(&pod(&image(&healthy)));
    let others = reviews(&others, 2, 2);
    let response = server.validate_read(&known);
    assert!(allowed(&response), "{response}");
    disk.fill();
    // What is known is answered; what is not is not let through.
    assert!(allowed(&server.validate(&known)));
    let response = server.validate(&others[0]);
    assert!(!allowed(&response), "{response}");
    server.wait_for("the error", |it| {
        it.has_logged("the queue cannot be written") && it.has_logged("No space left on device")
    });
    assert_eq!(server.get("/readyz").status, 503);
    std::fs::remove_file(disk.path().join("filler")).unwrap();
    server.validate_read(&others[1]);
    server.wait_for("health", |it| it.get("/readyz").status == 200);
    assert!(allowed(&server.validate(&known)));
}

#[test]
fn a_disk_that_takes_nothing_is_an_error_at_the_start() {
    let Some((disk, server)) = server() else {
        return;
    };
    let home = server.home.clone();
    drop(server);
    disk.remount("ro");
    let error = home.failure(&[]);
    assert!(
        error.contains("Read-only file system") && error.contains("--state"),
        "{error}"
    );
}

/// The library that `faketime` loads into programs.
fn library() -> PathBuf {
    let directories = ["x86_64-linux-gnu", "aarch64-linux-gnu"];
    let paths = directories.map(|it| format!("/usr/lib/{it}/faketime/libfaketimeMT.so.1"));
    let mut paths = paths.iter().map(Path::new);
    let found = paths.find(|it| it.exists());
    found.expect("faketime without its library").to_owned()
}

#[test]
fn a_clock_that_jumps_changes_no_verdict() {
    if !tool("faketime") {
        return;
    }
    let home = Home::new(ENFORCE);
    home.write("clock", "+0d");
    let (library, clock) = (library(), home.path("clock"));
    let environment = [
        ("LD_PRELOAD", library.to_str().unwrap()),
        ("FAKETIME_TIMESTAMP_FILE", clock.to_str().unwrap()),
        ("FAKETIME_NO_CACHE", "1"),
        // Only the clock on the wall jumps: faketime does not know how the threads of Rust wait.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let server = Server::start_in(&home, &[], &environment);
    let (healthy, (others, _)) = (registry(), many(3));
    let known = create(&pod(&image(&healthy)));
    assert!(allowed(&server.validate_read(&known)));
    let others = reviews(&others, 3, 3);
    for (shift, new) in ["+400d", "-400d", "+0d"].into_iter().zip(&others) {
        home.write("clock", shift);
        assert!(allowed(&server.validate_read(&known)), "{shift}");
        let response = server.validate_read(new);
        assert!(!allowed(&response), "{shift}: {response}");
        let mut date = Command::new("date");
        date.args(["-u", "+%Y-%m", "-d", &format!("{shift}ays")]);
        let month = String::from_utf8(date.output().unwrap().stdout).unwrap();
        let stamp = format!("\"timestamp\":\"{}", month.trim());
        assert!(
            server.has_logged(&stamp),
            "the clock did not jump to {month}"
        );
    }
}
