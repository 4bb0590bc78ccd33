//! A layer as the kernel's overlay file system keeps it (Linux, `Documentation/filesystems/overlayfs.rst`).

use std::fs;
use std::path::PathBuf;

/// An upper directory of an overlay: what a layer adds, and marks for what it removes.
#[derive(Debug, Clone)]
pub struct Overlay {
    /// The storage that the rest is part of.
    pub storage: PathBuf,
    /// What the layer adds: a directory, from the storage on.
    pub directory: PathBuf,
    /// Which extended attributes mark what it removes.
    pub attributes: Attributes,
    /// Is there, from the storage on, as long as the directory is whole: its owner removes this one first.
    pub record: PathBuf,
}

impl Overlay {
    /// Where the directory is.
    pub fn path(&self) -> PathBuf {
        self.storage.join(&self.directory)
    }
}

/// The name space of the attributes of an overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attributes {
    /// `trusted.overlay.`, which only the administrator of the machine sees.
    Trusted,
    /// `user.overlay.`, of an overlay that a user has mounted (`userxattr`).
    User,
}

impl Attributes {
    /// The name of an attribute.
    pub fn name(self, attribute: &str) -> String {
        let space = match self {
            Attributes::Trusted => "trusted",
            Attributes::User => "user",
        };
        format!("{space}.overlay.{attribute}")
    }

    /// Whether this process sees them: of trusted ones the kernel says that there are none, even to the root of a user
    /// namespace (`xattr(7)`).
    pub(super) fn are_seen(self) -> bool {
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
