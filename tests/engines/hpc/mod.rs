//! Images of enroot and Apptainer, made by `mksquashfs`, compared with the root directory or the docker image that they come from.

mod damaged;

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use imgcheck::{Checker, ImageRequest};
use serde_json::Value;
use testkit::sif::{PRIMARY, SQUASHFS, definition, partition, sif};
use testkit::tools::{run, tool};

use crate::program;

const SAMPLE: &str = "testdata/sample/pytorch-cuda-v2.9.tar";

/// The options of mksquashfs: all compressors, enroot's default, and no compression.
const OPTIONS: [&[&str]; 7] = [
    &["-comp", "gzip"],
    &["-comp", "xz", "-Xbcj", "x86"],
    &["-comp", "zstd", "-b", "1M"],
    &["-comp", "lz4", "-Xhc"],
    &["-comp", "lzo", "-b", "4K"],
    &["-comp", "lzo", "-noD"],
    &["-noI", "-noD", "-noF", "-noX", "-no-fragments"],
];

fn squash(root: &Path, image: &Path, options: &[&str]) {
    let (root, image) = (root.to_str().unwrap(), image.to_str().unwrap());
    let always = [root, image, "-noappend", "-quiet", "-no-progress"];
    run("mksquashfs", &[&always[..], options].concat());
}

/// The facts of an image that its files have, without its configuration.
fn layers(image: &str) -> Value {
    let checker = Checker::builder().build().unwrap();
    let facts = checker.facts(&ImageRequest::new(image)).unwrap();
    let facts: Value = serde_json::from_str(&facts.to_json().unwrap()).unwrap();
    facts["layers"][0]["facts"].clone()
}

