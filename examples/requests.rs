//! Runs several requests at once in one process, and prints what they cost:
//!
//! ```text
//! cargo run --release --example requests -- 8 IMAGE …
//! cargo run --release --example requests -- --judge image.facts
//! ```
//!
//! The first form builds one checker, and reads and judges the images in turn until that many requests have run, all of them at once.
//! The second form measures judgement alone: it takes any image, and one saved with `imgcheck facts -f facts` is read fastest.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use imgcheck::{Checker, Error, ImageRequest, Result};

/// How often an image is judged with `--judge`.
const RUNS: usize = 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match *arguments {
        ["--judge", image] => judge(image),
        [count, ref images @ ..] if !images.is_empty() => match count.parse() {
            Ok(count) => requests(count, images),
            Err(_) => Err(Error::usage(format!("`{count}` is not a number"))),
        },
        _ => Err(Error::usage("use: requests COUNT IMAGE… | --judge IMAGE")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Checks this many images at once, with one checker.
fn requests(count: usize, images: &[&str]) -> Result<()> {
    let checker = Checker::builder().build()?;
    let start = Instant::now();
    let reports = thread::scope(|scope| {
        let images = images.iter().cycle().take(count);
        let requests = images.map(|image| {
            let (checker, request) = (&checker, ImageRequest::new(*image));
            scope.spawn(move || checker.check(&[request]))
        });
        let running: Vec<_> = requests.collect();
        let joined = running.into_iter().map(|thread| thread.join());
        joined.collect::<thread::Result<Vec<_>>>()
    });
    let elapsed = start.elapsed();
    let reports = reports.map_err(|_| Error::usage("a request panicked"))?;
    for unread in reports.iter().flat_map(|report| &report.errors) {
        eprintln!("{}: {}", unread.name, unread.error);
    }
    let findings = |report: &imgcheck::Report| {
        let images = report.images.iter();
        images.map(|image| image.findings.len()).sum::<usize>()
    };
    println!("requests     {count}");
    println!(
        "findings     {}",
        reports.iter().map(findings).sum::<usize>()
    );
    println!("wall time    {}", milliseconds(elapsed));
    println!("peak memory  {}", peak_memory());
    Ok(())
}

/// Reads an image once, and judges its facts repeatedly.
fn judge(image: &str) -> Result<()> {
    let checker = Checker::builder().build()?;
    let images = checker.images(&ImageRequest::new(image))?;
    let Some((facts, subject)) = images.first() else {
        return Err(Error::usage(format!("{image} contains no image")));
    };
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        checker.judge(facts, subject)?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let (median, slowest) = (times[RUNS / 2], times[RUNS - 1]);
    println!(
        "judge        {} (median of {RUNS}; slowest {})",
        milliseconds(median),
        milliseconds(slowest)
    );
    println!("facts        {} bytes encoded", facts.encode()?.len());
    println!("peak memory  {}", peak_memory());
    Ok(())
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

/// The largest memory that the process has had (`VmHWM` in `proc_pid_status(5)`); Linux only.
fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.map_or("unknown", str::trim).to_owned()
}
