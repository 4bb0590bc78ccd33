//! What is kept of one layer, or of all layers of an image, against the limits.

use std::sync::atomic::{AtomicU64, Ordering};

use super::facts::{Content, Entry, LayerFacts};
use crate::limits::{Limit, Limits, Passed};

/// Sums that threads add to. Each method fails when its sum passes the limit.
#[derive(Debug, Default)]
pub struct Budget {
    entries: AtomicU64,
    texts: AtomicU64,
    facts: AtomicU64,
    sparse: AtomicU64,
}

impl Budget {
    /// Takes all facts of a layer, as often as an image has it.
    ///
    /// # Errors
    /// The entries, texts or facts are more than the limits allow.
    pub fn layer(&self, facts: &LayerFacts, times: u64, limits: &Limits) -> Result<(), Passed> {
        let all = |bytes: u64| bytes.saturating_mul(times);
        let entries = facts.entries.len() as u64;
        take(&self.entries, all(entries), limits, Limit::Entries)?;
        take(
            &self.texts,
            all(facts.kept_bytes()),
            limits,
            Limit::TextsBytes,
        )?;
        take(&self.facts, all(facts.memory()), limits, Limit::FactsBytes)
    }

    /// Takes an entry whose content is not read yet, behind another one.
    pub(super) fn entry(
        &self,
        before: Option<&Entry>,
        entry: &Entry,
        limits: &Limits,
    ) -> Result<(), Passed> {
        limits.check(Limit::PathBytes, entry.path.len() as u64)?;
        take(&self.entries, 1, limits, Limit::Entries)?;
        let memory = entry.memory_after(before);
        take(&self.facts, memory, limits, Limit::FactsBytes)
    }

    /// Takes a file that is to be kept whole.
    pub(super) fn text(&self, bytes: u64, limits: &Limits) -> Result<(), Passed> {
        limits.check(Limit::TextBytes, bytes)?;
        take(&self.texts, bytes, limits, Limit::TextsBytes)
    }

    /// Takes an ELF file with its holes, which cost nothing in the archive.
    pub(super) fn sparse(&self, bytes: u64, limits: &Limits) -> Result<(), Passed> {
        take(&self.sparse, bytes, limits, Limit::SparseBytes)
    }

    /// Takes what was read of an ELF file.
    pub(super) fn content(&self, content: &Content, limits: &Limits) -> Result<(), Passed> {
        take(&self.facts, content.memory(), limits, Limit::FactsBytes)
    }
}

fn take(sum: &AtomicU64, more: u64, limits: &Limits, limit: Limit) -> Result<(), Passed> {
    let before = sum.fetch_add(more, Ordering::Relaxed);
    limits.check(limit, before.saturating_add(more))
}
