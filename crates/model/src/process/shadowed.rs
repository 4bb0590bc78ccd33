//! Libraries whose loaded copy is not the one that the package which needs them provides.

use std::collections::{HashMap, HashSet};

use super::describer::{Describer, is_python};
use super::facts::Shadowed;
use super::program::ModeledProcess;
use super::reasons;
use crate::stack::sites::Inside;
use imgcheck_image::Node;
use imgcheck_loader::Object;

/// The shadowed libraries of a process.
pub(super) fn of(describer: &Describer, process: &ModeledProcess) -> Vec<Shadowed> {
    let Some(loaded) = &process.playback.process else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut wheels = HashMap::new();
    for object in loaded.objects() {
        let Some(Inside { site, .. }) = process.sites.holding(&object.path) else {
            continue;
        };
        let own = own_directories(describer, object, site);
        let wheels = wheels
            .entry(site)
            .or_insert_with(|| nvidia_wheels(describer, site));
        for name in &object.elf.needed {
            let Some(winner) = loaded.named(name) else {
                continue;
            };
            // NVIDIA's wheels provide what the package does not, if the loaded copy is outside of site-packages.
            let is_outside = !winner.path.starts_with(&format!("{site}/"));
            let others = wheels.iter().filter(|_| is_outside);
            let mut homes = own.iter().chain(others);
            let expected = homes.find_map(|(path, home)| library_in(path, *home, name));
            let Some((path, node)) = expected else {
                continue;
            };
            if node.identity() == winner.node.identity()
                || !seen.insert((winner.node.identity(), node.identity()))
            {
                continue;
            }
            found.push(Shadowed {
                process: process.name.clone(),
                main: process.main,
                library: name.clone(),
                loaded: describer.loaded(process, winner),
                shadowed: describer.file(process, node, &path),
                needed_by: object.path.clone(),
                reason: reason(process, winner, object),
            });
        }
    }
    found
}

/// The directories of an object's package in which the libraries are that it needs: those of its DT_RPATH or DT_RUNPATH, and its own.
fn own_directories<'r>(
    describer: &Describer<'_, 'r>,
    object: &Object,
    site: &str,
) -> Vec<(String, Node<'r>)> {
    let origin = object.path.rsplit_once('/').map_or("/", |(it, _)| it);
    let runpath = object.elf.runpath.as_deref();
    let list = runpath.or(object.elf.rpath.as_deref());
    let listed = list.unwrap_or_default().split(':').map(|directory| {
        directory
            .replace("${ORIGIN}", origin)
            .replace("$ORIGIN", origin)
    });
    listed
        .filter(|directory| directory.starts_with(site))
        .chain([origin.to_owned()])
        .filter_map(|directory| existing(describer, directory))
        .collect()
}

/// The directories of libraries in NVIDIA's wheels.
fn nvidia_wheels<'r>(describer: &Describer<'_, 'r>, site: &str) -> Vec<(String, Node<'r>)> {
    let wheels = describer.root.read_dir(&format!("{site}/nvidia"));
    let library = |wheel: Node| existing(describer, format!("{}/lib", wheel.path()));
    wheels.filter_map(library).collect()
}

/// A directory, if it exists.
fn existing<'r>(describer: &Describer<'_, 'r>, path: String) -> Option<(String, Node<'r>)> {
    let node = describer.root.resolve(&path).ok()?;
    Some((path, node))
}

/// The ELF file of this name in a directory, which has this path.
fn library_in<'r>(path: &str, directory: Node<'r>, name: &str) -> Option<(String, Node<'r>)> {
    let node = directory.lookup(name)?;
    node.elf().map(|_| (format!("{path}/{name}"), node))
}

/// Why the loaded copy was loaded.
fn reason(process: &ModeledProcess, winner: &Object, asks: &Object) -> String {
    let objects = process.playback.objects();
    let requester = winner.requester.and_then(|id| objects.get(id));
    match requester {
        Some(requester) if is_python(requester) && requester.path != asks.path => {
            let id = objects.iter().position(|it| it.path == winner.path);
            let cause = id.and_then(|id| process.playback.causes.get(id));
            format!(
                "an earlier load by {}",
                cause.map_or("Python", |it| &it.package)
            )
        }
        Some(requester) if requester.path != asks.path => {
            format!("an earlier load by {}", requester.path)
        }
        _ => reasons::text(&winner.reason),
    }
}
