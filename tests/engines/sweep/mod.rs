//! Sweeps with programs of others: docker-registry, Slurm.

mod engine;
mod killed;
mod push;
mod slurm;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sweep_case::{Case, text, worker};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until there is something.
pub fn wait_for<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The records of the plan of a case, as one worker on a store of its own makes them.
fn of_one_worker(case: &Case) -> (Vec<Value>, i32) {
    let alone = Case::new();
    std::fs::copy(case.path("plan"), alone.path("plan")).unwrap();
    alone.run(&[]);
    alone.judge(&[])
}

/// How many records have each status.
fn statuses(records: &[Value]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for record in records {
        *counts
            .entry(record["status"].as_str().unwrap())
            .or_default() += 1;
    }
    counts
}
