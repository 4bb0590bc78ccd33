//! The members of a tar archive by name, with the links between them.

use std::collections::HashMap;

use crate::archive::path::{display, normalise};
use crate::archive::{Member, MemberKind};

/// The longest chain of links. Old archives link a layer to an equal layer of another image.
const LINK_DEPTH: usize = 8;

/// Members by name. Links are followed by name, within the archive.
#[derive(Debug)]
pub(super) struct Members<T>(HashMap<String, Entry<T>>);

#[derive(Debug)]
enum Entry<T> {
    File(T),
    Link(String),
}

impl<T> Default for Members<T> {
    fn default() -> Self {
        Members(HashMap::new())
    }
}

impl<T> Members<T> {
    /// Adds a file. It replaces an earlier member with its name.
    pub fn add_file(&mut self, name: String, file: T) {
        self.0.insert(name, Entry::File(file));
    }

    /// Adds a link; ignores other members.
    pub fn add_link(&mut self, member: &Member) {
        let name = normalise(&member.path);
        let target = match member.kind {
            MemberKind::HardLink => normalise(&member.link),
            MemberKind::Symlink => resolve(&name, &display(&member.link)),
            _ => return,
        };
        self.0.insert(name, Entry::Link(target));
    }

    /// The file with this name, or to which a link with this name leads, and its own name.
    pub fn get(&self, name: &str) -> Option<(String, &T)> {
        let mut name = normalise(name.as_bytes());
        for _ in 0..LINK_DEPTH {
            match self.0.get(&name)? {
                Entry::File(file) => return Some((name, file)),
                Entry::Link(target) => name.clone_from(target),
            }
        }
        None
    }

    /// Whether the top directory contains this name.
    pub fn has_at_top(&self, prefix: &str) -> bool {
        self.0
            .keys()
            .any(|name| name.split('/').next() == Some(prefix))
    }
}

/// The target of a symbolic link, relative to its directory.
fn resolve(link: &str, target: &str) -> String {
    let directory = link.rsplit_once('/').map_or("", |(directory, _)| directory);
    if target.starts_with('/') {
        normalise(target.as_bytes())
    } else {
        normalise(format!("{directory}/{target}").as_bytes())
    }
}
