//! docker-registry with 200 images that share layers, and three workers, of which one is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::json;
use testkit::registry::Content;
use testkit::{Image, descriptor, file, hex, sha256};

use super::push::{Pusher, Repository};
use super::*;
use crate::registry::real::Storage;

const REPOSITORIES: usize = 20;
/// Of each repository.
const TAGS: usize = 10;
/// Each has two layers. Image N has base N mod 10 and a layer of its own.
const BASES: usize = 10;

/// Digests of the blobs of layers, by diff ID without its algorithm.
type Layers = BTreeMap<String, String>;

fn image(number: usize) -> Image {
    let base = number % BASES;
    let lower = [file("etc/base", format!("base {base}"))];
    let upper = [file("etc/framework", format!("framework {base}"))];
    let own = [file("srv/model", format!("model {number}"))];
    Image::new("x", &[&lower, &upper, &own])
}

/// A Helm chart, which is no image.
fn chart() -> Content {
    let config = b"{}".to_vec();
    let mut content = Content::default();
    let manifest = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("application/vnd.cncf.helm.config.v1+json", &config), "layers": []});
    content.tag("1", manifest.to_string());
    content.blobs.insert(sha256(&config), config);
    content
}

/// All images, by repository and tag, and their layers.
fn fleet() -> (Vec<Repository>, Layers) {
    let mut layers = Layers::new();
    let mut repositories = Vec::new();
    for team in 0..REPOSITORIES {
        let mut images = Vec::new();
        for tag in 0..TAGS {
            let image = image(team * TAGS + tag);
            let content = Content::of("1", std::slice::from_ref(&image), false);
            let manifest = content.manifest("1");
            let digests = manifest["layers"].as_array().unwrap().iter();
            let digests = digests.map(|it| it["digest"].as_str().unwrap().to_owned());
            layers.extend(image.layers.iter().map(|it| hex(it)).zip(digests));
            images.push((format!("v{tag}"), content));
        }
        repositories.push((format!("team-{team}/train"), images));
    }
    repositories.push(("charts/train".to_owned(), vec![("v1".to_owned(), chart())]));
    (repositories, layers)
}

/// The worker of a claim.
fn owner(case: &Case, claim: &str) -> Option<String> {
    let written = fs::read_to_string(case.path("store").join(claim)).ok()?;
    Some(written).filter(|it| it.len() == 36)
}

/// How often each blob was sent.
fn sent(log: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for line in log.lines() {
        let request = line.split('"').nth(1).unwrap_or_default();
        let path = request
            .strip_prefix("GET ")
            .and_then(|it| it.split(' ').next());
        if let Some((_, digest)) = path.and_then(|it| it.split_once("/blobs/")) {
            *counts.entry(digest).or_default() += 1;
        }
    }
    counts
}

#[test]
fn nothing_is_lost_when_one_of_three_workers_is_killed() {
    let Some(storage) = Storage::new() else {
        return;
    };
    let memory = json!({"inmemory": {}, "delete": {"enabled": true}});
    let registry = storage.serve_with(json!({}), [("storage", memory)], &[]);
    let (repositories, layers) = fleet();
    let pusher = Pusher::new(&registry.address);
    pusher.push(&repositories);
    let lost = &layers[&hex(&image(77).layers[2])];
    pusher.delete("team-7/train", lost);

    let case = Case::new();
    let (totals, code) = case.plan(&[&format!("registry:{}", registry.address)]);
    assert_eq!((&totals["listed"], code), (&json!(201), 0), "{totals}");
    assert_eq!(
        (&totals["planned"], &totals["layers"]),
        (&json!(200), &json!(220))
    );

    // The first alone, so that its claims can be told from those of others.
    let arguments = |shard| ["--shard", shard, "--claim-expiry", "4"];
    let mut killed = worker(&case, &arguments("1/1"));
    let claims = || case.objects("claim-");
    let name = wait_for("no claim", || {
        claims().iter().find_map(|it| owner(&case, it))
    });
    let others = ["1/2", "2/2"].map(|shard| worker(&case, &arguments(shard)));
    wait_for("too few layers are read", || {
        (case.objects("facts-").len() >= 60).then_some(())
    });
    assert!(killed.try_wait().unwrap().is_none());
    killed.kill().unwrap();
    killed.wait().unwrap();
    let held = claims()
        .into_iter()
        .filter(|it| owner(&case, it).as_ref() == Some(&name));
    let held: BTreeSet<String> = held
        .map(|it| it.split('-').nth(1).unwrap().to_owned())
        .collect();
    let outcomes = others.map(|it| it.wait_with_output().unwrap());
    // Image 77 is in one of the two shards.
    let mut codes = outcomes.each_ref().map(|it| it.status.code().unwrap());
    codes.sort_unstable();
    assert_eq!(codes, [0, 3], "{outcomes:?}");
    // What the killed worker had just written, nobody claims again.
    let left = claims().into_iter().filter_map(|it| owner(&case, &it));
    assert!(left.into_iter().all(|it| it == name));

    let log = fs::read_to_string(&registry.log).unwrap();
    let sent = sent(&log);
    for (diff_id, digest) in layers.iter().filter(|(_, digest)| *digest != lost) {
        let most = if held.contains(diff_id) { 2 } else { 1 };
        let count = sent.get(digest.as_str()).copied().unwrap_or_default();
        assert!(
            (1..=most).contains(&count),
            "{digest} was sent {count} times, not {most}"
        );
    }
    let (records, code) = case.judge(&[]);
    let expected = BTreeMap::from([("failed", 1), ("judged", 199), ("skipped", 1)]);
    assert_eq!((statuses(&records), code), (expected, 3));
    let failed = records.iter().find(|it| it["status"] == "failed").unwrap();
    assert!(
        failed["reference"]
            .as_str()
            .unwrap()
            .ends_with("team-7/train:v7")
    );
    assert_eq!(failed["code"], "not-found");
}
