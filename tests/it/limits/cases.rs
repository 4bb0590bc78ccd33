//! For each limit an image that exceeds it.

use std::fs;
use std::path::Path;

use imgcheck_base::limits::{ALL, Limit};
use serde_json::json;
use testkit::elf::{SharedObject, Symbol, SymbolKind};
use testkit::{
    Compression, Image, Item, blob, compress, descriptor, docker_archive, file, oci_layout,
    write_archive,
};

/// A limit that an image passes.
pub struct Case {
    pub limit: Limit,
    pub low: &'static str,
    /// Writes the image into a directory, and gives the arguments that check it.
    pub make: fn(&Path) -> Vec<String>,
    /// Whether it can be raised so far that the image is read, in the time of a test.
    pub raised: bool,
    /// What the report says if exceeding the limit is no error.
    pub counted: Option<&'static str>,
}

const fn case(limit: Limit, low: &'static str, make: fn(&Path) -> Vec<String>) -> Case {
    Case {
        limit,
        low,
        make,
        raised: true,
        counted: None,
    }
}

const fn endless(limit: Limit, low: &'static str, make: fn(&Path) -> Vec<String>) -> Case {
    Case {
        raised: false,
        ..case(limit, low, make)
    }
}

pub const CASES: [Case; ALL.len()] = [
    case(Limit::Layers, "1", |at| docker(at, &[two_layers()])),
    case(Limit::Entries, "4", |at| docker(at, &[two_layers()])),
    case(Limit::PathBytes, "100", |at| {
        layer(at, &[file(&format!("{}x", "directory/".repeat(20)), "x")])
    }),
    case(Limit::LayerBytes, "4KiB", |at| {
        layer(at, &[file("x", [7; 9000])])
    }),
    endless(Limit::Ratio, "250", zeros),
    case(Limit::ZstdWindow, "64KiB", |at| {
        stored(at, Compression::Zstd, file("x", [7; 1 << 20]))
    }),
    case(Limit::PaxBytes, "1KB", |at| {
        extended(at, &[("comment", &"x".repeat(2000))], b"x")
    }),
    case(Limit::SparseSegments, "1", |at| {
        extended(at, &sparse("0,1,5000,1", "9000"), b"xy")
    }),
    case(Limit::SparseBytes, "5KB", |at| {
        extended(at, &sparse("0,4", "9000"), b"\x7fELF")
    }),
    case(Limit::DocumentBytes, "50", |at| docker(at, &[two_layers()])),
    case(Limit::DocumentsBytes, "300", |at| {
        docker(at, &[two_layers()])
    }),
    case(Limit::Manifests, "1", |at| {
        let other = Image::new("y:1", &[&[file("y", "y")]]);
        docker(at, &[two_layers(), other])
    }),
    case(Limit::TextBytes, "10", |at| docker(at, &[two_layers()])),
    case(Limit::TextsBytes, "30", |at| docker(at, &[two_layers()])),
    case(Limit::FactsBytes, "300", |at| docker(at, &[two_layers()])),
    case(Limit::ElfTableBytes, "100", |at| layer(at, &[program()])),
    case(Limit::Symbols, "5", |at| layer(at, &[program()])),
    case(Limit::GpuContainers, "1", |at| {
        let content = [fat_binary(), fat_binary()].concat();
        layer(at, &[file("lib/x.so", elf(&content, &[]))])
    }),
    case(Limit::ElfBytes, "1KB", |at| {
        // What no segment loads is not kept when it goes by.
        let rest = [vec![0; 2 << 20], fat_binary()].concat();
        stored(
            at,
            Compression::Gzip,
            file("lib/x.so", elf(b"loaded", &rest)),
        )
    }),
    case(Limit::LoaderObjects, "2", |at| layer(at, &servers(1))),
    case(Limit::LoaderDirectories, "1", |at| layer(at, &servers(1))),
    case(Limit::LoaderLookups, "1", |at| layer(at, &servers(1))),
    case(Limit::LoaderSymbols, "1", |at| layer(at, &servers(1))),
    case(Limit::LoaderFaults, "1", |at| {
        layer(at, &[&servers(2)[..1], &servers(2)[3..]].concat())
    }),
    case(Limit::PythonDirectories, "1", python_directories),
    case(Limit::PythonLookups, "1", python_lookups),
    Case {
        counted: Some("\"programs_left_out\": 2"),
        ..case(Limit::Programs, "1", |at| layer(at, &servers(3)))
    },
    case(Limit::Requirements, "1", requirements),
    case(Limit::RuleItems, "2", |at| rule(at, "[1, 2, 3]", "it == 4")),
    endless(Limit::RuleTime, "1s", |at| rule(at, &numbers(), &slow())),
    endless(Limit::Time, "1s", |_| vec!["-".to_owned()]),
];

