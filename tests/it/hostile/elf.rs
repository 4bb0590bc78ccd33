//! ELF files that lie: tables that leave the file, overlap, point into themselves or never end.

use serde_json::Value;

use super::attack::{Attack, Outcome};
use super::forge::*;
use testkit::{Item, file, symlink};

/// Where the library under attack lies.
const LIBRARY: &str = "usr/lib64/libcudart.so.12";
/// It is read, and the report is true.
pub const TOLD: Outcome = Outcome::Read("read: CUDA 12.8 is found", says_cuda);
/// It is read as damaged: nothing is taken from it.
const DAMAGED: Outcome = Outcome::Read("read: the file counts as damaged", says_nothing);
/// One byte for each of a megabyte, and a NUL.
const MEGABYTE: usize = 1 << 20;

/// Attacks by ELF files.
pub fn attacks() -> Vec<Attack> {
    [headers(), tables(), strings(), versions(), sparse()]
        .into_iter()
        .flatten()
        .collect()
}

fn headers() -> Vec<Attack> {
    vec![
        Attack {
            name: "elf-sections-beyond-memory",
            holds: "an ELF file with 65,535 section headers at offset 2⁶⁴-1",
            outcome: TOLD,
            make: |scratch| {
                let mut elf = cudart();
                elf.section_headers = Some((u64::MAX, 0xffff));
                archive(scratch, &[file(LIBRARY, elf.build())])
            },
        },
        Attack {
            name: "elf-segments-beyond-the-file",
            holds: "an ELF file that claims 65,535 program headers (`PN_XNUM`) and has two",
            outcome: DAMAGED,
            make: |scratch| {
                let mut elf = cudart();
                elf.program_headers = Some(0xffff);
                archive(scratch, &[file(LIBRARY, elf.build())])
            },
        },
        Attack {
            name: "elf-segments-that-wrap",
            holds: "ELF segments that end beyond 2⁶⁴, in memory and in the file",
            outcome: DAMAGED,
            make: |scratch| {
                let mut elf = cudart();
                elf.segment(PT_LOAD, u64::MAX - 0xfff, 0x2000);
                elf.segment(PT_NOTE, u64::MAX, u64::MAX);
                archive(scratch, &[file(LIBRARY, elf.build())])
            },
        },
        Attack {
            name: "elf-overlapping-segments",
            holds: "an ELF file of 4 MB with 60,000 segments, each of which loads the whole file",
            outcome: TOLD,
            make: |scratch| {
                let mut elf = cudart();
                let at = elf.put(&vec![b'x'; 4 << 20]);
                for _ in 0..60_000 {
                    elf.segment(PT_LOAD, 0, at + (4 << 20));
                }
                archive(scratch, &[file(LIBRARY, elf.build())])
            },
        },
        Attack {
            name: "elf-overlapping-sections",
            holds: "an ELF file of 4 MB with 60,000 sections of constants, code and GPU code, each of which is the whole file",
            outcome: TOLD,
            make: |scratch| {
                let mut elf = cudart();
                let at = elf.put(&vec![b'x'; 4 << 20]);
                for _ in 0..20_000 {
                    elf.section(".rodata", CONSTANTS, at, 4 << 20);
                }
                for _ in 0..20_000 {
                    elf.section(".text", CODE, at, 4 << 20);
                }
                for _ in 0..20_000 {
                    elf.section(".nv_fatbin", CONSTANTS, at, 4 << 20);
                }
                archive(scratch, &[file(LIBRARY, elf.build())])
            },
        },
        Attack {
            name: "elf-notes",
            holds: "an ELF file with a million empty notes in each of 500 segments, and a build id of 4 GB",
            outcome: TOLD,
            make: |scratch| {
                let mut elf = cudart();
                let mut notes: Vec<u8> = words(&[0; 3]).repeat(1_000_000);
                notes.extend(words(&[4, u32::MAX, 3, 0x55_4e47]));
                let at = elf.put(&notes);
                for _ in 0..500 {
                    elf.segment(PT_NOTE, at, notes.len() as u64);
                }
                archive(scratch, &[file(LIBRARY, elf.build())])
            },
        },
    ]
}

