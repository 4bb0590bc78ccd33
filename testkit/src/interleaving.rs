//! The order in which requests of several writers take effect, by plan.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::writable::Writable;

/// The time after which a plan cannot come true any more.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request for a manifest, by its number among those for the same name, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    Put(usize),
    Read(usize),
}

/// What has happened to a manifest, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// The request has come.
    Come(Step),
    /// The request has taken effect: the manifest is stored or read.
    Done(Step),
}

type Action = Box<dyn Fn(&Writable, Event) + Send + Sync>;

/// The order in which requests take effect.
#[derive(Default)]
pub struct Plan {
    /// How often each kind of event has happened to each name.
    counts: Mutex<HashMap<(String, bool, bool), usize>>,
    changed: Condvar,
    holds: Mutex<Vec<(String, Step, Event)>>,
    actions: Mutex<Vec<(String, Action)>>,
}

impl fmt::Debug for Plan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts.fmt(formatter)
    }
}

impl Plan {
    pub fn hold(&self, name: &str, step: Step, until: Event) {
        let hold = (name.to_owned(), step, until);
        self.holds.lock().unwrap().push(hold);
    }

    pub fn react(&self, name: &str, action: impl Fn(&Writable, Event) + Send + Sync + 'static) {
        let action = (name.to_owned(), Box::new(action) as Action);
        self.actions.lock().unwrap().push(action);
    }

    /// A request has come; returns when it may take effect.
    pub fn come(&self, registry: &Writable, name: &str, is_put: bool) {
        let step = self.step(name, is_put, false);
        self.act(registry, name, Event::Come(step));
        let holds = self.holds.lock().unwrap().clone();
        let holds = holds.iter().filter(|it| it.0 == name && it.1 == step);
        holds.for_each(|(_, _, until)| self.wait(name, *until));
    }

    /// A request has taken effect.
    pub fn done(&self, registry: &Writable, name: &str, is_put: bool) {
        let step = self.step(name, is_put, true);
        self.act(registry, name, Event::Done(step));
    }

    pub fn wait(&self, name: &str, until: Event) {
        let (step, is_done) = match until {
            Event::Come(step) => (step, false),
            Event::Done(step) => (step, true),
        };
        let (is_put, number) = match step {
            Step::Put(number) => (true, number),
            Step::Read(number) => (false, number),
        };
        let key = (name.to_owned(), is_put, is_done);
        let counts = self.counts.lock().unwrap();
        let waited = self.changed.wait_timeout_while(counts, PATIENCE, |counts| {
            counts.get(&key).is_none_or(|count| *count < number)
        });
        let timed_out = waited.unwrap().1.timed_out();
        assert!(!timed_out, "{name}: {until:?} never happened");
    }

    fn step(&self, name: &str, is_put: bool, is_done: bool) -> Step {
        let mut counts = self.counts.lock().unwrap();
        let count = counts
            .entry((name.to_owned(), is_put, is_done))
            .or_default();
        *count += 1;
        self.changed.notify_all();
        match is_put {
            true => Step::Put(*count),
            false => Step::Read(*count),
        }
    }

    fn act(&self, registry: &Writable, name: &str, event: Event) {
        let actions = self.actions.lock().unwrap();
        let actions = actions.iter().filter(|it| it.0 == name);
        actions.for_each(|(_, action)| action(registry, event));
    }
}
