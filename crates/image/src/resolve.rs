//! Resolves paths as Linux does ([`path_resolution(7)`](https://man7.org/linux/man-pages/man7/path_resolution.7.html)), never outside
//! the root of the image.

use thiserror::Error;

use imgcheck_base::lexical::{directory_of, name_of};

use super::{Access, Credentials, Node, NodeId, ROOT, RootFilesystem};

/// Linux follows 40 symbolic links in one lookup (`MAXSYMLINKS`, `include/linux/namei.h`).
pub(crate) const MAX_LINKS: usize = 40;

/// Length of a path or link target, with the final NUL, from which on Linux rejects it (`PATH_MAX`, `include/uapi/linux/limits.h`).
pub(crate) const PATH_MAX: usize = 4096;

/// Longest file name in the filesystems that images are unpacked to (`NAME_MAX`, `include/uapi/linux/limits.h`).
const NAME_MAX: usize = 255;

/// Why a path cannot be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ResolveError {
    /// ENOENT.
    #[error("no such file or directory")]
    NotFound,
    /// ENOTDIR.
    #[error("a component of the path is not a directory")]
    NotADirectory,
    /// EACCES.
    #[error("permission denied")]
    Denied,
    /// ELOOP.
    #[error("too many levels of symbolic links")]
    Loop,
    /// ENAMETOOLONG.
    #[error("path or link target too long")]
    NameTooLong,
}

impl<'a> RootFilesystem<'a> {
    /// The node that a path refers to, with all symbolic links followed. A relative path starts at the root, too.
    pub fn resolve(&self, path: &str) -> Result<Node<'_>, ResolveError> {
        self.walk(ROOT, path, true).map(|id| self.node(id))
    }

    /// The node that a path refers to for a user, who may not be allowed to search a directory on the way.
    pub fn resolve_as(&self, path: &str, user: &Credentials) -> Result<Node<'_>, ResolveError> {
        self.walk_as(ROOT, path, true, Some(user))
            .map(|id| self.node(id))
    }

    /// The node at a path. A symbolic link as the last component is not followed.
    pub fn entry(&self, path: &str) -> Option<Node<'_>> {
        self.walk(ROOT, path, false).ok().map(|id| self.node(id))
    }

    /// Where an absolute path leads, even if nothing is there: links are followed as far as the image has them.
    pub fn destination(&self, path: &str) -> String {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let ends = path.match_indices('/').map(|(at, _)| at).skip(1);
            let mut ends = ends.chain([path.len()]);
            let Some(end) = ends.find(|end| self.resolve(&path[..*end]).is_err()) else {
                return self.resolve(&path).map_or(path, Node::path);
            };
            let (above, rest) = (directory_of(&path[..end]), &path[end..]);
            let above = self.resolve(above).map(Node::path).unwrap_or_default();
            let above = above.trim_end_matches('/');
            let missing = self.walk(ROOT, &path[..end], false);
            let target = missing.ok().and_then(|id| self.symlink_target(id));
            path = match target {
                Some(target) if target.starts_with('/') => format!("{target}{rest}"),
                Some(target) => format!("{above}/{target}{rest}"),
                None => return format!("{above}/{}{rest}", name_of(&path[..end])),
            };
        }
        path
    }

    /// The entries of the directory that a path refers to, in the order of their names; empty without such a directory.
    pub fn read_dir<'r>(&'r self, path: &str) -> impl Iterator<Item = Node<'r>> + use<'r, 'a> {
        self.resolve(path).into_iter().flat_map(Node::children)
    }

    /// Resolves a path with the directory `root` as the root.
    pub(crate) fn walk(
        &self,
        root: NodeId,
        path: &str,
        follow_last: bool,
    ) -> Result<NodeId, ResolveError> {
        self.walk_as(root, path, follow_last, None)
    }

    fn walk_as(
        &self,
        root: NodeId,
        path: &str,
        follow_last: bool,
        user: Option<&Credentials>,
    ) -> Result<NodeId, ResolveError> {
        if path.len() >= PATH_MAX {
            return Err(ResolveError::NameTooLong);
        }
        let mut current = root;
        let mut links = 0;
        // The rest of the path, and on top of it the rests of the targets of links on the way.
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
            if user.is_some_and(|user| !self.node(current).allows(user, Access::Execute)) {
                return Err(ResolveError::Denied);
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

/// Why a directory has no entry of this name.
fn missing(name: &str) -> ResolveError {
    match name.len() > NAME_MAX {
        true => ResolveError::NameTooLong,
        false => ResolveError::NotFound,
    }
}

impl<'r> Node<'r> {
    /// What an entry of this directory refers to, with symbolic links followed.
    pub fn lookup(self, name: &str) -> Option<Node<'r>> {
        let child = self.root.child(self.id, name)?;
        match self.root.symlink_target(child) {
            None => Some(self.root.node(child)),
            Some(_) => self.root.resolve(&self.root.node(child).path()).ok(),
        }
    }
}
