//! Names that lead out of the image, are invalid, or that readers understand differently.

use tar::EntryType;

use super::attack::{Attack, Outcome};
use super::links::{HOST, INNER, archive, inner, inner_file, layers};
use super::tars::{header, member, members, pax, plain};
use testkit::{directory, file};

/// Attacks by names.
pub fn attacks() -> Vec<Attack> {
    [outward(), strange(), ambiguous(), whiteouts()]
        .into_iter()
        .flatten()
        .collect()
}

fn outward() -> Vec<Attack> {
    vec![
        Attack {
            name: "names-with-parents",
            holds: "a file named `../../../../etc/os-release`",
            outcome: Outcome::Read("read: the root is its own parent", inner),
            make: |scratch| members(scratch, &[inner_file(b"../../../../etc/os-release")]),
        },
        Attack {
            name: "absolute-names",
            holds: "a file named `/etc/os-release`",
            outcome: Outcome::Read("read: it is below the root of the image", inner),
            make: |scratch| members(scratch, &[inner_file(b"/etc/os-release")]),
        },
        Attack {
            name: "names-with-dots",
            holds: "a file named `usr/lib/../.././/etc/./os-release`",
            outcome: Outcome::Read("read: it is `etc/os-release`", inner),
            make: |scratch| members(scratch, &[inner_file(b"usr/lib/../.././/etc/./os-release")]),
        },
        Attack {
            name: "empty-names",
            holds: "files with an empty name and named `.`, `/` and `..`",
            outcome: Outcome::Read("read: the root stays a directory", inner),
            make: |scratch| {
                let names: [&[u8]; 5] = [b"", b".", b"/", b"..", b"etc/os-release"];
                members(scratch, &names.map(inner_file))
            },
        },
    ]
}

fn strange() -> Vec<Attack> {
    vec![
        Attack {
            name: "name-with-nul",
            holds: "a file whose extended header contains the name `etc/os-release`, a NUL and `x`",
            outcome: Outcome::Refused("a name has a NUL in it"),
            make: |scratch| {
                members(
                    scratch,
                    &[pax(&[("path", b"etc/os-release\0x")]), inner_file(b"x")],
                )
            },
        },
        Attack {
            name: "names-with-control-characters",
            holds: "names with escape sequences, newlines and bidirectional marks, and then a damaged header",
            outcome: Outcome::Refused("its checksum is wrong"),
            make: |scratch| {
                let name = "usr/\u{1b}[2J\u{1b}]0;x\u{7}\r\nimage: ok\u{202e}\u{9b}31m";
                members(
                    scratch,
                    &[
                        pax(&[("path", name.as_bytes())]),
                        inner_file(b"x"),
                        vec![b'?'; 512],
                    ],
                )
            },
        },
        Attack {
            name: "names-not-utf-8",
            holds: "names that are not UTF-8, and `etc/os-release`",
            outcome: Outcome::Read("read: the bytes are shown as `\\xNN`", inner),
            make: |scratch| {
                let names: [&[u8]; 3] = [b"etc/\xff\xfe", b"\xc0\xaf\xc0\xae/x", b"etc/os-release"];
                members(scratch, &names.map(inner_file))
            },
        },
        Attack {
            name: "very-long-name",
            holds: "an extended header with a name of 1 MiB",
            outcome: Outcome::Refused("path-bytes"),
            make: |scratch| {
                let name = "a".repeat((1 << 20) - 100);
                members(
                    scratch,
                    &[pax(&[("path", name.as_bytes())]), inner_file(b"x")],
                )
            },
        },
        Attack {
            name: "name-longer-than-paths",
            holds: "names of 4,096 bytes and more, longer than Linux allows",
            outcome: Outcome::Read("read: no path leads to these files", |_| {}),
            make: |scratch| {
                let long = "a".repeat(5000);
                archive(scratch, &[file(&long[..4096], ""), file(&long, "")])
            },
        },
        Attack {
            name: "ten-thousand-directories-deep",
            holds: "a file below 10,000 directories",
            outcome: Outcome::Refused("path-bytes"),
            make: |scratch| archive(scratch, &[file(&format!("{}x", "a/".repeat(10_000)), "")]),
        },
        Attack {
            name: "eight-thousand-directories-deep",
            holds: "files below 8,000 directories, as deep as the limit of a path allows",
            outcome: Outcome::Read("read: depth does not use the call stack", |_| {}),
            make: |scratch| {
                let way = "a/".repeat(8000);
                let items: Vec<_> = (0..50).map(|at| file(&format!("{way}{at}"), "")).collect();
                archive(scratch, &items)
            },
        },
        Attack {
            name: "implied-directories",
            holds: "2,000 names of 16 KB, each below 8,000 directories of its own",
            outcome: Outcome::Refused("the limit facts-bytes"),
            make: |scratch| {
                let way = "a/".repeat(8000);
                let items: Vec<_> = (0..2000)
                    .map(|at| file(&format!("{at}/{way}x"), ""))
                    .collect();
                archive(scratch, &items)
            },
        },
        Attack {
            name: "file-as-parent-of-files",
            holds: "`etc` as a file, then `etc/os-release`",
            outcome: Outcome::Read("read: a directory replaces the file", inner),
            make: |scratch| archive(scratch, &[file("etc", "x"), file("etc/os-release", INNER)]),
        },
    ]
}

