//! The members of a tar archive by name.
//!
//! Container engines disagree about unusual names: Docker unpacks the archive, so that the last member with a name wins and links are
//! followed; containerd reads the members in order and cleans their names; Podman and skopeo take the first member with exactly the
//! name. So only names that all of them understand in the same way are accepted.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use imgcheck_archive::archive::path::{display, normalise};
use imgcheck_archive::archive::{Member, MemberKind};

/// Members by name.
#[derive(Debug)]
pub(super) struct Members<T>(HashMap<String, Entry<T>>);

#[derive(Debug)]
enum Entry<T> {
    File(T),
    /// A symbolic link with its target as stored.
    Symlink(String),
    /// Not usable, and why.
    Refused(&'static str),
}

const REPEATED: &str = "occurs twice in the archive, with different content: which one counts depends on the container engine";
const NOT_NORMAL: &str = "is not in normal form (a leading `/` or `./`, an empty, `.` or `..` component): what it names depends on the container engine";
const NOT_A_FILE: &str = "is not a regular file";
const BELOW_LINK: &str =
    "is below a member that is not a directory: what it names depends on the container engine";
const LINK: &str = "is a link to something that is not a regular file in the archive";

/// A file, with its name, or why it is not usable.
pub(super) type Lookup<'a, T> = Result<Option<(String, &'a T)>, &'static str>;

impl<T> Default for Members<T> {
    fn default() -> Self {
        Members(HashMap::new())
    }
}

impl<T> Members<T> {
    /// Adds a member; `file` says where a regular file is. A member may be repeated if `is_same` finds that the content is, too: some
    /// tools write the configuration that two images share twice.
    pub fn add(&mut self, member: &Member, file: Option<T>, is_same: impl FnOnce(&T, &T) -> bool) {
        let name = normalise(&member.path);
        let entry = match (member.kind, file) {
            (MemberKind::Directory, _) => return,
            _ if name.as_bytes() != member.path => Entry::Refused(NOT_NORMAL),
            (MemberKind::Symlink, _) => Entry::Symlink(display(&member.link)),
            (_, Some(file)) => Entry::File(file),
            _ => Entry::Refused(NOT_A_FILE),
        };
        match self.0.entry(name) {
            Slot::Vacant(slot) => {
                slot.insert(entry);
            }
            Slot::Occupied(mut slot) => match (slot.get(), &entry) {
                (Entry::File(first), Entry::File(second)) if is_same(first, second) => {}
                (Entry::Refused(_), _) => {}
                _ => {
                    slot.insert(Entry::Refused(REPEATED));
                }
            },
        }
    }

    /// The regular file with this name.
    pub fn get(&self, name: &str) -> Lookup<'_, T> {
        match self.entry(name)? {
            None => Ok(None),
            Some(Entry::File(file)) => Ok(Some((name.to_owned(), file))),
            Some(Entry::Symlink(_)) => Err(NOT_A_FILE),
            Some(Entry::Refused(problem)) => Err(problem),
        }
    }

    /// The same, or the file that a symbolic link with this name leads to. `docker save` (before version 25), `podman save` and skopeo
    /// link a layer that occurs twice to the first one; engines follow one link.
    pub fn follow(&self, name: &str) -> Lookup<'_, T> {
        match self.entry(name)? {
            Some(Entry::Symlink(target)) => {
                let target = resolve(name, target).ok_or(LINK)?;
                self.get(&target)?.ok_or(LINK).map(Some)
            }
            _ => self.get(name),
        }
    }

    fn entry(&self, name: &str) -> Result<Option<&Entry<T>>, &'static str> {
        if normalise(name.as_bytes()) != name {
            return Err(NOT_NORMAL);
        }
        let directories = name.match_indices('/').map(|(at, _)| &name[..at]);
        match { directories }.any(|directory| self.0.contains_key(directory)) {
            true => Err(BELOW_LINK),
            false => Ok(self.0.get(name)),
        }
    }

    /// Whether there is a member with this name that is not a directory.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Whether the top directory contains this name.
    pub fn has_at_top(&self, prefix: &str) -> bool {
        self.0
            .keys()
            .any(|name| name.split('/').next() == Some(prefix))
    }
}

