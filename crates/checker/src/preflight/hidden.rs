//! What a container replaces with unknown content: files below a volume, values of Secrets.

use std::collections::BTreeMap;

use super::super::model::Model;
use imgcheck_base::gap::{Gap, GapCode};
use imgcheck_launch as launch;
use imgcheck_lint::workload::{Container, HiddenFiles, Mount, is_below};

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
    let searched = container.mounts.iter().filter_map(|mount| {
        let directory = directories(model).find(|it| overlaps(mount, it))?;
        let message = format!(
            "the volume {} is mounted at {}, and the process searches {directory} for code",
            mount.volume, mount.path
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
    let mut gaps: Vec<Gap> = unknown.chain(searched).chain(hidden).collect();
    gaps.dedup();
    gaps
}

/// The files that the processes of an image load, and that volumes hide.
pub(super) fn hidden(container: &Container, model: &Model) -> Vec<HiddenFiles> {
    let launch = &model.launch;
    let program = launch.program.as_deref();
    let loaded: Vec<&str> = model.loader.mapped_files(true).chain(program).collect();
    let files = |mount: &Mount| {
        let hidden = loaded.iter().filter(|file| is_below(file, &mount.path));
        let hidden: BTreeMap<&str, ()> = hidden.map(|it| (*it, ())).collect();
        let (first, ()) = hidden.first_key_value()?;
        Some(HiddenFiles {
            path: mount.path.clone(),
            volume: mount.volume.clone(),
            kind: mount.kind.clone(),
            file: (*first).to_owned(),
            count: hidden.len(),
            location: mount.location.clone(),
        })
    };
    container.mounts.iter().filter_map(files).collect()
}

/// The directories of the variables that name search paths.
fn directories(model: &Model) -> impl Iterator<Item = &str> {
    let environment = model.facts.image.process_env.iter().flatten();
    let paths = environment.filter(|(name, _)| {
        matches!(
            name.as_str(),
            "LD_LIBRARY_PATH" | "LD_PRELOAD" | "PYTHONPATH"
        )
    });
    let parts = paths.flat_map(|(_, value)| value.split([':', ' ']));
    parts.filter(|it| it.starts_with('/'))
}

fn overlaps(mount: &Mount, directory: &str) -> bool {
    let directory = directory.trim_end_matches('/');
    is_below(directory, &mount.path) || is_below(&mount.path, directory)
}
