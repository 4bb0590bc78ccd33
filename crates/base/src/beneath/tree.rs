//! Files that a user names, in a tree that others may have written: a checked-out repository.

use std::env;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::types::{Links, leads_out};
use super::{directory, file, root};

/// The tree that a named file belongs to. Links are followed as long as they stay in it.
#[derive(Debug, Clone)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The working directory, for a path below it; else the directory of the file.
    pub fn of(path: &Path) -> Self {
        Tree::working(path).unwrap_or_else(|| Tree::within(path.parent().unwrap_or(path)))
    }

    /// A directory.
    pub fn within(directory: &Path) -> Self {
        Tree {
            root: absolute(directory),
        }
    }

    /// The working directory, for a path below it.
    pub fn working(path: &Path) -> Option<Self> {
        let root = env::current_dir().ok()?;
        let is_below = absolute(path).starts_with(&root) && root.parent().is_some();
        is_below.then_some(Tree { root })
    }

    /// Opens a regular file of the tree.
    ///
    /// # Errors
    /// It does not exist, is not a regular file, is not in the tree, or access is denied.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        file(&root(&self.root)?, &self.below(path)?, Links::Beneath)
    }

    /// Opens a regular file of a directory of the tree.
    ///
    /// # Errors
    /// Same as [`open`](Self::open); also if a link leads out of the directory.
    pub fn open_in(&self, parent: &Path, path: &Path) -> io::Result<File> {
        let parent = directory(&root(&self.root)?, &self.below(parent)?, Links::Beneath)?;
        file(&parent, path, Links::Beneath)
    }

    fn below(&self, path: &Path) -> io::Result<PathBuf> {
        let path = absolute(path);
        let below = path.strip_prefix(&self.root);
        below.map(Path::to_owned).map_err(|_| leads_out())
    }
}

/// The path from the root of the file system, without `.` and `..`.
fn absolute(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for component in env::current_dir()
        .unwrap_or_default()
        .join(path)
        .components()
    {
        match component {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            other => whole.push(other),
        }
    }
    whole
}
