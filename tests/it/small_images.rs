//! Small images made on the spot: several platforms, none of the GPU stack, and one clear error for each kind of bad input.

use std::fs;
use std::path::Path;
use testkit::layout;

use serde_json::Value;
use tempfile::tempdir;

use crate::program::{check, failure, faults, imgcheck, only_image, repository, version};

const SAMPLE: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";
const OS_RELEASE: &[u8] =
    b"ID=debian\nVERSION_ID=\"12\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";

/// Fails to read an image with exit code 3, and says each of `words`.
fn unreadable(image: &Path, arguments: &[&str], words: &[&str]) {
    let mut all = vec!["check", image.to_str().unwrap()];
    all.extend(arguments);
    let error = failure(3, &all);
    for word in words {
        assert!(
            error.to_lowercase().contains(&word.to_lowercase()),
            "no {word:?} in: {error}"
        );
    }
}

fn small_image(directory: &Path, files: &[(&str, &[u8])]) {
    let plain = layout::layer(files);
    layout::write(
        directory,
        "debian:12",
        &[(plain.clone(), testkit::gzip(&plain))],
    );
}

#[test]
fn an_unknown_file_is_not_an_image() {
    let directory = tempdir().unwrap();
    let text = directory.path().join("notes.txt");
    fs::write(&text, "not an image\n").unwrap();
    unreadable(&text, &[], &["notes.txt"]);
    let tarball = directory.path().join("source.tar");
    fs::write(&tarball, layout::layer(&[("src/main.c", b"int main;")])).unwrap();
    unreadable(&tarball, &[], &["source.tar"]);
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_exit_code_3() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempdir().unwrap();
    let path = directory.path().join("locked.tar");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    unreadable(&path, &[], &["locked.tar"]);
}

#[test]
fn a_truncated_archive_is_never_a_pass() {
    let whole = fs::read(repository(SAMPLE)).unwrap();
    let directory = tempdir().unwrap();
    let path = directory.path().join("cut.tar");
    for length in [700, whole.len() / 3, whole.len() - 4096] {
        fs::write(&path, &whole[..length]).unwrap();
        unreadable(&path, &[], &["cut.tar"]);
    }
}

#[test]
fn a_plain_layer_that_was_cut_between_two_members_is_never_a_pass() {
    let directory = tempdir().unwrap();
    let whole = layout::layer(&[("etc/os-release", OS_RELEASE), ("etc/motd", b"hello")]);
    let cut = layout::layer(&[("etc/os-release", OS_RELEASE)]);
    let cut = &cut[..1024]; // a header and a block of content
    layout::write(directory.path(), "debian:12", &[(whole, cut.to_vec())]);
    unreadable(directory.path(), &[], &["truncated", "sha256:"]);
}

#[test]
fn a_truncated_gzip_layer_is_never_a_pass() {
    let directory = tempdir().unwrap();
    let plain = layout::layer(&[
        ("etc/os-release", OS_RELEASE),
        ("usr/share/data", &[7; 40_000]),
    ]);
    let packed = testkit::gzip(&plain);
    layout::write(
        directory.path(),
        "debian:12",
        &[(plain, packed[..packed.len() / 2].to_vec())],
    );
    unreadable(directory.path(), &[], &["layer"]);
}

#[test]
fn a_missing_layer_is_named() {
    let directory = tempdir().unwrap();
    let plain = layout::layer(&[("etc/os-release", OS_RELEASE)]);
    let packed = testkit::gzip(&plain);
    layout::write(directory.path(), "debian:12", &[(plain, packed.clone())]);
    fs::remove_file(layout::blob(directory.path(), &packed)).unwrap();
    let digest = testkit::sha256(&packed);
    unreadable(directory.path(), &[], &[&digest["sha256:".len()..][..12]]);
}

