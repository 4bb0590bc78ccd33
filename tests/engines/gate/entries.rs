//! Files in a cache that are not entries, and caches that others can write to.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::case::{Case, Ending, run, run_while};
use testkit::tools::say;

/// A user that no machine has.
const STRANGER: u32 = 54_321;

/// The files of a cache that contain facts, one for each layer.
fn entries(cache: &Path) -> Vec<PathBuf> {
    entries_of(cache, "facts-")
}

fn entries_of(cache: &Path, kind: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache).unwrap();
    let entries = entries.map(|entry| entry.unwrap().path());
    let is_wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(kind)
    };
    let mut entries: Vec<PathBuf> = entries.filter(is_wanted).collect();
    entries.sort();
    entries
}

/// Removes the model of the only image, which is judged without facts otherwise.
fn remove_model(cache: &Path) -> PathBuf {
    let [model] = entries_of(cache, "model-").try_into().unwrap();
    fs::remove_file(&model).unwrap();
    model
}

/// How many layers of a report were not read from their bytes.
fn cached(output: &Output) -> usize {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let layers = report["images"][0]["layers"].as_array().unwrap().iter();
    layers.filter(|layer| layer["cached"] == true).count()
}

#[test]
fn an_invalid_entry_is_ignored_without_waiting() {
    let case = Case::new(4096);
    let cache = case.path("cache");
    run(&mut case.cached(&cache));
    let all = entries(&cache).len();
    assert_eq!(cached(&run(&mut case.cached(&cache))), all);
    type Kind = (&'static str, fn(&Path));
    let kinds: [Kind; 6] = [
        ("removed", |_| ()),
        ("fifo", |path| {
            testkit::tools::run("mkfifo", &[path.to_str().unwrap()]);
        }),
        ("endless", |path| symlink("/dev/zero", path).unwrap()),
        ("link to another entry", |path| {
            let other = entries(path.parent().unwrap());
            symlink(&other[0], path).unwrap();
        }),
        ("link in a circle", |path| symlink(path, path).unwrap()),
        ("huge", |path| {
            fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
        }),
    ];
    for (kind, make) in kinds {
        let entry = entries(&cache).pop().unwrap();
        fs::remove_file(&entry).unwrap();
        make(&entry);
        remove_model(&cache);
        let output = run(&mut case.cached(&cache));
        assert_eq!(case.ending(&output), Ending::Whole, "{kind}");
        assert_eq!(cached(&output), all - 1, "{kind}");
        // It was replaced.
        assert_eq!(cached(&run(&mut case.cached(&cache))), all, "{kind}");
        make(&remove_model(&cache));
        let output = run(&mut case.cached(&cache));
        assert_eq!(case.ending(&output), Ending::Whole, "{kind}: model");
        assert_eq!(cached(&output), all, "{kind}: model");
    }
}

/// Facts have a checksum but no signature: whoever can write them decides the facts of a layer.
#[test]
fn a_cache_that_others_can_write_is_not_believed() {
    let case = Case::new(4096);
    let cache = case.path("cache");
    run(&mut case.cached(&cache));
    let all = entries(&cache).len();
    let refused = |says: &str| {
        let output = run(&mut case.cached(&cache));
        assert_eq!(case.ending(&output), Ending::Whole);
        assert_eq!(cached(&output), 0, "{says}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(says) && said.lines().count() == 1, "{said}");
    };
    let mode = |path: &Path, mode: u32| fs::set_permissions(path, Permissions::from_mode(mode));
    for open in [0o777, 0o1777, 0o702] {
        mode(&cache, open).unwrap();
        refused("everybody can write to it");
    }
    // A group is whom the user lets in.
    mode(&cache, 0o2770).unwrap();
    assert_eq!(cached(&run(&mut case.cached(&cache))), all);
    mode(&entries(&cache)[0], 0o666).unwrap();
    remove_model(&cache);
    assert_eq!(cached(&run(&mut case.cached(&cache))), all - 1);
    if chown(&cache, Some(STRANGER), None).is_err() {
        say(format_args!(
            "skipped: a directory of another user needs root"
        ));
        return;
    }
    refused("it belongs to another user (UID 54321)");
}

#[test]
fn a_cache_may_be_named_by_a_link_and_must_be_a_directory() {
    let case = Case::new(4096);
    let (cache, link) = (case.path("cache"), case.path("link"));
    run(&mut case.cached(&cache));
    symlink(&cache, &link).unwrap();
    let all = entries(&cache).len();
    assert_eq!(cached(&run(&mut case.cached(&link))), all);
    let fifo = case.path("fifo");
    testkit::tools::run("mkfifo", &[fifo.to_str().unwrap()]);
    let file = case.path("file");
    fs::write(&file, "").unwrap();
    for no_directory in [fifo, file, "/dev/null".into(), "/dev/zero".into()] {
        let output = run(&mut case.cached(&no_directory));
        assert_eq!(case.ending(&output), Ending::Whole, "{no_directory:?}");
        assert_eq!(cached(&output), 0);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("nothing is written to the cache"), "{said}");
    }
}

/// Other runs can remove the least recently used entries at any time.
#[test]
fn an_entry_removed_during_use_is_recomputed() {
    let case = Case::new(4096);
    let cache = case.path("cache");
    for _ in 0..6 {
        run(&mut case.cached(&cache));
        let output = run_while(&mut case.cached(&cache), Duration::ZERO, || {
            for entry in entries(&cache) {
                let _ = fs::remove_file(entry);
                thread::sleep(Duration::from_millis(5));
            }
        });
        assert_eq!(case.ending(&output), Ending::Whole);
    }
}
