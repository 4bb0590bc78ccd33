//! What requests that read layers at the same time share: how many layers are read at once, and memory. It is divided fairly,
//! so that an image of 7 GB does not keep one of 50 MB waiting.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::Result;
use imgcheck_elf::ChunkPool;
use imgcheck_elf::retain::DEFAULT_LIMIT;

/// Layers that are read at once. Each is read by several threads of its own, and a network is not faster with more.
pub(crate) const LAYERS: u64 = 4;
/// Bytes of ELF files that are retained while their layers are streamed: enough for the largest file.
const RETAINED: u64 = DEFAULT_LIMIT;
/// Bytes that each request may retain whatever the others do.
const RETAINED_BY_EACH: u64 = 8 << 20;
/// Bytes of the tables of all ELF files that are read at once, and those that each request may have whatever the others do.
const TABLES: u64 = 2 << 30;
const TABLES_OF_EACH: u64 = 64 << 20;
/// How often a waiting thread checks whether its request was cancelled.
const POLL: Duration = Duration::from_millis(20);

/// The capacity for reading layers that a checker has for all its requests. Clones share it.
#[derive(Debug, Clone)]
pub struct Workers(Arc<Capacity>);

#[derive(Debug)]
struct Capacity {
    layers: Shares,
    retained: Shares,
    tables: Shares,
    chunks: ChunkPool,
    /// Requests so far, and those that are not finished.
    requests: AtomicU64,
    active: AtomicU64,
}

impl Default for Workers {
    fn default() -> Self {
        Workers(Arc::new(Capacity {
            layers: Shares::new(LAYERS, 1),
            retained: Shares::new(RETAINED, RETAINED_BY_EACH),
            tables: Shares::new(TABLES, TABLES_OF_EACH),
            chunks: ChunkPool::default(),
            requests: AtomicU64::new(0),
            active: AtomicU64::new(0),
        }))
    }
}

impl Workers {
    /// Starts a request.
    pub(crate) fn request(&self) -> RequestWorkers {
        self.0.active.fetch_add(1, Ordering::Relaxed);
        RequestWorkers {
            capacity: Arc::clone(&self.0),
            request: self.0.requests.fetch_add(1, Ordering::Relaxed),
        }
    }
}

/// The capacity as one request sees it.
#[derive(Debug)]
pub(crate) struct RequestWorkers {
    capacity: Arc<Capacity>,
    request: u64,
}

impl RequestWorkers {
    /// The capacity for a part of the request.
    pub fn another(&self) -> RequestWorkers {
        Workers(Arc::clone(&self.capacity)).request()
    }

    /// Waits until one more layer may be read.
    ///
    /// # Errors
    /// The request was cancelled.
    pub fn layer(&self, cancellation: &Cancellation) -> Result<Share<'_>> {
        self.capacity.layers.take(self.request, 1, cancellation)
    }

    /// Waits until so many bytes of an ELF file may be retained. A thread that has a share of them must not wait for another.
    ///
    /// # Errors
    /// The request was cancelled.
    pub fn retained(&self, bytes: u64, cancellation: &Cancellation) -> Result<Share<'_>> {
        let bytes = bytes.min(RETAINED);
        self.capacity
            .retained
            .take(self.request, bytes, cancellation)
    }

    /// Waits until the tables of an ELF file may take so many bytes. A thread that has a share of them must not wait for another.
    ///
    /// # Errors
    /// The request was cancelled.
    pub fn tables(&self, bytes: u64, cancellation: &Cancellation) -> Result<Share<'_>> {
        self.capacity.tables.take(self.request, bytes, cancellation)
    }

    /// Memory for retained bytes.
    pub fn chunks(&self) -> &ChunkPool {
        &self.capacity.chunks
    }
}

impl Drop for RequestWorkers {
    fn drop(&mut self) {
        if self.capacity.active.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.capacity.chunks.clear();
        }
    }
}

/// An amount that requests share. The next to get a share is the request that has least of it; what each request is guaranteed, it
/// gets at once.
#[derive(Debug)]
struct Shares {
    total: u64,
    guaranteed: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    used: u64,
    used_by: HashMap<u64, u64>,
    waiting: Vec<Waiting>,
    tickets: u64,
}

#[derive(Debug)]
struct Waiting {
    request: u64,
    ticket: u64,
}

/// A share; dropping it returns it.
#[derive(Debug)]
pub(crate) struct Share<'a> {
    shares: &'a Shares,
    request: u64,
    amount: u64,
}

