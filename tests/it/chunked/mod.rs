//! Layers with a table of contents: the same facts as from the stream, from a small part of the bytes.

mod hostile;
mod written;

use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use testkit::tools::real_images;

use crate::layers::chunked_blob;
use imgcheck_archive::archive::{FileRange, RangeInput};
use imgcheck_base::digest::sha256;
use imgcheck_base::error::Result;
use imgcheck_base::reference::transport::ImageReference;
use imgcheck_elf::Depth;
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};
use imgcheck_layer::{ReadMethod, Trust};
use imgcheck_source::source::remote::RemoteBlob;
use imgcheck_source::source::{self, LayerBlob, LayerData, Request};
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
    let layer = imgcheck_model::knowledge::read_context(depth)
        .unwrap()
        .read_layer(blob)?;
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

/// A layer that is quickly read.
fn small() -> Vec<Item> {
    vec![
        file("etc/os-release", "ID=debian\n".repeat(1000)),
        file("bin/tool", [b"\x7fELF".to_vec(), vec![7; 20_000]].concat()),
        file("usr/lib/big.py", vec![9; 100_000]),
    ]
}
