//! Files whose text matters because of links.

use std::path::Path;

use imgcheck::{Checker, ImageFacts, ImageRequest};
use serde_json::Value;
use testkit::{
    Compression, Image, Item, directory, docker_archive, file, hard_link, oci_layout, symlink,
    write_archive, write_directory,
};

use crate::program;

const LOWER: &str = "data";

fn image() -> Image {
    let lower = [
        file("data/release", "ID=debian\nVERSION_ID=\"12\"\n"),
        file("data/preload", "/opt/evil.so\n"),
        file("data/conf.d/one.conf", "/opt/lib\n"),
        file("data/torch/version.py", "__version__ = '2.8.0'\n"),
        file("data/code/version.txt", "not wanted here"),
        file("data/meta", "Name: torch\nVersion: 2.8.0\n"),
        file("data/other", "x"),
        directory("etc"),
        symlink("alias", "etc"),
        file("alias/ld.so.conf", "include ld.so.conf.d/*.conf\n"),
        file("data/cache", vec![0xff, 0]),
        hard_link("etc/ld.so.cache", "data/cache"),
    ];
    let upper = [
        symlink("etc/os-release", "../data/release"),
        symlink("etc/ld.so.preload", "/data/chain"),
        symlink("data/chain", "preload"),
        symlink("etc/ld.so.conf.d", "/data/conf.d"),
        symlink("usr/lib/python3/site-packages/torch", "/data/torch"),
        symlink("opt/x/torch", "../../data/code"),
        symlink(
            "usr/lib/python3/site-packages/torch-2.8.0.dist-info/METADATA",
            "/data/meta",
        ),
        symlink("etc/other", "../data/other"),
        symlink("etc/dangling/os-release", "/nowhere"),
        symlink("etc/loop", "loop"),
    ];
    Image::new("x:1", &[&lower, &upper])
}

fn facts(path: &Path) -> ImageFacts {
    let checker = Checker::builder().build().unwrap();
    let request = ImageRequest::new(path.display().to_string());
    checker.facts(&request).unwrap()
}

/// The files of the image whose content was captured.
fn captured(facts: &ImageFacts) -> Vec<(String, String)> {
    let facts: Value = serde_json::from_str(&facts.to_json().unwrap()).unwrap();
    let layers = facts["layers"].as_array().unwrap().iter();
    let entries = layers.flat_map(|layer| layer["facts"]["entries"].as_array().unwrap());
    let mut captured: Vec<(String, String)> = entries
        .filter_map(|entry| {
            let content = &entry["kind"]["File"];
            let content = content.get("Text").or(content.get("Bytes"))?;
            let path = entry["path"].as_str().unwrap().to_owned();
            Some((path, content.to_string()))
        })
        .collect();
    captured.sort();
    captured
}

fn stored(scratch: &Path, items: &[Item], name: &str) -> std::path::PathBuf {
    let path = scratch.join(name);
    write_archive(&path, items);
    path
}

#[test]
fn a_text_is_read_wherever_links_lead() {
    let scratch = tempfile::tempdir().unwrap();
    let image = image();
    let plain = stored(
        scratch.path(),
        &docker_archive(std::slice::from_ref(&image)),
        "plain.tar",
    );
    let expected = facts(&plain);
    let captured = captured(&expected);
    let paths: Vec<&str> = captured.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "alias/ld.so.conf",
            "data/cache",
            "data/conf.d/one.conf",
            "data/meta",
            "data/preload",
            "data/release",
            "data/torch/version.py",
        ]
    );
    assert_eq!(captured[1].1, "[255,0]");
    assert_eq!(captured[4].1, r#""/opt/evil.so\n""#);
    for compression in [Compression::Plain, Compression::Gzip, Compression::Zstd] {
        let items = oci_layout(std::slice::from_ref(&image), compression, false);
        let archive = stored(scratch.path(), &items, "oci.tar");
        assert!(facts(&archive) == expected, "{compression:?}");
    }
}

#[test]
fn the_second_pass_is_cached() {
    let scratch = tempfile::tempdir().unwrap();
    let items = oci_layout(&[image()], Compression::Gzip, false);
    let archive = stored(scratch.path(), &items, "oci.tar");
    let cache = imgcheck::CacheOptions {
        directory: Some(scratch.path().join("cache")),
        ..imgcheck::CacheOptions::default()
    };
    let read = || {
        let checker = Checker::builder().cache(cache.clone()).build().unwrap();
        let request = ImageRequest::new(archive.display().to_string());
        checker.facts(&request).unwrap()
    };
    let expected = facts(&archive);
    for _ in 0..2 {
        assert!(read() == expected);
    }
}

#[test]
fn a_directory_is_read_through_its_links() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join(LOWER);
    write_directory(
        &root,
        &[
            file("data/release", "ID=debian\n"),
            symlink("etc/os-release", "../data/release"),
        ],
    );
    let request = format!("dir:{}", root.display());
    let checker = Checker::builder().build().unwrap();
    let facts = checker.facts(&ImageRequest::new(request)).unwrap();
    assert_eq!(
        captured(&facts),
        [("data/release".to_owned(), r#""ID=debian\n""#.to_owned())]
    );
}

#[test]
fn a_stream_that_cannot_be_read_again_is_not_a_pass() {
    let bytes = testkit::tar(&docker_archive(&[image()]));
    let mut command = program::imgcheck();
    let output = command.args(["check", "-"]).write_stdin(bytes).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(3));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("cannot be read again"), "{message}");
}
