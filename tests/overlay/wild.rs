//! Layers with everything that an archive can say, in any order. Most of them no engine would write, and many none takes.

use proptest::prelude::*;

use crate::engines::{Engine, all};
use crate::layer::{Kind, Member};
use crate::listing::{Listing, What, difference};
use crate::{archives, runner};

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
        Member {
            mode,
            ..Member::new(&format!("{spelling}{marked}{slash}"), kind)
        }
    })
}

fn layers() -> impl Strategy<Value = Vec<Vec<Member>>> {
    // Lower layers are made of directories and files, so that there is something to hide.
    let base = prop::collection::vec(member(), 2..8);
    let upper = prop::collection::vec(member(), 1..5);
    (base, prop::collection::vec(upper, 1..3)).prop_map(|(base, mut uppers)| {
        uppers.insert(0, base);
        uppers
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
        let merged = crate::imgcheck(&archives);
        for (engine, count) in engines.iter().zip(counts.borrow_mut().iter_mut()) {
            // What is refused cannot be run; imgcheck may take it all the same.
            let Ok(shown) = crate::engine(engine, &archives) else {
                continue;
            };
            let difference = difference(&known_modes(engine, &merged), &shown);
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
        crate::common::say::line(format_args!("{}: {count:?}", engine.name));
    }
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// Without the permissions of directories where the engine gives those that a layer does not list the usual ones. imgcheck keeps what
/// a lower layer says of them, as containerd does.
pub fn known_modes(engine: &Engine, merged: &Listing) -> Listing {
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
