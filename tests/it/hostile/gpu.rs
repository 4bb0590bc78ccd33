//! GPU code without end, and libraries whose bodies are made to mislead or to stall who looks for their versions.

use serde_json::Value;

use super::attack::{Attack, Outcome};
use super::elf::version;
use super::forge::*;
use testkit::{Item, file};

const LIBRARY: &str = "usr/lib/libevil.so";
const ENTRY: usize = 48;

/// Attacks by GPU code and by library bodies.
pub fn attacks() -> Vec<Attack> {
    [containers(), codes(), bodies(), texts()]
        .into_iter()
        .flatten()
        .collect()
}

/// Where no entry can be read, no GPU code is told of, and what is beside it is found all the same.
const NONE: Outcome = Outcome::Read("read: no GPU code is found", |report| {
    assert_eq!(version(report, "cuda-runtime"), Some("12.8"));
    assert_eq!(gpu(report), r#"{"libraries":[]}"#);
});

fn containers() -> Vec<Attack> {
    vec![
        Attack {
            name: "gpu-empty-containers",
            holds: "500,000 fat-binary containers of size 0",
            outcome: Outcome::Read("read: they contain no code", |report| {
                assert_eq!(version(report, "cuda-runtime"), Some("12.8"));
            }),
            make: |scratch| named(scratch, &container(0, 16).repeat(500_000)),
        },
        Attack {
            name: "gpu-wrong-lengths",
            holds: "containers and entries with headers of 0, 65,535 and 2³²-1 bytes, and contents of 2⁶⁴-1",
            outcome: NONE,
            make: |scratch| {
                let lengths = [0, 1, 16, u64::MAX, u64::MAX - 15, 1 << 63];
                let headers = [0, 1, 16, 17, 256, 0xffff];
                let mut code: Vec<u8> = Vec::new();
                for length in lengths {
                    for header in headers {
                        code.extend(container(length, header));
                        code.extend(container(4096, 16));
                        code.extend(entry(2, 90, u32::from(header), length));
                        code.extend(entry(2, 90, u32::MAX, length));
                    }
                }
                named(scratch, &code)
            },
        },
        Attack {
            name: "gpu-containers-in-containers",
            holds: "16 MB of containers that each extend to the end and so contain all that follow, in a file without sections",
            outcome: Outcome::Read("read: each byte is walked once", |report| {
                assert_eq!(version(report, "cuda-runtime"), Some("12.8"));
            }),
            make: |scratch| {
                // An entry that holds several, and of these none; the next container stands within its header.
                let unit = 256;
                let length = 16 << 20;
                let mut code = Vec::new();
                while code.len() < length {
                    let left = (length - code.len()) as u64;
                    let mut piece = entry(0x100, 0, unit as u32, 0);
                    piece[20] = 72;
                    piece.resize(unit - 16, 0);
                    piece.extend(container(left - unit as u64 + 64, 16));
                    code.extend(piece);
                }
                code.extend([0xff; 64]);
                unnamed(scratch, &code)
            },
        },
        Attack {
            name: "gpu-magic-everywhere",
            holds: "4 MB that consist only of fat-binary magic numbers",
            outcome: NONE,
            make: |scratch| {
                named(
                    scratch,
                    &words(&[0xba55_ed50, 0x0010_0001]).repeat(512 << 10),
                )
            },
        },
    ]
}

fn codes() -> Vec<Attack> {
    vec![
        Attack {
            name: "gpu-streamed-payloads",
            holds: "a gzip layer with an ELF file that has 4,000 note segments and 16 MB of GPU code with payloads of eight bytes, each followed by the name of the section name table",
            outcome: super::elf::TOLD,
            make: |scratch| {
                let items = [
                    file(
                        "usr/lib64/libcudart.so.12",
                        known(CUDART.0, CUDART.1).build(),
                    ),
                    file(LIBRARY, name_tables(16 << 20)),
                ];
                layout(scratch, &items)
            },
        },
        Attack {
            name: "gpu-entries-1000000",
            holds: "a container with 1,100,000 empty entries",
            outcome: Outcome::Refused("gpu-containers"),
            make: |scratch| {
                let entries = entry(2, 90, ENTRY as u32, 0).repeat(1_100_000);
                let code = [container(entries.len() as u64, 16), entries].concat();
                named(scratch, &code)
            },
        },
        Attack {
            name: "gpu-architectures-50000",
            holds: "GPU code for 50,000 architectures, up to `sm_4294967295a`",
            outcome: Outcome::Read("read: all are reported", |report| {
                assert!(gpu(report).contains("sm_4294967295a"));
            }),
            make: |scratch| {
                let all = (0..50_000).map(|number| u32::MAX - number);
                let entries: Vec<u8> = all.flat_map(|it| entry(2, it, ENTRY as u32, 0)).collect();
                let code = [container(entries.len() as u64, 16), entries].concat();
                named(scratch, &code)
            },
        },
        Attack {
            name: "gpu-decompression-bomb",
            holds: "compressed PTX that claims to decompress to 2⁶⁰ bytes",
            outcome: Outcome::Read("read: payloads are never decompressed", |report| {
                assert!(gpu(report).contains("compute_90"), "{report}");
            }),
            make: |scratch| {
                let mut entry = entry(1, 90, 64, 64);
                entry[24] = 8;
                entry[26] = 7;
                entry[16] = 64;
                entry[41] = 0x20;
                entry.extend([0; 8]);
                entry.extend(u64::to_le_bytes(1 << 60));
                entry.extend([0xff; 64]);
                let code = [container(entry.len() as u64, 16), entry].concat();
                named(scratch, &code)
            },
        },
    ]
}

fn bodies() -> Vec<Attack> {
    vec![
        Attack {
            name: "getter-that-jumps-to-itself",
            holds: "all CUDA libraries that are recognized by an export, with function bodies that jump to themselves",
            outcome: Outcome::Read("read: none has a version", |report| {
                let stack = report["images"][0]["stack"].as_array().unwrap();
                assert!(stack.len() > 5, "{stack:?}");
                assert!(
                    stack
                        .iter()
                        .all(|it| it["evidence"].as_array().is_none_or(Vec::is_empty)),
                    "{stack:?}"
                );
            }),
            make: |scratch| {
                let body = b"\xe9\xfb\xff\xff\xff\xe8\xf6\xff\xff\xff".repeat(6_000);
                let items: Vec<Item> = EXPORTS
                    .iter()
                    .map(|exports| {
                        let path = format!("opt/{}/libx.so", exports[0]);
                        file(&path, known(exports, &body).build())
                    })
                    .collect();
                archive(scratch, &items)
            },
        },
        Attack {
            name: "functions-that-return-500000",
            holds: "a `libtorch_cuda.so` with 500,000 adjacent functions that return cuDNN and CUDA versions in turn",
            outcome: Outcome::Read("read: no version, because they disagree", |report| {
                assert!(!report.to_string().contains("compiled-cudnn"), "{report}");
            }),
            make: |scratch| {
                let mut code = Vec::new();
                for number in 0..250_000_u32 {
                    for version in [90_000 + number % 100, 12_000 + number % 10 * 10] {
                        code.push(0xb8);
                        code.extend(version.to_le_bytes());
                        code.extend(b"\xc3\x66\x2e\x0f\x1f\x84\0\0\0\0\0");
                    }
                }
                let elf = known(&["_ZN5torch4cuda4nccl7versionEv"], &code);
                archive(
                    scratch,
                    &[file("opt/torch/lib/libtorch_cuda.so", elf.build())],
                )
            },
        },
    ]
}

fn texts() -> Vec<Attack> {
    vec![
        Attack {
            name: "version-candidates-200000",
            holds: "a `libcudnn.so` with 200,000 strings, each followed by a different version",
            outcome: Outcome::Read("read: none of them counts", |report| {
                assert_eq!(version(report, "cudnn"), Some("9"), "{report}");
            }),
            make: |scratch| {
                let mut strings = Vec::new();
                for number in 0..200_000_u32 {
                    let (major, minor, patch) =
                        (4 + number / 10_000, number / 100 % 100, number % 100);
                    strings.extend(b"cudnnOpsVersionCheck\0\0\0\0");
                    strings.extend((major << 16 | minor << 8 | patch).to_le_bytes());
                    strings.extend(*b"zzzz");
                }
                library(scratch, "libcudnn_ops.so.9", &strings)
            },
        },
        Attack {
            name: "architectures-in-a-string",
            holds: "a `libtorch_cuda.so` whose compiler options name 100,000 architectures",
            outcome: Outcome::Read("read: those in one search window are reported", |report| {
                assert!(version(report, "cuda-runtime").is_none());
            }),
            make: |scratch| {
                let mut options = String::new();
                for number in 0..100_000 {
                    options.push_str(&format!("-gencode;arch=compute_90,code=sm_{number};"));
                }
                library(scratch, "_ZN5torch4cuda4nccl7versionEv", options.as_bytes())
            },
        },
        Attack {
            name: "versions-of-control-characters",
            holds: "version strings, SONAMEs and needed names with escape sequences, bidirectional marks and line breaks",
            outcome: Outcome::Printed("read: none of them reaches the terminal", |text| {
                assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{text:?}");
            }),
            make: |scratch| {
                let evil = "\u{1b}[2J\u{202e}\u{7}\r\n";
                let mut elf = known(CUDART.0, CUDART.1);
                let strings = format!("\0cudaRuntimeGetVersion\0libcudart.so.12{evil}\0");
                elf.strings(strings.as_bytes());
                elf.tag(DT_SONAME, 23).tag(DT_NEEDED, 23);
                let path = format!("usr/lib/libcudart{evil}.so.12");
                let mut arguments = archive(scratch, &[file(&path, elf.build())]);
                arguments.truncate(2);
                arguments[0] = "facts".to_owned();
                arguments
            },
        },
        Attack {
            name: "data-objects-100000",
            holds: "a cuDNN library that exports 100,000 version numbers, all different",
            outcome: Outcome::Read("read: none of them counts", |report| {
                assert_eq!(version(report, "cudnn"), Some("9"), "{report}");
            }),
            make: |scratch| {
                let mut elf = Elf::new();
                let mut names = b"\0cudnnGetVersion\0".to_vec();
                let numbers: Vec<u8> = (0..100_000_u32)
                    .flat_map(|it| [it % 100, it / 100 % 100, 4 + it / 10_000, 0])
                    .map(|byte| byte as u8)
                    .collect();
                let numbers = elf.put(&numbers);
                let mut symbols = vec![symbol(1, numbers, 16)];
                for number in 0..100_000_u64 {
                    let name = names.len() as u32;
                    names.extend(format!("cudnn_x{number}_version\0").bytes());
                    let mut object = symbol(name, numbers + 4 * number, 4);
                    object[4] = 0x11;
                    symbols.push(object);
                }
                elf.strings(&names);
                elf.symbols(symbols);
                archive(scratch, &[file("usr/lib/libcudnn.so.9", elf.build())])
            },
        },
    ]
}

/// A container that begins in the last segment and has most of its entries behind it, among them the bytes that make a reader of a
/// stream keep what is around them.
fn name_tables(length: usize) -> Vec<u8> {
    let mut elf = Elf::new();
    elf.tag(DT_SONAME, 0);
    for number in 0..4000 {
        elf.segment(PT_NOTE, 0x1000 * number, 16);
    }
    let entry: Vec<u8> = [
        words(&[0x0101_0002, 48, 8, 0, 0, 0, 0, 90]),
        vec![0; 16],
        b".shstrta".to_vec(),
    ]
    .concat();
    let names = b".shstrtab\0".repeat(7);
    let container: Vec<u8> = [
        words(&[0xba55_ed50, 0x0010_0001]),
        (length as u64).to_le_bytes().to_vec(),
    ]
    .concat();
    elf.put(&container);
    elf.put(&entry);
    let mut bytes = elf.build();
    while bytes.len() < length {
        bytes.extend(&entry);
        if bytes.len() % 1024 < 56 {
            bytes.extend(&names);
        }
    }
    bytes
}

/// Exports by which libraries are known.
const EXPORTS: [&[&str]; 10] = [
    &["cudaRuntimeGetVersion"],
    &["cudnnGetVersion"],
    &["ncclGetVersion"],
    &["nvrtcVersion"],
    &["cublasLtGetVersion"],
    &["cufftGetVersion"],
    &["curandGetVersion"],
    &["cusolverGetVersion", "cusolverDnCreate"],
    &["cusparseGetVersion", "cusparseCreate"],
    &["cuptiGetVersion"],
];

/// The header of a container with this many bytes of entries.
pub fn container(length: u64, header: u16) -> Vec<u8> {
    let mut bytes = words(&[0xba55_ed50, 1 | u32::from(header) << 16]);
    bytes.extend(length.to_le_bytes());
    bytes
}

/// The header of an entry.
pub fn entry(kind: u32, architecture: u32, header: u32, payload: u64) -> Vec<u8> {
    let mut bytes = words(&[0x0101_0000 | kind, header]);
    bytes.extend(payload.to_le_bytes());
    bytes.extend(words(&[0, 0, 0, architecture, 0, 0, 0x10_0000, 0]));
    bytes
}

/// An image with CUDA 12.8, and a library with GPU code in its section.
pub fn named(scratch: &std::path::Path, code: &[u8]) -> Vec<String> {
    let mut elf = Elf::new();
    elf.tag(DT_SONAME, 0);
    let at = elf.put(code);
    elf.section(".nv_fatbin", CONSTANTS, at, code.len() as u64);
    beside_cuda(scratch, &elf)
}

/// The same, in a library without sections.
fn unnamed(scratch: &std::path::Path, code: &[u8]) -> Vec<String> {
    let mut elf = Elf::new();
    elf.tag(DT_SONAME, 0);
    elf.put(code);
    beside_cuda(scratch, &elf)
}

fn beside_cuda(scratch: &std::path::Path, elf: &Elf) -> Vec<String> {
    let cudart = known(CUDART.0, CUDART.1);
    let items = [
        file("usr/lib/libcudart.so.12", cudart.build()),
        file(LIBRARY, elf.build()),
    ];
    archive(scratch, &items)
}

/// An image with one library that is known by an export or by its SONAME, and has such constants.
fn library(scratch: &std::path::Path, name: &str, constants: &[u8]) -> Vec<String> {
    let mut elf = known(&[name], b"\xc3");
    elf.tag(DT_SONAME, 1);
    let at = elf.put(constants);
    elf.section(".rodata", CONSTANTS, at, constants.len() as u64);
    archive(scratch, &[file(LIBRARY, elf.build())])
}

/// What a report says of GPU code.
fn gpu(report: &Value) -> String {
    report["images"][0]["gpu"].to_string()
}
