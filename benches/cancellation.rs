//! Measures how long a request goes on after it was cancelled, whatever it is doing:
//!
//! ```text
//! cargo bench --bench cancellation [-- IMAGE …]
//! ```
//!
//! Each request is cancelled at several moments while it runs. An image that is given is read and judged as well, and cancelled at
//! moments spread over the time that it takes.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used
)]

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use imgcheck::{Cancellation, Checker, ErrorCode, ImageRequest, Limit};
use testkit::registry::{self, Content, Server};
use testkit::{Compression, Image, Item, file, oci_layout, write_directory};

/// How often each request is cancelled.
const RUNS: u32 = 10;
/// Time between the first moments.
const STEP: Duration = Duration::from_millis(40);

fn main() {
    println!("| while | median | longest | runs |\n|---|---:|---:|---:|");
    let scratch = tempfile::tempdir().unwrap();
    // The layers repeat one byte.
    let unlimited = [(Limit::Ratio, 1 << 40)];
    let checker = Checker::builder().limits(unlimited).build().unwrap();
    let path = |name: &str| scratch.path().join(name);

    let large = [file("opt/large", vec![b'x'; 1 << 30])];
    for (name, compression) in [
        ("inflating gzip", Compression::Gzip),
        ("decompressing zstd", Compression::Zstd),
    ] {
        let large = Image::new("example:1", &[&large]);
        write(&path(name), large, compression);
        measure(name, &checker, || request(&path(name)), STEP);
    }
    let many: Vec<Item> = (0..400_000)
        .map(|at| file(&format!("opt/{}/{at}", at / 100), "x"))
        .collect();
    let many = Image::new("example:1", &[&many]);
    write(&path("at rest"), many, Compression::Plain);
    let at_rest = || request(&path("at rest"));
    measure(
        "walking and merging 400,000 entries",
        &checker,
        at_rest,
        STEP,
    );

    // The layer is the largest blob.
    let noise = (0..100_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8);
    let noisy = Image::new("example:1", &[&[file("a", noise.collect::<Vec<u8>>())]]);
    let content = Content::of("1", &[noisy], false);
    let layer = content.layer();
    let length = content.blobs[&layer].len();
    let hanging = Server::new(move |seen| match seen.is_blob(&layer) {
        true => registry::trickle(length, Duration::from_secs(60)),
        false => content.answer(seen),
    });
    let of = |server: &Server| ImageRequest::new(server.reference("1"));
    measure("waiting for a registry", &checker, || of(&hanging), STEP);
    let limited = Server::new(|_| {
        let limited = registry::error(429, "TOOMANYREQUESTS", "slow down");
        registry::with(limited, "retry-after", "60")
    });
    measure("in a back-off", &checker, || of(&limited), STEP);

    fs::write(path("slow.yaml"), slow_rule()).unwrap();
    let slow = Checker::builder()
        .limits(unlimited)
        .rules(path("slow.yaml"));
    let slow = slow.build().unwrap();
    let labels = (0..200).map(|at| (format!("label-{at}"), "x".into()));
    let labelled = Image {
        labels: serde_json::Value::Object(labels.collect()),
        ..Image::new("example:1", &[&[file("a", "a")]])
    };
    write(&path("labels"), labelled, Compression::Plain);
    measure(
        "evaluating a rule",
        &slow,
        || request(&path("labels")),
        STEP,
    );

    for image in env::args().skip(1).filter(|it| !it.starts_with('-')) {
        let start = Instant::now();
        checker.check(&[ImageRequest::new(&image)]);
        let step = start.elapsed() / (RUNS + 1);
        measure(&image, &checker, || ImageRequest::new(&image), step);
    }
}

/// Cancels requests after one step, after two, and so on.
fn measure(name: &str, checker: &Checker, request: impl Fn() -> ImageRequest, step: Duration) {
    let mut delays = Vec::new();
    for run in 1..=RUNS {
        let cancellation = Cancellation::default();
        let request = request().cancellation(cancellation.clone());
        thread::scope(|scope| {
            let running = scope.spawn(|| (checker.check(&[request]), Instant::now()));
            thread::sleep(step * run);
            let cancelled = Instant::now();
            cancellation.cancel();
            let (report, end) = running.join().unwrap();
            let codes: Vec<_> = report.errors.iter().map(|it| it.error.code()).collect();
            match codes[..] {
                [ErrorCode::Cancelled] => delays.push(end.duration_since(cancelled)),
                // It was faster.
                [] => {}
                ref others => eprintln!("{name}: {others:?}"),
            }
        });
    }
    delays.sort_unstable();
    let milliseconds = |time: &Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
    let shown = |at: usize| delays.get(at).map_or("–".to_owned(), milliseconds);
    let (median, longest) = (delays.len() / 2, delays.len().saturating_sub(1));
    println!(
        "| {name} | {} | {} | {} |",
        shown(median),
        shown(longest),
        delays.len()
    );
}

fn request(path: &Path) -> ImageRequest {
    ImageRequest::new(path.to_str().unwrap())
}

fn write(path: &Path, image: Image, compression: Compression) {
    write_directory(path, &oci_layout(&[image], compression, false));
}

/// A rule that takes longer on 200 labels than the limit allows.
fn slow_rule() -> String {
    let all = |inner: String| format!("image.labels.all(x, {inner})");
    let slow = (0..4).fold("true".to_owned(), |inner, _| all(inner));
    format!(
        "id: team-slow\ntitle: t\nseverity: note\nsince: '1'\nfail: '{slow}'\nmessage: m\nwhy: w\n"
    )
}