#[test]
fn a_layer_with_another_digest_is_refused() {
    let directory = tempdir().unwrap();
    let plain = layout::layer(&[("etc/os-release", OS_RELEASE)]);
    let packed = testkit::gzip(&plain);
    layout::write(directory.path(), "debian:12", &[(plain, packed.clone())]);
    // The time in the gzip header: the size stays, the content too, only the digest tells.
    let mut other = packed.clone();
    other[4] ^= 1;
    fs::write(layout::blob(directory.path(), &packed), other).unwrap();
    unreadable(directory.path(), &[], &["digest"]);
}

#[test]
fn an_unknown_compression_is_named() {
    let directory = tempdir().unwrap();
    let plain = layout::layer(&[("etc/os-release", OS_RELEASE)]);
    layout::write(
        directory.path(),
        "debian:12",
        &[(plain, b"BZh91AY&SY no tar, no gzip, no zstd".to_vec())],
    );
    unreadable(directory.path(), &[], &["compress"]);
}

#[test]
fn a_platform_that_is_not_there_is_named_with_those_that_are() {
    unreadable(
        &repository(SAMPLE),
        &["--platform", "linux/s390x"],
        &["linux/s390x", "linux/amd64"],
    );
}

#[test]
fn one_platform_of_several_is_selected_and_attestations_are_skipped() {
    let directory = tempdir().unwrap();
    let plain = layout::layer(&[("etc/os-release", OS_RELEASE)]);
    let layers = [(plain.clone(), testkit::gzip(&plain))];
    let mut entries: Vec<Value> = ["amd64", "arm64"]
        .map(|architecture| layout::image(directory.path(), architecture, &layers))
        .into();
    let mut attestation = entries[0].clone();
    attestation["platform"] = serde_json::json!({"architecture": "unknown", "os": "unknown"});
    attestation["annotations"] =
        serde_json::json!({"vnd.docker.reference.type": "attestation-manifest"});
    entries.push(attestation);
    layout::write_index(directory.path(), &entries);

    for platform in ["linux/amd64", "linux/arm64"] {
        let (code, report) = check(directory.path(), &["--platform", platform]);
        assert_eq!(
            (code, &only_image(&report)["platform"]),
            (0, &platform.into())
        );
    }
    let (_, report) = check(directory.path(), &["--all-platforms"]);
    let platforms: Vec<&Value> = report["images"]
        .as_array()
        .unwrap()
        .iter()
        .map(|image| &image["platform"])
        .collect();
    assert_eq!(platforms, ["linux/amd64", "linux/arm64"]);
}

#[test]
fn a_broken_elf_file_does_not_end_the_check() {
    let directory = tempdir().unwrap();
    small_image(
        directory.path(),
        &[
            ("etc/os-release", OS_RELEASE),
            ("usr/lib/libcudart.so.12", b"\x7fELF\x02\x01\x01 cut off"),
        ],
    );
    let output = imgcheck()
        .arg("check")
        .arg(directory.path())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{error}");
    assert!(!error.contains("panicked"), "{error}");
    let (_, report) = check(directory.path(), &[]);
    assert_eq!(version(&report, "cuda-runtime"), None);
}

#[test]
fn an_image_without_any_gpu_library_is_checked_and_says_so() {
    let directory = tempdir().unwrap();
    small_image(directory.path(), &[("etc/os-release", OS_RELEASE)]);
    let output = imgcheck()
        .arg("check")
        .arg(directory.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.to_lowercase().contains("no gpu"), "{text}");
    assert!(faults(&check(directory.path(), &[]).1).is_empty());
}

#[test]
fn an_oci_layout_has_two_spellings() {
    let directory = tempdir().unwrap();
    small_image(directory.path(), &[("etc/os-release", OS_RELEASE)]);
    for transport in ["oci:", "oci-dir:", ""] {
        let reference = format!("{transport}{}", directory.path().display());
        assert_eq!(check(Path::new(&reference), &[]).0, 0, "{reference}");
    }
}
