//! `/etc/ld.so.cache` and what `ldconfig` would write, as facts.

use std::collections::HashMap;

use super::facts::CacheFacts;
use super::model::Model;
use crate::loader::abi::Abi;
use crate::loader::ldconfig::{self, Rebuilt, State};

/// The facts of the cache, and what `ldconfig` would write; nothing for an image without a glibc process.
pub(super) fn read<'s>(model: &Model<'s>) -> (Option<CacheFacts>, Option<Rebuilt<'s>>) {
    let mut systems = model.processes.iter().map(|process| process.system);
    let known =
        systems.find_map(|system| Some((Abi::of(system.machine, system.class)?, system.glibc?)));
    let Some((abi, glibc)) = known else {
        return (None, None);
    };
    let rebuilt = ldconfig::rebuild(model.root, abi, glibc);
    let staleness = ldconfig::staleness(model.root, &rebuilt);
    let state = match staleness.state {
        State::Current => "current",
        State::Missing => "missing",
        State::Stale => "stale",
        State::Corrupt => "corrupt",
    };
    let mut facts = CacheFacts {
        state: state.to_owned(),
        layer: staleness.layer,
        ..CacheFacts::default()
    };
    if rebuilt.complete {
        let unlisted = staleness.missing.iter().map(|it| it.entry.path.clone());
        facts.unlisted = unlisted.collect();
        facts.dangling = staleness
            .dangling
            .iter()
            .map(|it| it.path.clone())
            .collect();
        facts.dropped = staleness.dropped.iter().map(|it| it.path.clone()).collect();
    } else {
        facts.incomplete = true;
        if staleness.state == State::Stale {
            facts.state = "unknown".to_owned();
        }
    }
    (Some(facts), Some(rebuilt))
}

/// The file that would answer to each name after `ldconfig`.
pub(super) fn answers<'c>(rebuilt: Option<&'c Rebuilt>) -> HashMap<&'c str, &'c str> {
    let mut answers = HashMap::new();
    for entry in rebuilt.into_iter().flat_map(|it| &it.cache.entries) {
        answers.entry(entry.name.as_str()).or_insert(&*entry.path);
    }
    answers
}