/// What GNU tar, Go and others read differently: what engines see counts.
fn ambiguous() -> Vec<Attack> {
    vec![
        Attack {
            name: "prefix-in-time-fields",
            holds: "a GNU tar header with text in its time fields, which Go reads as the directory",
            outcome: Outcome::Read(
                "read: the name is the one that container engines see",
                inner,
            ),
            make: |scratch| members(scratch, &[prefixed(b"ustar  \0")]),
        },
        Attack {
            name: "prefix-with-unknown-version",
            holds: "a ustar header with an unknown version and a prefix",
            outcome: Outcome::Read(
                "read: the name is the one that container engines see",
                inner,
            ),
            make: |scratch| members(scratch, &[prefixed(b"ustar\x0077")]),
        },
        Attack {
            name: "empty-long-name",
            holds: "an empty long name before a file that has a name",
            outcome: Outcome::Read("read: the file keeps its own name", inner),
            make: |scratch| {
                members(
                    scratch,
                    &[
                        plain(b"././@LongLink", EntryType::GNULongName, b"\0"),
                        inner_file(b"etc/os-release"),
                    ],
                )
            },
        },
        Attack {
            name: "long-name-then-global-header",
            holds: "a long name, then a global header, then a file for which Go ignores the long name",
            outcome: Outcome::Read(
                "read: the name is the one that container engines see",
                inner,
            ),
            make: |scratch| {
                members(
                    scratch,
                    &[
                        plain(b"././@LongLink", EntryType::GNULongName, b"hidden\0"),
                        plain(b"pax_global_header", EntryType::XGlobalHeader, b""),
                        inner_file(b"etc/os-release"),
                    ],
                )
            },
        },
        Attack {
            name: "name-of-an-unknown-sparse-version",
            holds: "a sparse file with two names, in a version that Go does not know",
            outcome: Outcome::Read(
                "read: the name is the one that container engines see",
                inner,
            ),
            make: |scratch| {
                members(
                    scratch,
                    &[
                        pax(&[
                            ("path", b"etc/os-release"),
                            ("GNU.sparse.major", b"1"),
                            ("GNU.sparse.name", b"hidden"),
                            ("GNU.sparse.realsize", b"0"),
                        ]),
                        inner_file(b"x"),
                    ],
                )
            },
        },
    ]
}

/// A file `os-release` whose header has `etc` where some formats have a prefix.
fn prefixed(magic: &[u8; 8]) -> Vec<u8> {
    let mut header = header(b"os-release", EntryType::Regular);
    header.set_size(INNER.len() as u64);
    header.as_mut_bytes()[257..265].copy_from_slice(magic);
    header.as_mut_bytes()[345..348].copy_from_slice(b"etc");
    member(header, INNER.as_bytes())
}

fn whiteouts() -> Vec<Attack> {
    vec![
        Attack {
            name: "whiteout-of-nothing",
            holds: "a whiteout `.wh.` without a name",
            outcome: Outcome::Refused("names nothing"),
            make: |scratch| archive(scratch, &[file("etc/.wh.", "")]),
        },
        Attack {
            name: "whiteout-of-the-parent",
            holds: "a whiteout `.wh...`, which names `..`",
            outcome: Outcome::Refused("names nothing"),
            make: |scratch| members(scratch, &[inner_file(b"etc/.wh...")]),
        },
        Attack {
            name: "whiteout-of-the-root",
            holds: "`etc/os-release` in a lower layer, then `.wh..wh..opq` in the root directory as a symbolic link",
            outcome: Outcome::Read(
                "read: it hides nothing in the root directory, as in an overlay",
                inner,
            ),
            make: |scratch| {
                let top = [testkit::symlink(".wh..wh..opq", "/etc")];
                layers(scratch, &[&[file("etc/os-release", INNER)], &top])
            },
        },
        Attack {
            name: "whiteout-beside-its-directory",
            holds: "a layer with `etc/os-release` and, before and after it, whiteouts of `etc`",
            outcome: Outcome::Read("read: whiteouts only affect lower layers", inner),
            make: |scratch| {
                let upper = [
                    file(".wh.etc", ""),
                    directory("etc"),
                    file("etc/os-release", INNER),
                    file(".wh.etc", ""),
                    file("etc/.wh..wh..opq", ""),
                ];
                layers(scratch, &[&[file("etc/os-release", HOST)], &upper])
            },
        },
        Attack {
            name: "files-below-a-whiteout",
            holds: "a file in a directory `.wh.lib`, which only some container engines create",
            outcome: Outcome::Refused("is in a directory with the name of a whiteout"),
            make: |scratch| archive(scratch, &[file("opt/.wh.lib/libcudart.so.12", INNER)]),
        },
        Attack {
            name: "aufs-files",
            holds: "a library in an aufs directory (`.wh..wh.plnk`), which is visible in an overlay",
            outcome: Outcome::Refused("is in a directory with the name of a whiteout"),
            make: |scratch| archive(scratch, &[file(".wh..wh.plnk/libcudart.so.12", INNER)]),
        },
    ]
}
