//! Runs work on several scoped threads.

use std::io;
use std::iter;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::{self, Scope, ScopedJoinHandle};

/// What [`use_cores`] sets; 0 if nothing did.
static CORES: AtomicUsize = AtomicUsize::new(0);

/// Works as on a machine with so many processors from now on.
pub fn use_cores(count: NonZeroUsize) {
    CORES.store(count.get(), Ordering::Relaxed);
}

/// How many threads run at the same time: those of the machine, or of [`use_cores`].
pub fn cores() -> usize {
    match CORES.load(Ordering::Relaxed) {
        0 => thread::available_parallelism().map_or(1, usize::from),
        count => count,
    }
}

/// Runs `work` for each number below `count` on at most `threads` threads, and returns the results in order. Items are started in
/// order. An error stops all threads; of several errors, that of the first item is returned.
pub fn map<T: Send, E: Send>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut results = Vec::new();
        loop {
            let item = next.fetch_add(1, Ordering::Relaxed);
            if item >= count {
                return results;
            }
            let result = work(item);
            if result.is_err() {
                next.store(count, Ordering::Relaxed);
            }
            results.push((item, result));
        }
    };
    let mut results = thread::scope(|scope| {
        let others = start(scope, threads.min(count), run);
        let mut results = run();
        results.extend(others.into_iter().flat_map(join));
        results
    });
    results.sort_unstable_by_key(|(item, _)| *item);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Runs `produce` on this thread, and `work` on each item that it hands over on `threads - 1` other threads; this thread joins them when it
/// has produced everything. Returns the results in any order.
pub fn fed<T: Send, R: Send, P>(
    threads: usize,
    produce: impl FnOnce(&mut dyn FnMut(T)) -> P,
    work: impl Fn(T) -> R + Sync,
) -> (P, Vec<R>) {
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let run = || -> Vec<R> { received(&receiver).map(&work).collect() };
    thread::scope(|scope| {
        let others = start(scope, threads, run);
        // The receiver outlives the sender, so nothing can be lost.
        let produced = produce(&mut |item| drop(sender.send(item)));
        drop(sender);
        let mut results = run();
        results.extend(others.into_iter().flat_map(join));
        (produced, results)
    })
}

/// What several threads take from a channel, until nobody sends any more. Who waits for an item keeps the lock.
fn received<T>(receiver: &Mutex<mpsc::Receiver<T>>) -> impl Iterator<Item = T> {
    iter::from_fn(|| {
        let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.recv().ok()
    })
}

/// Runs `work` on items on at most `threads` threads, and `take` on this thread with each result, which returns more items. The order is not
/// certain.
pub fn explore<T: Send, R: Send>(
    threads: usize,
    first: Vec<T>,
    work: impl Fn(T) -> R + Sync,
    mut take: impl FnMut(R) -> Vec<T>,
) {
    let (hand_over, items) = mpsc::channel();
    let (finish, results) = mpsc::channel();
    let items = Mutex::new(items);
    let ready = || items.try_lock().ok()?.try_recv().ok();
    let work = |item| catch_unwind(AssertUnwindSafe(|| work(item)));
    let run = || {
        let finish = finish.clone();
        received(&items).for_each(|item| drop(finish.send(work(item))));
    };
    thread::scope(|scope| {
        start(scope, threads, run);
        let mut open = 0;
        let mut more = first;
        loop {
            open += more.len();
            // The receiver outlives the sender, so nothing can be lost.
            more.into_iter().for_each(|it| drop(hand_over.send(it)));
            if open == 0 {
                break;
            }
            let finished = results.try_recv().ok();
            let finished = finished.or_else(|| ready().map(work));
            let Some(result) = finished.or_else(|| results.recv().ok()) else {
                break;
            };
            open -= 1;
            more = take(result.unwrap_or_else(|panic| resume_unwind(panic)));
        }
        drop(hand_over);
    });
}

