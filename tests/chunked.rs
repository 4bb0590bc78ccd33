//! Layers that bring a table of contents: the same facts as from the stream, of a small part of the bytes.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use imgcheck::elf::Depth;
use imgcheck::error::Result;
use imgcheck::layer::{self, Entry, LayerFacts, Wanted};
use imgcheck::reference::transport::Target;
use imgcheck::source::remote::RemoteBlob;
use imgcheck::source::{self, Access, LayerBlob, LayerData, Selection};

fn wanted() -> Wanted {
    Wanted::builtin(Depth::Default).unwrap()
}

/// A blob in a file that is served as a registry would, and counts what is asked for.
#[derive(Debug)]
struct Served {
    file: Arc<std::fs::File>,
    offset: u64,
    length: u64,
    ranges: bool,
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
        let mut bytes = vec![0; self.length as usize];
        self.file.read_exact_at(&mut bytes, self.offset)?;
        Ok(Box::new(io::Cursor::new(bytes)))
    }

    fn read_range(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        if !self.ranges {
            return Err(io::ErrorKind::Unsupported.into());
        }
        assert!(range.start < range.end && range.end <= self.length, "{range:?}");
        self.requests.fetch_add(1, Ordering::Relaxed);
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.fetched.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.file.read_exact_at(&mut bytes, self.offset + range.start)?;
        Ok(bytes)
    }
}

/// The same blob as a registry would have it.
fn served(blob: &LayerBlob) -> (LayerBlob, Arc<Served>) {
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
        file: file.clone(),
        offset: *offset,
        length: *length,
        ranges: true,
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
    let target = Target::Oci(layout.to_owned(), None);
    let images = source::open(&target, &Selection::default(), &Access::default()).unwrap();
    images.into_iter().flat_map(|image| image.layers).collect()
}

fn scan(blob: &LayerBlob) -> Result<LayerFacts> {
    layer::scan(blob, &wanted(), &|_| {}).map(|scanned| scanned.facts)
}

/// The same entries; the first that differs is told, and no more.
fn same(found: &[Entry], expected: &[Entry]) {
    for (found, expected) in found.iter().zip(expected) {
        if found != expected {
            let short = |entry: &Entry| format!("{entry:?}").chars().take(600).collect::<String>();
            panic!("{}\nexpected {}", short(found), short(expected));
        }
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
#[ignore]
fn measured() {
    let layout = std::env::var("LAYOUT").unwrap();
    for blob in layers(Path::new(&layout)) {
        let (remote, served) = served(&blob);
        let start = std::time::Instant::now();
        let facts = scan(&remote).unwrap();
        let took = start.elapsed();
        let (fetched, requests) = (served.fetched.load(Ordering::Relaxed), served.requests.load(Ordering::Relaxed));
        eprintln!("{} bytes, fetched {fetched} ({:.2} %), {requests} requests, streamed {:?}, {took:?}", blob.size, 100.0 * fetched as f64 / blob.size as f64, served.streamed);
        let plain = std::env::var("PLAIN").ok().map(|it| layers(Path::new(&it)));
        let twin = plain.and_then(|it| it.into_iter().find(|it| it.diff_id == blob.diff_id)).unwrap_or(blob);
        let start = std::time::Instant::now();
        let expected = scan(&twin).unwrap();
        eprintln!("stream {:?}", start.elapsed());
        same(&facts.entries, &expected.entries);
    }
}
