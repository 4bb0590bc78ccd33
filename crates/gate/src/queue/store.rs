//! The file of the queue: jobs that are not finished, scans that Harbor asked for, and containers that once passed. It survives the end of
//! the process at any time. Scans contain credentials, so only the owner may read the file.
//!
//! redb: one file, one dependency, every commit is on disk before it returns, and a commit that was cut off never happened. fjall, the
//! alternative, keeps a directory of logs and trees for write rates that a queue of images does not have.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::job::{Job, JobKey};
use imgcheck_base::error::{Error, ErrorCode, Result};

/// Jobs as JSON, by digest and architecture.
const JOBS: TableDefinition<(&str, &str), &[u8]> = TableDefinition::new("jobs/v1");
/// Containers that passed: the first day that would have denied them, in days of the Common Era, or 0 if no day has so far.
const PASSED: TableDefinition<&[u8; 32], i32> = TableDefinition::new("passed/v1");
/// Scans as JSON, by their id.
const SCANS: TableDefinition<&str, &[u8]> = TableDefinition::new("scans/v1");
/// Who may do what with the file.
const MODE: u32 = 0o600;
/// The name of the file in the directory of the state.
const FILE: &str = "queue.redb";

/// A container of a namespace on a digest: a hash of both and of what it replaces in its image.
pub type ContainerKey = [u8; 32];

/// The database file of the queue.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    /// `None` while it cannot be opened again.
    database: RwLock<Option<Database>>,
}

/// A change of the file.
#[derive(Debug, Clone)]
pub enum Change {
    /// A job is new, or more urgent.
    Put(Job),
    /// A job is finished.
    Remove(JobKey),
    /// A container passed, on the day 0, or would have been denied for the first time on a day.
    Passed(ContainerKey, i32),
    /// A scan that Harbor asked for, by its id, is new, changed, or forgotten.
    Scan(String, Option<Vec<u8>>),
}

impl Store {
    /// Opens or creates the file in a directory, which is created.
    ///
    /// # Errors
    /// The file cannot be read or written, is damaged, or another process uses it.
    pub fn open(directory: &Path) -> Result<Self> {
        let path = directory.join(FILE);
        std::fs::create_dir_all(directory).map_err(|error| failed(&path, error.into()))?;
        let database = Database::create(&path).map_err(|error| failed(&path, error.into()))?;
        std::fs::set_permissions(&path, Permissions::from_mode(MODE))
            .map_err(|error| failed(&path, error.into()))?;
        let database = RwLock::new(Some(database));
        let store = Store { path, database };
        // Tables that exist can be read without care.
        store.write(&[])?;
        Ok(store)
    }

    /// All jobs.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn jobs(&self) -> Result<Vec<Job>> {
        self.with(|database| {
            let transaction = database.begin_read()?;
            let table = transaction.open_table(JOBS)?;
            let mut jobs = Vec::new();
            for entry in table.iter()? {
                let (_, job) = entry?;
                // One of another version is not lost: whoever needs it asks again.
                jobs.extend(serde_json::from_slice::<Job>(job.value()));
            }
            Ok(jobs)
        })
    }

    /// All scans, by their ids.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn scans(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.with(|database| {
            let transaction = database.begin_read()?;
            let table = transaction.open_table(SCANS)?;
            let mut scans = Vec::new();
            for entry in table.iter()? {
                let (id, scan) = entry?;
                scans.push((id.value().to_owned(), scan.value().to_owned()));
            }
            Ok(scans)
        })
    }

    /// The day of a container that once passed: see [`Change::Passed`].
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn passed(&self, key: &ContainerKey) -> Result<Option<i32>> {
        self.with(|database| {
            let transaction = database.begin_read()?;
            let table = transaction.open_table(PASSED)?;
            Ok(table.get(key)?.map(|day| day.value()))
        })
    }

    /// Makes changes, all or none. When this returns, they are on disk.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, changes: &[Change]) -> Result<()> {
        self.with(|database| {
            let transaction = database.begin_write()?;
            {
                let mut jobs = transaction.open_table(JOBS)?;
                let mut passed = transaction.open_table(PASSED)?;
                let mut scans = transaction.open_table(SCANS)?;
                for change in changes {
                    match change {
                        Change::Put(job) => {
                            let key = (job.key.digest.as_str(), job.key.architecture.as_str());
                            let bytes = serde_json::to_vec(job).unwrap_or_default();
                            jobs.insert(key, bytes.as_slice())?;
                        }
                        Change::Remove(key) => {
                            jobs.remove((key.digest.as_str(), key.architecture.as_str()))?;
                        }
                        Change::Passed(key, day) => {
                            passed.insert(key, day)?;
                        }
                        Change::Scan(id, Some(scan)) => {
                            scans.insert(id.as_str(), scan.as_slice())?;
                        }
                        Change::Scan(id, None) => {
                            scans.remove(id.as_str())?;
                        }
                    }
                }
            }
            transaction.commit()?;
            Ok(())
        })
    }

    /// Does something with the file. redb refuses everything after a failure of the disk, until the file is opened again.
    fn with<T>(
        &self,
        work: impl Fn(&Database) -> std::result::Result<T, redb::Error>,
    ) -> Result<T> {
        let now = || match &*self.database.read().unwrap_or_else(PoisonError::into_inner) {
            Some(database) => work(database),
            None => Err(redb::Error::PreviousIo),
        };
        let answer = match now() {
            Err(redb::Error::PreviousIo) => self.open_again().and_then(|()| now()),
            answer => answer,
        };
        answer.map_err(|error| failed(&self.path, error))
    }

    fn open_again(&self) -> std::result::Result<(), redb::Error> {
        let mut database = self
            .database
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        // Its lock is given back first.
        *database = None;
        *database = Some(Database::create(&self.path)?);
        Ok(())
    }
}

fn failed(path: &Path, error: redb::Error) -> Error {
    let name = path.display().to_string();
    let (problem, help) = match &error {
        redb::Error::DatabaseAlreadyOpen => (
            "another process uses the queue".to_owned(),
            "give each replica a directory of its own with --state",
        ),
        redb::Error::Io(error) => (
            format!("the queue cannot be read or written: {error}"),
            "name a directory with --state that this user may write to, with free space; a damaged file may be deleted: images are then read when they are asked for",
        ),
        error => (
            format!("the queue is damaged: {error}"),
            "delete the file: images are then read when they are asked for",
        ),
    };
    Error::new(ErrorCode::Output, name, problem).with_help(help)
}
