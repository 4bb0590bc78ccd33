//! Sparse files: large without bytes, and with maps that lie.

use tar::{EntryType, Header};

use super::archives::base_256;
use super::attack::{Attack, Outcome};
use super::links::{inner, inner_file};
use super::tars::{ended, header, image, member, members, pax, plain, whole};
use testkit::Compression;

/// A header of GNU's own sparse format for a file of so many bytes, with this map.
fn old_sparse(name: &[u8], size: u64, map: &[(u64, u64)], content: &[u8]) -> Vec<u8> {
    let mut header: Header = header(name, EntryType::GNUSparse);
    header.set_size(content.len() as u64);
    let gnu = header.as_gnu_mut().unwrap();
    gnu.realsize = base_256(size);
    for (place, (offset, length)) in gnu.sparse.iter_mut().zip(map) {
        place.offset = base_256(*offset);
        place.numbytes = base_256(*length);
    }
    member(header, content)
}

/// A sparse file of pax version 1.0.
fn new_sparse(name: &[u8], size: u64, map: &[u64], content: &[u8]) -> Vec<u8> {
    let lines: String = map.iter().map(|number| format!("{number}\n")).collect();
    let mut stored = lines.into_bytes();
    stored.resize(stored.len().next_multiple_of(512), 0);
    stored.extend(content);
    let size = size.to_string();
    let records: [(&str, &[u8]); 4] = [
        ("GNU.sparse.major", b"1"),
        ("GNU.sparse.minor", b"0"),
        ("GNU.sparse.name", name),
        ("GNU.sparse.realsize", size.as_bytes()),
    ];
    [pax(&records), plain(b"sparse", EntryType::Regular, &stored)].concat()
}

/// A sparse file of pax version 0.1.
fn listed_sparse(name: &[u8], size: u64, map: &str, content: &[u8]) -> Vec<u8> {
    let size = size.to_string();
    let records: [(&str, &[u8]); 4] = [
        ("GNU.sparse.name", name),
        ("GNU.sparse.size", size.as_bytes()),
        ("GNU.sparse.numblocks", b"1"),
        ("GNU.sparse.map", map.as_bytes()),
    ];
    [pax(&records), plain(b"sparse", EntryType::Regular, content)].concat()
}

const PIB: u64 = 1 << 50;
const GIB: u64 = 1 << 30;

/// Attacks by sparse files.
pub fn attacks() -> Vec<Attack> {
    vec![
        Attack {
            name: "sparse-petabytes",
            holds: "empty sparse files of 1 PiB, in each sparse format",
            outcome: Outcome::Read("read: holes are not read", inner),
            make: |scratch| {
                members(
                    scratch,
                    &[
                        old_sparse(b"usr/lib/libcudart.so.12", PIB, &[(PIB, 0)], b""),
                        new_sparse(b"usr/lib/libcudnn.so.9", PIB, &[1, PIB - 1, 1], b"x"),
                        listed_sparse(
                            b"usr/lib/libnccl.so.2",
                            PIB,
                            &format!("{},1", PIB - 1),
                            b"x",
                        ),
                        inner_file(b"etc/os-release"),
                    ],
                )
            },
        },
        Attack {
            name: "sparse-text",
            holds: "`etc/os-release` as a sparse file of 4 GiB",
            outcome: Outcome::Refused("the limit text-bytes"),
            make: |scratch| {
                members(
                    scratch,
                    &[old_sparse(b"etc/os-release", 4 * GIB, &[(0, 3)], b"ID=")],
                )
            },
        },
        Attack {
            name: "sparse-library",
            holds: "a sparse ELF file of 4 GiB in an uncompressed layer",
            outcome: Outcome::Read(
                "read: holes are read as zeros, and only where ELF tables are",
                |_| {},
            ),
            make: |scratch| members(scratch, &[sparse_library(b"usr/lib/libcudart.so.12")]),
        },
        Attack {
            name: "sparse-library-compressed",
            holds: "a sparse ELF file of 4 GiB in a gzip layer, with a limit of 64 MiB",
            outcome: Outcome::Refused("the limit sparse-bytes"),
            make: |scratch| {
                let bytes = ended(&[sparse_library(b"usr/lib/libcudart.so.12")]);
                let mut arguments = image(scratch, &[whole(bytes, Compression::Gzip)]);
                arguments.push("--limit=sparse-bytes=64MiB".to_owned());
                arguments
            },
        },
        Attack {
            name: "sparse-libraries-by-the-thousand",
            holds: "10,000 sparse ELF files of 4 GiB each in a gzip layer of 90 KB",
            outcome: Outcome::Refused("the limit sparse-bytes"),
            make: |scratch| {
                let all =
                    (0..10_000).map(|at| sparse_library(format!("usr/lib/{at}.so").as_bytes()));
                let bytes = ended(&all.collect::<Vec<_>>());
                let mut arguments = image(scratch, &[whole(bytes, Compression::Gzip)]);
                arguments.push("--limit=sparse-bytes=4GiB".to_owned());
                arguments
            },
        },
        Attack {
            name: "sparse-map-with-overlap",
            holds: "a sparse file with the same range twice",
            outcome: Outcome::Refused("the ranges of a sparse map overlap"),
            make: |scratch| {
                members(
                    scratch,
                    &[old_sparse(b"x", 100, &[(0, 5), (0, 5)], b"0123456789")],
                )
            },
        },
        Attack {
            name: "sparse-map-out-of-order",
            holds: "a sparse file whose second range is before the first",
            outcome: Outcome::Refused("the ranges of a sparse map overlap"),
            make: |scratch| {
                members(
                    scratch,
                    &[new_sparse(b"x", 100, &[2, 50, 5, 0, 5], b"0123456789")],
                )
            },
        },
        Attack {
            name: "sparse-map-outside-the-file",
            holds: "a sparse file with a range that starts at 2^64 - 1",
            outcome: Outcome::Refused("a range of a sparse map lies outside the file"),
            make: |scratch| {
                let map = format!("{},5", u64::MAX);
                members(scratch, &[listed_sparse(b"x", 100, &map, b"01234")])
            },
        },
        Attack {
            name: "sparse-map-without-end",
            holds: "a sparse file that claims a billion ranges and has one",
            outcome: Outcome::Refused("the limit sparse-segments"),
            make: |scratch| {
                members(
                    scratch,
                    &[new_sparse(b"x", PIB, &[1_000_000_000, 0, 1], b"x")],
                )
            },
        },
    ]
}

/// 64 bytes of an ELF header whose section headers are said to be behind 4 GiB of holes.
fn sparse_library(name: &[u8]) -> Vec<u8> {
    let mut elf = [0; 64];
    elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    elf[16..20].copy_from_slice(&[3, 0, 62, 0]);
    elf[20] = 1;
    elf[40..48].copy_from_slice(&(4 * GIB - 128).to_le_bytes());
    elf[52..54].copy_from_slice(&64_u16.to_le_bytes());
    elf[58..60].copy_from_slice(&64_u16.to_le_bytes());
    elf[60..62].copy_from_slice(&1_u16.to_le_bytes());
    old_sparse(name, 4 * GIB, &[(0, 64)], &elf)
}
