//! The same work on many items, on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::error::Result;

/// Runs `work` for each number below `count`. The results come in any order; one error ends all.
pub(super) fn map<T: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<(usize, T)>> {
    let threads = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(count);
    let next = AtomicUsize::new(0);
    let run = || {
        let mut results = Vec::new();
        loop {
            let item = next.fetch_add(1, Ordering::Relaxed);
            if item >= count {
                return Ok(results);
            }
            match work(item) {
                Ok(result) => results.push((item, result)),
                Err(error) => {
                    next.store(count, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut results = run()?;
        for other in others {
            match other.join() {
                Ok(more) => results.append(&mut more?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(results)
    })
}
