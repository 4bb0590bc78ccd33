#![allow(clippy::unwrap_used)]

use std::collections::HashSet;

use super::{Cause, ImageSize};
use crate::stack::Distribution;
use imgcheck_elf::facts::{ElfFacts, GpuCode};
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts, RootFilesystem};

const SITE: &str = "usr/lib/python3.11/site-packages";

fn entry(path: &str, size: u64, kind: EntryKind) -> Entry {
    Entry {
        path: path.to_owned(),
        kind,
        size,
        mode: 0o644,
        owner: Default::default(),
    }
}

fn file(path: &str, size: u64) -> Entry {
    entry(path, size, EntryKind::File(Content::Unread))
}

fn library(path: &str, size: u64, soname: &str) -> Entry {
    let facts = ElfFacts {
        soname: Some(soname.to_owned()),
        gpu: Some(GpuCode::default()),
        ..ElfFacts::default()
    };
    entry(path, size, EntryKind::File(Content::Elf(facts.into())))
}

fn link(path: &str, target: &str) -> Entry {
    entry(path, 0, EntryKind::HardLink(target.to_owned()))
}

fn measure(layers: &[Vec<Entry>], distributions: &[(&str, &str)], loaded: &[&str]) -> ImageSize {
    let entries = layers.iter().cloned();
    let layers: Vec<LayerFacts> = entries.map(|entries| LayerFacts { entries }).collect();
    let distribution = |&(name, version): &(&str, &str)| Distribution {
        name: name.to_owned(),
        version: version.to_owned(),
        site: format!("/{SITE}"),
        ..Distribution::default()
    };
    let distributions: Vec<Distribution> = distributions.iter().map(distribution).collect();
    let root = RootFilesystem::merge(&layers);
    let loaded: HashSet<&str> = loaded.iter().copied().collect();
    let caches = crate::knowledge::caches().unwrap();
    let size = ImageSize::of(layers.iter(), &root, &distributions, &loaded, &caches);
    let packages: u64 = size.packages.iter().map(|it| it.bytes).sum();
    let replaced: u64 = size.layers.iter().map(|it| it.replaced).sum();
    assert_eq!(packages + size.rest + replaced, size.bytes);
    assert_eq!(size.of_cause(Cause::Replaced), replaced);
    size
}

fn named(size: &ImageSize) -> Vec<(&str, u64)> {
    size.packages
        .iter()
        .map(|it| (it.name.as_str(), it.bytes))
        .collect()
}

fn paths(size: &ImageSize, cause: Cause) -> Vec<(&str, u64)> {
    let found = size.causes.iter().filter(|it| it.cause == cause);
    found
        .flat_map(|it| &it.largest)
        .map(|it| (it.path.as_str(), it.bytes))
        .collect()
}

#[test]
fn what_a_later_layer_replaces_or_removes_counts_where_it_is_stored() {
    let size = measure(
        &[
            vec![file("a", 100_000), file("b", 200_000), file("c", 1)],
            vec![file("a", 300_000), entry("b", 0, EntryKind::Whiteout)],
        ],
        &[],
        &[],
    );
    assert_eq!((size.bytes, size.files), (600_001, 4));
    let layers: Vec<(u64, u64)> = size
        .layers
        .iter()
        .map(|it| (it.bytes, it.replaced))
        .collect();
    assert_eq!(layers, [(300_001, 300_000), (300_000, 0)]);
    assert_eq!(
        paths(&size, Cause::Replaced),
        [("/b", 200_000), ("/a", 100_000)]
    );
    assert_eq!(
        size.causes[0].largest[1].detail,
        "of layer 0, replaced in layer 1"
    );
}

#[test]
fn a_package_has_the_name_of_its_distribution() {
    let of = |path: &str, size| file(&format!("{SITE}/{path}"), size);
    let size = measure(
        &[vec![
            of("torch/lib/libtorch.so", 500),
            of("torch/__init__.py", 5),
            of("nvidia/cudnn/lib/libcudnn.so.9", 400),
            of("nvidia/__init__.py", 1),
            of("yaml/__init__.py", 20),
            of("torch-2.8.0.dist-info/METADATA", 2),
            of("six.py", 3),
            file("opt/tools/one/x", 7),
            file("usr/share/doc/y", 8),
        ]],
        &[("torch", "2.8.0"), ("nvidia-cudnn-cu12", "9.10.2.21")],
        &[],
    );
    let expected = [
        ("torch 2.8.0", 505),
        ("nvidia-cudnn-cu12 9.10.2.21", 400),
        ("/usr/lib/python3.11/site-packages/yaml", 20),
        ("/usr/share", 8),
        ("/opt/tools/one", 7),
        ("/usr/lib/python3.11/site-packages", 5),
        ("/usr/lib/python3.11/site-packages/nvidia", 1),
    ];
    assert_eq!(named(&size), expected);
}

#[test]
fn a_file_that_is_linked_from_elsewhere_is_not_only_in_a_cache() {
    let size = measure(
        &[vec![
            file("opt/conda/pkgs/torch/libtorch.so", 700),
            link(
                "opt/conda/share/libtorch.so",
                "opt/conda/pkgs/torch/libtorch.so",
            ),
            file("opt/conda/pkgs/torch.conda", 90),
            file("root/.cache/pip/http/x", 30),
            file("home/me/.cache/other/y", 40),
        ]],
        &[],
        &[],
    );
    let caches = [("/opt/conda/pkgs", 90), ("/root/.cache/pip", 30)];
    assert_eq!(paths(&size, Cause::Cache), caches);
    assert_eq!(size.bytes, 860);
}

#[test]
fn a_copy_is_a_further_one_if_processes_load_another() {
    let layers = [vec![
        library("a/libcudart.so.12", 10, "libcudart.so.12"),
        library("b/libcudart.so.12", 20, "libcudart.so.12"),
        link("c/libcudart.so.12", "b/libcudart.so.12"),
        library("b/libcudart.so.13", 30, "libcudart.so.13"),
        file("b/libcudart_static.a", 40),
    ]];
    let size = measure(&layers, &[], &["/c/libcudart.so.12"]);
    assert_eq!(paths(&size, Cause::Duplicate), [("/a/libcudart.so.12", 10)]);
    assert_eq!(
        paths(&size, Cause::StaticLibrary),
        [("/b/libcudart_static.a", 40)]
    );
    let unknown = measure(&layers, &[], &[]);
    assert_eq!(
        paths(&unknown, Cause::Duplicate),
        [("/b/libcudart.so.12", 20)]
    );
    let both = measure(&layers, &[], &["/a/libcudart.so.12", "/b/libcudart.so.12"]);
    assert_eq!(paths(&both, Cause::Duplicate), []);
}
