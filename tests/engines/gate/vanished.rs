//! Layers that go away or change while they are read.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::case::{
    Case, Ending, MISLABELLED, check, duration, ending, essence, image, run, run_while,
};
use testkit::engine::Daemon;
use testkit::{docker_archive, write_archive};

/// Moments within a run at which something happens.
const MOMENTS: u32 = 8;

/// What happens to a file.
type Fate = (&'static str, fn(&Path));

const FATES: [Fate; 4] = [
    ("removed", |path| fs::remove_file(path).unwrap()),
    ("cut", |path| {
        let file = fs::File::options().write(true).open(path).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(length / 2).unwrap();
    }),
    ("replaced", |path| {
        let other = path.with_extension("other");
        fs::write(&other, "other bytes").unwrap();
        fs::rename(other, path).unwrap();
    }),
    ("overwritten", |path| {
        let length = path.metadata().unwrap().len() as usize;
        fs::write(path, vec![0; length]).unwrap();
    }),
];

#[test]
fn a_blob_that_changes_while_it_is_read_is_noticed() {
    let case = Case::new(1 << 20);
    let whole = duration(&mut case.command());
    let layers = case.layers();
    let kept: Vec<Vec<u8>> = layers
        .iter()
        .map(|layer| fs::read(layer).unwrap())
        .collect();
    let mut failures = 0;
    for (name, fate) in FATES {
        for moment in 0..MOMENTS {
            let output = run_while(&mut case.command(), whole * moment / MOMENTS, || {
                layers.iter().for_each(|layer| fate(layer));
            });
            // Whole where it was read, or held open, before.
            let ending = case.ending(&output);
            failures += u32::from(ending != Ending::Whole);
            for (layer, bytes) in layers.iter().zip(&kept) {
                // A new file: the old one may be held open.
                let _ = fs::remove_file(layer);
                fs::write(layer, bytes).unwrap();
            }
            let next = run(&mut case.command());
            assert_eq!(case.ending(&next), Ending::Whole, "{name}");
        }
    }
    assert!(failures > 0);
}

/// The layers of a docker archive are not hashed, and of their files only parts are read.
#[test]
fn an_archive_that_is_cut_while_it_is_read_is_noticed() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("image.tar");
    let sample = fs::read(MISLABELLED).unwrap();
    let command = || check(&[path.to_str().unwrap()]);
    fs::write(&path, &sample).unwrap();
    let expected = essence(&run(&mut command()));
    let whole = duration(&mut command());
    for moment in 0..4 * MOMENTS {
        for length in [0, sample.len() / 3, sample.len() - 10_240] {
            let output = run_while(&mut command(), whole * moment / (4 * MOMENTS), || {
                let file = fs::File::options().write(true).open(&path).unwrap();
                file.set_len(length as u64).unwrap();
            });
            ending(&output, &expected);
            fs::write(&path, &sample).unwrap();
        }
    }
}

/// An engine removes an image while the layers are read in its storage.
#[test]
fn an_image_that_its_engine_removes_is_noticed() {
    let Some(daemon) = Daemon::start(&[]) else {
        return;
    };
    let archive = daemon.path("image.tar");
    write_archive(&archive, &docker_archive(&[image(4096)]));
    let archive = archive.to_str().unwrap();
    let load = || daemon.run(&["load", "-q", "-i", archive]);
    let command = || {
        let mut command: Command = check(&["docker-daemon:pytorch-cuda:v2.9"]);
        command.env("DOCKER_HOST", daemon.host());
        command
    };
    load();
    let expected = essence(&run(&mut command()));
    let whole = duration(&mut command());
    let mut failures = 0;
    for moment in 0..MOMENTS {
        load();
        let output = run_while(&mut command(), whole * moment / MOMENTS, || {
            daemon.run(&["rmi", "-f", "pytorch-cuda:v2.9"]);
        });
        failures += u32::from(ending(&output, &expected) != Ending::Whole);
    }
    assert!(failures > 0, "it was always read before it was removed");
}
