//! Paths to nodes, as Linux resolves them (`path_resolution(7)`), never leaving the root of the image.

use thiserror::Error;

use super::{Node, NodeId, ROOT, RootFilesystem};

/// Linux follows 40 symbolic links in one lookup (`MAXSYMLINKS`, `include/linux/namei.h`).
pub(super) const MAX_LINKS: usize = 40;

/// Linux takes no path or link target of this length or more, the final NUL included (`PATH_MAX`, `include/uapi/linux/limits.h`).
pub(super) const PATH_MAX: usize = 4096;

/// The file systems that images are unpacked on take no longer name (`NAME_MAX`, `include/uapi/linux/limits.h`).
const NAME_MAX: usize = 255;

/// Why a path leads to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ResolveError {
    /// ENOENT.
    #[error("no such file or directory")]
    NotFound,
    /// ENOTDIR.
    #[error("a component of the path is not a directory")]
    NotADirectory,
    /// ELOOP.
    #[error("too many levels of symbolic links")]
    Loop,
    /// ENAMETOOLONG.
    #[error("path or link target too long")]
    NameTooLong,
}

impl<'a> RootFilesystem<'a> {
    /// The node a path leads to, all symbolic links followed. A path without a leading `/` starts at the root, too.
    pub fn resolve(&self, path: &str) -> Result<Node<'_>, ResolveError> {
        self.walk(ROOT, path, true).map(|id| self.node(id))
    }

    /// The node at a path itself: a symbolic link as the last component is not followed.
    pub fn entry(&self, path: &str) -> Option<Node<'_>> {
        self.walk(ROOT, path, false).ok().map(|id| self.node(id))
    }

    /// The entries of the directory that a path leads to, in the order of their names; none if there is no such directory.
    pub fn read_dir<'r>(&'r self, path: &str) -> impl Iterator<Item = Node<'r>> + use<'r, 'a> {
        self.resolve(path).into_iter().flat_map(Node::children)
    }

    /// The same for a tree of which the directory `root` is the root.
    pub(super) fn walk(
        &self,
        root: NodeId,
        path: &str,
        follow_last: bool,
    ) -> Result<NodeId, ResolveError> {
        if path.len() >= PATH_MAX {
            return Err(ResolveError::NameTooLong);
        }
        let mut current = root;
        let mut links = 0;
        // What is left of the path, and above it what is left of the targets of the links met on the way.
        let mut pending = vec![path];
        while let Some(rest) = pending.pop() {
            let component = match rest.split_once('/') {
                Some((component, rest)) => {
                    pending.push(rest);
                    component
                }
                None => rest,
            };
            if !self.is_directory(current) {
                return Err(ResolveError::NotADirectory);
            }
            current = match component {
                "" | "." => current,
                ".." => self.data(current).parent,
                name => {
                    let child = self.child(current, name).ok_or(missing(name))?;
                    match self.symlink_target(child) {
                        Some(target) if follow_last || !pending.is_empty() => {
                            links += 1;
                            if links > MAX_LINKS {
                                return Err(ResolveError::Loop);
                            }
                            match target.len() {
                                0 => return Err(ResolveError::NotFound),
                                PATH_MAX.. => return Err(ResolveError::NameTooLong),
                                _ => pending.push(target),
                            }
                            if target.starts_with('/') {
                                root
                            } else {
                                current
                            }
                        }
                        _ => child,
                    }
                }
            };
        }
        Ok(current)
    }
}

/// Why there is nothing of that name in a directory.
fn missing(name: &str) -> ResolveError {
    match name.len() > NAME_MAX {
        true => ResolveError::NameTooLong,
        false => ResolveError::NotFound,
    }
}

impl<'r> Node<'r> {
    /// What an entry of this directory leads to, symbolic links followed.
    pub fn lookup(self, name: &str) -> Option<Node<'r>> {
        let child = self.root.child(self.id, name)?;
        match self.root.symlink_target(child) {
            None => Some(self.root.node(child)),
            Some(_) => self.root.resolve(&self.root.node(child).path()).ok(),
        }
    }
}
