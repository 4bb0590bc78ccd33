//! Layers as builders write them: what is different between one state of a file system and the next. Every engine must show the
//! last state, and so must imgcheck.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::engines::all;
use super::layer::{Kind, Member};
use super::listing::{difference, merged};
use super::{archives, runner};

/// A state of a file system: sorted paths, each with all its parents.
type State = BTreeMap<String, (Kind, u32)>;

/// One action of a build step: it adds or removes a path.
type Change = (String, Option<Kind>, u32);

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec("[abc]", 1..4).prop_map(|names| names.join("/"))
}

fn change() -> impl Strategy<Value = Change> {
    let kind = prop_oneof![
        3 => Just(None),
        3 => Just(Some(Kind::Directory)),
        5 => "[a-z]{1,9}".prop_map(|content| Some(Kind::File(content))),
        3 => path().prop_map(|target| Some(Kind::Symlink(format!("/{target}")))),
        1 => Just(Some(Kind::Fifo)),
    ];
    let mode = prop_oneof![Just(0o755), Just(0o700), Just(0o1777)];
    (path(), kind, mode)
}

fn remove(state: &mut State, path: &str) {
    let below = format!("{path}/");
    state.retain(|name, _| name != path && !name.starts_with(&below));
}

fn perform(state: &mut State, (path, kind, mode): &Change) {
    let Some(kind) = kind else {
        return remove(state, path);
    };
    for (end, _) in path.match_indices('/') {
        let parent = &path[..end];
        if state
            .get(parent)
            .is_none_or(|(kind, _)| *kind != Kind::Directory)
        {
            state.insert(parent.to_owned(), (Kind::Directory, 0o755));
        }
    }
    let both_directories = *kind == Kind::Directory
        && state
            .get(path)
            .is_some_and(|(kind, _)| *kind == Kind::Directory);
    if !both_directories {
        remove(state, path);
    }
    let mode = if matches!(kind, Kind::Symlink(_)) {
        0o777
    } else {
        *mode
    };
    state.insert(path.clone(), (kind.clone(), mode));
}

/// The layer that leads from one state to the next: each member after its parents, whiteouts where something is gone.
fn layer(before: &State, after: &State) -> Vec<Member> {
    let mut members: BTreeMap<String, Member> = BTreeMap::new();
    let mut list = |path: &str| {
        let (kind, mode) = &after[path];
        let slash = if *kind == Kind::Directory { "/" } else { "" };
        let member = Member::new(&format!("{path}{slash}"), kind.clone());
        members.insert(
            path.to_owned(),
            Member {
                mode: *mode,
                ..member
            },
        );
    };
    let parents = |path: &str| {
        let ends = path
            .match_indices('/')
            .map(|(end, _)| path[..end].to_owned());
        ends.collect::<Vec<_>>()
    };
    let is_directory = |state: &State, path: &str| {
        state
            .get(path)
            .is_some_and(|(kind, _)| *kind == Kind::Directory)
    };
    for path in after
        .keys()
        .filter(|path| before.get(*path) != after.get(*path))
    {
        parents(path).iter().for_each(|parent| list(parent));
        list(path);
    }
    let mut gone = Vec::new();
    for path in before.keys().filter(|path| !after.contains_key(*path)) {
        let parents = parents(path);
        if parents.iter().all(|parent| is_directory(after, parent)) {
            parents.iter().for_each(|parent| list(parent));
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
            let place = format!("{directory}/.wh.{name}");
            gone.push(Member::new(
                place.trim_start_matches('/'),
                Kind::File(String::new()),
            ));
        }
    }
    members.into_values().chain(gone).collect()
}

#[test]
fn what_builders_write_every_engine_and_imgcheck_understand() {
    let engines = all();
    let steps = prop::collection::vec(prop::collection::vec(change(), 1..8), 1..4);
    let outcome = runner(12).run(&steps, |steps| {
        let mut state = State::new();
        let mut layers = Vec::new();
        for step in steps {
            let before = state.clone();
            step.iter().for_each(|change| perform(&mut state, change));
            layers.push(layer(&before, &state));
        }
        let archives = archives(&layers);
        let found = merged(&archives);
        let paths: Vec<String> = state.keys().map(|path| format!("/{path}")).collect();
        prop_assert!(found.keys().eq(&paths), "{found:?}\n{state:?}");
        for engine in &engines {
            let shown = engine.unpack(&archives);
            let shown =
                shown.map_err(|error| TestCaseError::fail(format!("{}: {error}", engine.name)))?;
            let difference = difference(&found, &shown);
            prop_assert!(
                difference.is_none(),
                "{}: {}",
                engine.name,
                difference.unwrap_or_default()
            );
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