fn tables() -> Vec<Attack> {
    vec![
        Attack {
            name: "elf-overlapping-tables",
            holds: "an ELF file whose string, symbol and hash tables overlap its dynamic section",
            outcome: DAMAGED,
            make: |scratch| {
                let mut elf = Elf::new();
                let here = elf.here();
                for tag in [
                    DT_STRTAB,
                    DT_SYMTAB,
                    DT_GNU_HASH,
                    DT_HASH,
                    DT_VERNEED,
                    DT_VERDEF,
                ] {
                    elf.tag(tag, here);
                }
                elf.tag(DT_STRSZ, 64).tag(DT_NEEDED, 0).tag(DT_SONAME, 8);
                elf.tag(DT_VERNEEDNUM, 9).tag(DT_VERDEFNUM, 9);
                archive(scratch, &[file(LIBRARY, elf.build())])
            },
        },
        Attack {
            name: "elf-strings-beyond-memory",
            holds: "ELF files with DT_STRSZ 0 and 2⁶⁴-1",
            outcome: DAMAGED,
            make: |scratch| {
                let items: Vec<Item> = [0, u64::MAX]
                    .iter()
                    .map(|size| {
                        let mut elf = cudart();
                        elf.tag(DT_STRSZ, *size);
                        file(&format!("usr/lib{size}/libcudart.so.12"), elf.build())
                    })
                    .collect();
                archive(scratch, &items)
            },
        },
        Attack {
            name: "elf-symbols-2-32",
            holds: "an ELF file that claims 2³²-1 symbols by DT_HASH",
            outcome: DAMAGED,
            make: |scratch| {
                let mut elf = cudart();
                let hash = elf.put(&words(&[1, u32::MAX, 0]));
                elf.tag(DT_HASH, hash);
                archive(scratch, &[file(LIBRARY, elf.build())])
            },
        },
        Attack {
            name: "elf-endless-hash-table",
            holds: "ELF files whose DT_GNU_HASH has 2³²-1 buckets, Bloom filter words, or a chain of 8 MB that does not end",
            outcome: DAMAGED,
            make: |scratch| {
                let headers = [[u32::MAX, 1, 0, 0], [1, 0, u32::MAX, 0], [1, 0, 0, 0]];
                let items: Vec<Item> = (0..)
                    .zip(headers)
                    .map(|(number, header)| {
                        let mut elf = Elf::new();
                        let mut table = words(&header);
                        table.extend(words(&vec![2; 2 << 20]));
                        let hash = elf.put(&table);
                        elf.strings(b"\0x\0");
                        let symbols = elf.put(&symbol(1, 0x1000, 1));
                        elf.tag(DT_SYMTAB, symbols).tag(DT_GNU_HASH, hash);
                        file(&format!("usr/lib/lib{number}.so"), elf.build())
                    })
                    .collect();
                archive(scratch, &items)
            },
        },
    ]
}

fn strings() -> Vec<Attack> {
    vec![
        Attack {
            name: "elf-needed-100000-megabytes",
            holds: "an ELF file with 100,000 DT_NEEDED entries that share one string of a megabyte",
            outcome: STRINGS,
            make: |scratch| {
                let mut elf = long_strings();
                (0..100_000).for_each(|_| {
                    elf.tag(DT_NEEDED, 1);
                });
                archive(scratch, &[file(LIBRARY, elf.build())])
            },
        },
        Attack {
            name: "elf-symbols-100000-megabytes",
            holds: "an ELF file with 100,000 symbols, defined and undefined, that share one name of a megabyte",
            outcome: STRINGS,
            make: |scratch| {
                let mut elf = long_strings();
                elf.symbols((0..100_000).map(|number| symbol(1, number % 2, 1)));
                archive(scratch, &[file(LIBRARY, elf.build())])
            },
        },
        Attack {
            name: "elf-versions-4000-megabytes",
            holds: "an ELF file with 4,000 versions that share one name of a megabyte",
            outcome: STRINGS,
            make: |scratch| {
                let mut elf = long_strings();
                let version = [0, 0, 1, 16].map(|word: u32| word.to_le_bytes()).concat();
                let mut table = words(&[1 | 4000 << 16, 1, 16, 0]);
                table.extend((0..4000).flat_map(|_| version.clone()));
                let at = elf.put(&table);
                elf.tag(DT_VERNEED, at).tag(DT_VERNEEDNUM, 1);
                archive(scratch, &[file(LIBRARY, elf.build())])
            },
        },
        Attack {
            name: "elf-section-names-60000-megabytes",
            holds: "an ELF file with 60,000 sections that share one name of a megabyte",
            outcome: TOLD,
            make: |scratch| {
                let mut elf = cudart();
                elf.section_names = Some(vec![b'x'; MEGABYTE]);
                (0..60_000).for_each(|_| {
                    elf.section(".x", 0, 0x1000, 16);
                });
                archive(scratch, &[file(LIBRARY, elf.build())])
            },
        },
        Attack {
            name: "elf-long-search-path",
            holds: "a program whose DT_RPATH is `$ORIGIN` 100,000 times, in 2,000 directories, in a directory with a name of 200 bytes",
            outcome: Outcome::Read("read: none of these directories exists", |report| {
                assert_eq!(version(report, "cuda-runtime"), Some("12.8"));
            }),
            make: |scratch| {
                let path = ["$ORIGIN".repeat(50), "$ORIGIN".repeat(100_000)].join(":");
                let path = format!("{path}{}", ":/a/$ORIGIN".repeat(2_000));
                let directory = format!("opt/{}", "d".repeat(200));
                let torch = known_with(&["_ZN5torch4cuda4nccl7versionEv"], &path);
                archive(
                    scratch,
                    &[
                        file(LIBRARY, cudart().build()),
                        file("usr/bin/python3.11", program(&path).build()),
                        file(
                            &format!("{directory}/torch/lib/libtorch_cuda.so"),
                            torch.build(),
                        ),
                    ],
                )
            },
        },
    ]
}

