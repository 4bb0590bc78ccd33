//! How time and memory grow with the input: images with many of a thing, and with four times as many.
//!
//! Memory and processor time are compared in a test. The time by the clock is not, because machines are busy; it is in the table of the
//! book, which is written as that of the attacks is.

mod pairs;
mod things;

use std::path::Path;
use std::time::Duration;

use super::attack::{Run, imgcheck};
use super::table::{self, Table};

/// How many times more things the second image of a series has.
const FACTOR: usize = 4;
/// How much more memory it may take: lists double when they are full. Quadratic growth would take 16 times as much.
const MOST: u64 = 2 * FACTOR as u64;
/// Variation with the number of threads, and what the peak of the start hides, in KiB.
const NOISE: u64 = 24 << 10;
/// How much more processor time it may take: threads slow each other down on a busy machine.
const MOST_TIME: u32 = 10;
/// Shorter processor times are not compared.
const SHORT: Duration = Duration::from_secs(2);
/// Runs of a series that seems to grow too fast: now and then the peak of one run is 30 MB higher.
const AGAIN: usize = 3;

/// Images with an increasing number of a thing.
struct Series {
    /// The things, as a plural.
    of: &'static str,
    /// How many the first image has.
    from: usize,
    /// Builds an image with this many in an empty directory, and returns the arguments of the program.
    make: fn(&Path, usize) -> Vec<String>,
}

/// The series, and the part of `from` that is enough in a test, whose program is a slow one: pairs are small, and what grows with
/// their product is only seen in many.
fn all() -> impl Iterator<Item = (Series, usize)> {
    let things = things::all().into_iter().map(|it| (it, 5));
    things.chain(pairs::all().into_iter().map(|it| (it, 1)))
}

fn series(of: &'static str, from: usize, make: fn(&Path, usize) -> Vec<String>) -> Series {
    Series { of, from, make }
}

fn numbered<T>(count: usize, one: impl Fn(usize) -> T) -> Vec<T> {
    (0..count).map(one).collect()
}

/// What an image of a series costs.
struct Cost {
    time: Duration,
    processor: Duration,
    /// KiB.
    memory: u64,
}

impl Series {
    /// The minimum of several runs: the rest is noise of the machine.
    fn cost(&self, count: usize, runs: usize) -> Cost {
        let scratch = tempfile::tempdir().unwrap();
        let arguments = (self.make)(scratch.path(), count);
        let runs = numbered(runs, |_| self.run(scratch.path(), &arguments, count));
        Cost {
            time: runs.iter().map(|run| run.elapsed).min().unwrap(),
            processor: runs.iter().map(|run| run.processor).min().unwrap(),
            memory: runs.iter().map(|run| run.memory).min().unwrap(),
        }
    }

    fn run(&self, scratch: &Path, arguments: &[String], count: usize) -> Run {
        let run = imgcheck(scratch, arguments);
        let read = matches!(run.code, Some(0 | 1));
        assert!(read, "{count} {}: {:?}: {}", self.of, run.code, run.error);
        run
    }

    fn row(&self, few: &Cost, many: &Cost) -> String {
        let seconds = |cost: &Cost| format!("{:.2} s", cost.time.as_secs_f64());
        let megabytes = |cost: &Cost| format!("{} MB", cost.memory.div_ceil(1024));
        format!(
            "{}{} | {} | {} | {} |\n",
            self.beginning(),
            seconds(few),
            seconds(many),
            megabytes(few),
            megabytes(many)
        )
    }

    /// The part of a row that does not change from run to run.
    fn beginning(&self) -> String {
        format!("| {} | {} | {} | ", self.of, self.from, FACTOR * self.from)
    }
}

const TABLE: Table = Table(
    "| series | few | many | time (few) | time (many) | peak memory (few) | peak memory (many) |\n|---|---|---|---|---|---|---|\n",
);

impl Cost {
    /// The difference to another cost.
    fn above(&self, start: &Cost) -> Cost {
        Cost {
            time: self.time.saturating_sub(start.time),
            processor: self.processor.saturating_sub(start.processor),
            memory: self.memory.saturating_sub(start.memory),
        }
    }

    /// What grows too fast from few to many things; both costs are above that of one thing.
    fn faults(&self, few: &Cost) -> Vec<&'static str> {
        let memory = self.memory > MOST * few.memory + NOISE;
        let processor = self.processor > SHORT.max(MOST_TIME * few.processor);
        let faults = [("memory", memory), ("processor time", processor)];
        let wrong = faults.into_iter().filter(|(_, wrong)| *wrong);
        wrong.map(|(name, _)| name).collect()
    }
}

/// What grows too fast, from the costs of one, few and many things.
fn faults([one, few, many]: &[Cost; 3]) -> Vec<&'static str> {
    many.above(one).faults(&few.above(one))
}

#[test]
fn cost_grows_with_what_is_read() {
    let (mut rows, mut wrong) = (String::new(), Vec::new());
    for (series, part) in all() {
        let (runs, part) = if table::is_wanted() {
            (3, 1)
        } else {
            (1, part)
        };
        let from = series.from / part;
        let costs = |runs| [1, from, FACTOR * from].map(|it| series.cost(it, runs));
        let measured = std::panic::catch_unwind(|| {
            let first = costs(runs);
            match faults(&first).is_empty() {
                true => first,
                false => costs(AGAIN),
            }
        });
        let Ok(costs @ [_, few, many]) = &measured else {
            wrong.push(format!("not read, see above: {}\n", series.beginning()));
            continue;
        };
        rows.push_str(&series.row(few, many));
        let faults = faults(costs);
        if !faults.is_empty() {
            let times = (few.processor, many.processor);
            let row = series.row(few, many);
            wrong.push(format!("{} ({times:?}): {row}", faults.join(", ")));
        }
    }
    assert!(
        wrong.is_empty(),
        "grows with more than what is read:\n{}",
        wrong.concat()
    );
    if table::is_wanted() {
        TABLE.write(&rows);
    }
}

#[test]
fn quadratic_growth_is_a_fault() {
    let cost = |seconds, megabytes: u64| Cost {
        time: Duration::ZERO,
        processor: Duration::from_secs(seconds),
        memory: megabytes << 10,
    };
    let none: [&str; 0] = [];
    assert_eq!(cost(4, 40).faults(&cost(1, 10)), none);
    assert_eq!(cost(2, 8).faults(&cost(0, 0)), none);
    let both = ["memory", "processor time"];
    assert_eq!(cost(16, 160).faults(&cost(1, 10)), both);
}

#[test]
fn the_table_has_every_series() {
    TABLE.compare(all().map(|(series, _)| series.beginning()));
}
