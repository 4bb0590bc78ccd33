//! Opening images in every storage, and the errors for damaged ones.

use std::fs;
use std::path::{Path, PathBuf};

use imgcheck::internals::error::Error;
use imgcheck::internals::reference::transport::ImageReference;
use imgcheck::internals::source::{self, Request, SourceKind};
use serde_json::{Value, json};
use testkit::{
    Compression, Image, Item, blob, docker_archive, file, oci_layout, symlink, write_archive,
    write_directory,
};

fn small(reference: &str) -> Image {
    Image::new(
        reference,
        &[
            &[file("etc/os-release", "ID=debian\n")],
            &[file("a", reference)],
        ],
    )
}

fn for_architecture(architecture: &str) -> Image {
    Image {
        architecture: architecture.to_owned(),
        ..small("x:1")
    }
}

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Place {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn archive(&self, items: &[Item]) -> PathBuf {
        let path = self.path("image.tar");
        write_archive(&path, items);
        path
    }

    fn layout(&self, items: &[Item]) -> PathBuf {
        let path = self.path("layout");
        write_directory(&path, items);
        path
    }
}

fn open(path: &Path) -> imgcheck::internals::error::Result<Vec<source::Image>> {
    source::open(&ImageReference::Path(path.to_owned()), &Request::default())
}

fn open_text(text: &str) -> imgcheck::internals::error::Result<Vec<source::Image>> {
    source::open(&ImageReference::parse(text), &Request::default())
}

fn platform(path: &Path, platform: &str) -> imgcheck::internals::error::Result<Vec<source::Image>> {
    let request = Request {
        platform: Some(platform.to_owned()),
        ..Request::default()
    };
    source::open(&ImageReference::Path(path.to_owned()), &request)
}

fn references(images: &[source::Image]) -> Vec<Option<&str>> {
    images
        .iter()
        .map(|image| image.reference.as_deref())
        .collect()
}

/// The problem of a source error, with the name of the source taken out.
fn problem(result: imgcheck::internals::error::Result<Vec<source::Image>>, path: &Path) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.exit_code(), 3);
    let source = path.display().to_string();
    match error {
        Error::Source(failure) => {
            assert_eq!(failure.subject, source);
            failure.problem
        }
        Error::Limit { subject, exceeded } => {
            assert!(subject.starts_with(&source), "{subject}");
            exceeded.to_string()
        }
        error => panic!("{error:?}"),
    }
}

/// Changes the bytes of one file.
fn change(items: &mut [Item], name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let item = items.iter_mut().find_map(|item| match item {
        Item::File(path, content) if path == name => Some(content),
        _ => None,
    });
    change(item.unwrap());
}

fn change_json(items: &mut [Item], name: &str, with: impl FnOnce(&mut Value)) {
    change(items, name, |bytes| {
        let mut value = serde_json::from_slice(bytes).unwrap();
        with(&mut value);
        *bytes = value.to_string().into_bytes();
    });
}

#[test]
fn every_storage_is_recognised() {
    let image = small("x/y:1");
    let place = Place::new();
    let docker = place.archive(&docker_archive(std::slice::from_ref(&image)));
    let oci = place.layout(&oci_layout(
        std::slice::from_ref(&image),
        Compression::Gzip,
        false,
    ));
    let oci_archive = place.path("oci.tar");
    write_archive(
        &oci_archive,
        &oci_layout(std::slice::from_ref(&image), Compression::Zstd, false),
    );
    let root = place.path("root");
    write_directory(&root, &[file("etc/os-release", "")]);

    let config_digest = imgcheck::internals::digest::sha256(&image.config());
    for (path, kind) in [
        (&docker, SourceKind::DockerArchive),
        (&oci, SourceKind::Oci),
        (&oci_archive, SourceKind::OciArchive),
    ] {
        let images = open(path).unwrap();
        let [found] = &images[..] else {
            panic!("{images:?}")
        };
        assert_eq!(found.kind, kind);
        assert_eq!(found.reference.as_deref(), Some("x/y:1"));
        assert_eq!(found.platform, "linux/amd64");
        assert_eq!(found.config_digest.as_ref(), Some(&config_digest));
        assert_eq!(found.digest.is_some(), kind != SourceKind::DockerArchive);
        assert_eq!(found.layers.len(), 2);
        assert_eq!(
            found.layers[1].diff_id,
            imgcheck::internals::digest::sha256(&image.layers[1])
        );
        assert_eq!(found.config.history().as_ref().unwrap().len(), 2);
    }
    let images = open(&root).unwrap();
    assert_eq!(images[0].kind, SourceKind::Dir);
    assert_eq!(
        (images[0].platform.as_str(), images[0].layers.len()),
        ("", 1)
    );
}

