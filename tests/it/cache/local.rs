//! The directory of this machine.

use imgcheck_base::bounds::Bounds;
use imgcheck_base::progress::NoProgress;
use imgcheck_layer::ReadMethod;
use imgcheck_model::knowledge::layer_reader;

use super::*;

#[test]
fn layers_are_read_once() {
    let case = Case::new();
    let plain = case.run("cache", &["--no-cache"]);
    assert!(plain.is_read() && !case.path("cache").exists());
    let first = case.run("cache", &[]);
    let second = case.run("cache", &[]);
    assert!(first.is_read() && second.is_cached());
    assert_eq!(plain.report, first.report);
    assert_eq!(first.report, second.report);
    assert_eq!(case.facts("cache").len(), 2);
    // Another depth, other facts.
    assert!(case.run("cache", &["--deep"]).is_read());
    assert_eq!(case.facts("cache").len(), 4);
}

#[test]
fn facts_of_real_images_are_read_as_they_were_written() {
    for name in ["cuda-12.8-oci", "cuda-12.8-oci-zstd", "cuda-12.8.tar"] {
        let path = real_images().join(name);
        if !path.exists() {
            say(format_args!("skipped: {} is not there", path.display()));
            continue;
        }
        let scratch = tempdir().unwrap();
        let target = ImageReference::parse(path.to_str().unwrap());
        let images = source::open(&target, &Request::default()).unwrap();
        for depth in [Depth::Default, Depth::Deep] {
            let context = imgcheck_model::knowledge::read_context(depth).unwrap();
            let cache = FactsCache::new(
                cache(scratch.path(), u64::MAX),
                depth,
                &context.bounds.limits,
            );
            for blob in images.iter().flat_map(|image| &image.layers) {
                let facts = context.read_layer(blob).unwrap().facts;
                assert_eq!(cache.get(&blob.diff_id), None);
                cache.put(&blob.diff_id, &facts).unwrap();
                assert_eq!(cache.get(&blob.diff_id).as_ref(), Some(&*facts), "{name}");
            }
        }
    }
}

