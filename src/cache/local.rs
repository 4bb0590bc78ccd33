//! The directory of this machine: one file an entry, removed when it was not used for longest.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::entry::MAXIMUM;
use super::is_version;
use super::trust::Trusted;
use crate::digest::is_hexadecimal;

/// How the names of files begin that are being written.
const TEMPORARY: &str = ".tmp-";
/// A file that is being written for longer was left by a killed run.
const ABANDONED: Duration = Duration::from_secs(60 * 60);
/// The time of last use is kept no more exactly than this, so that a run that only reads writes next to nothing.
const USE_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// The directory is looked through when a run has first written something, and again whenever it has written this part of the
/// limit: a run that writes has read a layer, beside which that costs nothing.
const SWEEPS_PER_LIMIT: u64 = 32;

/// A directory of entries. The modification time of a file is when it was last used.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    /// Bytes that all entries may have together.
    limit: u64,
    /// Bytes that may still be written before the directory is looked through.
    unswept: AtomicU64,
    /// Cleared for good when something could not be written.
    is_writable: AtomicBool,
}

/// An entry in the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// What it is.
    pub kind: Kind,
    /// Bytes of its file.
    pub bytes: u64,
    /// When it was last used, to within an hour.
    pub used: SystemTime,
    name: String,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Facts of a layer.
    Facts {
        /// The version of the facts.
        version: String,
    },
    /// A manifest or configuration.
    Document,
}

impl Kind {
    /// By the name of the file. `None` for a file that is not ours.
    fn of(name: &str) -> Option<Self> {
        if let Some(hex) = name.strip_prefix("document-") {
            return is_hexadecimal(hex).then_some(Kind::Document);
        }
        let (version, hex) = name.strip_prefix("facts-")?.split_once('-')?;
        (is_version(version) && is_hexadecimal(hex)).then(|| Kind::Facts {
            version: version.to_owned(),
        })
    }
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