fn sparse() -> Vec<Attack> {
    vec![
        Attack {
            name: "elf-sparse-16-gigabytes",
            holds: "a sparse ELF file of 16 GB, nearly all of it one hole",
            outcome: TOLD,
            make: |scratch| sparse_archive(scratch, LIBRARY, &cudart().build(), 16 << 30),
        },
        Attack {
            name: "elf-sparse-1-terabyte",
            holds: "the same with a terabyte",
            outcome: Outcome::Refused("sparse-bytes"),
            make: |scratch| sparse_archive(scratch, LIBRARY, &cudart().build(), 1 << 40),
        },
    ]
}

/// What becomes of names that are longer together than those of any file.
const STRINGS: Outcome = Outcome::Refused("elf-table-bytes");

fn versions() -> Vec<Attack> {
    vec![
        Attack {
            name: "elf-versions-in-a-circle",
            holds: "ELF files with 2³² needed and defined versions, each of which points to itself",
            outcome: DAMAGED,
            make: |scratch| {
                let items: Vec<Item> = [0, 1, 16, u32::MAX]
                    .iter()
                    .map(|next| {
                        let mut elf = cudart();
                        let definitions =
                            elf.put(&words(&[1, 1 << 16, 0, 20, *next, 1, *next, 0, 0]));
                        let needs = elf.put(&words(&[
                            1 | 0xffff << 16,
                            1,
                            16,
                            *next,
                            0,
                            0,
                            1,
                            *next,
                            0,
                            0,
                        ]));
                        elf.tag(DT_VERDEF, definitions).tag(DT_VERDEFNUM, 1 << 32);
                        elf.tag(DT_VERNEED, needs).tag(DT_VERNEEDNUM, 1 << 32);
                        elf.tag(DT_VERSYM, 0);
                        file(&format!("usr/lib{next}/libcudart.so.12"), elf.build())
                    })
                    .collect();
                archive(scratch, &items)
            },
        },
        Attack {
            name: "elf-interpreter-is-the-program",
            holds: "a program that is its own interpreter, and one whose interpreter is a link to itself",
            outcome: TOLD,
            make: |scratch| {
                archive(
                    scratch,
                    &[
                        file(LIBRARY, cudart().build()),
                        file(
                            "usr/bin/python3.11",
                            interpreted("/usr/bin/python3.11").build(),
                        ),
                        file(
                            "usr/bin/python3.12",
                            interpreted("/lib64/ld-linux-x86-64.so.2").build(),
                        ),
                        symlink("lib64/ld-linux-x86-64.so.2", "ld-linux-x86-64.so.2"),
                    ],
                )
            },
        },
    ]
}

pub fn cudart() -> Elf {
    known(CUDART.0, CUDART.1)
}

/// A string table with a string of a megabyte at 1, and a symbol table.
fn long_strings() -> Elf {
    let mut elf = Elf::new();
    elf.strings(&[vec![0], vec![b'x'; MEGABYTE], vec![0]].concat());
    elf.symbols([]);
    elf
}

fn interpreted(interpreter: &str) -> Elf {
    let mut elf = Elf::new();
    let at = elf.put(format!("{interpreter}\0").as_bytes());
    elf.segment(PT_INTERP, at, interpreter.len() as u64 + 1);
    elf.strings(b"\0libcudart.so.12\0");
    elf.tag(DT_NEEDED, 1);
    elf
}

/// A program with a search path.
fn program(path: &str) -> Elf {
    let mut elf = interpreted("/lib64/ld-linux-x86-64.so.2");
    elf.strings(format!("\0libcudart.so.12\0{path}\0").as_bytes());
    elf.tag(DT_RPATH, 17);
    elf
}

/// A known library with a search path.
fn known_with(exports: &[&str], path: &str) -> Elf {
    let mut elf = known(exports, b"\xc3");
    let names = format!("\0{}\0", exports.join("\0"));
    elf.strings(format!("{names}{path}\0").as_bytes());
    elf.tag(DT_RPATH, names.len() as u64);
    elf
}

/// The version that a report has for a component.
pub fn version<'r>(report: &'r Value, component: &str) -> Option<&'r str> {
    let stack = report["images"][0]["stack"].as_array()?;
    let found = stack.iter().find(|it| it["name"] == component)?;
    found["version"].as_str()
}

fn says_cuda(report: &Value) {
    assert_eq!(version(report, "cuda-runtime"), Some("12.8"), "{report}");
}

fn says_nothing(report: &Value) {
    let stack = &report["images"][0]["stack"];
    assert_eq!(stack.as_array().map(Vec::len), Some(0), "{stack}");
}