/// Two distributions that require PyTorch.
fn requirements(at: &Path) -> Vec<String> {
    let site = "usr/lib/python3.11/site-packages";
    let distribution = |name: &str| {
        let metadata = format!("Name: {name}\nVersion: 1.0\nRequires-Dist: torch>=2\n");
        file(&format!("{site}/{name}-1.0.dist-info/METADATA"), metadata)
    };
    let python = file("usr/bin/python3.11", fs::read("/bin/sh").unwrap());
    layer(at, &[python, distribution("a"), distribution("b")])
}

/// A Python that imports from its package directory and one that a `.pth` file names.
fn python_directories(at: &Path) -> Vec<String> {
    let site = "usr/lib/python3.11/site-packages";
    let python = file("usr/bin/python3.11", fs::read("/bin/sh").unwrap());
    let named = file(&format!("{site}/more.pth"), "/opt/more\n");
    layer(at, &[python, named, file("opt/more/x.py", "")])
}

fn python_lookups(at: &Path) -> Vec<String> {
    let library = "usr/lib/python3.11";
    let python = file("usr/bin/python3.11", fs::read("/bin/sh").unwrap());
    let torch = file(
        &format!("{library}/site-packages/torch/__init__.py"),
        "import os\n",
    );
    layer(at, &[python, torch, file(&format!("{library}/os.py"), "")])
}

/// Two layers with three entries each, of which one is a text of 20 bytes.
pub fn two_layers() -> Image {
    let layer = |name: &str| {
        let text = file("etc/os-release", format!("ID=debian\nNAME=xxxx{name}"));
        [text, file(name, name), file(&format!("{name}{name}"), name)]
    };
    Image::new("x:1", &[&layer("a"), &layer("b")])
}

pub fn docker(at: &Path, images: &[Image]) -> Vec<String> {
    write_archive(&at.join("image.tar"), &docker_archive(images));
    vec!["image.tar".to_owned()]
}

fn layer(at: &Path, items: &[Item]) -> Vec<String> {
    docker(at, &[Image::new("x:1", &[items])])
}

pub fn stored(at: &Path, compression: Compression, item: Item) -> Vec<String> {
    let image = Image::new("x:1", &[&[item]]);
    write_archive(
        &at.join("image.tar"),
        &oci_layout(&[image], compression, false),
    );
    vec!["image.tar".to_owned()]
}

/// A file behind an extended header with these records.
fn extended(at: &Path, records: &[(&str, &str)], content: &[u8]) -> Vec<String> {
    let mut builder = tar::Builder::new(Vec::new());
    let records = records.iter().map(|(key, value)| (*key, value.as_bytes()));
    builder.append_pax_extensions(records).unwrap();
    let mut header = tar::Header::new_ustar();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    builder.append_data(&mut header, "x", content).unwrap();
    let mut image = Image::new("x:1", &[]);
    image.layers = vec![builder.into_inner().unwrap()];
    docker(at, &[image])
}

/// The records of a sparse file (GNU tar manual, "Storing Sparse Files", format 0.1).
fn sparse<'a>(map: &'a str, size: &'a str) -> [(&'static str, &'a str); 2] {
    [("GNU.sparse.size", size), ("GNU.sparse.map", map)]
}

/// Programs with two libraries and an undefined symbol.
fn servers(count: usize) -> Vec<Item> {
    let library = SharedObject {
        machine: 62,
        ..SharedObject::default()
    };
    let program = SharedObject {
        interpreter: Some("/lib64/ld-linux-x86-64.so.2".to_owned()),
        rpath: Some("/a:/b".to_owned()),
        needed: ["libx.so", "libcudart.so.12"].map(str::to_owned).to_vec(),
        symbols: vec![Symbol {
            name: "f".to_owned(),
            kind: SymbolKind::Import,
        }],
        ..library.clone()
    };
    let libraries = ["ld-linux-x86-64.so.2", "libx.so", "libcudart.so.12"];
    let libraries = libraries.map(|name| file(&format!("lib64/{name}"), library.bytes()));
    let programs = (0..count).map(|it| file(&format!("usr/bin/server{it}"), program.bytes()));
    libraries.into_iter().chain(programs).collect()
}

