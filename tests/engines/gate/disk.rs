//! File systems that are full or take nothing, and readers that go away.

use std::fs;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;

use super::case::{Case, Ending, FOUND, MISLABELLED, check, check_by, program, run};
use testkit::disk::Disk;

/// A file system of a few pages, and the directory in which it is.
fn mount() -> Option<(TempDir, Disk)> {
    let place = tempfile::tempdir().unwrap();
    let disk = Disk::mount(place.path(), "16k")?;
    Some((place, disk))
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_full_or_unwritable_cache_changes_no_verdict() {
    let Some((_place, small)) = mount() else {
        return;
    };
    let case = Case::new(4096);
    let cache = small.path().join("cache");
    // More than one entry does not fit; then not even the directory; then nothing may be written.
    for at in 0..4 {
        match at {
            2 => small.fill(),
            3 => small.remount("ro"),
            _ => {}
        }
        let output = run(&mut case.cached(&cache));
        assert_eq!(case.ending(&output), Ending::Whole, "{at}");
        let said = error(&output);
        assert!(
            said.contains("nothing is written to the cache"),
            "{at}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn a_full_directory_for_temporary_files_is_not_needed() {
    let Some((_place, small)) = mount() else {
        return;
    };
    small.fill();
    let case = Case::new(4096);
    for directory in [small.path(), Path::new("/absent"), Path::new("/dev/null")] {
        let output = run(case.command().env("TMPDIR", directory));
        assert_eq!(case.ending(&output), Ending::Whole, "{directory:?}");
    }
}

#[test]
fn a_report_that_does_not_fit_is_an_error_and_no_half_report() {
    let Some((_place, small)) = mount() else {
        return;
    };
    let path = small.path().join("report");
    let shown = path.to_str().unwrap();
    for format in ["json", "sarif", "html"] {
        // One page is left: less than any of them needs, but more than nothing.
        let filler = small.path().join("filler");
        fs::write(&filler, vec![1; 12 << 10]).unwrap();
        let destination = format!("{format}={shown}");
        let output = run(&mut check(&[MISLABELLED, "-o", &destination]));
        let said = error(&output);
        assert_eq!(output.status.code(), Some(3), "{format}: {said}");
        assert!(said.contains("No space left"), "{format}: {said}");
        assert_eq!(path.metadata().unwrap().len(), 0, "{format}");
        fs::remove_file(&path).unwrap();
    }
    small.fill();
    let output = run(&mut check(&[MISLABELLED, "--write-baseline", shown]));
    assert_eq!(output.status.code(), Some(3), "{}", error(&output));
    assert!(fs::read(&path).unwrap_or_default().is_empty());
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    for format in [
        "text", "json", "sarif", "junit", "github", "gitlab", "markdown",
    ] {
        let output = run(check(&[MISLABELLED, "-f", format]).stdout(full()));
        assert_eq!(output.status.code(), Some(3), "{format}");
        assert!(error(&output).contains("standard output: No space left"));
    }
    let output = run(&mut check(&[MISLABELLED, "-o", "json=/dev/full"]));
    assert_eq!(output.status.code(), Some(3));
    let place = tempfile::tempdir().unwrap();
    let directory = format!("json={}", place.path().display());
    let output = run(&mut check(&[MISLABELLED, "-o", &directory]));
    assert_eq!(output.status.code(), Some(3), "{}", error(&output));
}

/// The exit code is the verdict, whoever reads the output.
#[test]
fn who_does_not_listen_changes_no_verdict() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = run(check(&[MISLABELLED]).stdout(writer));
    assert_eq!(output.status.code(), Some(FOUND));
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = run(check(&[MISLABELLED, "absent.tar"]).stderr(full));
    assert_eq!(output.status.code(), Some(3));
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let script = format!("exec \"$@\" {closed}");
        let starter = ["sh", "-c", &script, "sh", program()];
        let output = run(&mut check_by(&starter, &[MISLABELLED]));
        assert_eq!(output.status.code(), Some(FOUND), "{closed}");
    }
}
