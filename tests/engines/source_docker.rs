//! Archives and layouts as Docker and skopeo really write them. The tests start a daemon of their own, without network; they are
//! skipped where the programs are missing, or fail there if `IMGCHECK_REQUIRE_TOOLS=1`.

use std::path::Path;

use imgcheck_base::reference::transport::ImageReference;
use imgcheck_elf::Depth;
use imgcheck_image::{EntryKind, LayerFacts};
use imgcheck_source::source::{self, Image, Request};
use testkit::engine::Daemon;
use testkit::tools::{run, tool};
use testkit::{file, hard_link, symlink, write_archive};

fn facts(images: &[Image]) -> Vec<LayerFacts> {
    let [image] = images else {
        panic!("{} images", images.len())
    };
    let context = imgcheck_model::knowledge::read_context(Depth::Default).unwrap();
    image
        .layers
        .iter()
        .map(|blob| std::sync::Arc::unwrap_or_clone(context.read_layer(blob).unwrap().facts))
        .collect()
}

fn open(path: &Path) -> Vec<Image> {
    source::open(&ImageReference::Path(path.to_owned()), &Request::default()).unwrap()
}

#[test]
fn one_image_in_every_storage_has_the_same_facts() {
    if !tool("skopeo") {
        return;
    }
    let Some(daemon) = Daemon::start(&[]) else {
        return;
    };
    let base = daemon.path("base.tar");
    write_archive(
        &base,
        &[
            file("etc/os-release", "ID=debian\n"),
            file("bin/sh", std::fs::read("/bin/sh").unwrap()),
            hard_link("bin/dash", "bin/sh"),
            symlink("lib", "usr/lib"),
            file("opt/removed", "x"),
            file("opt/directory/inner", "x"),
        ],
    );
    daemon.run(&["import", base.to_str().unwrap(), "base:1"]);
    let context = daemon.path("context");
    testkit::write_directory(
        &context,
        &[
            file(
                "Dockerfile",
                "FROM base:1\nCOPY tree /\nLABEL name=value\nENV KEY=value\n",
            ),
            file("tree/opt/added", "y"),
        ],
    );
    daemon.run(&[
        "build",
        "-q",
        "--network",
        "none",
        "-t",
        "x/y:1",
        "-t",
        "x/y:latest",
        context.to_str().unwrap(),
    ]);
    let saved = daemon.path("saved.tar");
    daemon.run(&["save", "-o", saved.to_str().unwrap(), "x/y:1"]);
    let both = daemon.path("both.tar");
    daemon.run(&["save", "-o", both.to_str().unwrap(), "x/y:1", "base:1"]);

    let images = open(&saved);
    assert_eq!(images[0].reference.as_deref(), Some("x/y:1"));
    assert_eq!(
        images[0]
            .config
            .config()
            .as_ref()
            .unwrap()
            .env()
            .as_ref()
            .unwrap()
            .last()
            .unwrap(),
        "KEY=value"
    );
    let expected = facts(&images);
    assert_eq!(expected.len(), 2);
    assert!(
        expected[1]
            .entries
            .iter()
            .any(|entry| entry.path == "opt/added")
    );
    assert!(
        expected[0]
            .entries
            .iter()
            .any(|entry| entry.kind == EntryKind::HardLink("bin/sh".into()))
    );

    let text = saved.to_str().unwrap();
    for (kind, options) in [
        ("oci:", &[][..]),
        ("oci-archive:", &[]),
        ("docker-archive:", &[]),
        ("oci:", &["--dest-compress-format", "zstd"]),
        ("oci:", &["--dest-compress-format", "gzip"]),
        ("oci-archive:", &["--dest-compress-format", "zstd"]),
    ] {
        let target = daemon.path(&format!(
            "copy-{}-{}",
            kind.trim_end_matches(':'),
            options.last().unwrap_or(&"")
        ));
        let place = format!("{kind}{}:x/y:1", target.display());
        let arguments = [
            &["copy", "--insecure-policy", "-q"],
            options,
            &[&format!("docker-archive:{text}"), place.as_str()],
        ];
        run("skopeo", &arguments.concat());
        let images = open(&target);
        assert!(
            images[0].reference.as_deref().unwrap().contains("x/y:1"),
            "{place} {options:?}: {:?}",
            images[0].reference
        );
        assert!(facts(&images) == expected, "{place} {options:?}");
    }

    let mut references: Vec<_> = open(&both)
        .into_iter()
        .filter_map(|image| image.reference)
        .collect();
    references.sort();
    assert_eq!(references, ["base:1", "x/y:1"]);
    let chosen = ImageReference::parse(&format!(
        "docker-archive:{}:docker.io/x/y:1",
        both.display()
    ));
    assert!(facts(&source::open(&chosen, &Request::default()).unwrap()) == expected);
}

/// Docker and Podman save a layer that occurs twice as a link to the first; skopeo names it twice.
#[test]
fn a_layer_that_occurs_twice_is_read_from_every_archive() {
    if !tool("skopeo") {
        return;
    }
    let Some(daemon) = Daemon::start(&[]) else {
        return;
    };
    let mut image = testkit::Image::new("twice:1", &[&[file("etc/os-release", "ID=debian\n")]]);
    image.layers.push(image.layers[0].clone());
    let built = daemon.path("built.tar");
    write_archive(&built, &testkit::docker_archive(&[image]));
    let expected = facts(&open(&built));
    assert_eq!(expected.len(), 2);
    daemon.run(&["load", "-i", built.to_str().unwrap()]);
    let saved = daemon.path("saved.tar");
    daemon.run(&["save", "-o", saved.to_str().unwrap(), "twice:1"]);
    assert!(facts(&open(&saved)) == expected);
    let from = format!("docker-archive:{}", saved.display());
    for kind in ["docker-archive", "oci-archive", "oci"] {
        let copy = daemon.path(kind);
        let to = format!("{kind}:{}:twice:1", copy.display());
        run("skopeo", &["copy", "--insecure-policy", "-q", &from, &to]);
        assert!(facts(&open(&copy)) == expected, "{kind}");
    }
}
