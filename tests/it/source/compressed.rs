//! Archives that are compressed as a whole.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use imgcheck::{Checker, Error, ImageFacts, ImageRequest, Limit};

use super::*;
const SAMPLE: &str = "testdata/sample/pytorch-cuda-v2.9.tar";

fn facts(path: &Path) -> imgcheck::Result<ImageFacts> {
    let checker = Checker::builder().build()?;
    checker.facts(&ImageRequest::new(path.display().to_string()))
}

fn json(path: &Path) -> String {
    facts(path).unwrap().to_json().unwrap()
}

#[test]
fn a_compressed_archive_has_the_facts_of_the_archive() {
    let place = Place::new();
    let plain = fs::read(SAMPLE).unwrap();
    let expected = json(Path::new(SAMPLE));
    let half = plain.len() / 2;
    let two_members = [testkit::gzip(&plain[..half]), testkit::gzip(&plain[half..])].concat();
    for (name, bytes) in [
        ("x.tar.gz", testkit::gzip(&plain)),
        ("two.tgz", two_members),
        ("x.tar.zst", testkit::zstd(&plain)),
    ] {
        let path = place.path(name);
        fs::write(&path, bytes).unwrap();
        assert!(json(&path) == expected, "{name}");
    }
    let layout = testkit::tar(&oci_layout(&[small("x:1")], Compression::Gzip, false));
    let (path, compressed) = (place.path("oci.tar"), place.path("oci.tar.gz"));
    fs::write(&compressed, testkit::gzip(&layout)).unwrap();
    fs::write(&path, layout).unwrap();
    assert_eq!(json(&compressed), json(&path));
    let named = format!("oci-archive:{}:x:1", compressed.display());
    let checker = Checker::builder().build().unwrap();
    let named = checker.facts(&ImageRequest::new(named)).unwrap();
    assert_eq!(named.to_json().unwrap(), json(&path));
}

#[test]
fn a_compressed_archive_comes_from_standard_input_in_small_pieces() {
    let compressed = testkit::gzip(&fs::read(SAMPLE).unwrap());
    let mut check = std::process::Command::new(env!("CARGO_BIN_EXE_imgcheck"))
        .args(["check", "-", "--format", "json", "--no-cache"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = check.stdin.take().unwrap();
    let (first, rest) = compressed.split_at(1);
    input.write_all(first).unwrap();
    input.flush().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    input.write_all(rest).unwrap();
    drop(input);
    let output = check.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["images"][0]["source"], "docker-archive");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_truncated_or_damaged_archive_is_an_error_wherever_it_ends() {
    let place = Place::new();
    let path = place.path("cut.tar.gz");
    let mut items = docker_archive(&[small("x:1")]);
    // Bytes that cannot be compressed, so that every part of the archive is in the file.
    items.push(file("noise", noise()));
    let tar = testkit::tar(&items);
    for whole in [testkit::gzip(&tar), checked_zstd(&tar)] {
        let cuts = [600, whole.len() / 3, whole.len() - 9, whole.len() - 1];
        for cut in cuts {
            fs::write(&path, &whole[..cut]).unwrap();
            let problem = problem(facts(&path).map(|_| Vec::new()), &path);
            let end = format!("ends too early, after {cut} bytes");
            assert!(
                problem.contains("truncated") && problem.contains(&end),
                "{cut}: {problem}"
            );
        }
        for at in [whole.len() / 2, whole.len() - 3] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            let problem = problem(facts(&path).map(|_| Vec::new()), &path);
            assert!(
                problem.contains("cannot be decompressed"),
                "{at}: {problem}"
            );
        }
        fs::write(&path, whole).unwrap();
        facts(&path).unwrap();
    }
}

#[test]
fn an_archive_that_decompresses_without_end_exceeds_a_limit() {
    let place = Place::new();
    let path = place.path("bomb.tar.zst");
    let mut header = tar::Header::new_gnu();
    header.set_path("zeros").unwrap();
    header.set_size(1 << 40);
    header.set_cksum();
    let mut bomb = testkit::zstd(header.as_bytes());
    let frame = testkit::zstd(&vec![0; 64 << 20]);
    (0..8).for_each(|_| bomb.extend(&frame));
    fs::write(&path, bomb).unwrap();
    let limits = [(Limit::LayerBytes, 128 << 20)];
    let checker = Checker::builder().limits(limits).build().unwrap();
    let error = checker.facts(&ImageRequest::new(path.display().to_string()));
    match error.unwrap_err() {
        Error::Limit { exceeded, .. } => assert_eq!(exceeded.limit, Limit::LayerBytes),
        error => panic!("{error}"),
    }
}

#[test]
fn other_compressions_say_how_to_decompress_them() {
    let place = Place::new();
    let path = place.path("image.tar.xz");
    fs::write(&path, b"\xfd7zXZ\0 and so on").unwrap();
    assert!(problem(open(&path), &path).contains("compressed as a whole with xz"));
    let help = open(&path).unwrap_err().to_string();
    assert!(help.contains("xz -dc ARCHIVE | imgcheck -"), "{help}");
    fs::write(&path, testkit::gzip(b"no archive")).unwrap();
    let found = problem(facts(&path).map(|_| Vec::new()), &path);
    assert_eq!(found, "not an image: not a tar archive");
}

/// One frame with a checksum, as the command `zstd` writes it.
fn checked_zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn noise() -> Vec<u8> {
    let mut state = 1_u64;
    let bytes = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    });
    bytes.take(200_000).collect()
}
