//! What a container replaces with unknown content: files below a volume, values of Secrets.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::analyze::Analysis;
use super::super::model::Model;
use super::kubelet;
use imgcheck_base::gap::{Gap, GapCode};
use imgcheck_launch as launch;
use imgcheck_lint::workload::{Container, HiddenFiles, Mount, is_below};
use imgcheck_model::imports::{AbsenceReason, ImportFailure};

/// The variables that name directories with code.
const SEARCH_PATHS: [&str; 3] = ["LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH"];

/// Where packages of a user are, below HOME (CPython's `Lib/site.py`).
const USER_BASE: &str = ".local";

/// Gaps for variables that decide what is loaded and whose values are unknown, and for volumes over files that the process loads or
/// over directories in which it searches.
pub(super) fn gaps(container: &Container, model: &Model, launch: &launch::Knowledge) -> Vec<Gap> {
    let gap = |message: String, path: Option<&str>| Gap {
        code: GapCode::OverlayUnknown,
        message,
        path: path.map(str::to_owned),
        layer: None,
    };
    let is_relevant =
        |variable: &Option<String>| variable.as_deref().is_none_or(|it| launch.is_relevant(it));
    let unknown = container.unknown.iter();
    let unknown = unknown.filter(|it| is_relevant(&it.variable));
    let unknown = unknown.map(|it| gap(it.message.clone(), None));
    let searched = searched(container, model).map(|(mount, directory)| {
        let message = format!(
            "the volume {} is mounted at {}, and the process searches {directory} for code",
            mount.volume, mount.path
        );
        gap(message, Some(&mount.path))
    });
    let failures = &model.stack.python.import_failures;
    // The volumes that may bring a library are named above.
    let of_modules = failures
        .iter()
        .filter(|it| !may_get_library(it, container, model));
    let imported = of_modules.filter_map(|failure| {
        let (mount, directory) = module_of(failure, container, model)?;
        let message = format!(
            "the volume {} is mounted at {}, and Python searches {directory} for {}",
            mount.volume, mount.path, failure.module
        );
        Some(gap(message, Some(&mount.path)))
    });
    let script = model.stack.python.script.iter().filter_map(|script| {
        let mut mounts = container.unknown_mounts();
        let mount = mounts.find(|it| is_below(&script.path, &it.path))?;
        if hides_script(mount, container, model) {
            return None;
        }
        let message = format!(
            "the volume {} is mounted at {}, and may bring {}, which Python runs",
            mount.volume, mount.path, script.path
        );
        Some(gap(message, Some(&mount.path)))
    });
    let hidden = hidden(container, model).into_iter().map(|it| {
        let message = format!(
            "the volume {} is mounted at {}, over {} that the process loads",
            it.volume, it.path, it.file
        );
        gap(message, Some(&it.path))
    });
    let mut gaps: Vec<Gap> = unknown
        .chain(searched)
        .chain(imported)
        .chain(script)
        .chain(hidden)
        .collect();
    gaps.dedup();
    gaps
}

/// The files that the processes of an image load, and that volumes hide.
pub(super) fn hidden(container: &Container, model: &Model) -> Vec<HiddenFiles> {
    let launch = &model.launch;
    let program = launch.program.as_deref();
    let loaded: Vec<&str> = model.loader.mapped_files(true).chain(program).collect();
    let files = |mount: &Mount| {
        let script = model.stack.python.script.as_ref();
        let script = script.filter(|_| hides_script(mount, container, model));
        let hidden: BTreeSet<&str> = match script {
            Some(script) => BTreeSet::from([script.path.as_str()]),
            None => {
                let loaded = loaded.iter().copied();
                loaded.filter(|file| is_below(file, &mount.path)).collect()
            }
        };
        Some(HiddenFiles {
            path: mount.path.clone(),
            volume: mount.volume.clone(),
            kind: mount.kind.clone(),
            file: (*hidden.first()?).to_owned(),
            count: hidden.len(),
            script: script.is_some(),
            location: mount.location.clone(),
        })
    };
    container.unknown_mounts().filter_map(files).collect()
}

