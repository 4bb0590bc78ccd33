//! Which images of a source are selected.

use super::*;

fn for_architecture(architecture: &str) -> Image {
    Image {
        architecture: architecture.to_owned(),
        ..small("x:1")
    }
}

fn platform(path: &Path, platform: &str) -> imgcheck_base::error::Result<Vec<source::Image>> {
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

#[test]
fn every_storage_is_recognized() {
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

    let config_digest = imgcheck_base::digest::sha256(&image.config());
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
            imgcheck_base::digest::sha256(&image.layers[1])
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
fn an_image_with_two_tags_is_returned_for_each() {
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
    assert_eq!(problem(open(&path), &path), "loop is not a regular file");
}

#[test]
fn the_newer_docker_archive_is_read_as_the_oci_layout_that_it_is() {
    let place = Place::new();
    let items = testkit::docker_archive_with_layout(&[small("docker.io/library/x:1")]);
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
fn the_only_platform_is_selected_unless_another_is_requested() {
    let place = Place::new();
    let path = place.archive(&docker_archive(&[for_architecture("s390x")]));
    assert_eq!(open(&path).unwrap()[0].platform, "linux/s390x");
    assert!(platform(&path, "linux/amd64").is_err());
}

#[test]
fn attestations_are_not_images() {
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
        index["manifests"][1]["annotations"] =
            json!({"vnd.docker.reference.type": "attestation-manifest"});
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
    let mut items = oci_layout(&images, Compression::Plain, true);
    // The index is the last blob.
    let Some(Item::File(_, index)) = items.iter().rev().nth(1) else {
        panic!()
    };
    let index: Value = serde_json::from_slice(index).unwrap();
    let other = index["manifests"][1]["digest"].as_str().unwrap();
    let other = other.replace(':', "/");
    items.retain(|item| !matches!(item, Item::File(path, _) if *path == format!("blobs/{other}")));
    assert_eq!(
        open(&place.archive(&items)).unwrap()[0].platform,
        "linux/s390x"
    );
}
