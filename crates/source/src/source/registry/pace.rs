//! When a host may be contacted: not before its `Retry-After`, and not above the configured rate.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// When hosts may be contacted. All requests of a checker share it.
#[derive(Debug, Default)]
pub struct Pace {
    hosts: Mutex<HashMap<String, Host>>,
    interval: Duration,
}

#[derive(Debug, Default, Clone, Copy)]
struct Host {
    /// The end of the host's `Retry-After`.
    paused_until: Option<Instant>,
    /// When the next request may be sent.
    next: Option<Instant>,
}

impl Pace {
    /// With the least time between two requests to a host.
    pub(super) fn new(interval: Duration) -> Self {
        Pace {
            hosts: Mutex::default(),
            interval,
        }
    }

    /// Waits until the host may be contacted.
    pub(super) async fn turn(&self, host: &str) {
        let turn = self.reserve(host, Instant::now());
        tokio::time::sleep_until(turn.into()).await;
        // The host may have asked for a pause meanwhile.
        while let Some(end) = self.paused_until(host, Instant::now()) {
            tokio::time::sleep_until(end.into()).await;
        }
    }

    /// Leaves a host alone for some time. A shorter pause does not end a longer one.
    pub fn pause(&self, host: &str, wait: Duration) {
        let end = Instant::now().checked_add(wait);
        let mut hosts = self.hosts();
        let host = hosts.entry(host.to_owned()).or_default();
        host.paused_until = host.paused_until.max(end);
    }

    /// The hosts contacted so far, and the end of each host's pause.
    pub fn pauses(&self) -> Vec<(String, Option<Instant>)> {
        let hosts = self.hosts();
        let pauses = hosts
            .iter()
            .map(|(host, it)| (host.clone(), it.paused_until));
        pauses.collect()
    }

    fn reserve(&self, host: &str, now: Instant) -> Instant {
        let mut hosts = self.hosts();
        let host = hosts.entry(host.to_owned()).or_default();
        let turn = host.next.into_iter().chain(host.paused_until).max();
        let turn = turn.unwrap_or(now).max(now);
        host.next = turn.checked_add(self.interval);
        turn
    }

    /// The end of a host's pause, if it is not over.
    pub(super) fn paused_until(&self, host: &str, now: Instant) -> Option<Instant> {
        let end = self.hosts().get(host)?.paused_until;
        end.filter(|end| *end > now)
    }

    fn hosts(&self) -> MutexGuard<'_, HashMap<String, Host>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_to_a_host_are_spread() {
        let (pace, now) = (Pace::new(Duration::from_millis(100)), Instant::now());
        let turns = [(); 3].map(|()| pace.reserve("a", now).duration_since(now).as_millis());
        assert_eq!(turns, [0, 100, 200]);
        assert_eq!(pace.reserve("b", now), now);
        let later = now + Duration::from_secs(9);
        assert_eq!(pace.reserve("a", later), later);
        let unlimited = Pace::default();
        assert!((0..9).all(|_| unlimited.reserve("a", now) == now));
    }

    #[test]
    fn the_longest_pause_counts() {
        let (pace, now) = (Pace::default(), Instant::now());
        assert_eq!(pace.paused_until("a", now), None);
        pace.pause("a", Duration::from_secs(30));
        pace.pause("a", Duration::from_secs(3));
        let end = pace
            .paused_until("a", now)
            .map(|end| end.duration_since(now));
        assert!(end >= Some(Duration::from_secs(30)), "{end:?}");
        assert!(pace.reserve("a", now) > now + Duration::from_secs(29));
        assert_eq!(pace.paused_until("a", now + Duration::from_secs(60)), None);
        assert_eq!(pace.paused_until("b", now), None);
    }
}
