//! Layers with everything that an archive can say, in any order. Most of them no engine would write, and many none takes.

use imgcheck_archive::archive::path::normalise;
use proptest::prelude::*;

use super::engines::{Engine, all};
use super::layer::{Kind, Member};
use super::listing::{Listing, What, difference, merged};
use super::{archives, runner};

fn step() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just("a"),
        4 => Just("b"),
        3 => Just("c"),
        1 => Just("x.dist-info"),
        1 => Just("METADATA"),
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(step(), 1..4).prop_map(|names| names.join("/"))
}

fn target() -> impl Strategy<Value = String> {
    let start = prop_oneof![4 => Just(""), 2 => Just("/"), 1 => Just("../"), 1 => Just("../../")];
    (start, path()).prop_map(|(start, path)| start.to_owned() + &path)
}

/// What a member is, and with what in front of the last name of its path.
fn kind() -> impl Strategy<Value = (Kind, &'static str)> {
    prop_oneof![
        8 => Just((Kind::Directory, "")),
        8 => "[a-z]{1,9}".prop_map(|content| (Kind::File(content), "")),
        4 => target().prop_map(|target| (Kind::Symlink(target), "")),
        3 => path().prop_map(|target| (Kind::HardLink(target), "")),
        1 => Just((Kind::Fifo, "")),
        1 => (0_u32..2).prop_map(|number| (Kind::Device(number), "")),
        3 => Just((Kind::File(String::new()), ".wh.")),
        2 => Just((Kind::File(String::new()), "/.wh..wh..opq")),
    ]
}

/// How a path may be written.
fn spelling() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just(""), 2 => Just("./"), 1 => Just("/"), 1 => Just("../"), 1 => Just("c/../")]
}

fn member() -> impl Strategy<Value = Member> {
    let mode = prop_oneof![
        Just(0o755),
        Just(0o700),
        Just(0o644),
        Just(0o4711),
        Just(0o1777)
    ];
    (spelling(), path(), kind(), mode).prop_map(|(spelling, path, (kind, mark), mode)| {
        let marked = match mark.strip_prefix('/') {
            Some(below) => format!("{path}/{below}"),
            None => match path.rsplit_once('/') {
                Some((parent, name)) => format!("{parent}/{mark}{name}"),
                None => format!("{mark}{path}"),
            },
        };
        let slash = if kind == Kind::Directory { "/" } else { "" };
        let member = Member::new(&format!("{spelling}{marked}{slash}"), kind);
        match member.kind {
            Kind::Directory => Member { mode, ..member },
            // Docker and Podman give a file the permissions of each further link to it, containerd and imgcheck do not; builders write
            // the same for all of them.
            _ => member,
        }
    })
}

/// A layer that most engines take, though its meaning may be odd: of each path one member, after its parents and with a hard link
/// after what it leads to.
fn orderly(mut members: Vec<Member>) -> Vec<Member> {
    members.sort_by_key(|member| normalise(member.name.as_bytes()));
    let mut kept: Vec<(String, Member)> = Vec::new();
    for mut member in members {
        let path = normalise(member.name.as_bytes());
        let is_refused = kept.iter().any(|(other, kept)| {
            let is_below = path
                .strip_prefix(other.as_str())
                .is_some_and(|rest| rest.starts_with('/'));
            let holds = matches!(kept.kind, Kind::Directory | Kind::Symlink(_));
            *other == path || (is_below && !holds)
        });
        if is_refused {
            continue;
        }
        if let Kind::HardLink(target) = &mut member.kind {
            let file = |(path, kept): &&(String, Member)| {
                let is_file = matches!(kept.kind, Kind::File(_) | Kind::Symlink(_) | Kind::Fifo);
                is_file && !path.contains(".wh.")
            };
            match kept.iter().rev().find(file) {
                Some((path, _)) => target.clone_from(path),
                None => member.kind = Kind::Fifo,
            }
        }
        kept.push((path, member));
    }
    kept.into_iter().map(|(_, member)| member).collect()
}

fn layer(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Member>> {
    let members = prop::collection::vec(member(), length);
    (members, prop::bool::weighted(0.8)).prop_map(|(members, is_orderly)| match is_orderly {
        true => orderly(members),
        false => members,
    })
}

fn layers() -> impl Strategy<Value = Vec<Vec<Member>>> {
    (layer(2..10), prop::collection::vec(layer(1..7), 1..3)).prop_map(|(base, uppers)| {
        // There is nothing to hide from the lowest layer. containerd unpacks it without an overlay, and makes other directories of
        // marks in odd places than Docker and Podman.
        let is_mark = |member: &Member| member.name.contains(".wh.");
        let mut layers = vec![base.into_iter().filter(|member| !is_mark(member)).collect()];
        layers.extend(uppers);
        layers
    })
}

/// How often an engine took a case, and how often it then showed what imgcheck does.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    taken: u32,
    alike: u32,
}

#[test]
fn whatever_a_layer_says_the_overlay_shows_it() {
    let engines = all();
    let counts = std::cell::RefCell::new(vec![Count::default(); engines.len()]);
    let outcome = runner(12).run(&layers(), |layers| {
        let archives = archives(&layers);
        let found = merged(&archives);
        for (engine, count) in engines.iter().zip(counts.borrow_mut().iter_mut()) {
            // A rejected file cannot be run; imgcheck may still accept it.
            let Ok(shown) = engine.unpack(&archives) else {
                continue;
            };
            let difference = difference(&known_modes(engine, &found), &shown);
            count.taken += 1;
            count.alike += u32::from(difference.is_none());
            if engine.has_overlay() {
                prop_assert!(
                    difference.is_none(),
                    "{}: {}",
                    engine.name,
                    difference.unwrap_or_default()
                );
            }
        }
        Ok(())
    });
    for (engine, count) in engines.iter().zip(counts.into_inner()) {
        testkit::tools::say(format_args!("{}: {count:?}", engine.name));
    }
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// Without the permissions of directories where the engine gives those that a layer does not list the usual ones. imgcheck keeps what
/// a lower layer says of them, as containerd does.
fn known_modes(engine: &Engine, merged: &Listing) -> Listing {
    let mut known = merged.clone();
    if !engine.keeps_modes() {
        for found in known.values_mut() {
            if found.what == What::Directory {
                found.mode = None;
            }
        }
    }
    known
}
