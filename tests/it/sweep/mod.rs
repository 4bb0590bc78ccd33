//! `imgcheck sweep`: whole registries, several workers, one store.

mod gitlab;
mod harbor;
mod judging;
#[cfg(feature = "object-storage")]
mod object_storage;
mod plan;
mod refused;
mod stores;
mod throttled;
mod workers;

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use testkit::fleet::Fleet;
use testkit::registry::Content;
use testkit::{Image, file};

use crate::program::{imgcheck, imgcheck_process};
use crate::samples;
use crate::sweep_case::{Case, text, worker};

fn sweep(arguments: &[&str]) -> Command {
    let mut command = imgcheck_process();
    command.arg("sweep").args(arguments).arg("--no-progress");
    command
}

/// An image of two layers: one that all images of its base share, and its own.
pub fn small_image(base: &str, own: &str) -> Content {
    let lower = [file("etc/base", base.as_bytes())];
    let upper = [file("etc/own", own.as_bytes())];
    Content::of("1", &[Image::new("x", &[&lower, &upper])], false)
}

/// Puts an image into a repository, under a tag.
pub fn push(fleet: &mut Fleet, repository: &str, tag: &str, image: &Content) {
    let of = fleet.repositories.entry(repository.to_owned()).or_default();
    of.blobs.extend(image.blobs.clone());
    let digest = image.tags.values().next().unwrap();
    of.tags.insert(tag.to_owned(), digest.clone());
}

/// Three repositories with five tags each: four images, of which two share a base, and the same image again.
pub fn fleet() -> Fleet {
    let mut fleet = Fleet::default();
    for team in ["audio", "text", "vision"] {
        let name = format!("{team}/train");
        for (at, base) in ["debian", "debian", "ubuntu", "alpine"].iter().enumerate() {
            let image = small_image(base, &format!("{team} {at}"));
            push(&mut fleet, &name, &format!("v{at}"), &image);
        }
        push(
            &mut fleet,
            &name,
            "latest",
            &small_image("alpine", &format!("{team} 3")),
        );
    }
    fleet
}

/// The healthy sample under its own tag and under one that lies.
pub fn samples() -> Fleet {
    let mut fleet = Fleet::default();
    let content = samples::content();
    push(&mut fleet, "pytorch/pytorch", samples::TAG, &content);
    push(
        &mut fleet,
        "pytorch/pytorch",
        "2.9.0-cuda12.8-cudnn9-runtime",
        &content,
    );
    fleet
}

/// How often each blob was asked for.
pub fn blob_requests(
    server: &testkit::registry::Server,
) -> std::collections::BTreeMap<String, usize> {
    let mut counts = std::collections::BTreeMap::new();
    for seen in server.seen() {
        if let Some((_, digest)) = seen.path.split_once("/blobs/") {
            *counts.entry(digest.to_owned()).or_default() += 1;
        }
    }
    counts
}

/// The digests of the layers of an image in a fleet.
pub fn layers_of(fleet: &Fleet, repository: &str, tag: &str) -> Vec<String> {
    let manifest = fleet.repositories[repository].manifest(tag);
    let layers = manifest["layers"].as_array().unwrap();
    let digests = layers.iter().map(|it| it["digest"].as_str().unwrap());
    digests.map(str::to_owned).collect()
}

/// A file with text in the directory of a case.
pub fn write(case: &Case, name: &str, text: &str) -> PathBuf {
    let path = case.path(name);
    std::fs::write(&path, text).unwrap();
    path
}
