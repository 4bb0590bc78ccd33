//! Links that lead out of the image, and special files.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use serde_json::Value;
use tar::EntryType;

use super::attack::{Attack, Outcome};
use super::tars::{arguments, check, header, member, members, plain};
use testkit::{Image, Item, directory, docker_archive, file, hard_link, symlink};
use testkit::{write_archive, write_directory};

/// The file of the host and the file of the image: both name a fictional operating system.
pub const HOST: &str = "ID=hostcanary\nVERSION_ID=1\n";
pub const INNER: &str = "ID=inner\nVERSION_ID=1\n";
const RELEASE: &str = "etc/os-release";

/// Attacks with links and special files.
pub fn attacks() -> Vec<Attack> {
    [outward(), inward(), special()]
        .into_iter()
        .flatten()
        .collect()
}

/// The report contains nothing from the host, and the image has no operating system.
pub fn nothing(report: &Value) {
    let text = report.to_string();
    assert!(
        !text.contains("hostcanary") && !text.contains("inner"),
        "{text}"
    );
}

/// The operating system is that of the image's own file.
pub fn inner(report: &Value) {
    let text = report.to_string();
    assert!(
        !text.contains("hostcanary") && text.contains("inner"),
        "{text}"
    );
}

fn outward() -> Vec<Attack> {
    vec![
        Attack {
            name: "symlink-to-host-file",
            holds: "`etc/os-release` as a symbolic link to `../../../../etc/os-release`",
            outcome: Outcome::Read(
                "read: the link stays inside the image, where its target does not exist",
                |report| {
                    assert!(!report.to_string().contains("debian"), "{report}");
                },
            ),
            make: |scratch| {
                archive(
                    scratch,
                    &[
                        symlink(RELEASE, "../../../../etc/os-release"),
                        file("x", ""),
                    ],
                )
            },
        },
        Attack {
            name: "absolute-symlink-to-host-file",
            holds: "`etc/os-release` as a symbolic link to the absolute path of a file on the host",
            outcome: Outcome::Read("read: the link stays inside the image", nothing),
            make: |scratch| archive(scratch, &[symlink(RELEASE, &canary(scratch))]),
        },
        Attack {
            name: "hard-link-to-host-file",
            holds: "`etc/os-release` as a hard link to a file on the host, with `../../..`",
            outcome: Outcome::Read("read: the link stays inside the image", nothing),
            make: |scratch| {
                let target = format!("../../..{}", canary(scratch));
                members(scratch, &[linked(RELEASE, EntryType::Link, &target)])
            },
        },
        Attack {
            name: "hard-link-to-symlink-to-host-file",
            holds: "`etc/os-release` as a hard link to a symbolic link to a file on the host",
            outcome: Outcome::Read("read: the link stays inside the image", nothing),
            make: |scratch| {
                archive(
                    scratch,
                    &[
                        symlink("link", &canary(scratch)),
                        hard_link(RELEASE, "link"),
                    ],
                )
            },
        },
        Attack {
            name: "write-through-symlink",
            holds: "`etc` as a symbolic link to a directory on the host, then a file `etc/os-release`",
            outcome: Outcome::Read(
                "read: the link is followed inside the image; nothing is written",
                |_| {},
            ),
            make: |scratch| {
                let target = format!("../../..{}", scratch.display());
                archive(scratch, &[symlink("etc", &target), file(RELEASE, INNER)])
            },
        },
        Attack {
            name: "directory-with-links-out",
            holds: "a root directory whose `etc/os-release` and `usr` are symbolic links to paths outside it",
            outcome: Outcome::Read("read: the links stay inside the image", nothing),
            make: |scratch| {
                let outside = scratch.join("outside");
                fs::create_dir_all(outside.join("lib")).unwrap();
                fs::write(outside.join("lib/os-release"), HOST).unwrap();
                write_directory(
                    &scratch.join("root"),
                    &[
                        symlink(RELEASE, &canary(scratch)),
                        symlink("usr", outside.to_str().unwrap()),
                    ],
                );
                arguments(&["check", "dir:root", "--format", "json"])
            },
        },
    ]
}

