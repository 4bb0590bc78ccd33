//! Layers with a table of contents: the same facts as from the stream, from a small part of the bytes.

use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use testkit::tools::real_images;

use crate::layers::chunked_blob;
use imgcheck::internals::archive::{FileRange, RangeInput};
use imgcheck::internals::digest::sha256;
use imgcheck::internals::elf::Depth;
use imgcheck::internals::error::Result;
use imgcheck::internals::layer::{Content, Entry, EntryKind, LayerFacts, ReadContext};
use imgcheck::internals::reference::transport::ImageReference;
use imgcheck::internals::source::remote::RemoteBlob;
use imgcheck::internals::source::{self, LayerBlob, LayerData, Request};
use proptest::prelude::*;
use serde_json::{Value, json};
use testkit::chunked::{Format, lazy};
use testkit::tools::{run, tool};
use testkit::{Item, directory, file, hard_link, symlink};

/// A blob in a file that is served as a registry would, with a count of the requested bytes.
#[derive(Debug)]
struct Served {
    range: FileRange,
    has_ranges: bool,
    requests: AtomicU64,
    fetched: AtomicU64,
    streamed: AtomicU64,
}

impl RemoteBlob for Served {
    fn address(&self) -> String {
        "served".into()
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        self.streamed.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(RangeInput::new(self.range.clone())))
    }

    fn read_range(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        if !self.has_ranges {
            return Err(io::ErrorKind::Unsupported.into());
        }
        assert!(
            range.start < range.end && range.end <= self.range.length(),
            "{range:?}"
        );
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.fetched
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        assert_eq!(self.range.read_at(range.start, &mut bytes)?, bytes.len());
        Ok(bytes)
    }
}

impl Served {
    fn fetched(&self) -> u64 {
        self.fetched.load(Ordering::Relaxed)
    }

    fn was_streamed(&self) -> bool {
        self.streamed.load(Ordering::Relaxed) > 0
    }
}

/// The same blob as a registry would have it.
fn served(blob: &LayerBlob, has_ranges: bool) -> (LayerBlob, Arc<Served>) {
    let LayerData::Range {
        file,
        offset,
        length,
        ..
    } = &blob.data
    else {
        panic!("{blob:?}");
    };
    let served = Arc::new(Served {
        range: FileRange::new(file.clone(), *offset, *length),
        has_ranges,
        requests: AtomicU64::new(0),
        fetched: AtomicU64::new(0),
        streamed: AtomicU64::new(0),
    });
    let blob = LayerBlob {
        data: LayerData::Remote(served.clone()),
        ..blob.clone()
    };
    (blob, served)
}

fn layers(layout: &Path) -> Vec<LayerBlob> {
    let target = ImageReference::Path(layout.to_owned());
    let images = source::open(&target, &Request::default()).unwrap();
    images.into_iter().flat_map(|image| image.layers).collect()
}

fn scan_at(depth: Depth, blob: &LayerBlob) -> Result<LayerFacts> {
    let layer = ReadContext::builtin(depth).unwrap().read_layer(blob)?;
    Ok(Arc::unwrap_or_clone(layer.facts))
}

fn scan(blob: &LayerBlob) -> Result<LayerFacts> {
    scan_at(Depth::Default, blob)
}

/// The same entries; the first that differs is told, and no more. GPU code that was only sampled is left out.
fn same(found: &LayerFacts, expected: &LayerFacts) {
    for (found, expected) in found.entries.iter().zip(&expected.entries) {
        if found != &sampled_as(found, expected) {
            let short = |entry: &Entry| format!("{entry:?}").chars().take(600).collect::<String>();
            panic!("{}\nexpected {}", short(found), short(expected));
        }
    }
    assert_eq!(found.entries.len(), expected.entries.len());
}

/// The expected entry, with a sample of its GPU code where there is one in what was found.
fn sampled_as(found: &Entry, expected: &Entry) -> Entry {
    let mut expected = expected.clone();
    if let EntryKind::File(Content::Elf(found)) = &found.kind
        && let EntryKind::File(Content::Elf(all)) = &mut expected.kind
        && let (Some(sample), Some(code)) = (&found.gpu, &all.gpu)
        && sample.sampled
    {
        assert!(sample.containers <= code.containers, "{}", expected.path);
        for (name, _) in &sample.sass {
            assert!(code.sass.iter().any(|(it, _)| it == name), "{name}");
        }
        all.gpu = found.gpu.clone();
    }
    expected
}

/// Scans a layer by its table and as a stream, and says how many of its bytes were fetched.
fn compared(blob: &LayerBlob) -> u64 {
    let (remote, served) = served(blob, true);
    let facts = scan(&remote).unwrap();
    assert!(!served.was_streamed());
    same(&facts, &scan(blob).unwrap());
    served.fetched()
}

/// Bytes that cannot be compressed.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let next = |_| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    (0..length).map(next).collect()
}