/// Whether an empty volume certainly hides the script that Python executes.
fn hides_script(mount: &Mount, container: &Container, model: &Model) -> bool {
    let script = model.stack.python.script.as_ref();
    let script = script.filter(|it| it.certain && it.present && !kubelet::may_be_written(&it.path));
    mount.empty
        && !container.overlay.other_volumes
        && script.is_some_and(|it| is_below(&it.path, &mount.path))
}

/// Leaves out imports that do not fail if a volume brings the module or the library.
pub(super) fn drop_import_failures(container: &Container, analysis: &mut Analysis) {
    let (model, python) = (&analysis.model, &mut analysis.python);
    let is_brought = |it: &ImportFailure| {
        module_of(it, container, model).is_some() || may_get_library(it, container, model)
    };
    if python.import_failures.iter().any(is_brought) {
        let python = Arc::make_mut(python);
        python.import_failures.retain(|it| !is_brought(it));
    }
}

/// The volume that may bring the module of a failed import, with the directory in which Python searches for it.
fn module_of<'a>(
    failure: &'a ImportFailure,
    container: &'a Container,
    model: &'a Model,
) -> Option<(&'a Mount, &'a str)> {
    let launch = &model.launch;
    // `sys.path[0]` of `python -m` and `python -c`, even if only the volume brings it.
    let mut arguments = launch.arguments.iter();
    let is_from_here = arguments.any(|it| it == "-m" || it == "-c");
    let own = is_from_here.then_some(launch.working_directory.as_str());
    let searched = failure.searched.iter().map(String::as_str);
    let searched = searched
        .chain(directories(
            model,
            &["PYTHONPATH", "PYTHONUSERBASE", "HOME"],
        ))
        .chain(own);
    let name = failure.module.split('.').next().unwrap_or_default();
    let mut pairs =
        searched.flat_map(|it| container.unknown_mounts().map(move |mount| (mount, it)));
    pairs.find(|(mount, directory)| {
        let directory = directory.trim_end_matches('/');
        let below = mount.path.strip_prefix(directory);
        let below = below.and_then(|it| it.strip_prefix('/'));
        let first = below.and_then(|it| it.split('/').next());
        is_below(directory, &mount.path)
            || first.is_some_and(|it| it == USER_BASE || it.trim_end_matches(".py") == name)
    })
}

/// Whether an import fails for want of a library that a volume may bring.
fn may_get_library(failure: &ImportFailure, container: &Container, model: &Model) -> bool {
    use AbsenceReason::{LibraryMissing, LibraryTooOld};
    let needs_library = [LibraryMissing, LibraryTooOld].contains(&failure.reason);
    needs_library && searched(container, model).next().is_some()
}

/// The volumes over directories in which processes search for code, each with the first of these.
fn searched<'a>(
    container: &'a Container,
    model: &'a Model,
) -> impl Iterator<Item = (&'a Mount, &'a str)> {
    container.unknown_mounts().filter_map(|mount| {
        let directory = directories(model, &SEARCH_PATHS).find(|it| overlaps(mount, it))?;
        Some((mount, directory))
    })
}

/// The directories that variables name.
fn directories<'m>(model: &'m Model, variables: &'m [&str]) -> impl Iterator<Item = &'m str> {
    let environment = model.facts.image.process_env.iter().flatten();
    let paths = environment.filter(|(name, _)| variables.contains(&name.as_str()));
    let parts = paths.flat_map(|(_, value)| value.split([':', ' ']));
    parts.filter(|it| it.starts_with('/'))
}

fn overlaps(mount: &Mount, directory: &str) -> bool {
    let directory = directory.trim_end_matches('/');
    is_below(directory, &mount.path) || is_below(&mount.path, directory)
}
