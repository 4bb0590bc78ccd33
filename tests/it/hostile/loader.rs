//! What the loader and Python would read: libraries by the thousand, the index of libraries, package metadata.

use std::path::Path;

use super::attack::{Attack, Outcome, imgcheck};
use super::elf::{TOLD, cudart, version};
use super::forge::{DT_NEEDED, DT_SONAME, Elf, PT_INTERP, archive, known, words};
use testkit::{Item, file, hard_link, symlink};

/// Where the library lies of which the version is known.
const LIBRARY: &str = "usr/lib64/libcudart.so.12";

/// Attacks through files that the loader and Python read.
pub fn attacks() -> Vec<Attack> {
    [many(), loader(), packages()]
        .into_iter()
        .flatten()
        .collect()
}

/// The model of the loader goes on without the index.
const CORRUPT: Outcome = Outcome::Read("read: the cache counts as corrupt", |report| {
    let cache = report["images"][0]["loader"]["cache"].to_string();
    assert!(cache.contains("corrupt"), "{cache}");
});
fn many() -> Vec<Attack> {
    vec![
        Attack {
            name: "elf-libraries-in-a-circle",
            holds: "300 libraries that each need all the others",
            outcome: TOLD,
            make: |scratch| {
                let names: Vec<String> = (0..300).map(|it| format!("lib{it}.so")).collect();
                let mut items = program(&names);
                let library = with_needed(&names).build();
                items.extend(each(&names, &library));
                archive(scratch, &items)
            },
        },
        Attack {
            name: "elf-libraries-50000",
            holds: "50,000 libraries in one directory, all needed by one program",
            outcome: Outcome::Refused("the limit loader-objects"),
            make: |scratch| {
                let names: Vec<String> = (0..50_000).map(|it| format!("lib{it}.so")).collect();
                let mut items = program(&names);
                let library = with_needed(&[]).build();
                items.extend(each(&names, &library));
                archive(scratch, &items)
            },
        },
        Attack {
            name: "elf-links-40000",
            holds: "20,000 symbolic and 20,000 hard links to one library",
            outcome: TOLD,
            make: |scratch| {
                let mut items = vec![file(LIBRARY, cudart().build())];
                items.extend((0..20_000).map(|it| {
                    symlink(&format!("usr/lib64/libcudart.so.{it}s"), "libcudart.so.12")
                }));
                items.extend(
                    (0..20_000)
                        .map(|it| hard_link(&format!("usr/lib64/libcudart.so.{it}h"), LIBRARY)),
                );
                archive(scratch, &items)
            },
        },
    ]
}

fn loader() -> Vec<Attack> {
    vec![
        Attack {
            name: "ld-cache-2-32-entries",
            holds: "an `ld.so.cache` of 100 bytes that claims 2³²-1 entries",
            outcome: CORRUPT,
            make: |scratch| process(scratch, "etc/ld.so.cache", &cache(u32::MAX, &[0; 52])),
        },
        Attack {
            name: "ld-cache-strings-beyond-the-end",
            holds: "an `ld.so.cache` whose names are beyond its end",
            outcome: CORRUPT,
            make: |scratch| {
                let entry = words(&[0x303, u32::MAX, u32::MAX - 1, 0, 0, 0]);
                process(scratch, "etc/ld.so.cache", &cache(1, &entry))
            },
        },
        Attack {
            name: "ld-cache-one-name",
            holds: "an `ld.so.cache` of 500,000 entries that share one name of 4 KB",
            outcome: CORRUPT,
            make: |scratch| {
                let end = 48 + 24 * 500_000;
                let mut content = words(&[0x303, end, end, 0, 0, 0]).repeat(500_000);
                content.extend(vec![b'x'; 4000]);
                content.push(0);
                process(scratch, "etc/ld.so.cache", &cache(500_000, &content))
            },
        },
        Attack {
            name: "ld-cache-extensions",
            holds: "an `ld.so.cache` of 200,000 extension sections, each of which is the whole file",
            outcome: Outcome::Read("read: the cache contains no library", |report| {
                assert_eq!(version(report, "cuda-runtime"), Some("12.8"));
            }),
            make: |scratch| {
                let count = 200_000;
                let length = 56 + 16 * count;
                let mut content = words(&[0xeaa4_2174, count]);
                content.extend(words(&[1, 0, 0, length]).repeat(count as usize));
                let mut cache = cache(0, &content);
                cache[32..36].copy_from_slice(&48_u32.to_le_bytes());
                process(scratch, "etc/ld.so.cache", &cache)
            },
        },
        Attack {
            name: "ld-so-conf-loop",
            holds: "an `ld.so.conf` that includes itself, `/*/*/*/*/*/*` 10,000 times, and 5,000 files that include each other",
            outcome: Outcome::Read(
                "read: includes are expanded up to a fixed number of names",
                |report| {
                    assert_eq!(version(report, "cuda-runtime"), Some("12.8"));
                },
            ),
            make: |scratch| {
                let text =
                    "include ld.so.conf ld.so.conf.d/*.conf /*/*/*/*/*/* /etc/../etc/ld.so.conf\n";
                let mut items = process_items("etc/ld.so.conf", text.repeat(10_000).as_bytes());
                items.extend((0..5_000).map(|it| {
                    file(
                        &format!("etc/ld.so.conf.d/{it}.conf"),
                        format!("/usr/lib/{it}\ninclude *.conf\n"),
                    )
                }));
                archive(scratch, &items)
            },
        },
    ]
}

