//! Sums over one layer, or all layers of an image, that must stay within limits.

use std::sync::atomic::{AtomicU64, Ordering};

use imgcheck_base::limits::{Limit, LimitExceeded, Limits};
use imgcheck_image::{Content, Entry, LayerFacts};

/// Sums that threads add to. Each method fails when its sum exceeds the limit.
#[derive(Debug, Default)]
pub struct Budget {
    entries: AtomicU64,
    texts: AtomicU64,
    facts: AtomicU64,
    sparse: AtomicU64,
}

impl Budget {
    /// Adds all facts of a layer that an image has `times` times.
    ///
    /// # Errors
    /// The sum of entries, texts or facts exceeds its limit.
    pub fn layer(
        &self,
        facts: &LayerFacts,
        times: u64,
        limits: &Limits,
    ) -> Result<(), LimitExceeded> {
        let all = |bytes: u64| bytes.saturating_mul(times);
        let entries = facts.entries.len() as u64;
        add(&self.entries, all(entries), limits, Limit::Entries)?;
        add(
            &self.texts,
            all(facts.captured_bytes()),
            limits,
            Limit::TextsBytes,
        )?;
        add(&self.facts, all(facts.memory()), limits, Limit::FactsBytes)
    }

    /// Adds an entry that follows `before`, without its content.
    pub(crate) fn entry(
        &self,
        before: Option<&Entry>,
        entry: &Entry,
        limits: &Limits,
    ) -> Result<(), LimitExceeded> {
        limits.check(Limit::PathBytes, entry.path.len() as u64)?;
        add(&self.entries, 1, limits, Limit::Entries)?;
        let memory = entry.memory_after(before);
        add(&self.facts, memory, limits, Limit::FactsBytes)
    }

    /// Adds a file that is captured whole.
    pub(crate) fn text(&self, bytes: u64, limits: &Limits) -> Result<(), LimitExceeded> {
        limits.check(Limit::TextBytes, bytes)?;
        add(&self.texts, bytes, limits, Limit::TextsBytes)
    }

    /// Adds the expanded size of a sparse ELF file, whose holes take no space in the archive.
    pub(crate) fn sparse(&self, bytes: u64, limits: &Limits) -> Result<(), LimitExceeded> {
        add(&self.sparse, bytes, limits, Limit::SparseBytes)
    }

    /// Adds the content of an ELF file.
    pub(crate) fn content(&self, content: &Content, limits: &Limits) -> Result<(), LimitExceeded> {
        add(&self.facts, content.memory(), limits, Limit::FactsBytes)
    }
}

fn add(sum: &AtomicU64, more: u64, limits: &Limits, limit: Limit) -> Result<(), LimitExceeded> {
    let before = sum.fetch_add(more, Ordering::Relaxed);
    limits.check(limit, before.saturating_add(more))
}
