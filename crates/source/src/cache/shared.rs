//! The store that several machines share: a bucket, a WebDAV server or a directory.
//!
//! A cache must not slow down a run much: a request is retried at most once, and the store is not used again after the first failure.
//! A store that a sweep works for is asked again and again, and its failures end the sweep.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::entry::MAXIMUM;
use super::trust::{IS_CHECKED, Trusted};
use crate::object_storage::{EXPECTED, Failure, ObjectStorage, Patience};
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, Result};

/// Of a cache.
const BRIEF: Patience = Patience {
    whole: Duration::from_secs(10),
    retries: 1,
};
/// Of a store that a sweep cannot do without.
const LASTING: Patience = Patience {
    whole: Duration::from_secs(90),
    retries: 8,
};

/// A shared store; the connection is made on first use.
#[derive(Debug)]
pub(super) struct Shared {
    pub objects: ObjectStorage,
    /// Whether nothing can be done without it.
    is_required: bool,
    is_readable: AtomicBool,
    is_writable: AtomicBool,
}

impl Shared {
    /// The shared part of a cache.
    ///
    /// # Errors
    /// [`Error::Usage`] for a URL that is not that of a store, or that of a directory that does not exist.
    pub fn new(url: &str) -> Result<Self> {
        Self::open(url, "--cache", false)
    }

    /// The store of a sweep.
    ///
    /// # Errors
    /// Same as [`new`](Self::new).
    pub fn required(url: &str) -> Result<Self> {
        Self::open(url, "--store", true)
    }

    fn open(url: &str, option: &str, is_required: bool) -> Result<Self> {
        let patience = match is_required {
            true => LASTING,
            false => BRIEF,
        };
        let objects = ObjectStorage::new(url, patience).map_err(|problem| Error::Usage {
            problem: format!("{option}: {problem}"),
            help: Some(match std::path::absolute(url) {
                Ok(path) if !url.contains("://") => {
                    format!(
                        "for a directory, write file://{}; {EXPECTED}",
                        path.display()
                    )
                }
                _ => EXPECTED.to_owned(),
            }),
        })?;
        // A typing error must not make a directory, and perhaps a file system is not mounted.
        let missing = |path: &PathBuf| matches!(path.try_exists(), Ok(false));
        if let Some(path) = objects.directory().filter(missing) {
            let path = path.display();
            let problem = format!("{option} {url}: the directory {path} does not exist");
            return Err(Error::usage(problem).with_help(format!("create it: mkdir -p {path}")));
        }
        Ok(Shared {
            objects,
            is_required,
            is_readable: AtomicBool::new(true),
            is_writable: AtomicBool::new(true),
        })
    }

    /// Why entries without a signature must not be believed: others may write them. `None` if the store is a directory for which that is
    /// not so.
    pub fn distrust(&self) -> Option<String> {
        let Some(path) = self.objects.directory().filter(|_| IS_CHECKED) else {
            return Some("others may be able to write to it".to_owned());
        };
        match Trusted::open(&path) {
            // Other problems are said when it is used.
            Err(error) if error.kind() == io::ErrorKind::Other => Some(error.to_string()),
            _ => None,
        }
    }

    /// Reads an object. The error says why the store is not used, once if it can be done without.
    pub fn get(&self, name: &str, cancellation: &Cancellation) -> Result<Option<Vec<u8>>, String> {
        if !self.is_readable.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match self.objects.get(name, MAXIMUM, cancellation) {
            Ok(found) => Ok(found),
            Err(Failure::Cancelled) => Ok(None),
            Err(Failure::Problem(problem)) => {
                self.is_writable.store(self.is_required, Ordering::Relaxed);
                let first = self.is_readable.swap(self.is_required, Ordering::Relaxed);
                self.give_up(first, "is no longer used", &problem)
                    .map(|()| None)
            }
        }
    }

    /// Writes an object. The error says why the store is not written to, once if it can be done without.
    pub fn put(
        &self,
        name: &str,
        sealed: Vec<u8>,
        cancellation: &Cancellation,
    ) -> Result<(), String> {
        if !self.is_writable.load(Ordering::Relaxed) {
            return Ok(());
        }
        match self.objects.put(name, sealed, cancellation) {
            Ok(()) | Err(Failure::Cancelled) => Ok(()),
            Err(Failure::Problem(problem)) => {
                // Some users can read but not write.
                let first = self.is_writable.swap(self.is_required, Ordering::Relaxed);
                self.give_up(first, "is no longer written to", &problem)
            }
        }
    }

    fn give_up(&self, first: bool, what: &str, problem: &str) -> Result<(), String> {
        let address = self.objects.address();
        match (first, self.is_required) {
            (false, _) => Ok(()),
            (true, true) => Err(format!("the store {address}: {problem}")),
            (true, false) => Err(format!("the shared cache {address} {what}: {problem}")),
        }
    }
}