#[test]
fn explicit_transports_open_what_they_name_and_nothing_else() {
    let place = Place::new();
    let docker = place.archive(&docker_archive(&[small("x:1")]));
    let oci = place.layout(&oci_layout(&[small("x:1")], Compression::Plain, false));
    let (docker_text, oci_text) = (docker.display(), oci.display());
    for text in [
        format!("docker-archive:{docker_text}"),
        format!("docker-archive:{docker_text}:x:1"),
        format!("oci:{oci_text}"),
        format!("oci-dir:{oci_text}:x:1"),
        format!("dir:{oci_text}"),
    ] {
        assert_eq!(open_text(&text).unwrap().len(), 1, "{text}");
    }
    assert_eq!(
        problem(open_text(&format!("oci-archive:{docker_text}")), &docker),
        "not an OCI layout: oci-layout is missing"
    );
    assert_eq!(
        problem(open_text(&format!("oci:{docker_text}")), &docker),
        "not a directory"
    );
    assert_eq!(
        problem(open_text(&format!("docker-archive:{oci_text}")), &oci),
        "not a file"
    );
    assert_eq!(
        problem(open_text(&format!("dir:{docker_text}")), &docker),
        "not a directory"
    );
}

#[test]
fn unreadable_input_is_named_with_a_remedy() {
    let error = open_text("containerd:x:1").unwrap_err();
    assert_eq!(error.exit_code(), 3);
    let help = "ctr images export image.tar x:1";
    assert!(error.to_string().contains(help), "{error}");
}

#[test]
fn images_are_chosen_by_any_spelling_of_their_reference() {
    let place = Place::new();
    let path = place.archive(&docker_archive(&[
        small("one:1"),
        small("h.io/two:latest"),
        small("three:3"),
    ]));
    assert_eq!(
        references(&open(&path).unwrap()),
        [Some("one:1"), Some("h.io/two:latest"), Some("three:3")]
    );
    for (name, found) in [
        ("docker.io/library/one:1", "one:1"),
        ("h.io/two", "h.io/two:latest"),
        ("three:3", "three:3"),
    ] {
        let images = open_text(&format!("docker-archive:{}:{name}", path.display())).unwrap();
        assert_eq!(references(&images), [Some(found)]);
    }
    let missing = open_text(&format!("docker-archive:{}:four", path.display()));
    assert_eq!(
        problem(missing, &path),
        "image four not found; it contains one:1, h.io/two:latest, three:3"
    );
}

#[test]
fn an_image_with_two_tags_is_given_for_each() {
    let place = Place::new();
    let mut items = docker_archive(&[small("one:1")]);
    change_json(&mut items, "manifest.json", |manifest| {
        manifest[0]["RepoTags"] = json!(["one:1", "one:latest"])
    });
    assert_eq!(
        references(&open(&place.archive(&items)).unwrap()),
        [Some("one:1"), Some("one:latest")]
    );
    change_json(&mut items, "manifest.json", |manifest| {
        manifest[0]["RepoTags"] = Value::Null
    });
    assert_eq!(references(&open(&place.archive(&items)).unwrap()), [None]);
}