/// Runs `beside` on another thread while `own` runs; one after the other if no thread can be started.
pub fn both<A: Send, B>(beside: impl Fn() -> A + Sync, own: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let other = thread::Builder::new().spawn_scoped(scope, &beside);
        let own = own();
        let beside = other.map_or_else(|_| beside(), join);
        (beside, own)
    })
}

/// Runs `work` on a thread with a stack of this many bytes, of which only what is used takes memory.
///
/// # Errors
/// The thread cannot be started, such as for a limit on the address space.
pub fn on_stack<T: Send>(bytes: usize, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(bytes);
        Ok(join(thread.spawn_scoped(scope, work)?))
    })
}

/// Waits for a thread, and panics if it did: lost work must not look like no work.
pub fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Starts `threads - 1` threads, or as many as possible: fewer threads do the same work.
fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    threads: usize,
    run: impl Fn() -> T + Copy + Send + 'scope,
) -> Vec<ScopedJoinHandle<'scope, T>> {
    (1..threads)
        .map_while(|_| thread::Builder::new().spawn_scoped(scope, run).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::error::Error;

    #[test]
    fn results_come_in_order() {
        for threads in [0, 1, 3] {
            assert_eq!(
                map(threads, 100, |item| Ok::<_, Error>(item * 2)).unwrap(),
                (0..100).map(|item| item * 2).collect::<Vec<_>>()
            );
        }
        assert!(map(2, 0, |_| Ok::<_, Error>(())).unwrap().is_empty());
    }

    #[test]
    fn every_item_is_processed() {
        for threads in [0, 1, 3] {
            let (count, mut results) = fed(
                threads,
                |hand_over| {
                    (0..100).for_each(hand_over);
                    100
                },
                |item| item * 2,
            );
            results.sort_unstable();
            assert_eq!(count, 100);
            assert_eq!(results, (0..100).map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_is_found_is_explored() {
        for threads in [0, 1, 3] {
            let mut seen = Vec::new();
            explore(
                threads,
                vec![1],
                |item: usize| item * 2,
                |result| {
                    seen.push(result);
                    let more = [result, result + 1].into_iter();
                    more.filter(|it| *it < 100).collect()
                },
            );
            seen.sort_unstable();
            assert_eq!(seen, (1..100).map(|it| it * 2).collect::<Vec<_>>());
        }
        explore(2, Vec::new(), |item: usize| item, |_| vec![1]);
    }

    #[test]
    fn a_panic_in_any_thread_is_propagated() {
        let panics =
            |work: &(dyn Fn() + std::panic::RefUnwindSafe)| std::panic::catch_unwind(work).is_err();
        let work = |item: usize| match item {
            7 => panic!("the seventh"),
            _ => Ok::<_, Error>(item),
        };
        for threads in [1, 3] {
            assert!(panics(&|| drop(map(threads, 100, work))));
            assert!(panics(&|| drop(fed(
                threads,
                |hand_over| (0..100).for_each(hand_over),
                work
            ))));
        }
        for threads in [1, 3] {
            let first = || (0..100).collect();
            assert!(panics(&|| explore(threads, first(), work, |_| Vec::new())));
        }
        assert!(panics(&|| drop(both(|| work(7), || ()))));
        assert!(panics(&|| drop(both(|| (), || work(7)))));
    }

    #[test]
    fn a_stack_that_is_not_to_be_had_is_an_error() {
        assert!(on_stack(usize::MAX >> 2, || ()).is_err());
        assert_eq!(on_stack(1 << 20, || 7).unwrap(), 7);
    }

    #[test]
    fn an_error_stops_all_threads() {
        let begun = AtomicUsize::new(0);
        let work = |item| {
            begun.fetch_add(1, Ordering::Relaxed);
            match item {
                3 => Err(Error::damaged("third", "is wrong")),
                _ => Ok(item),
            }
        };
        let error = map(1, 1000, work).unwrap_err();
        assert_eq!(error.to_string(), "third: is wrong");
        assert_eq!(begun.into_inner(), 4);
    }
}