/// What a layer can have in it; most of it is what nobody asks for.
fn sample() -> Vec<Item> {
    let program = fs::read("/bin/sh").unwrap();
    let mut sparse = program.clone();
    sparse.resize(program.len() + (1 << 20), 0);
    vec![
        directory("etc"),
        file("etc/os-release", "ID=debian\n"),
        file("usr/lib/os-release", ""),
        file("etc/ld.so.cache", noise(1, 300_000)),
        file("bin/sh", &program),
        file("bin/broken", b"\x7fELF but no more"),
        file("bin/short", b"\x7fEL"),
        file("bin/zeros", sparse),
        file("empty", b""),
        file("usr/lib/big.py", noise(2, 4 << 20)),
        file("data", noise(3, 200_000)),
        symlink("lib", "usr/lib"),
        hard_link("bin/dash", "bin/sh"),
        Item::Fifo("run/fifo".into()),
        file("usr/.wh.gone", b""),
        file("opt/.wh..wh..opq", b""),
        file("var/lib/dpkg/status", noise(4, 10_000)),
        file("bin/again", &program),
    ]
}

#[test]
fn lazily_read_facts_equal_streamed_facts() {
    for format in [Format::ZstdChunked, Format::Estargz, Format::EstargzJoined] {
        let blob = chunked_blob(&lazy(&sample(), format, 50_000).stored);
        let fetched = compared(&blob);
        assert!(
            fetched < blob.size / 2,
            "{format:?}: {fetched} of {}",
            blob.size
        );
    }
}

#[test]
fn a_layer_without_a_usable_table_is_streamed() {
    let lazy = lazy(&sample(), Format::ZstdChunked, 50_000);
    let expected = scan(&chunked_blob(&lazy.stored)).unwrap();
    let streamed = |blob: &LayerBlob, ranges: bool, depth: Depth| {
        let (remote, served) = served(blob, ranges);
        let facts = scan_at(depth, &remote).unwrap();
        assert!(served.was_streamed());
        facts
    };
    same(
        &streamed(&chunked_blob(&lazy.stored), false, Depth::Default),
        &expected,
    );
    same(
        &streamed(&chunked_blob(&lazy.stored), true, Depth::Deep),
        &scan_at(Depth::Deep, &chunked_blob(&lazy.stored)).unwrap(),
    );
    for position in [
        "",
        "1:2:3",
        "1:2:3:4:5",
        "0:18446744073709551615:1:1",
        "5:10:99999999999:1",
        "8:9:10:2",
    ] {
        let mut blob = chunked_blob(&lazy.stored);
        let key = blob
            .annotations
            .keys()
            .find(|it| it.ends_with("position"))
            .unwrap()
            .clone();
        blob.annotations.insert(key, position.to_owned());
        same(&streamed(&blob, true, Depth::Default), &expected);
    }
    for table in [
        json!({}),
        json!([]),
        json!({"version": 2, "entries": []}),
        json!({"version": 1}),
        json!({"version": 1, "entries": [{"type": "sock", "name": "a"}]}),
        json!({"version": 1, "entries": [{"type": "chunk", "name": "a"}]}),
        json!({"version": 1, "entries": [{"type": "reg", "name": "a\u{fffd}"}]}),
        json!({"version": 1, "entries": [{"type": "reg", "name": "a", "size": u64::MAX, "offset": 1, "digest": sha256(b"")}]}),
        json!({"version": 1, "entries": [{"type": "reg", "name": "a", "size": 9, "offset": u64::MAX, "digest": sha256(b"")}]}),
    ] {
        let blob = chunked_blob(&lazy.with_table(&table));
        same(
            &streamed(&blob, true, Depth::Default),
            &scan(&blob).unwrap(),
        );
    }
}

#[test]
fn a_tampered_layer_is_an_error() {
    for format in [Format::ZstdChunked, Format::Estargz] {
        let lazy = lazy(&sample(), format, 50_000);
        let problem = |blob: &LayerBlob| scan(&served(blob, true).0).unwrap_err().to_string();
        let mut other = chunked_blob(&lazy.stored);
        let value = other
            .annotations
            .values_mut()
            .find(|it| it.starts_with("sha256:"))
            .unwrap();
        *value = sha256(b"another");
        assert!(
            problem(&other).contains("the digest of its table of contents is"),
            "{}",
            problem(&other)
        );
        let mut table = lazy.table.clone();
        for row in table["entries"].as_array_mut().unwrap() {
            if row["name"] == "var/lib/dpkg/status" {
                row["digest"] = sha256(b"another").into();
                row["chunkDigest"] = sha256(b"another").into();
            }
        }
        let found = problem(&chunked_blob(&lazy.with_table(&table)));
        assert!(found.contains("the digest of the chunk at byte"), "{found}");
    }
}

#[test]
fn a_registry_that_fails_is_an_error() {
    #[derive(Debug)]
    struct Failing;
    impl RemoteBlob for Failing {
        fn address(&self) -> String {
            "failing".into()
        }
        fn open(&self) -> io::Result<Box<dyn Read + Send>> {
            panic!("a stream would fail, too");
        }
        fn read_range(&self, _: Range<u64>) -> io::Result<Vec<u8>> {
            Err(io::Error::other("503 after 5 attempts"))
        }
    }
    let blob = LayerBlob {
        data: LayerData::Remote(Arc::new(Failing)),
        ..chunked_blob(&lazy(&sample(), Format::ZstdChunked, 50_000).stored)
    };
    let error = scan(&blob).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(
        error.to_string().contains("503 after 5 attempts"),
        "{error}"
    );
}