#[test]
fn the_facts_of_python_sources_are_kept_beside_those_of_their_layer() {
    let scratch = tempdir().unwrap();
    let path = scratch.path().join("image");
    let layer = [file("srv/program.py", "import json\n")];
    let image = Image::new("example/image:1", &[&layer]);
    write_directory(&path, &oci_layout(&[image], Compression::Gzip, false));
    let target = ImageReference::parse(path.to_str().unwrap());
    let images = source::open(&target, &Request::default()).unwrap();
    let blob = &images[0].layers[0];
    let directory = scratch.path().join("cache");
    let reader = || layer_reader(cache(&directory, u64::MAX)).unwrap();
    let read = || {
        let context = reader().request(Depth::Default, Bounds::default(), &NoProgress);
        let layer = context.read_layer(blob).unwrap();
        let modules = (0..layer.facts.entries.len()).filter_map(|at| layer.module(at).unwrap());
        (layer.method, modules.collect::<Vec<_>>())
    };
    let (method, modules) = read();
    assert_eq!((method, modules.len()), (ReadMethod::Stream, 1));
    assert_eq!(read(), (ReadMethod::Cache, modules.clone()));
    // Facts without those of the sources do not count.
    for entry in fs::read_dir(&directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_str().unwrap().starts_with("modules-") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    assert_eq!(read(), (ReadMethod::Stream, modules));
}

#[test]
fn a_damaged_entry_is_recomputed_and_replaced() {
    let case = Case::new();
    let expected = case.run("cache", &[]).report;
    for damage in ["byte", "cut", "empty", "exchanged"] {
        let [a, b] = case.facts("cache").try_into().unwrap();
        let [model] = case.entries("cache", "model-").try_into().unwrap();
        for path in [&a, &b, &model] {
            let mut bytes = fs::read(path).unwrap();
            match damage {
                "byte" => {
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 1;
                }
                "cut" => bytes.truncate(bytes.len() - 1),
                "empty" => bytes.clear(),
                _ => continue,
            }
            fs::write(path, bytes).unwrap();
        }
        if damage == "exchanged" {
            fs::remove_file(model).unwrap();
            fs::rename(&a, case.path("other")).unwrap();
            fs::rename(&b, &a).unwrap();
            fs::rename(case.path("other"), &b).unwrap();
        }
        let anew = case.run("cache", &[]);
        assert!(anew.is_read(), "{damage}");
        assert_eq!((anew.report, anew.remarks.as_str()), (expected.clone(), ""));
        assert!(case.run("cache", &[]).is_cached(), "{damage}");
    }
}

#[test]
fn facts_of_another_version_are_not_read() {
    let scratch = tempdir().unwrap();
    let cache = cache(scratch.path(), u64::MAX);
    let key = |version: &str| Key::Facts {
        diff_id: sha256(b"layer"),
        version: version.to_owned(),
    };
    cache.put(&key("0123456789abcdef"), b"facts");
    assert_eq!(cache.get(&key("0123456789abcdef")).unwrap(), b"facts");
    assert_eq!(cache.get(&key("0123456789abcdee")), None);
}

#[test]
fn an_unusable_directory_is_a_warning_if_it_was_named() {
    let case = Case::new();
    fs::write(case.path("file"), "no directory").unwrap();
    let named = case.run("file/cache", &[]);
    assert!(named.is_read());
    assert_eq!(named.remarks.lines().count(), 1, "{}", named.remarks);
    assert!(named.remarks.contains("file/cache"), "{}", named.remarks);
    let mut unnamed = case.command("");
    unnamed
        .env_remove("IMGCHECK_CACHE_DIR")
        .env("XDG_CACHE_HOME", case.path("file"));
    let unnamed = Run::of(&mut unnamed);
    assert!(unnamed.is_read());
    assert_eq!(
        (unnamed.remarks.as_str(), unnamed.report),
        ("", named.report)
    );
}

#[test]
fn the_directory_of_the_user_is_the_default() {
    let case = Case::new();
    let run = || {
        let mut command = case.command("");
        command
            .env_remove("IMGCHECK_CACHE_DIR")
            .env("XDG_CACHE_HOME", case.path("xdg"));
        Run::of(&mut command)
    };
    assert!(run().is_read() && run().is_cached());
    assert_eq!(case.facts("xdg/imgcheck").len(), 2);
}

/// Two images with layers of their own; the configuration of the second claims the layers of the first.
#[test]
fn a_claimed_diff_id_selects_no_facts() {
    let case = Case::new();
    assert!(case.run("cache", &[]).is_read());
    assert!(case.run("cache", &[]).is_cached());
    let index = fs::read(case.image().join("index.json")).unwrap();
    let index: Value = serde_json::from_slice(&index).unwrap();
    let blob = |digest: &Value| {
        let digest = digest.as_str().unwrap().replace(':', "/");
        case.image().join("blobs").join(digest)
    };
    let manifest = fs::read(blob(&index["manifests"][0]["digest"])).unwrap();
    let mut manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let evil = testkit::gzip(&testkit::tar(&[file("etc/os-release", "ID=evil\n")]));
    manifest["layers"][0] = testkit::descriptor("application/vnd.oci.image.layer.v1.tar", &evil);
    let manifest = manifest.to_string().into_bytes();
    let mut entry = testkit::descriptor("application/vnd.oci.image.manifest.v1+json", &manifest);
    entry["annotations"] = index["manifests"][0]["annotations"].clone();
    let index = serde_json::json!({"schemaVersion": 2, "manifests": [entry]}).to_string();
    let items = [
        testkit::blob(evil),
        testkit::blob(manifest),
        file("index.json", index),
    ];
    write_directory(&case.image(), &items);
    let output = case.command("cache").output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("diff id"), "{message}");
}
