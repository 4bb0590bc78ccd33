//! A bound on what the layers that are read at the same time may hold in memory together.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Some bytes that threads share.
#[derive(Debug)]
pub(super) struct Allowance {
    bytes: u64,
    left: Mutex<u64>,
    returned: Condvar,
}

/// What was taken of it; dropping it returns it.
#[derive(Debug)]
pub(super) struct Share<'a> {
    allowance: &'a Allowance,
    bytes: u64,
}

impl Allowance {
    pub const fn new(bytes: u64) -> Self {
        Allowance {
            bytes,
            left: Mutex::new(bytes),
            returned: Condvar::new(),
        }
    }

    /// Takes so many bytes, or all there are if there are fewer, as soon as the others have returned enough. A thread that
    /// holds a share and takes another one may wait for itself.
    pub fn take(&self, bytes: u64) -> Share<'_> {
        let bytes = bytes.min(self.bytes);
        let enough = self.returned.wait_while(self.left(), |left| *left < bytes);
        *enough.unwrap_or_else(PoisonError::into_inner) -= bytes;
        Share {
            allowance: self,
            bytes,
        }
    }

    fn left(&self) -> MutexGuard<'_, u64> {
        // The number is right whenever nobody is changing it.
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        *self.allowance.left() += self.bytes;
        self.allowance.returned.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn never_more_than_all_is_taken_and_all_get_theirs() {
        let allowance = Allowance::new(10);
        let (taken, most) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for bytes in [1, 3, 7, 10, 99] {
                let (allowance, taken, most) = (&allowance, &taken, &most);
                scope.spawn(move || {
                    for _ in 0..100 {
                        let share = allowance.take(bytes);
                        let now = taken.fetch_add(share.bytes, Ordering::SeqCst) + share.bytes;
                        most.fetch_max(now, Ordering::SeqCst);
                        thread::yield_now();
                        taken.fetch_sub(share.bytes, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 10);
        assert_eq!(*allowance.left(), 10);
    }
}
