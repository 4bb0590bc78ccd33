//! How far the `ld.so.cache` of an image is from what `ldconfig` would write.

use std::collections::HashSet;

use super::rebuild::Rebuilt;
use crate::image::RootFilesystem;
use crate::loader::cache::{Cache, CacheError, Entry};

/// Where the cache is.
const CACHE: &str = "/etc/ld.so.cache";

/// The cache of an image against what `ldconfig` would write.
#[derive(Debug)]
pub struct Staleness {
    /// The sum of it.
    pub state: State,
    /// The cache as it is; `None` where it is missing or cannot be used.
    pub cache: Option<Cache>,
    /// Why it cannot be used.
    pub problem: Option<CacheError>,
    /// The layer that wrote it.
    pub layer: Option<usize>,
    /// What `ldconfig` would add, in the order of its cache; nothing where there is no cache to compare with.
    pub missing: Vec<Addition>,
    /// Entries that lead nowhere.
    pub dangling: Vec<Entry>,
    /// Entries that lead to something but that `ldconfig` would no longer write: their directory is not configured any more.
    pub dropped: Vec<Entry>,
}

/// The sum of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// `ldconfig` would write the same names and paths.
    Current,
    /// There is no cache. The loader goes on to the default directories.
    Missing,
    /// `ldconfig` would write others.
    Stale,
    /// The cache cannot be used.
    Corrupt,
}

/// A library that is not in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addition {
    /// The entry that `ldconfig` would write.
    pub entry: Entry,
    /// The file behind it.
    pub file: String,
    /// The layer that brought the file. Later than the layer of the cache, it says why: nobody ran `ldconfig` since.
    pub layer: Option<usize>,
}

/// Compares the cache of an image with what `ldconfig` would write there. Names and paths count, not order nor flags.
pub fn staleness<'r>(root: &'r RootFilesystem<'r>, rebuilt: &Rebuilt<'r>) -> Staleness {
    let mut result = Staleness {
        state: State::Missing,
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
    // One that is not a file of bytes, such as a directory, has no magic.
    match Cache::parse(file.bytes().unwrap_or_default()) {
        Ok(cache) => {
            result.compare(root, &cache, rebuilt);
            result.cache = Some(cache);
        }
        Err(problem) => {
            result.state = State::Corrupt;
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
            true => State::Current,
            false => State::Stale,
        };
    }
}

fn keys(cache: &Cache) -> HashSet<(&str, &str)> {
    cache.entries.iter().map(key).collect()
}

fn key(entry: &Entry) -> (&str, &str) {
    (&entry.name, &entry.path)
}
