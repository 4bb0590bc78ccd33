//! Libraries of which another copy is loaded than the one that lies where their user's package expects it.

use std::collections::HashSet;

use super::describe::{Describer, is_python};
use super::facts::Shadowed;
use super::model::ModelledProcess;
use crate::image::Node;
use crate::loader::{Object, Reason, Source};
use crate::stack::sites::Inside;

/// All of one process.
pub(super) fn of(describer: &Describer, process: &ModelledProcess) -> Vec<Shadowed> {
    let Some(loaded) = &process.run.process else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for object in loaded.objects() {
        let Some(Inside { site, .. }) = process.sites.holding(&object.path) else {
            continue;
        };
        for name in &object.elf.needed {
            let Some(winner) = loaded.named(name) else {
                continue;
            };
            let Some((path, node)) = expected(describer, object, site, name, winner) else {
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

/// The copy that an object's package brings: in the object's own DT_RPATH or DT_RUNPATH or beside it, else, where a library from
/// outside of site-packages is loaded, in NVIDIA's wheels.
fn expected<'r>(
    describer: &Describer<'_, 'r>,
    object: &Object,
    site: &str,
    name: &str,
    winner: &Object,
) -> Option<(String, Node<'r>)> {
    let origin = object.path.rsplit_once('/').map_or("/", |(it, _)| it);
    let list = object
        .elf
        .runpath
        .as_deref()
        .or(object.elf.rpath.as_deref());
    let own = list.unwrap_or_default().split(':').map(|directory| {
        directory
            .replace("${ORIGIN}", origin)
            .replace("$ORIGIN", origin)
    });
    let mut own = own
        .filter(|directory| directory.starts_with(site))
        .chain([origin.to_owned()]);
    if let Some(found) = own.find_map(|directory| describer.library_in(&directory, name)) {
        return Some(found);
    }
    let is_outside = !winner.path.starts_with(&format!("{site}/"));
    let wheels = describer.root.read_dir(&format!("{site}/nvidia"));
    let mut wheels = wheels.filter(|_| is_outside).map(|wheel| wheel.path());
    wheels.find_map(|wheel| describer.library_in(&format!("{wheel}/lib"), name))
}

/// Why the loaded copy wins.
fn reason(process: &ModelledProcess, winner: &Object, asks: &Object) -> String {
    let objects = process.run.objects();
    let requester = winner.requester.and_then(|id| objects.get(id));
    match requester {
        Some(requester) if is_python(requester) && requester.path != asks.path => {
            let id = objects.iter().position(|it| it.path == winner.path);
            let cause = id.and_then(|id| process.run.causes.get(id));
            format!(
                "an earlier load by {}",
                cause.map_or("Python", |it| &it.package)
            )
        }
        Some(requester) if requester.path != asks.path => {
            format!("an earlier load by {}", requester.path)
        }
        _ => said(&winner.reason),
    }
}

/// A reason for people.
pub(super) fn said(reason: &Reason) -> String {
    match reason {
        Reason::Executable => "the program".to_owned(),
        Reason::Interpreter => "the loader".to_owned(),
        Reason::Preload => "LD_PRELOAD or ld.so.preload".to_owned(),
        Reason::Path => "its path".to_owned(),
        Reason::Found(source) => origin_of(source),
    }
}

/// Where a place that is searched comes from, for people.
pub(super) fn origin_of(source: &Source) -> String {
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    match source {
        Source::Rpath(of) => format!("DT_RPATH of {}", name(of)),
        Source::Runpath(of) => format!("DT_RUNPATH of {}", name(of)),
        Source::LibraryPath => "LD_LIBRARY_PATH".to_owned(),
        Source::Cache => "ld.so.cache".to_owned(),
        Source::Default => "default directories".to_owned(),
    }
}

/// A reason as one word.
pub(super) fn word(reason: &Reason) -> &'static str {
    match reason {
        Reason::Executable => "executable",
        Reason::Interpreter => "interpreter",
        Reason::Preload => "preload",
        Reason::Path => "path",
        Reason::Found(Source::Rpath(_)) => "rpath",
        Reason::Found(Source::Runpath(_)) => "runpath",
        Reason::Found(Source::LibraryPath) => "ld-library-path",
        Reason::Found(Source::Cache) => "cache",
        Reason::Found(Source::Default) => "default",
    }
}
