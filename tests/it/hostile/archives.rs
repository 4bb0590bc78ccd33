//! Archives that lie: about sizes, about their end, and in numbers.

use std::fs;
use std::path::Path;

use tar::EntryType;

use super::attack::{Attack, Outcome, imgcheck};
use super::links::{HOST, INNER, inner, inner_file, nothing};
use super::tars::{
    Layer, check, config, described, docker, ended, endless, header, image, layer, member, members,
    pax, plain, whole,
};
use testkit::{Compression, Item, file, tar};

/// Attacks by archives.
pub fn attacks() -> Vec<Attack> {
    [sizes(), ends(), numbers()].into_iter().flatten().collect()
}

/// A member that says it has so many bytes, in base-256, and has others.
fn sized(name: &[u8], kind: EntryType, size: [u8; 12], content: &[u8]) -> Vec<u8> {
    let mut header = header(name, kind);
    header.as_old_mut().size = size;
    member(header, content)
}

/// A number in base-256, as GNU tar writes large ones.
pub fn base_256(number: u64) -> [u8; 12] {
    let mut field = [0; 12];
    field[4..].copy_from_slice(&number.to_be_bytes());
    field[0] |= 0x80;
    field
}

fn sizes() -> Vec<Attack> {
    vec![
        Attack {
            name: "size-beyond-the-archive",
            holds: "a file that claims 8 GB and has 10 bytes",
            outcome: Outcome::Refused("the archive is truncated"),
            make: |scratch| {
                members(
                    scratch,
                    &[sized(
                        b"x",
                        EntryType::Regular,
                        base_256(8 << 30),
                        b"0123456789",
                    )],
                )
            },
        },
        Attack {
            name: "size-of-two-to-the-63",
            holds: "a file that claims 2^63 bytes",
            outcome: Outcome::Refused("the archive is truncated"),
            make: |scratch| {
                members(
                    scratch,
                    &[sized(b"x", EntryType::Regular, base_256(1 << 63), b"")],
                )
            },
        },
        Attack {
            name: "negative-size",
            holds: "a file that claims -1 bytes",
            outcome: Outcome::Refused("its size is not a number"),
            make: |scratch| members(scratch, &[sized(b"x", EntryType::Regular, [0xff; 12], b"")]),
        },
        Attack {
            name: "size-not-a-number",
            holds: "a file that claims `12z` bytes",
            outcome: Outcome::Refused("its size is not a number"),
            make: |scratch| {
                members(
                    scratch,
                    &[sized(
                        b"x",
                        EntryType::Regular,
                        *b"12z\0\0\0\0\0\0\0\0\0",
                        b"",
                    )],
                )
            },
        },
        Attack {
            name: "size-of-a-symbolic-link",
            holds: "a symbolic link with a size of 1,536 bytes, which would hide the next file",
            outcome: Outcome::Read(
                "read: links have no content, as in container engines",
                inner,
            ),
            make: |scratch| {
                let link = sized(b"x", EntryType::Symlink, base_256(1536), b"");
                members(scratch, &[link, inner_file(b"etc/os-release")])
            },
        },
        Attack {
            name: "two-sizes",
            holds: "a file with 0 bytes according to its extended header and 1,536 according to its main header, which would hide the next file",
            outcome: Outcome::Read(
                "read: the extended header counts, as in container engines",
                inner,
            ),
            make: |scratch| {
                let other = sized(b"x", EntryType::Regular, base_256(1536), b"");
                members(
                    scratch,
                    &[pax(&[("size", b"0")]), other, inner_file(b"etc/os-release")],
                )
            },
        },
        Attack {
            name: "size-in-an-archive-of-images",
            holds: "a docker archive whose layer, after the JSON documents, claims 2^62 bytes",
            outcome: Outcome::Refused("the archive is truncated"),
            make: |scratch| {
                let layer = sized(b"0/layer.tar", EntryType::Regular, base_256(1 << 62), b"");
                let mut documents = tar(&documents());
                documents.truncate(documents.len() - 1024);
                fs::write(scratch.join("image.tar"), ended(&[documents, layer])).unwrap();
                check()
            },
        },
    ]
}

/// The documents of an image of one layer that is missing.
fn documents() -> [Item; 2] {
    described(
        config(vec![
            testkit::descriptor("", b"")["digest"]
                .as_str()
                .unwrap()
                .to_owned(),
        ]),
        &["0/layer.tar".to_owned()],
    )
}

fn ends() -> Vec<Attack> {
    vec![
        Attack {
            name: "archive-cut-off",
            holds: "a docker archive that ends inside its layer",
            outcome: Outcome::Refused("the archive is truncated"),
            make: |scratch| {
                let whole = small();
                fs::write(scratch.join("image.tar"), &whole[..1536]).unwrap();
                check()
            },
        },
        Attack {
            name: "archive-without-end-marker",
            holds: "a docker archive that was cut off after its last member",
            outcome: Outcome::Refused("truncated: the archive has no end marker"),
            make: |scratch| {
                let whole = small();
                fs::write(scratch.join("image.tar"), &whole[..whole.len() - 1024]).unwrap();
                check()
            },
        },
        Attack {
            name: "bytes-after-the-end",
            holds: "a layer with a file after its end marker",
            outcome: Outcome::Read(
                "read: what follows the end marker is ignored, as in container engines",
                inner,
            ),
            make: |scratch| {
                let behind = plain(b"etc/os-release", EntryType::Regular, HOST.as_bytes());
                let bytes = [ended(&[inner_file(b"etc/os-release")]), behind].concat();
                image(scratch, &[whole(bytes, Compression::Plain)])
            },
        },
        Attack {
            name: "layer-without-end-marker",
            holds: "an uncompressed layer that was cut off between two files",
            outcome: Outcome::Refused("the archive has no end"),
            make: |scratch| {
                let cut = inner_file(b"etc/os-release");
                let honest = layer(&[cut.clone(), inner_file(b"behind")]);
                image(
                    scratch,
                    &[Layer {
                        stored: cut,
                        ..honest
                    }],
                )
            },
        },
        Attack {
            name: "end-in-the-middle",
            holds: "one block of zeros between two files",
            outcome: Outcome::Refused("a single block of zeros inside the archive"),
            make: |scratch| {
                members(
                    scratch,
                    &[inner_file(b"one"), vec![0; 512], inner_file(b"two")],
                )
            },
        },
    ]
}

