//! Truncated and forged images: an error or an answer, never a panic, and never without end.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use imgcheck::{Error, ErrorCode};
use testkit::sif::OVERLAY;

use super::*;

fn check(path: &Path, bytes: &[u8]) -> imgcheck::Result<()> {
    fs::write(path, bytes).unwrap();
    static CHECKER: LazyLock<Checker> = LazyLock::new(|| Checker::builder().build().unwrap());
    let request = ImageRequest::new(path.display().to_string());
    CHECKER.facts(&request).map(|_| ())
}

fn problem(error: Error) -> String {
    assert_eq!(error.exit_code(), 3);
    error.to_string()
}

/// Small, so that a change of any byte matters.
fn small(at: &Path) -> Vec<u8> {
    let root = at.join("small");
    write(&root, "etc/os-release", "ID=debian\n");
    write(&root, "etc/rc", RC);
    write(&root, "usr/lib/deep/er/x.sh", "#!/bin/sh\n");
    symlink("er", root.join("usr/lib/deep/link")).unwrap();
    let image = at.join("small.sqsh");
    squash(&root, &image, &["-comp", "zstd"]);
    fs::read(image).unwrap()
}

#[test]
fn a_truncated_image_is_an_error_wherever_it_ends() {
    if !tool("mksquashfs") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("image");
    let whole = small(scratch.path());
    check(&path, &whole).unwrap();
    let used = u64::from_le_bytes(whole[40..48].try_into().unwrap()) as usize;
    for end in [50, 95, 200, used / 2, used - 1] {
        let error = problem(check(&path, &whole[..end]).unwrap_err());
        let is_clear = ["truncated", "not a SquashFS image", "not a tar archive"];
        assert!(is_clear.iter().any(|text| error.contains(text)), "{error}");
    }
    let whole = sif(&[partition(SQUASHFS, PRIMARY, whole)]);
    check(&path, &whole).unwrap();
    for end in [45, 127, 500, 5000] {
        let error = problem(check(&path, &whole[..end]).unwrap_err());
        assert!(error.contains("truncated"), "{end}: {error}");
    }
}

#[test]
fn forged_tables_are_errors_and_never_end_in_a_circle() {
    if !tool("mksquashfs") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("image");
    let root = scratch.path().join("small");
    small(scratch.path());
    // Nothing is compressed, so that every byte of the tables can be forged.
    let image = scratch.path().join("plain.sqsh");
    squash(&root, &image, &["-noI", "-noD", "-noF", "-noX"]);
    let whole = fs::read(image).unwrap();
    let used = u64::from_le_bytes(whole[40..48].try_into().unwrap()) as usize;
    let started = Instant::now();
    for at in 0..used {
        for value in [0, 1, 0x7f, 0xff] {
            let mut forged = whole.clone();
            forged[at] = value;
            if let Err(error) = check(&path, &forged) {
                problem(error);
            }
        }
    }
    assert!(started.elapsed() < Duration::from_secs(120));
}

#[test]
fn partitions_that_are_not_understood_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("image.sif");
    for (objects, expected) in [
        (vec![], "has no partition"),
        (
            vec![partition(3, PRIMARY, vec![0; 100])],
            "encrypted or no SquashFS",
        ),
        (
            vec![partition(1, PRIMARY, vec![]), partition(2, OVERLAY, vec![])],
            "overlay partition",
        ),
    ] {
        let error = check(&path, &sif(&objects)).unwrap_err();
        assert!(matches!(&error, Error::Source(failure) if failure.code == ErrorCode::Unsupported));
        assert!(problem(error).contains(expected), "{expected}");
    }
}
