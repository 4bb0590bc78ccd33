//! One library: who loads it, where the loader searched, and what it opens.

use std::fmt::Write;

use super::parts::{DIM, Relations, failure_line, heading, is_match, matches, object_line, title};
use crate::one_line;
use imgcheck_model::process::facts::DriverLibrary;
use imgcheck_model::process::tree::{FailedLoad, MappedObject, ProcessTree, Searched};

/// Writes everything about one library; `false` if the process has nothing to do with it.
pub(super) fn write(out: &mut String, process: &ProcessTree, library: &str) -> bool {
    let ids: Vec<usize> = (0..process.objects.len())
        .filter(|&id| is_match(&process.objects[id], library))
        .collect();
    let failures: Vec<&FailedLoad> = process
        .failures
        .iter()
        .filter(|failure| matches(&failure.library, library))
        .collect();
    let from_host: Vec<&DriverLibrary> = process
        .driver_libraries
        .iter()
        .filter(|it| matches(&it.library, library))
        .filter(|it| {
            !ids.iter()
                .any(|&id| answers(&process.objects[id], &it.library))
        })
        .collect();
    if ids.is_empty() && failures.is_empty() && from_host.is_empty() {
        return false;
    }
    heading(out, process);
    let relations = Relations::of(process);
    for id in ids {
        out.push('\n');
        explain(out, process, &relations, id);
    }
    for failure in failures {
        let _ = writeln!(out, "\n{}", failure_line(failure));
        searched(out, &failure.searched);
        list(out, "other copy:", &failure.others);
    }
    provided(out, &from_host);
    true
}

/// Writes the libraries of the host's driver, and who uses each.
fn provided(out: &mut String, libraries: &[&DriverLibrary]) {
    let mut names: Vec<&str> = Vec::new();
    for library in libraries {
        if !names.contains(&library.library.as_str()) {
            names.push(&library.library);
        }
    }
    for name in names {
        let users = || libraries.iter().filter(|it| it.library == name);
        let in_image = users().find_map(|it| it.after_ldconfig.as_ref());
        let _ = writeln!(
            out,
            "\n{}  provided by the host at run time: the container toolkit mounts the library of the driver",
            one_line(name)
        );
        if let Some(file) = in_image {
            let _ = writeln!(
                out,
                "  but once the toolkit has run ldconfig, {} is found before it, because of {}",
                one_line(&file.path),
                one_line(&file.reason)
            );
        }
        for user in users() {
            let verb = if user.opened {
                "opened by"
            } else {
                "needed by"
            };
            let _ = writeln!(out, "  {verb} {}", one_line(&user.needed_by));
        }
    }
}

/// Whether a file of the image is what the loader finds for a name.
fn answers(object: &MappedObject, name: &str) -> bool {
    object.facts.request == name || object.facts.soname == name
}

fn explain(out: &mut String, process: &ProcessTree, relations: &Relations, id: usize) {
    let object = &process.objects[id];
    let facts = &object.facts;
    let _ = writeln!(out, "{}", object_line(object));
    if let Some(layer) = facts.layer {
        let _ = writeln!(out, "  layer {layer}");
    }
    let loaded_by = match object.parent {
        Some(parent) => one_line(&process.objects[parent].facts.path),
        None => title(process, &facts.package, facts.when),
    };
    let _ = writeln!(out, "  loaded by {loaded_by}");
    let paths = |ids: &[usize]| -> Vec<String> {
        let objects = ids.iter().map(|&id| &process.objects[id]);
        objects.map(|object| object.facts.path.clone()).collect()
    };
    list(out, "needed by", &paths(&relations.users[id]));
    searched(out, &object.searched);
    let _ = writeln!(
        out,
        "  found: {}, {}",
        one_line(&facts.path),
        one_line(&facts.reason)
    );
    list(out, "not loaded", &object.others);
    list(out, "opens", &paths(&relations.opened[id]));
}

fn searched(out: &mut String, places: &[Searched]) {
    for place in places {
        let outcome = match place.wrong_machine {
            true => "built for a different architecture",
            false if place.reason == "ld.so.cache" => "no matching entry",
            false => "not found",
        };
        let _ = writeln!(
            out,
            "  searched {}  {DIM}{}: {outcome}{DIM:#}",
            one_line(&place.place),
            one_line(&place.reason)
        );
    }
}

fn list(out: &mut String, title: &str, paths: &[String]) {
    for path in paths {
        let _ = writeln!(out, "  {title} {}", one_line(path));
    }
}
