//! Archives and layouts of which container engines run different images.

use std::path::Path;

use imgcheck_base::error::Result;
use imgcheck_base::reference::transport::ImageReference;
use imgcheck_source::source::{self, Request};
use serde_json::{Value, json};
use testkit::{
    Compression, Image, Item, blob, descriptor, docker_archive, docker_archive_with_layout, file,
    hard_link, manifest_entry, oci_layout, symlink, write_archive, write_directory,
};

fn image(reference: &str, version: &str) -> Image {
    Image::new(reference, &[&[file("etc/version", version)]])
}

fn of_architecture(reference: &str, architecture: &str) -> Image {
    Image {
        architecture: architecture.to_owned(),
        ..image(reference, architecture)
    }
}

fn open(items: &[Item], request: &Request) -> Result<Vec<source::Image>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image.tar");
    write_archive(&path, items);
    source::open(&ImageReference::Path(path), request)
}

#[track_caller]
fn refused(items: &[Item], problem: &str) {
    let error = open(items, &Request::default()).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().contains(problem), "{error}");
}

#[track_caller]
fn accepted(items: &[Item]) -> Vec<source::Image> {
    open(items, &Request::default()).unwrap()
}

/// Changes a JSON file.
fn change(items: &mut [Item], name: &str, change: impl FnOnce(&mut Value)) {
    let content = items.iter_mut().find_map(|item| match item {
        Item::File(path, content) if path == name => Some(content),
        _ => None,
    });
    let content = content.unwrap();
    let mut value = serde_json::from_slice(content).unwrap();
    change(&mut value);
    *content = value.to_string().into_bytes();
}

#[test]
fn manifest_and_index_name_the_same_images() {
    let (good, bad) = (image("x:1", "good"), image("x:1", "bad"));
    let archive = docker_archive_with_layout(std::slice::from_ref(&good));
    assert_eq!(accepted(&archive).len(), 1);

    // Docker with containerd runs the image of the index, Docker without it the other one.
    let mut two = archive.clone();
    two.extend(oci_layout(std::slice::from_ref(&bad), Compression::Plain, false).split_off(1));
    two.retain({
        let mut indexes = 0;
        move |item| {
            indexes += u32::from(matches!(item, Item::File(name, _) if name == "index.json"));
            indexes < 2 || !matches!(item, Item::File(name, _) if name == "index.json")
        }
    });
    let mut other = two.clone();
    change(&mut other, "manifest.json", |it| {
        *it = json!([manifest_entry(&bad)])
    });
    refused(&other, "manifest.json and index.json disagree about x:1");

    // The same configuration with another layer.
    let mut layers = two.clone();
    change(&mut layers, "manifest.json", |it| {
        it[0]["Layers"] = manifest_entry(&bad)["Layers"].clone();
    });
    refused(&layers, "manifest.json and index.json disagree about x:1");

    // `oci-archive:` reads the index, but Docker loads the archive all the same.
    for items in [&other, &layers] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image.tar");
        write_archive(&path, items);
        let reference = ImageReference::OciArchive(path, None);
        let error = source::open(&reference, &Request::default()).unwrap_err();
        let problem = "manifest.json and index.json disagree about x:1";
        assert!(error.to_string().contains(problem), "{error}");
    }

    let mut renamed = archive.clone();
    change(&mut renamed, "manifest.json", |it| {
        it[0]["RepoTags"] = json!(["y:1"]);
    });
    refused(&renamed, "manifest.json and index.json disagree about y:1");

    let mut twice = two;
    change(&mut twice, "manifest.json", |it| {
        *it = json!([manifest_entry(&good), manifest_entry(&bad)]);
    });
    refused(&twice, "manifest.json names x:1 twice");
}

#[test]
fn a_manifest_with_one_of_several_platforms_is_the_one_that_is_checked() {
    let images = ["amd64", "arm64"].map(|architecture| of_architecture("x:1", architecture));
    let mut items = oci_layout(&images, Compression::Plain, true);
    items.push(file(
        "manifest.json",
        json!([manifest_entry(&images[1])]).to_string(),
    ));
    let platform = |text: &str| Request {
        platform: Some(text.to_owned()),
        ..Request::default()
    };
    assert_eq!(
        open(&items, &platform("ARM64/v8")).unwrap()[0].platform,
        "linux/arm64"
    );
    let all = Request {
        all_platforms: true,
        ..Request::default()
    };
    assert_eq!(open(&items, &all).unwrap().len(), 2);
    let error = open(&items, &platform("linux/amd64")).unwrap_err();
    assert!(
        error.to_string().contains("x:1 for linux/arm64 only"),
        "{error}"
    );
}

#[test]
fn members_with_ambiguous_names_are_refused() {
    let (good, bad) = (image("x:1", "good"), image("x:1", "bad"));
    let archive = docker_archive(std::slice::from_ref(&good));
    let other = docker_archive(std::slice::from_ref(&bad));
    let [.., Item::File(_, manifest)] = &other[..] else {
        panic!()
    };
    let layer = format!("{}/layer.tar", testkit::hex(&good.layers[0]));
    let config = format!("{}.json", testkit::hex(&good.config()));
    let with = |items: &[Item]| [&archive[..], items].concat();

    // Docker takes the last of them, Podman the first.
    for name in [
        "manifest.json",
        "./manifest.json",
        "/manifest.json",
        "x/../manifest.json",
    ] {
        refused(&with(&[file(name, manifest)]), "manifest.json occurs twice");
    }
    refused(
        &with(&[file("x", "[]"), symlink("manifest.json", "x")]),
        "manifest.json occurs twice",
    );
    refused(
        &with(&[file(&layer, &bad.layers[0])]),
        &format!("{layer} occurs twice"),
    );
    let link = symlink(layer.split('/').next().unwrap(), "elsewhere");
    refused(&with(&[link]), "is below a member that is not a directory");

    // Tools that write a configuration for each image repeat it if two images share it.
    let repeated = with(&[file(&config, good.config())]);
    assert_eq!(accepted(&repeated).len(), 1);

    let replaced = |name: &str, item: Item| -> Vec<Item> {
        let mut items = archive.clone();
        items.retain(|item| !matches!(item, Item::File(path, _) if path == name));
        items.extend([file("other", good.config()), item]);
        items
    };
    for item in [symlink(&config, "other"), hard_link(&config, "other")] {
        refused(
            &replaced(&config, item),
            &format!("{config} is not a regular file"),
        );
    }
    let dotted = archive.iter().map(|item| match item {
        Item::File(path, content) => file(&format!("./{path}"), content),
        other => other.clone(),
    });
    refused(&dotted.collect::<Vec<_>>(), "is not in normal form");
}

