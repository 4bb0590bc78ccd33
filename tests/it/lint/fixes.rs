//! `imgcheck lint --fix`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::tempdir;

use crate::program::lint;

#[test]
fn what_cannot_be_wrong_is_fixed_and_the_rest_is_reported() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("Dockerfile");
    let before = "FROM python:3.12\r\nENV LD_LIBRARY_PATH=/opt/a:$LD_LIBRARY_PATH\r\nENV X=1\nRUN pip install torch==2.8.0 torchvision==0.20.0\n";
    fs::write(&file, before).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let (code, text, error) = lint(directory.path(), &["Dockerfile"]);
    assert_eq!(code, 1, "{error}");
    assert!(text.contains("lint-empty-search-path"), "{text}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    symlink("Dockerfile", directory.path().join("gpu.Dockerfile")).unwrap();
    let (code, text, error) = lint(directory.path(), &["--fix", "gpu.Dockerfile"]);
    assert_eq!(code, 1, "{error}");
    assert!(!text.contains("lint-empty-search-path"), "{text}");
    assert!(text.contains("lint-pin-conflict"), "{text}");
    let line = "ENV LD_LIBRARY_PATH=/opt/a${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}";
    assert!(
        error.contains(&format!(
            "fixed gpu.Dockerfile:2 (lint-empty-search-path):\n- ENV LD_LIBRARY_PATH=/opt/a:$LD_LIBRARY_PATH\n+ {line}\n"
        )),
        "{error}"
    );
    let after = before.replace("ENV LD_LIBRARY_PATH=/opt/a:$LD_LIBRARY_PATH", line);
    assert_eq!(fs::read_to_string(&file).unwrap(), after);
    assert!(directory.path().join("gpu.Dockerfile").is_symlink());
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn empty_elements_are_removed_one_by_one() {
    for (before, after) in [
        ("/a::/b", "/a:/b"),
        ("\"/a::/b\"", "\"/a:/b\""),
        ("/a:\\\n/b:", "/a:\\\n/b"),
        (":/a", "/a"),
        ("::/a:::/b::", "/a:/b"),
        (
            "/a:${LD_LIBRARY_PATH}",
            "/a${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
        ),
        (
            "$LD_LIBRARY_PATH:/a",
            "${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/a",
        ),
    ] {
        let directory = tempdir().unwrap();
        let file = directory.path().join("Dockerfile");
        let text = |value: &str| format!("FROM ubuntu:22.04\nENV LD_LIBRARY_PATH={value}\n");
        fs::write(&file, text(before)).unwrap();
        let (code, shown, error) = lint(directory.path(), &["--fix", "--fail-on", "note", "."]);
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            text(after),
            "{before}: {error}"
        );
        assert_eq!(code, 0, "{before}: {shown}{error}");
    }
}

#[test]
fn what_may_mean_something_else_is_left_alone() {
    for value in ["/a\\:", "'/a:$LD_LIBRARY_PATH'", "'/a::/b'"] {
        let directory = tempdir().unwrap();
        let file = directory.path().join("Dockerfile");
        let text = format!("FROM ubuntu:22.04\nENV LD_LIBRARY_PATH={value}\n");
        fs::write(&file, &text).unwrap();
        lint(directory.path(), &["--fix", "Dockerfile"]);
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn ignored_findings_and_standard_input_are_left_alone() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("Dockerfile");
    let text = "FROM ubuntu:22.04\n# imgcheck: ignore[lint-empty-search-path] wanted\nENV LD_LIBRARY_PATH=/a:\n";
    fs::write(&file, text).unwrap();
    assert_eq!(lint(directory.path(), &["--fix", "Dockerfile"]).0, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}