fn inward() -> Vec<Attack> {
    vec![
        Attack {
            name: "too-many-symlinks",
            holds: "`etc/os-release` behind 41 symbolic links, one more than Linux follows",
            outcome: Outcome::Read("read: the file is not found, as in a container", nothing),
            make: |scratch| {
                let mut items: Vec<Item> = (0..40)
                    .map(|at| symlink(&format!("etc/{at}"), &format!("{}", at + 1)))
                    .collect();
                items.push(symlink(RELEASE, "0"));
                items.push(file("etc/40", INNER));
                archive(scratch, &items)
            },
        },
        Attack {
            name: "symlink-loop",
            holds: "`etc` and `usr` as symbolic links to each other, with files below both",
            outcome: Outcome::Read("read: a directory replaces each link in the loop", |_| {}),
            make: |scratch| {
                archive(
                    scratch,
                    &[
                        symlink("etc", "usr"),
                        symlink("usr", "etc"),
                        file(RELEASE, INNER),
                        file("usr/lib/os-release", INNER),
                    ],
                )
            },
        },
        Attack {
            name: "hard-link-loop",
            holds: "hard links to themselves, to each other and to missing files",
            outcome: Outcome::Read("read: links that cannot be created are missing", nothing),
            make: |scratch| {
                archive(
                    scratch,
                    &[
                        hard_link("one", "one"),
                        hard_link("two", "three"),
                        hard_link("three", "two"),
                        hard_link(RELEASE, "missing"),
                    ],
                )
            },
        },
        Attack {
            name: "hard-link-before-its-target",
            holds: "`etc/os-release` as a hard link to a file that comes later in the archive",
            outcome: Outcome::Read("read: the link and the file are the same file", inner),
            make: |scratch| {
                archive(
                    scratch,
                    &[
                        hard_link(RELEASE, "usr/lib/os-release"),
                        file("usr/lib/os-release", INNER),
                    ],
                )
            },
        },
        Attack {
            name: "hard-link-to-aufs-file",
            holds: "a hard link to `.wh..wh.plnk/1`, which only some container engines support",
            outcome: Outcome::Refused("which not every container engine accepts"),
            make: |scratch| archive(scratch, &[hard_link(RELEASE, ".wh..wh.plnk/1")]),
        },
        Attack {
            name: "symlinks-through-symlinks",
            holds: "100 files below 1,000 symbolic links, each of which goes through 40 others",
            outcome: Outcome::Read(
                "read: links are followed as far as Linux follows them",
                |_| {},
            ),
            make: |scratch| {
                let mut items: Vec<Item> = (0..39)
                    .map(|at| {
                        symlink(
                            &format!("l{at}"),
                            &format!("l{}{}", at + 1, "/d/..".repeat(800)),
                        )
                    })
                    .collect();
                items.extend([
                    directory("l39"),
                    directory("l39/d"),
                    symlink("l39/l", "/l0"),
                ]);
                let way = "l/".repeat(1000);
                items.extend((0..100).map(|at| file(&format!("l0/{way}{at}"), "")));
                archive(scratch, &items)
            },
        },
    ]
}