#[test]
fn layers_that_are_links_to_equal_ones_are_followed() {
    let place = Place::new();
    let mut items = docker_archive(&[small("x:1")]);
    let Item::File(name, _) = &items[0] else {
        panic!()
    };
    let target = format!("../{name}");
    items.push(symlink("other/layer.tar", &target));
    change_json(&mut items, "manifest.json", |manifest| {
        manifest[0]["Layers"][0] = json!("other/layer.tar")
    });
    let images = open(&place.archive(&items)).unwrap();
    assert_eq!(
        images[0].layers[0].size,
        testkit::tar(&[file("etc/os-release", "ID=debian\n")]).len() as u64
    );

    items.push(symlink("loop", "loop"));
    change_json(&mut items, "manifest.json", |manifest| {
        manifest[0]["Layers"][0] = json!("loop")
    });
    let path = place.archive(&items);
    assert_eq!(
        problem(open(&path), &path),
        "loop is missing, so the image is incomplete"
    );
}

#[test]
fn the_newer_docker_archive_is_read_as_the_oci_layout_that_it_is() {
    let place = Place::new();
    let mut items = oci_layout(&[small("docker.io/library/x:1")], Compression::Plain, false);
    items.push(file(
        "manifest.json",
        r#"[{"Config":"blobs/sha256/0","RepoTags":["x:1"],"Layers":[]}]"#,
    ));
    let path = place.archive(&items);
    let images = open(&path).unwrap();
    assert_eq!(images[0].kind, SourceKind::DockerArchive);
    assert_eq!(references(&images), [Some("x:1")]);
    assert!(images[0].digest.is_some());
    let images = open_text(&format!("oci-archive:{}", path.display())).unwrap();
    assert_eq!(images[0].kind, SourceKind::OciArchive);
}

#[test]
fn platforms_of_an_index() {
    let place = Place::new();
    let path = place.layout(&oci_layout(
        &[for_architecture("amd64"), for_architecture("arm64")],
        Compression::Plain,
        true,
    ));
    assert_eq!(
        platform(&path, "linux/arm64").unwrap()[0].platform,
        "linux/arm64"
    );
    assert_eq!(platform(&path, "amd64").unwrap()[0].platform, "linux/amd64");
    let all = Request {
        all_platforms: true,
        ..Request::default()
    };
    let images = source::open(&ImageReference::Path(path.clone()), &all).unwrap();
    assert_eq!(images.len(), 2);
    assert_eq!(references(&images), [Some("x:1"), Some("x:1")]);
    let error = platform(&path, "linux/s390x").unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(
        error
            .to_string()
            .contains("no image for linux/s390x; available: linux/amd64, linux/arm64"),
        "{error}"
    );
    assert_eq!(platform(&path, "linux//").unwrap_err().exit_code(), 2);
}

#[test]
fn the_only_platform_there_is_is_taken_unless_another_is_asked_for() {
    let place = Place::new();
    let path = place.archive(&docker_archive(&[for_architecture("s390x")]));
    assert_eq!(open(&path).unwrap()[0].platform, "linux/s390x");
    assert!(platform(&path, "linux/amd64").is_err());
}

#[test]
fn attestations_are_no_images() {
    let place = Place::new();
    let unknown = Image {
        architecture: "unknown".to_owned(),
        ..small("x:1")
    };
    let mut items = oci_layout(
        &[for_architecture("s390x"), unknown],
        Compression::Plain,
        false,
    );
    change_json(&mut items, "index.json", |index| {
        index["manifests"][1]["platform"] = json!({"os": "unknown", "architecture": "unknown"});
        index["manifests"][1]["annotations"]["vnd.docker.reference.type"] =
            json!("attestation-manifest");
    });
    let path = place.layout(&items);
    let all = Request {
        all_platforms: true,
        ..Request::default()
    };
    assert_eq!(
        source::open(&ImageReference::Path(path.clone()), &all)
            .unwrap()
            .len(),
        1
    );
    assert_eq!(open(&path).unwrap()[0].platform, "linux/s390x");
}

#[test]
fn an_index_of_which_one_platform_is_stored() {
    let place = Place::new();
    let images = [for_architecture("s390x"), for_architecture("riscv64")];
    let mut items = oci_layout(&images, Compression::Plain, false);
    let mut other = String::new();
    change_json(&mut items, "index.json", |index| {
        other = index["manifests"][1]["digest"]
            .as_str()
            .unwrap()
            .replace(':', "/");
        index["manifests"][1]["platform"] = json!({"os": "linux", "architecture": "riscv64"});
    });
    items.retain(|item| !matches!(item, Item::File(path, _) if *path == format!("blobs/{other}")));
    assert_eq!(
        open(&place.archive(&items)).unwrap()[0].platform,
        "linux/s390x"
    );
}

