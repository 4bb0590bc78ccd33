//! The cache directory of this machine: one file per entry. The least recently used entries are removed first.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::entry::MAXIMUM;
use super::key::CacheEntryKind;
use super::trust::{self, Trusted};

/// Prefix of the names of files that are being written.
const TEMPORARY: &str = ".tmp-";
/// A temporary file that is older was left by a killed run.
const ABANDONED: Duration = Duration::from_secs(60 * 60);
/// Precision of the time of last use, so that a run that only reads writes almost nothing.
const USE_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// A run sweeps the directory when it first writes an entry, and again after each such fraction of the limit: a run that writes has read a
/// layer, which takes much longer.
const SWEEPS_PER_LIMIT: u64 = 32;

/// A directory of entries. The modification time of a file is when it was last used.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    /// Maximum total length of all entries, in bytes.
    limit: u64,
    /// Bytes that can be written before the next sweep.
    unswept: AtomicU64,
    /// Cleared when an entry could not be written.
    is_writable: AtomicBool,
}

/// An entry in the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// What it contains.
    pub kind: CacheEntryKind,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// When it was last used, with a precision of one hour.
    pub used: SystemTime,
    name: String,
}

impl Directory {
    pub fn new(path: PathBuf, limit: u64) -> Self {
        Directory {
            path,
            limit,
            unswept: AtomicU64::new(0),
            is_writable: AtomicBool::new(true),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a file and updates its time of last use. `None` if it is missing, cannot be read, or everybody can write to it.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        let mut file = Trusted::open(&self.path).ok()?.entry(name).ok()?;
        let metadata = file.metadata().ok()?;
        if metadata.len() > MAXIMUM {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).ok()?);
        file.read_to_end(&mut bytes).ok()?;
        let now = SystemTime::now();
        let used = metadata.modified().ok()?;
        if now.duration_since(used).is_ok_and(|age| age > USE_INTERVAL) {
            // Fails for a file of another user, which is then removed sooner.
            let _ = file.set_modified(now);
        }
        Some(bytes)
    }

    /// Writes a file atomically. Returns the first error; nothing is written after it.
    pub fn put(&self, name: &str, sealed: &[u8]) -> io::Result<()> {
        if !self.is_writable.load(Ordering::Relaxed) {
            return Ok(());
        }
        match self.try_put(name, sealed) {
            Err(_) if !self.is_writable.swap(false, Ordering::Relaxed) => Ok(()),
            written => written,
        }
    }

    fn try_put(&self, name: &str, sealed: &[u8]) -> io::Result<()> {
        match Trusted::open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                trust::create(&self.path)?;
            }
            trusted => drop(trusted?),
        }
        self.write(name, sealed)?;
        if self.is_sweep_due(sealed.len() as u64) {
            self.sweep();
        }
        Ok(())
    }

    /// Does not sync: if the machine crashes before the file is on disk, its checksum is wrong.
    fn write(&self, name: &str, sealed: &[u8]) -> io::Result<()> {
        let mut file = trust::new_entry(&temporary(), &self.path)?;
        file.write_all(sealed)?;
        file.persist(self.path.join(name))
            .map(drop)
            .map_err(|error| error.error)
    }

    /// All entries in any order; empty if the directory does not exist.
    pub fn list(&self) -> io::Result<Vec<CacheEntry>> {
        let files = self.files()?.into_iter();
        Ok(files.filter_map(NamedFile::entry).collect())
    }

    /// Removes the entries that fulfill the condition, and abandoned files. Other files are left alone.
    pub fn clean(&self, condition: impl Fn(&CacheEntry) -> bool) -> io::Result<Vec<CacheEntry>> {
        let mut removed = Vec::new();
        for file in self.files()? {
            if file.is_abandoned() {
                self.remove(&file.name)?;
            } else if let Some(entry) = file.entry()
                && condition(&entry)
            {
                self.remove(&entry.name)?;
                removed.push(entry);
            }
        }
        Ok(removed)
    }

    /// Removes the files that this process is writing; on failure, a later run does.
    pub fn abandon(&self) {
        let own = temporary();
        for file in self.files().unwrap_or_default() {
            if file.name.starts_with(&own) {
                let _ = self.remove(&file.name);
            }
        }
    }

    fn files(&self) -> io::Result<Vec<NamedFile>> {
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry?;
            // A file that is gone was removed by another run.
            if let Ok(name) = entry.file_name().into_string()
                && let Ok(metadata) = entry.metadata()
                && let Ok(modified) = metadata.modified()
            {
                let bytes = metadata.len();
                files.push(NamedFile {
                    name,
                    bytes,
                    modified,
                });
            }
        }
        Ok(files)
    }

    /// Whether a sweep is due after so many more bytes were written.
    fn is_sweep_due(&self, written: u64) -> bool {
        let pause = self.limit / SWEEPS_PER_LIMIT;
        let take = |left: u64| Some(left.checked_sub(written).unwrap_or(pause));
        let before = self
            .unswept
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        before.is_ok_and(|left| left < written)
    }

    /// Brings the directory below its limit; on failure, another run does.
    fn sweep(&self) {
        let Ok(files) = self.files() else {
            return;
        };
        let (abandoned, files): (Vec<_>, Vec<_>) =
            files.into_iter().partition(NamedFile::is_abandoned);
        for file in abandoned {
            let _ = self.remove(&file.name);
        }
        let mut entries: Vec<CacheEntry> = files.into_iter().filter_map(NamedFile::entry).collect();
        let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
        if total <= self.limit {
            return;
        }
        entries.sort_unstable_by(|a, b| (a.used, &a.name).cmp(&(b.used, &b.name)));
        // A little lower, so that not every write has to remove something.
        let goal = self.limit - self.limit / SWEEPS_PER_LIMIT;
        for entry in entries {
            if total <= goal {
                break;
            }
            if self.remove(&entry.name).is_ok() {
                total -= entry.bytes;
            }
        }
    }

    /// Removes a file; it is not an error if another run has removed it.
    fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

