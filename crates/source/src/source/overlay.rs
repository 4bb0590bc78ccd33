//! A layer directory of the kernel's overlay file system (Linux, `Documentation/filesystems/overlayfs.rst`).

use std::fs;
use std::path::PathBuf;

/// The upper directory of a layer: the files that it adds, and marks for those that it removes.
#[derive(Debug, Clone)]
pub struct Overlay {
    /// The storage directory of the container engine.
    pub storage: PathBuf,
    /// The directory of the layer, relative to the storage.
    pub directory: PathBuf,
    /// The extended attributes that mark removed files.
    pub attributes: Attributes,
    /// A path relative to the storage that exists as long as the directory is complete: the engine removes it first.
    pub record: PathBuf,
}

impl Overlay {
    /// The path of the directory.
    pub fn path(&self) -> PathBuf {
        self.storage.join(&self.directory)
    }
}

/// The namespace of the extended attributes of an overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attributes {
    /// `trusted.overlay.`, visible only with CAP_SYS_ADMIN.
    Trusted,
    /// `user.overlay.`, of an overlay mounted by a user (`userxattr`).
    User,
}

impl Attributes {
    /// The full name of an attribute.
    pub fn name(self, attribute: &str) -> String {
        let space = match self {
            Attributes::Trusted => "trusted",
            Attributes::User => "user",
        };
        format!("{space}.overlay.{attribute}")
    }

    /// Whether this process can read them: the kernel hides trusted attributes even from the root user of a user namespace
    /// (`xattr(7)`).
    pub(super) fn are_visible(self) -> bool {
        const SYS_ADMIN: u64 = 1 << 21;
        let capabilities = || {
            let status = fs::read_to_string("/proc/self/status").ok()?;
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("CapEff:"))?;
            u64::from_str_radix(line.trim(), 16).ok()
        };
        let is_whole_machine = || {
            fs::read_to_string("/proc/self/uid_map")
                .is_ok_and(|map| map.split_whitespace().eq(["0", "0", "4294967295"]))
        };
        match self {
            Attributes::User => true,
            Attributes::Trusted => {
                is_whole_machine() && capabilities().is_some_and(|held| held & SYS_ADMIN != 0)
            }
        }
    }
}
