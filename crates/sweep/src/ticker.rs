//! Says every few seconds how far long work is.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use imgcheck_base::progress::Progress;

const INTERVAL: Duration = Duration::from_secs(10);

/// Counts, and says how far it has come.
pub(crate) struct Ticker<'p> {
    progress: &'p dyn Progress,
    what: &'static str,
    total: u64,
    done: AtomicU64,
    said: Mutex<Instant>,
}

impl<'p> Ticker<'p> {
    pub fn new(progress: &'p dyn Progress, what: &'static str, total: usize) -> Self {
        Ticker {
            progress,
            what,
            total: total as u64,
            done: AtomicU64::new(0),
            said: Mutex::new(Instant::now()),
        }
    }

    /// One more is done.
    pub fn tick(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.elapsed() >= INTERVAL {
            *said = Instant::now();
            self.progress
                .note(&format!("{done} of {} {}", self.total, self.what));
        }
    }
}
