//! Converts members of an archive to entries: paths, links, whiteouts.

use imgcheck_archive::archive::path::{display, normalise};
use imgcheck_archive::archive::{Member, MemberKind};
use imgcheck_image::{Content, Entry, EntryKind};

/// OCI image specification, "Whiteouts".
const WHITEOUT: &str = ".wh.";
const OPAQUE: &str = ".wh..wh..opq";
/// Metadata of aufs at the top of old layers, which container engines ignore. They do not ignore files in such a directory.
const AUFS: [&str; 3] = [".wh..wh.aufs", ".wh..wh.orph", ".wh..wh.plnk"];

/// The entry of a member, with the content of a file still unread. `None` for the root and for what container engines ignore; the error
/// says what is wrong.
pub(crate) fn entry(member: &Member) -> Result<Option<Entry>, String> {
    let path = normalise(&member.path);
    if is_whiteout(&path) {
        return whiteout(&path);
    }
    if path.is_empty() {
        return Ok(None);
    }
    let link = normalise(&member.link);
    if member.kind == MemberKind::HardLink && link.starts_with(WHITEOUT) {
        return Err(format!(
            "{path} is a hard link to the whiteout {link}, which not every container engine accepts"
        ));
    }
    let kind = match member.kind {
        MemberKind::File => EntryKind::File(Content::Unread),
        MemberKind::Directory => EntryKind::Directory,
        MemberKind::Symlink => EntryKind::Symlink(display(&member.link)),
        MemberKind::HardLink => EntryKind::HardLink(link),
        MemberKind::Special => EntryKind::Special,
        MemberKind::WhiteoutDevice => EntryKind::WhiteoutDevice,
    };
    Ok(Some(Entry {
        path,
        kind,
        size: member.size,
        mode: member.mode,
        owner: member.owner,
    }))
}

/// Whether a component of the path has the name of a whiteout.
pub(crate) fn is_whiteout(path: &str) -> bool {
    path.contains(WHITEOUT) && path.split('/').any(|name| name.starts_with(WHITEOUT))
}

/// The entry of a whiteout; `None` for what container engines ignore.
pub(crate) fn whiteout(path: &str) -> Result<Option<Entry>, String> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    if AUFS.contains(&path) {
        return Ok(None);
    }
    // The specification does not mention such names, and container engines disagree about them.
    if directory.split('/').any(|name| name.starts_with(WHITEOUT)) {
        return Err(format!(
            "{path} is in a directory with the name of a whiteout"
        ));
    }
    let entry = |path: String, kind| {
        Ok(Some(Entry {
            path,
            kind,
            size: 0,
            mode: 0,
            owner: Default::default(),
        }))
    };
    if name == OPAQUE {
        return entry(directory.to_owned(), EntryKind::Opaque);
    }
    match name.strip_prefix(WHITEOUT) {
        Some(removed) if removed.is_empty() || removed == "." || removed == ".." => {
            Err(format!("the whiteout {path} names nothing"))
        }
        Some(removed) if directory.is_empty() => entry(removed.to_owned(), EntryKind::Whiteout),
        Some(removed) => entry(format!("{directory}/{removed}"), EntryKind::Whiteout),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Result<Option<(String, EntryKind)>, String> {
        let member = Member {
            path: path.into(),
            kind: MemberKind::File,
            link: Vec::new(),
            mode: 0o644,
            owner: Default::default(),
            size: 0,
            offset: 0,
            stored: 0,
            sparse: None,
        };
        entry(&member).map(|entry| entry.map(|entry| (entry.path, entry.kind)))
    }

    #[test]
    fn whiteouts() {
        let removed = |path: &str| Ok(Some((path.to_owned(), EntryKind::Whiteout)));
        let opaque = |path: &str| Ok(Some((path.to_owned(), EntryKind::Opaque)));
        assert_eq!(of("./usr/.wh.lib"), removed("usr/lib"));
        assert_eq!(of(".wh.etc"), removed("etc"));
        assert_eq!(of("usr/.wh..hidden"), removed("usr/.hidden"));
        assert_eq!(of("usr/.wh..wh..opq"), opaque("usr"));
        assert_eq!(of(".wh..wh..opq"), opaque(""));
        assert_eq!(of(".wh..wh.plnk/"), Ok(None));
        assert_eq!(of(".wh..wh.aufs"), Ok(None));
        assert_eq!(of("usr/.wh..wh.aufs"), removed("usr/.wh.aufs"));
        for below in [
            ".wh.opt/lib.so",
            ".wh..wh.plnk/1.2",
            "usr/.wh..wh.plnk/1",
            "a/.wh..wh..opq/b",
        ] {
            assert!(of(below).is_err(), "{below}");
        }
        assert!(of("usr/.wh.").is_err());
        assert!(of("usr/.wh...").is_err());
        assert_eq!(
            of("usr/a.wh.b"),
            Ok(Some((
                "usr/a.wh.b".to_owned(),
                EntryKind::File(Content::Unread)
            )))
        );
    }
}
