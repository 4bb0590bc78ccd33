//! Measures how long the judgement of saved facts takes, without reading an image:
//!
//! ```text
//! imgcheck facts IMAGE -o facts=image.facts
//! cargo bench --bench judge -- image.facts
//! ```
//!
//! The first judgement of a checker compiles rules and reads tables. "Another command" replays the loader for a process that differs
//! each time. With eight threads, one checker judges eight times at once.
#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

use std::time::{Duration, Instant};
use std::{env, fs, thread};

use imgcheck::{Checker, Day, ImageFacts, Overlay, Subject};

const RUNS: usize = 30;
const THREADS: usize = 8;

fn main() {
    println!("| facts | checker | first | median | another command | {THREADS} at once |");
    println!("|---|---:|---:|---:|---:|---:|");
    for path in env::args().skip(1).filter(|it| !it.starts_with('-')) {
        let facts = ImageFacts::decode(&fs::read(&path).unwrap()).unwrap();
        let start = Instant::now();
        let checker = Checker::builder().build().unwrap();
        let built = start.elapsed();
        let day = Day::from_ymd_opt(2026, 11, 22).unwrap();
        let judge = |overlay: Overlay| {
            let start = Instant::now();
            let subject = Subject::new("", day).launched_with(overlay);
            checker.judge(&facts, &subject).unwrap();
            start.elapsed()
        };
        let first = judge(Overlay::default());
        let again = median((0..RUNS).map(|_| judge(Overlay::default())).collect());
        let other = median((0..RUNS).map(|run| judge(command(run))).collect());
        let start = Instant::now();
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| judge(Overlay::default()));
            }
        });
        let together = start.elapsed();
        let times = [built, first, again, other, together].map(milliseconds);
        println!("| {path} | {} |", times.join(" | "));
    }
}

fn command(run: usize) -> Overlay {
    let argument = format!("import torch; {run}");
    Overlay {
        command: Some(vec!["python3".to_owned(), "-c".to_owned(), argument]),
        ..Overlay::default()
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