    /// The file of this name, which counts as used from now on. `None` if it is missing, cannot be read, or others can write it.
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
            // A file of another user keeps its time, and is removed sooner.
            let _ = file.set_modified(now);
        }
        Some(bytes)
    }

    /// Writes a file, whole or not at all. The first error is given, and after it nothing more is written.
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
                // For the user alone: who can write an entry decides what is believed of a layer.
                let mut builder = DirBuilder::new();
                builder.recursive(true).mode(0o700).create(&self.path)?;
            }
            trusted => drop(trusted?),
        }
        self.write(name, sealed)?;
        if self.is_sweep_due(sealed.len() as u64) {
            self.sweep();
        }
        Ok(())
    }

    /// The file is not forced to the disk: if the machine goes down before it is there, its checksum is wrong.
    fn write(&self, name: &str, sealed: &[u8]) -> io::Result<()> {
        // Others may read it where the user's umask and the directory say so, as in a directory of several users.
        let mut file = tempfile::Builder::new()
            .prefix(&temporary())
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(&self.path)?;
        file.write_all(sealed)?;
        file.persist(self.path.join(name))
            .map(drop)
            .map_err(|error| error.error)
    }

    /// All entries, in no order; none if the directory does not exist.
    pub fn list(&self) -> io::Result<Vec<Stored>> {
        let files = self.files()?.into_iter();
        Ok(files.filter_map(NamedFile::stored).collect())
    }

    /// Removes what the condition chooses, and abandoned files. Nothing that is not ours is touched.
    pub fn clean(&self, condition: impl Fn(&Stored) -> bool) -> io::Result<Vec<Stored>> {
        let mut removed = Vec::new();
        for file in self.files()? {
            if file.is_abandoned() {
                self.remove(&file.name)?;
            } else if let Some(entry) = file.stored()
                && condition(&entry)
            {
                self.remove(&entry.name)?;
                removed.push(entry);
            }
        }
        Ok(removed)
    }

    /// Removes what this process is writing. What fails here, a later run will do.
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
            // What is gone by now was removed by another run.
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

    /// Whether it is time to look through the directory, now that so many bytes more were written.
    fn is_sweep_due(&self, written: u64) -> bool {
        let pause = self.limit / SWEEPS_PER_LIMIT;
        let take = |left: u64| Some(left.checked_sub(written).unwrap_or(pause));
        let before = self
            .unswept
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        before.is_ok_and(|left| left < written)
    }

    /// Brings the directory below its limit. What fails here, another run will do.
    fn sweep(&self) {
        let Ok(files) = self.files() else {
            return;
        };
        let (abandoned, files): (Vec<_>, Vec<_>) =
            files.into_iter().partition(NamedFile::is_abandoned);
        for file in abandoned {
            let _ = self.remove(&file.name);
        }
        let mut entries: Vec<Stored> = files.into_iter().filter_map(NamedFile::stored).collect();
        let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
        if total <= self.limit {
            return;
        }
        entries.sort_unstable_by(|a, b| (a.used, &a.name).cmp(&(b.used, &b.name)));
        // A little more, so that not every write has to remove something.
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

    /// Removes a file; that another run has done so is as good.
    fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

/// How the names of files begin that this process is writing.
fn temporary() -> String {
    format!("{TEMPORARY}{}-", std::process::id())
}

/// A file of the directory, ours or not.
struct NamedFile {
    name: String,
    bytes: u64,
    modified: SystemTime,
}

impl NamedFile {
    /// Whether a killed run left it half written.
    fn is_abandoned(&self) -> bool {
        let age = self.modified.elapsed();
        self.name.starts_with(TEMPORARY) && age.is_ok_and(|age| age > ABANDONED)
    }

    /// As an entry, if it is one.
    fn stored(self) -> Option<Stored> {
        Some(Stored {
            kind: Kind::of(&self.name)?,
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
    fn a_directory_is_made_when_it_is_needed_and_for_its_owner() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = Directory::new(scratch.path().join("a/b"), 1000);
        assert_eq!(directory.list().unwrap(), []);
        assert_eq!(directory.get(&name(1)), None);
        assert!(!directory.path.exists());
        directory.put(&name(1), b"bytes").unwrap();
        assert_eq!(directory.get(&name(1)).unwrap(), b"bytes");
        let mode = fs::metadata(&directory.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let scratch = tempfile::tempdir().unwrap();
        let writer = || Directory::new(scratch.path().to_owned(), 1000);
        let directory = writer();
        for at in 0..9 {
            directory.put(&name(at), &[0; 100]).unwrap();
            set_age(&directory, &name(at), DAY * 2 - Duration::from_secs(at));
        }
        assert_eq!(directory.get(&name(0)).unwrap().len(), 100);
        // Another run, of which the first write looks through the directory.
        writer().put(&name(9), &[0; 200]).unwrap();
        let left: Vec<String> = [0, 3, 4, 5, 6, 7, 8, 9].map(name).into();
        assert_eq!(names(&directory), left);
    }

    #[test]
    fn a_directory_is_looked_through_once_for_each_part_of_its_limit() {
        let directory = Directory::new(PathBuf::new(), 3200);
        let due: Vec<bool> = (0..8).map(|_| directory.is_sweep_due(40)).collect();
        assert_eq!(due, [true, false, false, true, false, false, true, false]);
        assert!(directory.is_sweep_due(5000) && directory.is_sweep_due(5000));
    }

    #[test]
    fn what_a_killed_run_left_is_removed_when_it_is_old() {
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
        let there = |name: &str| scratch.path().join(name).exists();
        assert!(!there(".tmp-old") && there(".tmp-new") && there("other"));
        assert_eq!(directory.clean(|_| true).unwrap().len(), 1);
        assert!(!there(&name(1)) && there(".tmp-new") && there("other"));
    }

    #[test]
    fn what_this_process_is_writing_can_be_given_up() {
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

    #[test]
    fn only_our_names_are_entries() {
        let hex = "0123456789abcdef".repeat(4);
        let facts = Kind::Facts {
            version: "0123456789abcdef".to_owned(),
        };
        for (name, kind) in [
            (format!("document-{hex}"), Some(Kind::Document)),
            (format!("facts-0123456789abcdef-{hex}"), Some(facts)),
            (format!("facts-1-{hex}"), None),
            (format!("facts-{hex}"), None),
            (format!("document-{hex}0"), None),
            ("document-".to_owned(), None),
            (hex, None),
        ] {
            assert_eq!(Kind::of(&name), kind, "{name}");
        }
    }
}