impl Shares {
    fn new(total: u64, guaranteed: u64) -> Self {
        Shares {
            total,
            guaranteed,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Waits for an amount; whoever wants more than there is gets all of it.
    fn take(&self, request: u64, amount: u64, cancellation: &Cancellation) -> Result<Share<'_>> {
        let amount = amount.min(self.total);
        let mut state = self.lock();
        state.tickets += 1;
        let ticket = state.tickets;
        state.waiting.push(Waiting { request, ticket });
        let granted = loop {
            if let Err(error) = cancellation.check() {
                break Err(error);
            }
            let guaranteed = state.used_by(request) + amount <= self.guaranteed;
            if guaranteed || state.used + amount <= self.total && state.next() == Some(ticket) {
                state.used += amount;
                *state.used_by.entry(request).or_default() += amount;
                break Ok(Share {
                    shares: self,
                    request,
                    amount,
                });
            }
            let waited = self.changed.wait_timeout(state, POLL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        };
        state.waiting.retain(|waiting| waiting.ticket != ticket);
        if !state.waiting.is_empty() {
            self.changed.notify_all();
        }
        granted
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The numbers are consistent whenever nobody is changing them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn used_by(&self, request: u64) -> u64 {
        self.used_by.get(&request).copied().unwrap_or_default()
    }

    /// The ticket that is served next.
    fn next(&self) -> Option<u64> {
        let order = |waiting: &&Waiting| (self.used_by(waiting.request), waiting.ticket);
        Some(self.waiting.iter().min_by_key(order)?.ticket)
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut state = self.shares.lock();
        state.used -= self.amount;
        if let Some(used) = state.used_by.get_mut(&self.request) {
            *used -= self.amount;
            if *used == 0 {
                state.used_by.remove(&self.request);
            }
        }
        if !state.waiting.is_empty() {
            self.shares.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Instant;

    use super::*;

    const FOREVER: Duration = Duration::from_secs(30);

    fn wait_for(shares: &Shares, waiting: usize) {
        let end = Instant::now() + FOREVER;
        while shares.lock().waiting.len() < waiting {
            assert!(Instant::now() < end);
            thread::yield_now();
        }
    }

    #[test]
    fn no_more_than_the_total_is_used_and_everybody_is_served() {
        let shares = Shares::new(10, 0);
        let (used, most) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for amount in [1, 3, 7, 10, 99] {
                let (shares, used, most) = (&shares, &used, &most);
                scope.spawn(move || {
                    for _ in 0..100 {
                        let share = shares.take(amount % 3, amount, &Cancellation::default());
                        let share = share.unwrap();
                        let now = used.fetch_add(share.amount, Ordering::SeqCst) + share.amount;
                        most.fetch_max(now, Ordering::SeqCst);
                        thread::yield_now();
                        used.fetch_sub(share.amount, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 10);
        let state = shares.lock();
        assert!(state.used == 0 && state.used_by.is_empty() && state.waiting.is_empty());
    }

    #[test]
    fn the_request_that_has_least_is_next() {
        let shares = Shares::new(4, 0);
        let never = Cancellation::default();
        let (sender, served) = channel();
        thread::scope(|scope| {
            let mut first: Vec<Share> =
                (0..4).map(|_| shares.take(1, 1, &never).unwrap()).collect();
            for request in [1, 1, 2] {
                let (shares, sender, never) = (&shares, sender.clone(), &never);
                let waiting = shares.lock().waiting.len();
                scope.spawn(move || {
                    let share = shares.take(request, 1, never).unwrap();
                    sender.send(request).unwrap();
                    // Kept, so that the others need another one.
                    std::mem::forget(share);
                });
                wait_for(shares, waiting + 1);
            }
            first.pop();
            assert_eq!(served.recv_timeout(FOREVER), Ok(2));
            first.pop();
            assert_eq!(served.recv_timeout(FOREVER), Ok(1));
            first.pop();
            assert_eq!(served.recv_timeout(FOREVER), Ok(1));
        });
    }

    #[test]
    fn what_is_guaranteed_is_granted_at_once() {
        let shares = Shares::new(10, 3);
        let never = Cancellation::default();
        let _all = shares.take(1, 10, &never).unwrap();
        let _guaranteed = shares.take(2, 3, &never).unwrap();
        let cancelled = Cancellation::default().with_deadline(Instant::now());
        assert!(shares.take(2, 1, &cancelled).is_err());
    }

    #[test]
    fn a_cancelled_request_stops_waiting() {
        let shares = Shares::new(1, 0);
        let cancellation = Cancellation::default();
        let _all = shares.take(1, 1, &cancellation).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| shares.take(2, 1, &cancellation).map(drop));
            wait_for(&shares, 1);
            let start = Instant::now();
            cancellation.cancel();
            assert!(waiting.join().unwrap().is_err());
            assert!(start.elapsed() < FOREVER);
        });
        assert!(shares.lock().waiting.is_empty());
    }
}