fn special() -> Vec<Attack> {
    vec![
        Attack {
            name: "links-that-imply-directories",
            holds: "200 hard links to one symbolic link with 2,000 path components, and a file below each",
            outcome: Outcome::Refused("the limit facts-bytes"),
            make: |scratch| {
                let mut items = vec![symlink("s", &"a/".repeat(2000))];
                for at in 0..200 {
                    items.push(hard_link(&format!("{at}/l"), "s"));
                    items.push(file(&format!("{at}/l/f"), ""));
                }
                let limit = "--limit=facts-bytes=64MiB".to_owned();
                archive(scratch, &items)
                    .into_iter()
                    .chain([limit])
                    .collect()
            },
        },
        Attack {
            name: "special-files-with-library-names",
            holds: "`libcudart.so.12` as a FIFO, `libcudnn.so.9` as a character device, `libnccl.so.2` as a block device",
            outcome: Outcome::Read("read: they are not treated as libraries", no_library),
            make: |scratch| {
                let special = |name: &str, kind| member(header(name.as_bytes(), kind), b"");
                members(
                    scratch,
                    &[
                        special("usr/lib/libcudart.so.12", EntryType::Fifo),
                        special("usr/lib/libcudnn.so.9", EntryType::Char),
                        special("usr/lib/libnccl.so.2", EntryType::Block),
                        special("etc/os-release", EntryType::Fifo),
                    ],
                )
            },
        },
        Attack {
            name: "special-files-in-a-directory",
            holds: "a root directory with FIFOs and a socket instead of libraries and text files",
            outcome: Outcome::Read("read: none of them is opened", no_library),
            make: |scratch| {
                write_directory(
                    &scratch.join("root"),
                    &[
                        Item::Fifo("usr/lib/libcudart.so.12".into()),
                        Item::Fifo("etc/os-release".into()),
                        Item::Fifo("etc/ld.so.cache".into()),
                    ],
                );
                // It is bound by a short name: paths of sockets have at most 107 bytes.
                let socket = scratch.join("root/usr/lib/libnccl.so.2");
                drop(UnixListener::bind(socket).unwrap());
                arguments(&["check", "dir:root", "--format", "json"])
            },
        },
        Attack {
            name: "changing-types",
            holds: "`etc` as directory, file, link and directory again, within one layer and across layers",
            outcome: Outcome::Read("read: the last one counts", inner),
            make: |scratch| {
                let one = [
                    file("etc/os-release", HOST),
                    file("etc", "a file"),
                    symlink("etc", "nowhere"),
                    file("etc/os-release", HOST),
                ];
                let two = [file("etc", "a file"), file("nowhere", "a file")];
                let three = [directory("etc"), file("etc/os-release", INNER)];
                let four = [symlink("etc/hostname", "os-release"), symlink("lib", "etc")];
                layers(scratch, &[&one, &two, &three, &four])
            },
        },
        Attack {
            name: "one-path-a-thousand-times",
            holds: "1,000 archive members with the same path and different text",
            outcome: Outcome::Read("read: the last one counts", inner),
            make: |scratch| {
                let mut items: Vec<Item> = (0..999)
                    .map(|at| file(RELEASE, format!("ID=hostcanary\nVERSION_ID={at}\n")))
                    .collect();
                items.push(file(RELEASE, INNER));
                archive(scratch, &items)
            },
        },
    ]
}

fn no_library(report: &Value) {
    let stack = report["images"][0]["stack"].as_array().unwrap();
    assert!(stack.is_empty(), "{stack:?}");
}

/// A file of the host, outside the checked image; its absolute path.
fn canary(scratch: &Path) -> String {
    let path = scratch.join("canary");
    fs::write(&path, HOST).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A link whose target is written as it is.
fn linked(name: &str, kind: EntryType, target: &str) -> Vec<u8> {
    let mut header = header(name.as_bytes(), kind);
    header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
    member(header, b"")
}

/// A docker archive of one layer, and the arguments to check it.
pub fn archive(scratch: &Path, items: &[Item]) -> Vec<String> {
    layers(scratch, &[items])
}

/// A docker archive of several layers, and the arguments to check it.
pub fn layers(scratch: &Path, layers: &[&[Item]]) -> Vec<String> {
    write_archive(
        &scratch.join("image.tar"),
        &docker_archive(&[Image::new("hostile:1", layers)]),
    );
    check()
}

/// A file that a header names wrongly, with the text of the image.
pub fn inner_file(name: &[u8]) -> Vec<u8> {
    plain(name, EntryType::Regular, INNER.as_bytes())
}