#[test]
fn other_files_are_rejected() {
    let place = Place::new();
    let text = place.path("text");
    fs::write(&text, "hello").unwrap();
    assert_eq!(
        problem(open(&text), &text),
        "not an image: not a tar archive"
    );
    for bytes in [&[b'x'; 4096][..], b""] {
        fs::write(&text, bytes).unwrap();
        assert_eq!(
            problem(open(&text), &text),
            "not an image: not a tar archive"
        );
    }
    let neither = "not an image: a tar archive without manifest.json (docker save) and index.json (OCI layout)";
    let export = place.archive(&[file("etc/passwd", "")]);
    assert_eq!(problem(open(&export), &export), neither);
    assert!(
        open(&export)
            .unwrap_err()
            .to_string()
            .contains("docker export")
    );
    let empty = place.path("empty");
    fs::create_dir(&empty).unwrap();
    assert!(problem(open(&empty), &empty).starts_with("neither an OCI layout"));
    let nothing = place.path("nothing");
    assert_eq!(
        problem(open(&nothing), &nothing),
        "cannot be read: No such file or directory (os error 2)"
    );
}

#[test]
fn an_archive_that_is_compressed_as_a_whole_says_how_to_uncompress_it() {
    let place = Place::new();
    let path = place.path("image.tar.gz");
    let bytes = testkit::tar(&docker_archive(&[small("x:1")]));
    fs::write(&path, testkit::compress(&bytes, Compression::Gzip)).unwrap();
    assert!(problem(open(&path), &path).contains("compressed as a whole with gzip"));
    assert!(open(&path).unwrap_err().to_string().contains("gzip -dc"));
    fs::write(&path, testkit::compress(&bytes, Compression::Zstd)).unwrap();
    assert!(problem(open(&path), &path).contains("compressed as a whole with zstd"));
}

#[test]
fn a_truncated_archive() {
    let place = Place::new();
    let mut items = docker_archive(&[small("x:1")]);
    // The largest member last, so that it is the one that is cut.
    items.rotate_left(1);
    let bytes = testkit::tar(&items);
    let path = place.path("cut.tar");
    fs::write(&path, &bytes[..bytes.len() - 2048]).unwrap();
    let found = problem(open(&path), &path);
    assert!(
        found.starts_with("the archive is truncated: it ends at byte"),
        "{found}"
    );
    assert!(found.ends_with("/layer.tar)"), "{found}");
}

#[test]
fn missing_and_damaged_parts_of_a_docker_archive() {
    let place = Place::new();
    let image = small("x:1");
    let config = format!("{}.json", testkit::hex(&image.config()));
    let layer = format!("{}/layer.tar", testkit::hex(&image.layers[1]));
    let whole = docker_archive(&[image]);
    let without = |name: &str| -> Vec<Item> {
        whole
            .iter()
            .filter(|item| !matches!(item, Item::File(path, _) if path == name))
            .cloned()
            .collect()
    };
    let of = |items: &[Item]| {
        let path = place.archive(items);
        problem(open(&path), &path)
    };
    assert_eq!(
        of(&without(&config)),
        format!("{config} is missing, so the image is incomplete")
    );
    assert_eq!(
        of(&without(&layer)),
        format!("{layer} is missing, so the image is incomplete")
    );

    let mut items = whole.clone();
    change(&mut items, &config, |bytes| bytes.push(b' '));
    assert!(of(&items).starts_with(&format!("{config} is damaged: its digest is sha256:")));
    let mut items = whole.clone();
    change(&mut items, "manifest.json", |bytes| bytes.truncate(9));
    assert!(of(&items).starts_with("manifest.json is not valid JSON: "));
    let mut items = whole.clone();
    change(&mut items, "manifest.json", |bytes| *bytes = b"[]".to_vec());
    assert_eq!(of(&items), "contains no image");
    let mut items = whole;
    change_json(&mut items, "manifest.json", |manifest| {
        manifest[0]["Layers"].as_array_mut().unwrap().pop();
    });
    assert_eq!(of(&items), "the configuration has 2 layers, the manifest 1");
    change(&mut items, "manifest.json", |bytes| {
        bytes.resize(17 << 20, b' ')
    });
    assert_eq!(
        of(&items),
        "exceeds the limit document-bytes (length of a manifest, index or image configuration): at least 17MiB, 4MiB allowed"
    );
}

