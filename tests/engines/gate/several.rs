//! Several images in one call, of which one cannot be read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use super::case::{Case, Ending, MISLABELLED, check, image, run};
use testkit::{Compression, Image, file, oci_layout, write_directory};

/// Each format, and its output for an image that could not be read.
const FORMATS: [(&str, &[&str]); 9] = [
    ("text", &["pytorch-cuda:v2.9"]), // the standard error stream tells the rest
    ("json", &["\"errors\"", "absent.tar"]),
    ("sarif", &["\"executionSuccessful\": false", "absent.tar"]),
    ("junit", &["errors=\"1\"", "absent.tar"]),
    (
        "github",
        &["::error title=imgcheck%3A absent.tar could not be read"],
    ),
    ("gitlab", &["\"severity\": \"blocker\"", "absent.tar"]),
    ("markdown", &["something could not be read", "absent.tar"]),
    ("cyclonedx", &["imgcheck:unread", "absent.tar"]),
    ("html", &["Could not be read", "absent.tar"]),
];

fn assert_unread(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("absent.tar"), "{said}");
}

#[test]
fn an_unreadable_image_is_in_every_report() {
    let place = tempfile::tempdir().unwrap();
    let file = |format: &str| place.path().join(format);
    let destinations: Vec<String> = FORMATS
        .iter()
        .map(|(format, _)| format!("{format}={}", file(format).display()))
        .collect();
    let mut arguments = vec![MISLABELLED, "absent.tar", "--fail-on", "never"];
    for destination in &destinations {
        arguments.extend(["-o", destination]);
    }
    assert_unread(&run(check(&arguments).current_dir(place.path())));
    for (format, words) in FORMATS {
        let text = fs::read_to_string(file(format)).unwrap();
        for word in words {
            assert!(text.contains(word), "{format} without {word}:\n{text}");
        }
    }
}

#[test]
fn no_option_makes_an_unreadable_image_pass() {
    let place = tempfile::tempdir().unwrap();
    let known = place.path().join("known.json");
    let known = known.to_str().unwrap();
    let asked: [&[&str]; 5] = [
        &["--fail-on", "never"],
        &["--baseline", known],
        &["--write-baseline", "new.json"],
        &["--write-baseline", known],
        &["--fail-on", "never", "--baseline", known, "--no-cache"],
    ];
    let written = run(&mut check(&[MISLABELLED, "--write-baseline", known]));
    assert_eq!(written.status.code(), Some(0));
    let before = fs::read(known).unwrap();
    for options in asked {
        for images in [[MISLABELLED, "absent.tar"], ["absent.tar", MISLABELLED]] {
            let arguments = [&images, options].concat();
            assert_unread(&run(check(&arguments).current_dir(place.path())));
        }
    }
    assert_eq!(fs::read(known).unwrap(), before);
    assert!(!place.path().join("new.json").exists());
}

/// A layout of two images; the name of the second one stays, its manifest goes.
#[test]
fn an_image_missing_from_its_layout_does_not_pass() {
    let case = Case::new(4096);
    let other = Image::new("other:1", &[&[file("etc/os-release", "ID=debian\n")]]);
    let both = [image(4096), other];
    let layout = case.path("both");
    write_directory(&layout, &oci_layout(&both, Compression::Gzip, false));
    let check_it = |arguments: &[&str]| {
        let arguments = [&[layout.to_str().unwrap()], arguments].concat();
        run(&mut check(&arguments))
    };
    assert_eq!(images(&check_it(&[])), 2);
    fs::remove_file(manifest(&layout, 1)).unwrap();
    let output = check_it(&[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("is missing, so the image is incomplete"),
        "{said}"
    );
    // Of the other one nothing is missing.
    let named = format!("oci:{}:pytorch-cuda:v2.9", layout.display());
    assert_eq!(case.ending(&run(&mut check(&[&named]))), Ending::Whole);
}

/// An index of two platforms, as `docker save` keeps it of an image of which one platform was pulled.
#[test]
fn all_platforms_are_all_that_are_listed() {
    let case = Case::new(4096);
    let image = image(4096);
    let other = Image {
        architecture: "arm64".to_owned(),
        ..image.clone()
    };
    let layout = case.path("platforms");
    write_directory(
        &layout,
        &oci_layout(&[image, other], Compression::Gzip, true),
    );
    let index = manifest(&layout, 0);
    let index: Value = serde_json::from_slice(&fs::read(index).unwrap()).unwrap();
    fs::remove_file(blob(&layout, &index["manifests"][1]["digest"])).unwrap();
    let arguments = [layout.to_str().unwrap(), "--platform", "linux/amd64"];
    assert_eq!(run(&mut check(&arguments)).status.code(), Some(1));
    let output = run(&mut check(&[arguments[0], "--all-platforms"]));
    assert_eq!(output.status.code(), Some(3));
}

/// What says of itself that it is an attestation, and that it runs on a platform, is run by an engine.
#[test]
fn an_image_cannot_hide_as_an_attestation() {
    let case = Case::new(4096);
    let harmless = Image::new("debian:12", &[&[file("etc/os-release", "ID=debian\n")]]);
    let layout = case.path("hidden");
    let both = [image(4096), harmless];
    write_directory(&layout, &oci_layout(&both, Compression::Gzip, false));
    let path = layout.join("index.json");
    let mut index: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for at in 0..2 {
        index["manifests"][at]["platform"] = json!({"os": "linux", "architecture": "amd64"});
    }
    index["manifests"][0]["annotations"]["vnd.docker.reference.type"] =
        json!("attestation-manifest");
    fs::write(&path, index.to_string()).unwrap();
    let output = run(&mut check(&[layout.to_str().unwrap()]));
    assert_eq!((output.status.code(), images(&output)), (Some(1), 2));
}

fn images(output: &Output) -> usize {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["images"].as_array().unwrap().len()
}

/// The file of the document that the layout lists at this place.
fn manifest(layout: &Path, at: usize) -> PathBuf {
    let index = fs::read(layout.join("index.json")).unwrap();
    let index: Value = serde_json::from_slice(&index).unwrap();
    blob(layout, &index["manifests"][at]["digest"])
}

fn blob(layout: &Path, digest: &Value) -> PathBuf {
    let name = digest.as_str().unwrap().replace(':', "/");
    layout.join("blobs").join(name)
}