/// Prefix of the names of files that this process is writing.
fn temporary() -> String {
    format!("{TEMPORARY}{}-", std::process::id())
}

/// A file of the directory, not necessarily an entry.
struct NamedFile {
    name: String,
    bytes: u64,
    modified: SystemTime,
}

impl NamedFile {
    /// Whether a killed run left it.
    fn is_abandoned(&self) -> bool {
        let age = self.modified.elapsed();
        self.name.starts_with(TEMPORARY) && age.is_ok_and(|age| age > ABANDONED)
    }

    /// Converts it, if it is an entry.
    fn entry(self) -> Option<CacheEntry> {
        Some(CacheEntry {
            kind: CacheEntryKind::of(&self.name)?,
            bytes: self.bytes,
            used: self.modified,
            name: self.name,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn name(at: u64) -> String {
        format!("document-{at:064x}")
    }

    fn names(directory: &Directory) -> Vec<String> {
        let mut names: Vec<String> = directory
            .list()
            .unwrap()
            .into_iter()
            .map(|it| it.name)
            .collect();
        names.sort();
        names
    }

    fn set_age(directory: &Directory, name: &str, age: Duration) {
        let file = fs::File::options()
            .append(true)
            .open(directory.path.join(name))
            .unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    #[test]
    fn the_directory_is_created_on_demand_for_its_owner() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = Directory::new(scratch.path().join("a/b"), 1000);
        assert_eq!(directory.list().unwrap(), []);
        assert_eq!(directory.get(&name(1)), None);
        assert!(!directory.path.exists());
        directory.put(&name(1), b"bytes").unwrap();
        assert_eq!(directory.get(&name(1)).unwrap(), b"bytes");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&directory.path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
    }

    #[test]
    fn the_least_recently_used_entry_is_removed_first() {
        let scratch = tempfile::tempdir().unwrap();
        let writer = || Directory::new(scratch.path().to_owned(), 1000);
        let directory = writer();
        for at in 0..9 {
            directory.put(&name(at), &[0; 100]).unwrap();
            set_age(&directory, &name(at), DAY * 2 - Duration::from_secs(at));
        }
        assert_eq!(directory.get(&name(0)).unwrap().len(), 100);
        // The first write of another run sweeps the directory.
        writer().put(&name(9), &[0; 200]).unwrap();
        let remaining: Vec<String> = [0, 3, 4, 5, 6, 7, 8, 9].map(name).into();
        assert_eq!(names(&directory), remaining);
    }

    #[test]
    fn sweeps_are_due_regularly() {
        let directory = Directory::new(PathBuf::new(), 3200);
        let due: Vec<bool> = (0..8).map(|_| directory.is_sweep_due(40)).collect();
        assert_eq!(due, [true, false, false, true, false, false, true, false]);
        assert!(directory.is_sweep_due(5000) && directory.is_sweep_due(5000));
    }

    #[test]
    fn old_temporary_files_are_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = Directory::new(scratch.path().to_owned(), 1000);
        for (name, age) in [
            (".tmp-old", DAY),
            (".tmp-new", Duration::ZERO),
            ("other", DAY),
        ] {
            fs::write(scratch.path().join(name), "").unwrap();
            set_age(&directory, name, age);
        }
        directory.put(&name(1), b"bytes").unwrap();
        let exists = |name: &str| scratch.path().join(name).exists();
        assert!(!exists(".tmp-old") && exists(".tmp-new") && exists("other"));
        assert_eq!(directory.clean(|_| true).unwrap().len(), 1);
        assert!(!exists(&name(1)) && exists(".tmp-new") && exists("other"));
    }

    #[test]
    fn temporary_files_of_this_process_can_be_abandoned() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = Directory::new(scratch.path().to_owned(), 1000);
        let (own, other) = (temporary() + "x", format!("{TEMPORARY}0-x"));
        for name in [&own, &other] {
            fs::write(scratch.path().join(name), "").unwrap();
        }
        directory.abandon();
        assert!(!scratch.path().join(own).exists());
        assert!(scratch.path().join(other).exists());
    }
}
