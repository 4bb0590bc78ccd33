//! What the cache of layer facts holds.

use std::time::Duration;

use serde::Serialize;

use super::cached_model;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::Limits;
use imgcheck_elf::Depth;
use imgcheck_layer::cache;
use imgcheck_report as report;
use imgcheck_source::cache::{Cache, CacheEntry, CacheEntryKind, CacheOptions};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What a cache holds, as `imgcheck cache info` prints it.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// use imgcheck::{CacheOptions, CacheUsage};
///
/// let options = CacheOptions { directory: Some("no-such-directory".into()), ..CacheOptions::default() };
/// assert_eq!(CacheUsage::of(&options)?.total.entries, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Serialize)]
pub struct CacheUsage {
    schema: &'static str,
    /// The directory of this machine; `None` if the user has none.
    pub directory: Option<String>,
    /// The address of the shared store.
    pub shared: Option<String>,
    /// Bytes that the directory may hold.
    pub limit: u64,
    /// Everything in the directory.
    pub total: CacheCount,
    /// Facts that this version of imgcheck reads.
    pub facts: CacheCount,
    /// Facts of other versions.
    pub stale: CacheCount,
    /// Manifests and image configurations.
    pub documents: CacheCount,
}

impl CacheUsage {
    /// What a cache holds.
    ///
    /// # Errors
    /// The directory exists, but cannot be read; or the URL has no known scheme.
    pub fn of(cache: &CacheOptions) -> Result<Self> {
        let limit = cache.limit;
        let cache = Cache::open(cache)?;
        let (entries, versions) = (cache.list()?, versions());
        let facts = |it: &&CacheEntry| {
            matches!(it.kind, CacheEntryKind::Facts { .. }) && !is_stale(it, &versions)
        };
        Ok(CacheUsage {
            schema: "imgcheck/cache/v1",
            directory: cache.directory().map(|path| path.display().to_string()),
            shared: cache.shared().map(str::to_owned),
            limit,
            total: CacheCount::of(&entries, |_| true),
            facts: CacheCount::of(&entries, facts),
            stale: CacheCount::of(&entries, |it| is_stale(it, &versions)),
            documents: CacheCount::of(&entries, |it| it.kind == CacheEntryKind::Document),
        })
    }

    /// The usage as a JSON document.
    ///
    /// # Errors
    /// None in practice: no input can cause one.
    pub fn to_json(&self) -> Result<String> {
        report::to_json(self).map_err(|error| Error::output("the cache usage", error))
    }
}

/// A number of cache entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CacheCount {
    /// Number of entries.
    pub entries: usize,
    /// Total length of the entries, in bytes.
    pub bytes: u64,
}

impl CacheCount {
    fn of(entries: &[CacheEntry], condition: impl Fn(&&CacheEntry) -> bool) -> Self {
        let chosen = entries.iter().filter(condition);
        chosen.fold(CacheCount::default(), |count, entry| CacheCount {
            entries: count.entries + 1,
            bytes: count.bytes + entry.bytes,
        })
    }
}

/// Removes entries from the directory of this machine; the shared store stays as it is. `stale` keeps what this version of
/// imgcheck reads, `older_than` what was used within so many days. Returns what was removed.
///
/// # Errors
/// The directory cannot be read, or an entry cannot be removed.
pub fn clean_cache(
    cache: &CacheOptions,
    stale: bool,
    older_than: Option<u32>,
) -> Result<CacheCount> {
    let versions = versions();
    let is_old = |entry: &CacheEntry, days| entry.used.elapsed().is_ok_and(|age| age > DAY * days);
    let removed = Cache::open(cache)?.clean(|entry| {
        (!stale || is_stale(entry, &versions)) && older_than.is_none_or(|days| is_old(entry, days))
    })?;
    Ok(CacheCount::of(&removed, |_| true))
}

/// The versions of facts and models that this version of imgcheck reads.
fn versions() -> Vec<String> {
    let limits = Limits::default();
    let versions = |depth| {
        [
            cache::version(depth, &limits),
            cached_model::version(depth, &limits),
        ]
    };
    [Depth::Default, Depth::Deep].map(versions).concat()
}

fn is_stale(entry: &CacheEntry, versions: &[String]) -> bool {
    match &entry.kind {
        CacheEntryKind::Facts { version }
        | CacheEntryKind::Modules { version }
        | CacheEntryKind::Model { version } => !versions.contains(version),
        CacheEntryKind::Verified | CacheEntryKind::Document => false,
    }
}
