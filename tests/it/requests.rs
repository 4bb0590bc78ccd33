//! Requests that run at the same time, and requests that end early.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use imgcheck_base::bounds::Bounds;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, ErrorCode};
use imgcheck_base::limits::{Limit, Limits};
use imgcheck_base::progress::NoProgress;
use imgcheck_elf::Depth;
use imgcheck_layer::{LayerReader, ReadContext};
use imgcheck_source::cache::{Cache, CacheOptions};
use imgcheck_source::source::{Annotations, LayerBlob, LayerData};

use testkit::{Compression, compress, file, tar};

use crate::layers::layer_blob;

/// 200 ms on an idle machine, and far less than what is read would take on any.
const SOON: Duration = Duration::from_secs(5);
const MIB: usize = 1 << 20;

/// A layer of one file of `pieces` times 32 MiB, quickly compressed because its gzip members or zstd frames repeat.
fn long_layer(start: &[u8], pieces: u64, compression: Compression) -> LayerBlob {
    let piece = vec![0; 32 * MIB];
    let mut header = tar::Header::new_gnu();
    header.set_path("opt/large").unwrap();
    header.set_mode(0o755);
    header.set_size(512 + pieces * piece.len() as u64);
    header.set_cksum();
    let mut first = header.as_bytes().to_vec();
    first.extend_from_slice(start);
    first.resize(1024, 0);
    let mut blob = tempfile::tempfile().unwrap();
    blob.write_all(&compress(&first, compression)).unwrap();
    let member = compress(&piece, compression);
    for _ in 0..pieces {
        blob.write_all(&member).unwrap();
    }
    range(blob, "long")
}

fn range(file: File, name: &str) -> LayerBlob {
    let length = file.metadata().unwrap().len();
    LayerBlob {
        diff_id: format!("sha256:{}", "0".repeat(64)),
        digest: None,
        annotations: Annotations::new(),
        size: length,
        data: LayerData::Range {
            file: Arc::new(file),
            name: name.into(),
            offset: 0,
            length,
        },
    }
}

fn request(reader: &LayerReader, cancellation: Cancellation) -> ReadContext<'static> {
    let mut limits = Limits::default();
    limits.set(Limit::Ratio, 1 << 40);
    let bounds = Bounds {
        limits,
        cancellation,
    };
    reader.request(Depth::Default, bounds, &NoProgress)
}

/// Cancels a request after 50 ms: it returns soon, and leaves nothing in the cache.
fn assert_ends_soon(blob: &LayerBlob) {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::open(&CacheOptions {
        directory: Some(directory.path().to_owned()),
        ..CacheOptions::default()
    });
    let reader = imgcheck_model::knowledge::layer_reader(cache.unwrap()).unwrap();
    let cancellation = Cancellation::default();
    let context = request(&reader, cancellation.clone());
    let (result, delay) = thread::scope(|scope| {
        let reading = scope.spawn(|| (context.read_layer(blob), Instant::now()));
        thread::sleep(Duration::from_millis(50));
        assert!(!reading.is_finished(), "the layer is too small");
        let cancelled = Instant::now();
        cancellation.cancel();
        let (result, end) = reading.join().unwrap();
        (result, end.duration_since(cancelled))
    });
    let code = result.err().as_ref().map(Error::code);
    assert_eq!(code, Some(ErrorCode::Cancelled));
    assert!(delay < SOON, "{delay:?}");
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}

#[test]
fn decompression_ends_with_its_request() {
    for compression in [Compression::Gzip, Compression::Zstd] {
        for start in [&b"text"[..], b"\x7fELF"] {
            assert_ends_soon(&long_layer(start, 500, compression));
        }
    }
}

#[test]
fn the_walk_of_an_archive_at_rest_ends_with_its_request() {
    let item = &tar(&[file("etc/x", "text")])[..1024];
    let bytes = item.repeat(100_000);
    let mut archive = tempfile::tempfile().unwrap();
    archive.write_all(&bytes).unwrap();
    assert_ends_soon(&range(archive, "archive"));
}

#[test]
fn the_walk_of_a_directory_ends_with_its_request() {
    let root = LayerBlob {
        data: LayerData::Directory(Path::new("/usr").to_owned()),
        ..layer_blob(b"", b"")
    };
    assert_ends_soon(&root);
}

#[test]
fn a_deadline_ends_a_request() {
    let reader = imgcheck_model::knowledge::layer_reader(Cache::default()).unwrap();
    let start = Instant::now();
    let deadline = start + Duration::from_millis(50);
    let context = request(&reader, Cancellation::default().with_deadline(deadline));
    let blob = long_layer(b"text", 500, Compression::Gzip);
    let start = start.max(Instant::now());
    let error = context.read_layer(&blob).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Timeout);
    assert!(start.elapsed() < SOON);
}

/// The large image has five layers, each with an ELF file of gigabytes, which compete for memory too.
#[test]
fn a_small_image_does_not_wait_for_a_large_one() {
    let reader = imgcheck_model::knowledge::layer_reader(Cache::default()).unwrap();
    let large: Vec<LayerBlob> = (0..5)
        .map(|_| long_layer(b"\x7fELF", 60, Compression::Gzip))
        .collect();
    let program = std::fs::read("/proc/self/exe").unwrap();
    let program = &program[..program.len().min(4 * MIB)];
    let plain = tar(&[file("bin/a", program), file("bin/b", program)]);
    let small = layer_blob(&compress(&plain, Compression::Gzip), &plain);
    let never = Cancellation::default();
    let (finished, cancellation) = (AtomicUsize::new(0), Cancellation::default());
    // Not in seconds: on a busy machine both take longer.
    let context = request(&reader, cancellation.clone());
    let before = thread::scope(|scope| {
        for blob in &large {
            let (context, finished) = (&context, &finished);
            scope.spawn(move || {
                if context.read_layer(blob).is_ok() {
                    finished.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        thread::sleep(Duration::from_millis(100));
        request(&reader, never).read_layer(&small).unwrap();
        let before = finished.load(Ordering::Relaxed);
        cancellation.cancel();
        before
    });
    assert_eq!(
        before, 0,
        "the small image waited for layers of the large one"
    );
}
