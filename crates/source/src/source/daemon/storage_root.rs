//! The root directory of a container engine.

use std::io::Read;
use std::path::{Path, PathBuf};

use bollard::models::SystemInfo;

use crate::source::overlay::{Attributes, Overlay};
use imgcheck_base::beneath::{self, Directory, Links};
use imgcheck_base::limits::{Limit, Limits};

/// The root directory of an engine. No link in it is followed, no device or fifo opened.
#[derive(Debug)]
pub(super) struct StorageRoot {
    path: PathBuf,
    directory: Directory,
    /// The largest file to read, in bytes.
    limit: u64,
}

impl StorageRoot {
    /// The directory that the engine reports. `None` if it cannot be read.
    pub fn new(info: &SystemInfo, limits: &Limits) -> Option<Self> {
        Self::at(Path::new(info.docker_root_dir.as_ref()?), limits)
    }

    /// A directory; `None` if it cannot be read.
    pub fn at(path: &Path, limits: &Limits) -> Option<Self> {
        Some(StorageRoot {
            directory: beneath::root(path).ok()?,
            path: path.to_owned(),
            limit: limits.of(Limit::DocumentBytes),
        })
    }

    /// The content of a small file.
    pub fn read(&self, name: &Path) -> Option<Vec<u8>> {
        let file = beneath::file(&self.directory, name, Links::Refused).ok()?;
        let mut bytes = Vec::new();
        let one_more = self.limit.saturating_add(1);
        file.take(one_more).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= self.limit).then_some(bytes)
    }

    /// The content of a small text file, trimmed.
    pub fn line(&self, name: &Path) -> Option<String> {
        let text = String::from_utf8(self.read(name)?).ok()?;
        Some(text.trim().to_owned())
    }

    /// The content of a directory.
    pub fn list(&self, name: &Path) -> Option<Vec<PathBuf>> {
        let directory = self.directory(name)?;
        let names = beneath::names(&directory).ok()?.flatten();
        Some(names.map(|found| name.join(found)).collect())
    }

    /// A layer, if its directory exists.
    pub fn overlay(
        &self,
        directory: PathBuf,
        attributes: Attributes,
        record: PathBuf,
    ) -> Option<Overlay> {
        self.directory(&directory)?;
        Some(Overlay {
            storage: self.path.clone(),
            directory,
            attributes,
            record,
        })
    }

    fn directory(&self, name: &Path) -> Option<Directory> {
        beneath::directory(&self.directory, name, Links::Refused).ok()
    }
}

/// Whether a name from the storage is that of a directory beside others, and leads nowhere else.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