fn packages() -> Vec<Attack> {
    vec![
        Attack {
            name: "python-distributions-20000",
            holds: "20,000 `dist-info` directories in one environment, all of PyTorch",
            outcome: Outcome::Read("read: the copies are reported", |report| {
                assert!(report.to_string().contains("torch"), "{report}");
            }),
            make: |scratch| {
                let copies = (0..20_000).map(|it| distribution("torch", &format!("1.{it}"), ""));
                python(scratch, copies)
            },
        },
        Attack {
            name: "python-requirements-20000",
            holds: "a distribution with 20,000 unmet requirements, and 2,000 copies of PyTorch",
            outcome: Outcome::Refused("rule-items"),
            make: |scratch| {
                let copies = (0..2_000).map(|it| distribution("torch", &format!("1.{it}"), ""));
                let requirements: String = (0..20_000)
                    .map(|it| format!("Requires-Dist: torch=={it}.9\n"))
                    .collect();
                python(
                    scratch,
                    copies.chain([distribution("x", "1", &requirements)]),
                )
            },
        },
        Attack {
            name: "json-100000-deep",
            holds: "conda and CUDA toolkit JSON files with 100,000 nested lists",
            outcome: Outcome::Read("read: the files are ignored", |report| {
                assert!(version(report, "torch").is_none());
            }),
            make: |scratch| {
                let deep = format!("{{\"version\": {}", "[".repeat(100_000));
                let names = [
                    "opt/conda/conda-meta/pytorch-2.8.0-0.json",
                    "usr/local/cuda-12.8/version.json",
                ];
                archive(scratch, &names.map(|name| file(name, &deep)))
            },
        },
        Attack {
            name: "json-wide",
            holds: "a `version.json` with 500,000 keys",
            outcome: Outcome::Read("read: no version is taken from it", |report| {
                assert!(report["images"][0]["stack"].is_array());
            }),
            make: |scratch| {
                let keys: Vec<String> = (0..500_000)
                    .map(|it| format!("\"k{it}\": {{\"version\": \"1\"}}"))
                    .collect();
                archive(
                    scratch,
                    &[file(
                        "usr/local/cuda-12.8/version.json",
                        format!("{{{}}}", keys.join(",")),
                    )],
                )
            },
        },
    ]
}

/// An `ld.so.cache` with this many entries, and the bytes after the header.
pub fn cache(entries: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = b"glibc-ld.so.cache1.1".to_vec();
    bytes.extend(words(&[entries, 0, 2, 0, 0, 0, 0]));
    bytes.extend(content);
    bytes
}