/// A docker archive of one small layer.
fn small() -> Vec<u8> {
    tar(&docker(&[layer(&[
        inner_file(b"etc/os-release"),
        inner_file(b"x"),
    ])]))
}

/// So many times 1,000 directories, as gzip of one member for each thousand.
fn directories(thousands: usize) -> Vec<u8> {
    let one = |at: usize| {
        member(
            header(format!("{at}").as_bytes(), EntryType::Directory),
            b"",
        )
    };
    let thousand: Vec<u8> = (0..1000).flat_map(one).collect();
    let compressed = testkit::compress(&thousand, Compression::Gzip);
    let end = testkit::compress(&[0; 1024], Compression::Gzip);
    [compressed.repeat(thousands), end].concat()
}

fn numbers() -> Vec<Attack> {
    vec![
        Attack {
            name: "ten-million-entries",
            holds: "10,000,000 empty directories in a gzip layer, with a limit of 50,000",
            outcome: Outcome::Refused("the limit entries"),
            make: |scratch| limited(scratch, &[endless(directories(10_000))]),
        },
        Attack {
            name: "entries-across-layers",
            holds: "400,000 empty directories in 20 gzip layers, with a limit of 50,000",
            outcome: Outcome::Refused("the limit entries"),
            make: |scratch| {
                let plain: Vec<u8> = unzipped(&directories(20));
                let layers: Vec<Layer> = (0..20)
                    .map(|_| whole(plain.clone(), Compression::Gzip))
                    .collect();
                limited(scratch, &layers)
            },
        },
        Attack {
            name: "layers-by-the-thousand",
            holds: "a docker archive that lists one layer 5,000 times",
            outcome: Outcome::Refused("the limit layers"),
            make: |scratch| repeated(scratch, 5000),
        },
        Attack {
            name: "layers-by-the-thousand",
            holds: "a docker archive that lists one layer 40,000 times",
            outcome: Outcome::Refused("the limit layers"),
            make: |scratch| repeated(scratch, 40_000),
        },
        Attack {
            name: "one-large-layer-repeated",
            holds: "a layer with 20,000 directories, listed 900 times, with a limit of 50,000",
            outcome: Outcome::Refused("the limit entries"),
            make: |scratch| {
                let plain = unzipped(&directories(20));
                let layer = whole(plain, Compression::Gzip);
                let names = vec!["layer.tar".to_owned(); 900];
                let mut items = vec![file("layer.tar", &layer.stored)];
                items.extend(described(config(vec![layer.diff_id; 900]), &names));
                let mut arguments = super::tars::archive(scratch, &items);
                arguments.push("--limit=entries=50000".to_owned());
                arguments
            },
        },
        Attack {
            name: "repeated-extended-headers",
            holds: "100,000 extended headers before one file",
            outcome: Outcome::Read("read: only the last one counts", nothing),
            make: |scratch| {
                let mut all = vec![pax(&[("path", b"etc/os-release")]); 100_000];
                all.push(pax(&[("path", b"etc/other")]));
                all.push(inner_file(b"x"));
                members(scratch, &all)
            },
        },
    ]
}

fn limited(scratch: &Path, layers: &[Layer]) -> Vec<String> {
    let mut arguments = image(scratch, layers);
    arguments.push("--limit=entries=50000".to_owned());
    arguments
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(bytes);
    std::io::Read::read_to_end(&mut decoder, &mut plain).unwrap();
    plain
}

/// An image that has one layer this many times.
fn repeated(scratch: &Path, times: usize) -> Vec<String> {
    let layer = layer(&[inner_file(b"etc/os-release")]);
    let mut items = vec![file("layer.tar", &layer.stored)];
    items.extend(described(
        config(vec![layer.diff_id; times]),
        &vec!["layer.tar".to_owned(); times],
    ));
    super::tars::archive(scratch, &items)
}

/// An archive that is cut off anywhere before the mark of its end is never a pass.
#[test]
fn an_archive_truncated_anywhere_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let whole = small();
    let length = whole.len() - 1024;
    for end in (0..=length).step_by(512).flat_map(|end| [end, end + 100]) {
        let end = end.min(length);
        fs::write(scratch.path().join("image.tar"), &whole[..end]).unwrap();
        let run = imgcheck(scratch.path(), &check());
        assert_eq!(run.code, Some(3), "{end} of {}: {}", whole.len(), run.error);
        assert!(!run.error.contains("panicked"), "{}", run.error);
    }
    fs::write(scratch.path().join("image.tar"), &whole).unwrap();
    let run = imgcheck(scratch.path(), &check());
    assert_eq!(run.code, Some(0), "{}", run.error);
    assert!(run.output.contains("inner") && INNER.contains("inner"));
}