#[test]
fn missing_and_damaged_parts_of_an_oci_layout() {
    let image = small("x:1");
    let layer = format!("blobs/sha256/{}", testkit::hex(&image.layers[1]));
    let config = format!("blobs/sha256/{}", testkit::hex(&image.config()));
    let whole = oci_layout(&[image], Compression::Plain, false);
    let of = |change: &dyn Fn(&mut Vec<Item>)| {
        let mut items = whole.clone();
        change(&mut items);
        let place = Place::new();
        let layout = place.layout(&items);
        let archive = place.archive(&items);
        let found = problem(open(&layout), &layout);
        assert_eq!(found, problem(open(&archive), &archive));
        found
    };
    let remove = |items: &mut Vec<Item>, name: &str| {
        items.retain(|item| !matches!(item, Item::File(path, _) if path == name))
    };

    assert_eq!(
        of(&|items| remove(items, &layer)),
        format!("{layer} is missing, so the image is incomplete")
    );
    assert_eq!(
        of(&|items| remove(items, &config)),
        format!("{config} is missing, so the image is incomplete")
    );
    let size = of(&|items| change(items, &layer, |bytes| bytes.truncate(512)));
    assert!(
        size.starts_with(&format!(
            "{layer} is damaged: it has 512 bytes, its manifest says "
        )),
        "{size}"
    );
    let digest = of(&|items| change(items, &config, |bytes| bytes.push(b'\n')));
    assert!(
        digest.starts_with(&format!("{config} is damaged: its digest is sha256:")),
        "{digest}"
    );
    let index = |with: &dyn Fn(&mut Value)| of(&|items| change_json(items, "index.json", with));
    assert_eq!(
        index(&|index| index["manifests"] = json!([])),
        "contains no image"
    );
    assert!(
        index(&|index| index["manifests"][0]["digest"] = json!("sha256:../../etc/passwd"))
            .starts_with("index.json is not valid JSON")
    );
    assert!(
        index(&|index| index["manifests"][0]["digest"] = json!("blake3:0123"))
            .contains("`blake3:0123` is not a SHA-256 digest")
    );
}

#[test]
fn artifacts_and_deep_indexes_are_refused() {
    let place = Place::new();
    let mut items = oci_layout(&[small("x:1")], Compression::Plain, false);
    let chart = json!({"schemaVersion": 2, "config": testkit::descriptor("application/vnd.cncf.helm.config.v1+json", b"{}"), "layers": []});
    let chart = chart.to_string().into_bytes();
    change_json(&mut items, "index.json", |index| {
        index["manifests"] = json!([testkit::descriptor(
            "application/vnd.oci.image.manifest.v1+json",
            &chart
        )]);
    });
    items.push(blob(chart));
    let path = place.archive(&items);
    assert_eq!(
        problem(open(&path), &path),
        "contains no image, only an artifact (application/vnd.cncf.helm.config.v1+json)"
    );

    for _ in 0..6 {
        let mut inner = Vec::new();
        change(&mut items, "index.json", |bytes| inner = bytes.clone());
        let outer = json!({"schemaVersion": 2, "manifests": [testkit::descriptor("application/vnd.oci.image.index.v1+json", &inner)]});
        change(&mut items, "index.json", |bytes| {
            *bytes = outer.to_string().into_bytes()
        });
        items.push(blob(inner));
    }
    let path = place.archive(&items);
    assert_eq!(
        problem(open(&path), &path),
        "indexes are nested more than 4 deep"
    );
}
