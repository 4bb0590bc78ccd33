//! Invalid, damaged and incomplete sources.

use super::*;

#[test]
fn other_files_are_rejected() {
    let place = Place::new();
    let text = place.path("text");
    fs::write(&text, "hello").unwrap();
    assert_eq!(
        problem(open(&text), &text),
        "not an image: not a tar archive"
    );
    fs::write(&text, [b'x'; 4096]).unwrap();
    assert_eq!(
        problem(open(&text), &text),
        "not an image: not a tar archive"
    );
    fs::write(&text, "").unwrap();
    assert_eq!(problem(open(&text), &text), "the file is empty");
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
