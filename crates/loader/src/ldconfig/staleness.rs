//! Compares the `ld.so.cache` of an image with the cache that `ldconfig` would write.

use std::collections::HashSet;

use super::rebuild::Rebuilt;
use crate::cache::{Cache, CacheError, Entry};
use imgcheck_image::RootFilesystem;

/// Where the cache is.
const CACHE: &str = "/etc/ld.so.cache";

/// The differences between the cache of an image and the cache that `ldconfig` would write.
#[derive(Debug)]
pub struct Staleness {
    /// The sum of it.
    pub state: CacheState,
    /// The cache of the image; `None` if it is missing or unusable.
    pub cache: Option<Cache>,
    /// Why the cache is unusable.
    pub problem: Option<CacheError>,
    /// The layer that contains the cache.
    pub layer: Option<usize>,
    /// Libraries that `ldconfig` would add, in the order of its cache; empty if the image has no usable cache.
    pub missing: Vec<Addition>,
    /// Entries whose file does not exist.
    pub dangling: Vec<Entry>,
    /// Entries whose file exists but that `ldconfig` would drop, because their directory is not configured.
    pub dropped: Vec<Entry>,
}

/// The state of the cache of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheState {
    /// `ldconfig` would write the same names and paths.
    Current,
    /// There is no cache; the loader searches only the default directories.
    Missing,
    /// `ldconfig` would write different ones.
    Stale,
    /// The cache is unusable.
    Corrupt,
}

/// A library that is not in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addition {
    /// The entry that `ldconfig` would write.
    pub entry: Entry,
    /// The file behind it.
    pub file: String,
    /// The layer of the file. If it comes after the layer of the cache, `ldconfig` was not run after the file was added.
    pub layer: Option<usize>,
}

/// Compares the cache of an image with the cache that `ldconfig` would write: names and paths, but not order and flags.
pub fn staleness<'r>(root: &'r RootFilesystem<'r>, rebuilt: &Rebuilt<'r>) -> Staleness {
    let mut result = Staleness {
        state: CacheState::Missing,
        cache: None,
        problem: None,
        layer: None,
        missing: Vec::new(),
        dangling: Vec::new(),
        dropped: Vec::new(),
    };
    let Ok(file) = root.resolve(CACHE) else {
        return result;
    };
    result.layer = file.layer();
    // A cache without bytes, such as a directory, fails to parse for lack of a magic string.
    match Cache::parse(file.bytes().unwrap_or_default()) {
        Ok(cache) => {
            result.compare(root, &cache, rebuilt);
            result.cache = Some(cache);
        }
        Err(problem) => {
            result.state = CacheState::Corrupt;
            result.problem = Some(problem);
        }
    }
    result
}

impl Staleness {
    fn compare<'r>(&mut self, root: &'r RootFilesystem<'r>, cache: &Cache, rebuilt: &Rebuilt<'r>) {
        let written = keys(cache);
        let wanted = keys(&rebuilt.cache);
        let both = rebuilt.cache.entries.iter().zip(&rebuilt.files);
        self.missing = both
            .filter(|(entry, _)| !written.contains(&key(entry)))
            .map(|(entry, file)| Addition {
                entry: entry.clone(),
                file: file.path(),
                layer: file.layer(),
            })
            .collect();
        for entry in &cache.entries {
            if root.resolve(&entry.path).is_err() {
                self.dangling.push(entry.clone());
            } else if !wanted.contains(&key(entry)) {
                self.dropped.push(entry.clone());
            }
        }
        let current =
            self.missing.is_empty() && self.dangling.is_empty() && self.dropped.is_empty();
        self.state = match current {
            true => CacheState::Current,
            false => CacheState::Stale,
        };
    }
}

fn keys(cache: &Cache) -> HashSet<(&str, &str)> {
    cache.entries.iter().map(key).collect()
}

fn key(entry: &Entry) -> (&str, &str) {
    (&entry.name, &entry.path)
}