#[test]
fn a_name_of_a_layout_leads_to_one_image() {
    let mut items = oci_layout(
        &[
            of_architecture("x:1", "amd64"),
            of_architecture("x:1", "arm64"),
        ],
        Compression::Plain,
        false,
    );
    refused(&items, "index.json names two images `x:1`");
    // `docker save` and `ctr images export` write the tag beside the name.
    change(&mut items, "index.json", |index| {
        for (at, name) in ["docker.io/library/a:1", "docker.io/library/b:1"]
            .into_iter()
            .enumerate()
        {
            index["manifests"][at]["annotations"] = json!({
                "io.containerd.image.name": name, "org.opencontainers.image.ref.name": "1"
            });
        }
    });
    assert_eq!(accepted(&items).len(), 2);
    change(&mut items, "index.json", |index| {
        index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"] = json!("b:1");
    });
    refused(
        &items,
        "index.json names one image `docker.io/library/a:1` for containerd and `b:1` for others",
    );
}

#[test]
fn an_image_does_not_hide_behind_an_attestation() {
    let image = image("x:1", "good");
    let mut items = oci_layout(std::slice::from_ref(&image), Compression::Plain, false);
    change(&mut items, "index.json", |index| {
        let descriptor = &mut index["manifests"][0];
        descriptor["annotations"]["vnd.docker.reference.type"] = json!("attestation-manifest");
        descriptor["platform"] = json!({"os": "unknown", "architecture": "unknown"});
    });
    assert_eq!(accepted(&items)[0].platform, "linux/amd64");

    // In an index, what has no platform is started by the platform of its configuration.
    let mut inner = Value::Null;
    change(&mut items, "index.json", |index| {
        inner = json!({"schemaVersion": 2, "manifests": index["manifests"].clone()});
        let entry = &mut inner["manifests"][0];
        entry.as_object_mut().unwrap().remove("platform");
        let bytes = inner.to_string().into_bytes();
        index["manifests"] = json!([descriptor(
            "application/vnd.oci.image.index.v1+json",
            &bytes
        )]);
    });
    items.push(blob(inner.to_string().into_bytes()));
    assert_eq!(accepted(&items)[0].platform, "linux/amd64");
}

#[test]
fn platforms_are_normalized_as_containerd_does() {
    let directory = tempfile::tempdir().unwrap();
    let open = |platform: &Value| {
        let path: &Path = directory.path();
        let _ = std::fs::remove_dir_all(path);
        let images = ["one", "two"].map(|text| image("x:1", text));
        let mut items = oci_layout(&images, Compression::Plain, true);
        let Some(Item::File(_, index)) = items.iter().rev().nth(1) else {
            panic!()
        };
        let mut index: Value = serde_json::from_slice(index).unwrap();
        index["manifests"][1]["platform"] = platform.clone();
        let index = index.to_string().into_bytes();
        change(&mut items, "index.json", |top| {
            top["manifests"] = json!([descriptor(
                "application/vnd.oci.image.index.v1+json",
                &index
            )]);
        });
        items.push(blob(index));
        write_directory(path, &items);
        let request = Request {
            platform: Some("linux/amd64".to_owned()),
            ..Request::default()
        };
        source::open(&ImageReference::Path(path.to_owned()), &request).unwrap()
    };
    for platform in [
        json!({"os": "Linux", "architecture": "AMD64"}),
        json!({"os": "linux", "architecture": "x86_64", "variant": "v1"}),
    ] {
        assert_eq!(open(&platform).len(), 2, "{platform}");
    }
    assert_eq!(
        open(&json!({"os": "linux", "architecture": "aarch64"})).len(),
        1
    );
}

#[test]
fn strict_hashes_plain_layers_at_rest() {
    let good = image("x:1", "good");
    let bad = image("x:1", "evil");
    assert_eq!(good.layers[0].len(), bad.layers[0].len());
    let directory = tempfile::tempdir().unwrap();
    for items in [
        docker_archive(std::slice::from_ref(&good)),
        oci_layout(std::slice::from_ref(&good), Compression::Plain, false),
    ] {
        let mut changed = items.clone();
        for item in &mut changed {
            if let Item::File(_, content) = item
                && *content == good.layers[0]
            {
                content.clone_from(&bad.layers[0]);
            }
        }
        let read = |items: &[Item], strict| {
            let path = directory.path().join("image.tar");
            write_archive(&path, items);
            let checker = imgcheck::Checker::builder().strict(strict).build().unwrap();
            let request = imgcheck::ImageRequest::new(path.display().to_string());
            checker.facts(&request).map(drop)
        };
        assert!(read(&items, true).is_ok());
        assert!(read(&changed, false).is_ok());
        let error = read(&changed, true).unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains("digest"), "{error}");
    }
}