/// The target of a symbolic link, relative to its directory. `None` if it is absolute, or goes up again after it went down: engines
/// resolve such targets differently.
fn resolve(link: &str, target: &str) -> Option<String> {
    let mut directory = link.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut rest = target;
    while let Some(up) = rest.strip_prefix("../") {
        if directory.is_empty() {
            return None;
        }
        directory = directory.rsplit_once('/').map_or("", |(parent, _)| parent);
        rest = up;
    }
    let is_normal = !rest.is_empty() && normalise(rest.as_bytes()) == rest;
    is_normal.then(|| match directory {
        "" => rest.to_owned(),
        directory => format!("{directory}/{rest}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(list: &[(&str, MemberKind, &str)]) -> Members<u32> {
        let mut members = Members::default();
        for (at, (path, kind, link)) in list.iter().enumerate() {
            let member = Member {
                path: (*path).into(),
                kind: *kind,
                link: (*link).into(),
                mode: 0o644,
                owner: Default::default(),
                size: 0,
                offset: 0,
                stored: 0,
                sparse: None,
            };
            let file = (*kind == MemberKind::File).then_some(at as u32);
            members.add(&member, file, |_, second| *second == 9);
        }
        members
    }

    fn found(members: &Members<u32>, name: &str) -> Result<Option<u32>, &'static str> {
        members
            .follow(name)
            .map(|found| found.map(|(_, file)| *file))
    }

    use MemberKind::{Directory, File, HardLink, Special, Symlink};

    #[test]
    fn unusual_names_are_refused() {
        for (list, problem) in [
            (&[("a", File, ""), ("a", File, "")][..], REPEATED),
            (&[("a", File, ""), ("a", Symlink, "b")], REPEATED),
            (&[("a", File, ""), ("./a", File, "")], REPEATED),
            (&[("./a", File, "")], NOT_NORMAL),
            (&[("/a", File, "")], NOT_NORMAL),
            (&[("x/../a", File, "")], NOT_NORMAL),
            (&[("a", HardLink, "b"), ("b", File, "")], NOT_A_FILE),
            (&[("a", Special, "")], NOT_A_FILE),
        ] {
            let members = members(list);
            assert!(members.contains("a"), "{list:?}");
            assert_eq!(found(&members, "a"), Err(problem), "{list:?}");
        }
        let below = members(&[("a/b", File, ""), ("a", Symlink, "x"), ("x/b", File, "")]);
        assert_eq!(found(&below, "a/b"), Err(BELOW_LINK));
        assert_eq!(found(&below, "./x/b"), Err(NOT_NORMAL));
        assert_eq!(found(&below, "x/b"), Ok(Some(2)));
    }

    #[test]
    fn ordinary_names_are_found() {
        let members = members(&[
            ("a/", Directory, ""),
            ("a/b", File, ""),
            ("a/", Directory, ""),
        ]);
        assert_eq!(found(&members, "a/b"), Ok(Some(1)));
        assert_eq!(found(&members, "c"), Ok(None));
    }

    #[test]
    fn one_relative_link_is_followed_for_layers_only() {
        let list = [
            ("1/layer.tar", File, ""),
            ("2/layer.tar", Symlink, "../1/layer.tar"),
            ("twice", Symlink, "2/layer.tar"),
            ("absolute", Symlink, "/1/layer.tar"),
            ("up/and", Symlink, "../1/../1/layer.tar"),
            ("outside", Symlink, "../1/layer.tar"),
            ("missing", Symlink, "3/layer.tar"),
            ("loop", Symlink, "loop"),
        ];
        let members = members(&list);
        assert_eq!(found(&members, "2/layer.tar"), Ok(Some(0)));
        assert_eq!(members.get("2/layer.tar"), Err(NOT_A_FILE));
        assert_eq!(found(&members, "twice"), Err(NOT_A_FILE));
        assert_eq!(found(&members, "loop"), Err(NOT_A_FILE));
        for name in ["absolute", "up/and", "outside", "missing"] {
            assert_eq!(found(&members, name), Err(LINK), "{name}");
        }
    }
}