pub fn program() -> Item {
    file("bin/sh", fs::read("/bin/sh").unwrap())
}

/// A fat binary with code for one architecture.
fn fat_binary() -> Vec<u8> {
    let mut bytes = Vec::new();
    let (header, payload) = (64_u64, 8_u64);
    bytes.extend([0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0]);
    bytes.extend((header + payload).to_le_bytes());
    let mut entry = vec![0; (header + payload) as usize];
    entry[..8].copy_from_slice(&[2, 0, 1, 1, header as u8, 0, 0, 0]);
    entry[8..16].copy_from_slice(&payload.to_le_bytes());
    entry[28] = 90;
    bytes.extend(entry);
    bytes
}

/// A shared object with a segment, behind which there is a section for GPU code.
fn elf(loaded: &[u8], rest: &[u8]) -> Vec<u8> {
    let mut file = vec![0; 64 + 56];
    file.resize(file.len().next_multiple_of(8), 0);
    file.extend(loaded);
    file.resize(file.len().next_multiple_of(8), 0);
    let end = file.len() as u64;
    file.extend(rest);
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"\x7fELF\x02\x01\x01");
    put(16, &[3, 0, 62, 0, 1]);
    put(32, &64_u64.to_le_bytes());
    put(52, &[64, 0, 56, 0, 1, 0, 64, 0]);
    put(64, &[1, 0, 0, 0, 4, 0, 0, 0]);
    put(64 + 32, &end.to_le_bytes());
    put(64 + 40, &end.to_le_bytes());
    if rest.is_empty() {
        return file;
    }
    let names = b"\0.nv_fatbin\0.shstrtab\0";
    let sections = [
        (1_u32, 1_u32, end, rest.len() as u64),
        (12, 3, file.len() as u64, names.len() as u64),
    ];
    file.extend(names);
    file.resize(file.len().next_multiple_of(8), 0);
    let table = file.len() as u64;
    file.extend([0; 64]);
    for (name, kind, offset, size) in sections {
        file.extend(name.to_le_bytes());
        file.extend(kind.to_le_bytes());
        for value in [0, 0, offset, size, 0, 8, 0] {
            file.extend(value.to_le_bytes());
        }
    }
    file[40..48].copy_from_slice(&table.to_le_bytes());
    file[60..64].copy_from_slice(&[3, 0, 2, 0]);
    file
}

/// A layer that is one file of zeros, thousands of times as long as what is stored of it.
fn zeros(at: &Path) -> Vec<String> {
    let (frames, piece) = (70, vec![0; 64 << 20]);
    let mut header = tar::Header::new_gnu();
    header.set_path("zeros").unwrap();
    header.set_size(frames * piece.len() as u64);
    header.set_cksum();
    let mut layer = compress(header.as_bytes(), Compression::Zstd);
    let frame = compress(&piece, Compression::Zstd);
    (0..frames).for_each(|_| layer.extend(&frame));
    // The limit is passed long before the diff id is known to be another.
    let config = Image::new("x:1", &[&[]]).config();
    let manifest = json!({
        "schemaVersion": 2,
        "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar+zstd", &layer)],
    });
    let manifest = manifest.to_string().into_bytes();
    let listed = descriptor("application/vnd.oci.image.manifest.v1+json", &manifest);
    let index = json!({"schemaVersion": 2, "manifests": [listed]}).to_string();
    let items = [
        file("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#),
        file("index.json", index),
        blob(config),
        blob(manifest),
        blob(layer),
    ];
    write_archive(&at.join("image.tar"), &items);
    vec!["image.tar".to_owned()]
}

/// A rule of the user that looks at each element of a list.
pub fn rule(at: &Path, each: &str, fail: &str) -> Vec<String> {
    let text = format!(
        "id: team-rule\ntitle: t\nseverity: note\nsince: \"1\"\neach: '{each}'\nfail: '{fail}'\nmessage: m\nwhy: w\n"
    );
    fs::write(at.join("rule.yaml"), text).unwrap();
    let mut arguments = docker(at, &[two_layers()]);
    arguments.extend(["--rules".to_owned(), "rule.yaml".to_owned()]);
    arguments
}

pub fn numbers() -> String {
    let numbers: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    format!("[{}]", numbers.join(", "))
}

/// An expression that takes its time for each of [`numbers`], but not too much for one of them, on a busy machine either.
pub fn slow() -> String {
    let list = numbers();
    format!("{list}.all(a, {list}.all(b, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].all(c, a + b + c >= 0)))")
}