/// A value that may be in a table, or not.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u64>().prop_map(Value::from),
        (0_u64..5_000_000).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(u64::MAX)),
        Just(json!(1_u64 << 63)),
        Just(json!(null)),
        Just(json!("zeros")),
        Just(json!("chunk")),
        Just(json!("reg")),
        Just(json!("../../../etc/passwd")),
        Just(json!([[[[]]]])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_hostile_table_is_no_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..10, value()), 1..6),
        repeated in any::<prop::sample::Index>(),
        estargz in any::<bool>(),
    ) {
        let format = if estargz { Format::Estargz } else { Format::ZstdChunked };
        let lazy = lazy(&small(), format, 5_000);
        let mut table = lazy.table.clone();
        let rows = table["entries"].as_array_mut().unwrap();
        let again = rows[repeated.index(rows.len())].clone();
        rows.push(again);
        let fields = ["type", "name", "size", "offset", "endOffset", "innerOffset", "chunkSize", "chunkOffset", "chunkType", "mode"];
        for (row, field, value) in changes {
            let at = row.index(rows.len());
            rows[at][fields[field]] = value;
        }
        let (remote, _) = served(&chunked_blob(&lazy.with_table(&table)), true);
        let _ = scan(&remote);
    }
}

/// A layer that is quickly read.
fn small() -> Vec<Item> {
    vec![
        file("etc/os-release", "ID=debian\n".repeat(1000)),
        file("bin/tool", [b"\x7fELF".to_vec(), vec![7; 20_000]].concat()),
        file("usr/lib/big.py", vec![9; 100_000]),
    ]
}

fn skopeo_version() -> String {
    let output = std::process::Command::new("skopeo")
        .arg("--version")
        .output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    text.trim_start_matches("skopeo version ").trim().to_owned()
}

/// The layers of a real image as skopeo stores them.
#[test]
fn layers_that_skopeo_wrote() {
    let image = real_images().join("cuda-12.8-oci");
    // Layers of 1.9.3 do not have the diff id of the archive that they were made from; those of 1.18 do.
    let old = ["1.8.", "1.9."];
    if !tool("skopeo") || !image.exists() || old.iter().any(|it| skopeo_version().starts_with(it)) {
        testkit::tools::say(format_args!(
            "skipped: {} and skopeo from 1.10 on are needed",
            image.display()
        ));
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let target = temporary.path().join("image");
    run(
        "skopeo",
        &[
            "--insecure-policy",
            "copy",
            "--quiet",
            "--dest-compress-format",
            "zstd:chunked",
            "--dest-compress-level",
            "3",
            &format!("oci:{}", image.display()),
            &format!("oci:{}", target.display()),
        ],
    );
    for blob in layers(&target) {
        let fetched = compared(&blob);
        assert!(fetched < blob.size / 3, "{fetched} of {}", blob.size);
    }
}

/// Images at hand that were stored with tables of contents: `CHUNKED` lists layouts, with `=` the same image in another form.
#[test]
#[ignore = "needs layouts at hand: CHUNKED=LAYOUT[=OTHER],… cargo test --test it chunked:: -- --ignored"]
fn layers_at_hand() {
    let list = std::env::var("CHUNKED").unwrap();
    for pair in list.split(',') {
        let (layout, other) = pair.split_once('=').unwrap_or((pair, pair));
        let others = layers(Path::new(other));
        for blob in layers(Path::new(layout)) {
            let (remote, served) = served(&blob, true);
            let start = std::time::Instant::now();
            let facts = scan(&remote).unwrap();
            testkit::tools::say(format_args!(
                "{} bytes, fetched {} ({:.2} %), {} requests, {:?}, streamed: {}",
                blob.size,
                served.fetched(),
                100.0 * served.fetched() as f64 / blob.size as f64,
                served.requests.load(Ordering::Relaxed),
                start.elapsed(),
                served.was_streamed(),
            ));
            let other = others.iter().find(|it| it.diff_id == blob.diff_id);
            same(&facts, &scan(other.unwrap_or(&blob)).unwrap());
        }
    }
}

/// How well the bytes in front compress says nothing of those behind.
#[test]
fn a_library_behind_noise_in_one_member_is_seen() {
    let mut library = fs::read("/bin/sh").unwrap();
    library.resize(8 << 20, 0);
    let items = [
        file("opt/noise", noise(1, 1 << 20)),
        file("opt/library", library),
        file("opt/text", "text"),
        file("opt/rest", noise(2, 8 << 20)),
    ];
    let layer = lazy(&items, Format::EstargzJoined, 16 << 20);
    let (remote, served) = served(&chunked_blob(&layer.stored), true);
    let facts = scan(&remote).unwrap();
    assert!(matches!(
        facts.entries[1].kind,
        EntryKind::File(Content::Elf(_))
    ));
    assert!(!served.was_streamed());
    same(&facts, &scan(&chunked_blob(&layer.stored)).unwrap());
}