/// A root filesystem with everything that the format stores in a way of its own.
fn root(at: &Path) -> PathBuf {
    let root = at.join("root");
    for directory in ["bin", "etc", "empty/er", "lib", "many"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    fs::copy("/bin/bash", root.join("bin/bash")).unwrap();
    symlink("bash", root.join("bin/sh")).unwrap();
    fs::write(
        root.join("etc/os-release"),
        "ID=debian\nVERSION_ID=\"12\"\n",
    )
    .unwrap();
    fs::hard_link(root.join("bin/bash"), root.join("lib/again")).unwrap();
    fs::write(root.join("lib/nothing"), "").unwrap();
    let sparse = fs::File::create(root.join("lib/sparse.so")).unwrap();
    sparse.set_len(5 << 20).unwrap();
    for number in 0..700 {
        let name = root.join(format!("many/file-with-a-name-{number}.sh"));
        fs::write(
            name,
            format!("#!/bin/sh\necho {number}\n").repeat(number % 40),
        )
        .unwrap();
    }
    root
}

#[test]
fn an_image_has_the_facts_of_its_directory_however_it_is_compressed() {
    if !tool("mksquashfs") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let root = root(scratch.path());
    let expected = layers(&format!("dir:{}", root.display()));
    let image = scratch.path().join("image.sqsh");
    for options in OPTIONS {
        squash(&root, &image, options);
        assert!(layers(image.to_str().unwrap()) == expected, "{options:?}");
    }
}

/// The layers of the sample, unpacked, with a shell.
fn unpacked(at: &Path) -> PathBuf {
    let root = at.join("root");
    let mut archive = tar::Archive::new(fs::File::open(SAMPLE).unwrap());
    for entry in archive.entries().unwrap() {
        let mut bytes = Vec::new();
        entry.unwrap().read_to_end(&mut bytes).unwrap();
        if bytes.get(257..262) == Some(b"ustar") {
            tar::Archive::new(&bytes[..]).unpack(&root).unwrap();
        }
    }
    root
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// What is said about the content: claims, components and findings.
fn judgement(image: &Path, arguments: &[&str]) -> (Value, Value) {
    let (_, report) = program::check(image, arguments);
    let image = program::only_image(&report);
    let rules = image["findings"].as_array().unwrap().iter();
    let rules = rules.map(|finding| finding["rule"].clone()).collect();
    (image["claims"].clone(), rules)
}

const RC: &str = r#"# org.opencontainers.image.title imgcheck sample

mkdir -p "/" 2> /dev/null
cd "/" && unset OLDPWD || exit 1

if [ -s /etc/rc.local ]; then
    . /etc/rc.local
fi

if [ $# -gt 0 ]; then
    exec  "$@"
else
    exec  'python3'
fi
"#;
const ENVIRONMENT: &str =
    "PATH=/usr/local/bin:/usr/bin:/bin\nPYTHON_VERSION=3.11.13\nNVIDIA_VISIBLE_DEVICES=all\n";
const RUN: &str = "#!/bin/sh\nOCI_ENTRYPOINT=''\nOCI_CMD='\"python3\"'\neval \"set ${SINGULARITY_OCI_RUN}\"\nexec \"$@\"\n";
const EXPORTS: &str = "#!/bin/sh\nexport PATH=\"/usr/local/bin:/usr/bin:/bin\"\nexport PYTHON_VERSION=\"${PYTHON_VERSION:-\"3.11.13\"}\"\nexport NVIDIA_VISIBLE_DEVICES=\"${NVIDIA_VISIBLE_DEVICES:-\"all\"}\"\n";

#[test]
fn images_of_enroot_and_apptainer_are_judged_as_the_docker_image() {
    if !tool("mksquashfs") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let root = unpacked(scratch.path());
    let expected = judgement(&program::repository(SAMPLE), &[]);
    let squashed = scratch.path().join("image.sqsh");
    write(&root, "etc/rc", RC);
    write(&root, "etc/environment", ENVIRONMENT);
    squash(&root, &squashed, &["-comp", "lzo", "-noD"]);
    assert_eq!(
        judgement(&squashed, &["--as", "pytorch-cuda:v2.9"]),
        expected
    );

    fs::remove_file(root.join("etc/rc")).unwrap();
    write(&root, ".singularity.d/runscript", RUN);
    write(
        &root,
        ".singularity.d/env/10-docker2singularity.sh",
        EXPORTS,
    );
    write(&root, ".singularity.d/env/99-base.sh", "#!/bin/sh\n");
    squash(&root, &squashed, &["-comp", "gzip"]);
    let content = fs::read(&squashed).unwrap();
    let image = scratch.path().join("image.sif");
    let pulled = definition("bootstrap: docker\nfrom: pytorch-cuda:v2.9\n");
    fs::write(
        &image,
        sif(&[pulled, partition(SQUASHFS, PRIMARY, content)]),
    )
    .unwrap();
    assert_eq!(judgement(&image, &[]), expected);
    let (_, report) = program::check(&image, &[]);
    let image = program::only_image(&report);
    assert_eq!(image["source"], "sif");
    assert_eq!(image["platform"], "linux/amd64");
    assert_eq!(image["reference"], "pytorch-cuda:v2.9");

    // Nothing that the container toolkit would read counts for `--nv`.
    let set = [
        "",
        "export NVIDIA_VISIBLE_DEVICES=none\n",
        "export NVIDIA_DRIVER_CAPABILITIES=utility\n",
        "export NVIDIA_REQUIRE_CUDA=\"cuda>=99.0\"\n",
    ];
    for set in set {
        let exports = format!("#!/bin/sh\nexport PYTHON_VERSION=3.11.13\n{set}");
        write(
            &root,
            ".singularity.d/env/10-docker2singularity.sh",
            &exports,
        );
        squash(&root, &squashed, &["-comp", "gzip"]);
        let content = fs::read(&squashed).unwrap();
        let image = scratch.path().join("image.sif");
        let pulled = definition("bootstrap: docker\nfrom: pytorch-cuda:v2.9\n");
        fs::write(
            &image,
            sif(&[pulled, partition(SQUASHFS, PRIMARY, content)]),
        )
        .unwrap();
        assert_eq!(judgement(&image, &[]), expected, "{set}");
    }
}