/// A program with its loader and CUDA 12.8, and another file.
pub fn process_items(path: &str, content: &[u8]) -> Vec<Item> {
    let mut program = Elf::new();
    let at = program.put(b"/lib64/ld-linux-x86-64.so.2\0");
    program.segment(PT_INTERP, at, 28);
    program.strings(b"\0libcudart.so.12\0");
    program.tag(DT_NEEDED, 1);
    let mut libc = known(&["libc.so.6", "gnu_get_libc_version"], b"\xc3");
    libc.tag(DT_SONAME, 1);
    libc.put(b"GNU C Library (Debian) stable release version 2.36.\0");
    let loader = known(&["_dl_x"], b"\xc3");
    vec![
        file("usr/bin/server", program.build()),
        file("usr/lib64/libcudart.so.12", cudart().build()),
        file("lib64/libc.so.6", libc.build()),
        file("lib64/ld-linux-x86-64.so.2", loader.build()),
        file(path, content),
    ]
}

/// The same as the image, and the arguments to show it.
pub fn process(scratch: &Path, path: &str, content: &[u8]) -> Vec<String> {
    archive(scratch, &process_items(path, content))
}

/// An image with a Python environment of these distributions, and the arguments to show it.
pub fn python(scratch: &Path, distributions: impl Iterator<Item = Item>) -> Vec<String> {
    let interpreter = known(&["Py_GetVersion", "Py_BytesMain"], b"\xc3");
    let interpreter = file("usr/bin/python3.11", interpreter.build());
    let items: Vec<Item> = [interpreter].into_iter().chain(distributions).collect();
    archive(scratch, &items)
}

/// The metadata of a distribution, with further lines.
pub fn distribution(name: &str, version: &str, more: &str) -> Item {
    let text = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{more}\n");
    let directory = "usr/lib/python3.11/site-packages";
    let path = format!("{directory}/{name}-{version}.dist-info/METADATA");
    file(&path, text)
}

/// A program of the image that needs libraries, its loader, and the CUDA runtime.
pub fn program(needed: &[String]) -> Vec<Item> {
    vec![
        file("usr/bin/server", server(needed).build()),
        file("lib64/ld-linux-x86-64.so.2", with_needed(&[]).build()),
        file(LIBRARY, cudart().build()),
    ]
}

/// A program that needs libraries, and the CUDA runtime.
pub fn server(needed: &[String]) -> Elf {
    let mut names = needed.to_vec();
    names.push("libcudart.so.12".to_owned());
    let mut elf = with_needed(&names);
    let interpreter = b"/lib64/ld-linux-x86-64.so.2\0";
    let at = elf.put(interpreter);
    elf.segment(PT_INTERP, at, interpreter.len() as u64);
    elf
}

/// A library that needs others.
pub fn with_needed(names: &[String]) -> Elf {
    let mut elf = Elf::new();
    let strings = format!("\0{}\0", names.join("\0"));
    elf.strings(strings.as_bytes());
    let mut at = 1;
    for name in names {
        elf.tag(DT_NEEDED, at);
        at += name.len() as u64 + 1;
    }
    elf.symbols([]);
    elf
}

/// One library under each of the names.
pub fn each<'a>(names: &'a [String], library: &'a [u8]) -> impl Iterator<Item = Item> + use<'a> {
    let path = |name: &String| format!("usr/lib64/{name}");
    names.iter().map(move |name| file(&path(name), library))
}

#[test]
fn every_format_for_people_says_how_many_programs_are_left_out() {
    let scratch = tempfile::tempdir().unwrap();
    let mut items = program(&[]);
    items.extend((0..18).map(|it| file(&format!("usr/bin/p{it}"), server(&[]).build())));
    archive(scratch.path(), &items);
    for format in ["text", "markdown", "html", "json"] {
        let arguments = ["check", "image.tar", "--format", format].map(str::to_owned);
        let output = imgcheck(scratch.path(), &arguments).output;
        let told = match format {
            "json" => "\"programs_left_out\": 3",
            _ => "3 programs that use GPU libraries were not checked",
        };
        assert!(output.contains(told), "{format}: {output}");
    }
}
