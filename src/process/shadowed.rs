//! Libraries whose loaded copy is not the one that the package which needs them provides.

use std::collections::HashSet;

use super::describer::{Describer, is_python};
use super::facts::Shadowed;
use super::model::ModeledProcess;
use super::reasons;
use crate::image::Node;
use crate::loader::Object;
use crate::stack::sites::Inside;

/// The shadowed libraries of a process.
pub(super) fn of(describer: &Describer, process: &ModeledProcess) -> Vec<Shadowed> {
    let Some(loaded) = &process.playback.process else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for object in loaded.objects() {
        let Some(Inside { site, .. }) = process.sites.holding(&object.path) else {
            continue;
        };
        let own = own_directories(object, site);
        for name in &object.elf.needed {
            let Some(winner) = loaded.named(name) else {
                continue;
            };
            let Some((path, node)) = expected(describer, &own, site, name, winner) else {
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
fn own_directories(object: &Object, site: &str) -> Vec<String> {
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
        .collect()
}

/// The copy that an object's package provides, in one of its own directories; else, if the loaded copy is outside of site-packages, in
/// NVIDIA's wheels.
fn expected<'r>(
    describer: &Describer<'_, 'r>,
    own: &[String],
    site: &str,
    name: &str,
    winner: &Object,
) -> Option<(String, Node<'r>)> {
    let mut own = own.iter();
    if let Some(found) = own.find_map(|directory| describer.library_in(directory, name)) {
        return Some(found);
    }
    let is_outside = !winner.path.starts_with(&format!("{site}/"));
    let wheels = describer.root.read_dir(&format!("{site}/nvidia"));
    let mut wheels = wheels.filter(|_| is_outside).map(|wheel| wheel.path());
    wheels.find_map(|wheel| describer.library_in(&format!("{wheel}/lib"), name))
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
