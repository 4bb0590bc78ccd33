//! Pauses that registries ask for (`Retry-After`): the worker that is refused tells the others by an object of the store, `pause-HOST`,
//! which holds the end of the pause in the time of the store.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant, SystemTime};

use super::claims::Clock;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::digest::sha256;
use imgcheck_source::object_storage::ObjectStorage;
use imgcheck_source::source::registry::Pace;

/// No pause of another worker is longer, whatever the store says.
const LONGEST: Duration = Duration::from_secs(120);
/// Ends of pauses within this distance count as equal. Stores keep times in seconds.
const SAME: Duration = Duration::from_secs(3);
const MAXIMUM: u64 = 32;

/// The pauses that one worker knows.
pub(crate) struct Pauses<'p> {
    store: &'p ObjectStorage,
    pace: &'p Pace,
    clock: Clock,
    end: Cancellation,
    hosts: BTreeSet<String>,
    /// The end of the last pause that this worker told, or was told.
    told: HashMap<String, Instant>,
}

impl<'p> Pauses<'p> {
    pub fn new(store: &'p ObjectStorage, pace: &'p Pace, clock: Clock, end: &Cancellation) -> Self {
        Pauses {
            store,
            pace,
            clock,
            end: end.clone(),
            hosts: BTreeSet::new(),
            told: HashMap::new(),
        }
    }

    /// Tells others about new pauses. A store that cannot be written to is noticed when facts are written. Returns what to tell people.
    pub fn tell(&mut self) -> Vec<String> {
        let mut notes = Vec::new();
        for (host, end) in self.pace.pauses() {
            let Some(end) = end.filter(|end| *end > Instant::now()) else {
                continue;
            };
            if self.told.get(&host).is_some_and(|told| *told + SAME > end) {
                continue;
            }
            let left = end.duration_since(Instant::now());
            // A second more: to the store, a second that has begun is none.
            let until = self.clock.now() + left + Duration::from_secs(1);
            let since = until.duration_since(SystemTime::UNIX_EPOCH);
            let seconds = since.unwrap_or_default().as_secs().to_string();
            let _ = self
                .store
                .put(&name(&host), seconds.into_bytes(), &self.end);
            notes.push(format!("{host} asks to wait {} s", left.as_secs() + 1));
            self.told.insert(host, end);
        }
        notes
    }

    /// Fetches the pauses of these hosts, and of all earlier ones.
    pub fn learn<'h>(&mut self, hosts: impl IntoIterator<Item = &'h str>) {
        for host in hosts {
            if !self.hosts.contains(host) {
                self.hosts.insert(host.to_owned());
            }
        }
        self.hosts
            .extend(self.pace.pauses().into_iter().map(|(host, _)| host));
        for host in &self.hosts {
            let Ok(Some(content)) = self.store.get(&name(host), MAXIMUM, &self.end) else {
                continue;
            };
            let seconds = String::from_utf8(content)
                .ok()
                .and_then(|it| it.parse().ok());
            let until =
                seconds.and_then(|it| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(it)));
            let left = until.and_then(|it| it.duration_since(self.clock.now()).ok());
            let Some(left) = left.filter(|left| !left.is_zero()) else {
                continue;
            };
            let left = left.min(LONGEST);
            self.pace.pause(host, left);
            self.told.insert(host.clone(), Instant::now() + left);
        }
    }
}

/// A host may have characters that a name of an object cannot have.
fn name(host: &str) -> String {
    format!("pause-{}", sha256(host.as_bytes()).replace(':', "-"))
}
