//! Archives and blobs of which the end is missing.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::thread;

use serde_json::json;

use super::case::{Case, Ending, check, ending, essence, image, run};
use testkit::{Compression, docker_archive, file, oci_layout, tar};

/// Where an archive is cut: all over it, and at and around each block near its end.
fn cuts(length: usize) -> Vec<usize> {
    let all_over = (0..12).map(|at| length * at / 12);
    let near_the_end = [1, 511, 512, 513, 1023, 1024, 1025, 1536, 2048, 10_240];
    all_over
        .chain(near_the_end.map(|less| length - less))
        .collect()
}

#[test]
fn an_archive_truncated_anywhere_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("image.tar");
    let image = image(4096);
    let archives = [
        docker_archive(std::slice::from_ref(&image)),
        oci_layout(std::slice::from_ref(&image), Compression::Gzip, false),
        oci_layout(&[image], Compression::Zstd, false),
    ];
    for items in archives {
        let bytes = tar(&items);
        let file_of = |length: usize| {
            fs::write(&path, &bytes[..length]).unwrap();
            run(&mut check(&[path.to_str().unwrap()]))
        };
        let expected = essence(&file_of(bytes.len()));
        for cut in cuts(bytes.len()) {
            let at_rest = ending(&file_of(cut), &expected);
            let piped = ending(&pipe(&bytes[..cut]), &expected);
            for ending in [at_rest, piped] {
                let Ending::Failed(said) = ending else {
                    panic!("whole at {cut} of {}", bytes.len());
                };
                assert!(said.contains("error: "), "{cut}: {said}");
            }
        }
        assert_eq!(ending(&pipe(&bytes), &expected), Ending::Whole);
    }
}

/// A check of an archive on the standard input, which ends there.
fn pipe(bytes: &[u8]) -> std::process::Output {
    let mut command = check(&["-"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    thread::scope(|scope| {
        // A program that has seen enough does not read on.
        scope.spawn(move || drop(input.write_all(bytes)));
        child.wait_with_output().unwrap()
    })
}

/// An archive may name a file twice, and the last one counts: cut off before it, it would be another image.
#[test]
fn an_archive_truncated_between_members_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("image.tar");
    let mut items = docker_archive(&[image(4096)]);
    let whole = tar(&items).len();
    let other = json!([{"Config": "absent.json", "RepoTags": ["other:1"], "Layers": []}]);
    items.push(file("manifest.json", other.to_string()));
    fs::write(&path, &tar(&items)[..whole - 1024]).unwrap();
    let output = run(&mut check(&[path.to_str().unwrap()]));
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(
        error.contains("truncated: the archive has no end marker"),
        "{error}"
    );
}

#[test]
fn a_truncated_blob_is_an_error() {
    let case = Case::new(4096);
    let layer = &case.layers()[0];
    let bytes = fs::read(layer).unwrap();
    for cut in cuts(bytes.len()) {
        fs::write(layer, &bytes[..cut]).unwrap();
        let Ending::Failed(said) = case.ending(&run(&mut case.command())) else {
            panic!("{cut} of {}", bytes.len());
        };
        assert!(said.contains("damaged"), "{said}");
    }
}
