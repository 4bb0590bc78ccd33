//! Layers of which engines with an overlay make something else than those that unpack all layers into one directory, and what
//! imgcheck follows: the overlay, since nearly all images run on one.

use super::engines::all;
use super::layer::{Kind, Member, archive};
use super::listing::{merged, short};

/// Members in short: `a/`, `b -> c`, `b => a` for a hard link, `c 0:0` for a device, all others files.
fn layer(members: &str) -> Vec<u8> {
    let member = |text: &str| {
        if let Some((name, target)) = text.split_once(" -> ") {
            Member::new(name, Kind::Symlink(target.to_owned()))
        } else if let Some((name, target)) = text.split_once(" => ") {
            Member::new(name, Kind::HardLink(target.to_owned()))
        } else if let Some(name) = text.strip_suffix(" 0:0") {
            Member::new(name, Kind::Device(0))
        } else if text.ends_with('/') {
            Member::new(text, Kind::Directory)
        } else {
            Member::new(text, Kind::File(String::new()))
        }
    };
    let members: Vec<Member> = members.split(", ").map(member).collect();
    archive(&members)
}

struct Case {
    layers: &'static [&'static str],
    /// What imgcheck and every overlay shows, if the engine takes it.
    shown: &'static str,
    /// What umoci makes of it, if it takes it.
    unpacked: Option<&'static str>,
}

const CASES: &[Case] = &[
    // A link of a lower layer is no way into it.
    Case {
        layers: &["usr/, usr/lib/, usr/lib/a, lib -> usr/lib", "lib/x"],
        shown: "/lib/, /lib/x, /usr/, /usr/lib/, /usr/lib/a",
        unpacked: Some("/lib -> usr/lib, /usr/, /usr/lib/, /usr/lib/a, /usr/lib/x"),
    },
    Case {
        layers: &["usr/, usr/lib/, usr/lib/a, lib -> usr/lib", "lib/.wh.a"],
        shown: "/lib/, /usr/, /usr/lib/, /usr/lib/a",
        unpacked: Some("/lib -> usr/lib, /usr/, /usr/lib/"),
    },
    // A whiteout and a directory of the same name: the directory replaces the whiteout, and lies over the lower one.
    Case {
        layers: &["b/, b/old", ".wh.b, b/, b/new"],
        shown: "/b/, /b/new, /b/old",
        unpacked: Some("/b/, /b/new"),
    },
    Case {
        layers: &["a", ".wh..wh..opq, b"],
        shown: "/a, /b",
        unpacked: Some("/b"),
    },
    Case {
        layers: &["b/, b/c, b/d", "b/, b/c 0:0"],
        shown: "/b/, /b/d",
        unpacked: Some("/b/, /b/c (special), /b/d"),
    },
    Case {
        layers: &["a", "x/y/.wh.z"],
        shown: "/a, /x/, /x/y/",
        unpacked: Some("/a"),
    },
    // A file gives way to a directory only where it is of a lower layer.
    Case {
        layers: &["a", "a/x"],
        shown: "/a/, /a/x",
        unpacked: None,
    },
    Case {
        layers: &["a, a/x"],
        shown: "/a/, /a/x",
        unpacked: None,
    },
    // Only umoci links to a lower layer, and only containerd and umoci make what a link leads to.
    Case {
        layers: &["a", "b => a"],
        shown: "/a, /b",
        unpacked: Some("/a, /b"),
    },
    Case {
        layers: &["l -> no/where, l/x"],
        shown: "/l -> no/where, /no/, /no/where/, /no/where/x",
        unpacked: Some("/l -> no/where, /no/, /no/where/, /no/where/x"),
    },
    // No engine with an overlay takes a whiteout after what it names. imgcheck does, and passes over it.
    Case {
        layers: &["b/, b/old", "b/, b/new, .wh.b"],
        shown: "/b/, /b/new, /b/old",
        unpacked: Some("/b/, /b/new"),
    },
    // Podman passes over a whiteout below a whiteout, the others do not take it.
    Case {
        layers: &["f/, f/b", ".wh.f, f/.wh.b, c"],
        shown: "/c",
        unpacked: Some("/c"),
    },
];

#[test]
fn where_engines_disagree_imgcheck_follows_the_overlay() {
    for case in CASES {
        let layers: Vec<Vec<u8>> = case.layers.iter().map(|members| layer(members)).collect();
        assert_eq!(
            short(&merged(&layers)).join(", "),
            case.shown,
            "{:?}",
            case.layers
        );
    }
    for engine in all() {
        for case in CASES {
            let layers: Vec<Vec<u8>> = case.layers.iter().map(|members| layer(members)).collect();
            let shown = engine.unpack(&layers).ok();
            let shown = shown.map(|shown| short(&shown).join(", "));
            let context = format!("{}: {:?}", engine.name, case.layers);
            match engine.has_overlay() {
                true => assert!(shown.is_none_or(|shown| shown == case.shown), "{context}"),
                false => assert_eq!(shown.as_deref(), case.unpacked, "{context}"),
            }
        }
    }
}
