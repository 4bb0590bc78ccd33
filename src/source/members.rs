//! The members of an archive by name, and the links between them.

use std::collections::HashMap;

use crate::archive::path::{display, normalise};
use crate::archive::{Kind, Member};

/// Old archives link a layer to an equal one of another image; there is never a long chain of links.
const LINK_DEPTH: usize = 8;

/// What is known of each member; links are followed by name, within the archive.
#[derive(Debug)]
pub(super) struct Members<T>(HashMap<String, Found<T>>);

#[derive(Debug)]
enum Found<T> {
    File(T),
    Link(String),
}

impl<T> Default for Members<T> {
    fn default() -> Self {
        Members(HashMap::new())
    }
}

impl<T> Members<T> {
    /// Takes a file, in place of any earlier member of its name.
    pub fn file(&mut self, name: String, file: T) {
        self.0.insert(name, Found::File(file));
    }

    /// Takes a link; other members are passed over.
    pub fn link(&mut self, member: &Member) {
        let name = normalise(&member.path);
        let target = match member.kind {
            Kind::HardLink => normalise(&member.link),
            Kind::Symlink => beside(&name, &display(&member.link)),
            _ => return,
        };
        self.0.insert(name, Found::Link(target));
    }

    /// The file of this name, or that a link of this name leads to, with the name that it has itself.
    pub fn get(&self, name: &str) -> Option<(String, &T)> {
        let mut name = normalise(name.as_bytes());
        for _ in 0..LINK_DEPTH {
            match self.0.get(&name)? {
                Found::File(file) => return Some((name, file)),
                Found::Link(target) => name.clone_from(target),
            }
        }
        None
    }

    /// Whether there is something of this name at the top.
    pub fn has_at_top(&self, prefix: &str) -> bool {
        self.0
            .keys()
            .any(|name| name.split('/').next() == Some(prefix))
    }
}

/// The target of a symbolic link, seen from the directory of the link.
fn beside(link: &str, target: &str) -> String {
    let directory = link.rsplit_once('/').map_or("", |(directory, _)| directory);
    if target.starts_with('/') {
        normalise(target.as_bytes())
    } else {
        normalise(format!("{directory}/{target}").as_bytes())
    }
}
