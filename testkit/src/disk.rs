//! File systems that are full or take nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::tools::{required, run, say};

/// A small file system, mounted over a directory until it is dropped.
#[derive(Debug)]
pub struct Disk {
    path: PathBuf,
}

impl Disk {
    /// Mounts it with room for `size`, such as `16k`. `None` where nothing can be mounted; the tests that need it are skipped, and say so.
    ///
    /// # Panics
    /// Nothing can be mounted, and `IMGCHECK_REQUIRE_TOOLS=1`.
    #[must_use]
    pub fn mount(path: &Path, size: &str) -> Option<Self> {
        let options = format!("size={size},mode=700");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(path)
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            let path = path.to_owned();
            return Some(Disk { path });
        }
        assert!(
            !required(),
            "nothing can be mounted, and IMGCHECK_REQUIRE_TOOLS=1"
        );
        say("skipped: nothing can be mounted here (it needs root)");
        None
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Mounts it again with another option: `ro`, `rw`, `size=8m`.
    ///
    /// # Panics
    /// It cannot be mounted.
    pub fn remount(&self, option: &str) {
        let options = format!("remount,{option}");
        run("mount", &["-o", &options, &self.path.display().to_string()]);
    }

    /// Writes a file until there is no room.
    ///
    /// # Panics
    /// There is room for 64 MiB.
    pub fn fill(&self) {
        let filler = self.path.join("filler");
        assert!(fs::write(filler, vec![1; 64 << 20]).is_err());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).status();
    }
}
