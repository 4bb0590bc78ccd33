//! The archive of a layer, member by member, with names as they are given: nothing is tidied up.

/// A member of a layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// As it is written in the header.
    pub name: String,
    pub kind: Kind,
    pub mode: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Directory,
    File(String),
    Symlink(String),
    HardLink(String),
    Fifo,
    /// A character device of this number.
    Device(u32),
}

impl Member {
    pub fn new(name: &str, kind: Kind) -> Self {
        let mode = match kind {
            Kind::Directory => 0o755,
            Kind::Symlink(_) => 0o777,
            _ => 0o644,
        };
        Member {
            name: name.to_owned(),
            kind,
            mode,
        }
    }
}

/// The archive of these members.
pub fn archive(members: &[Member]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for member in members {
        let mut header = tar::Header::new_gnu();
        let (entry_type, content, link) = match &member.kind {
            Kind::Directory => (tar::EntryType::Directory, "", ""),
            Kind::File(content) => (tar::EntryType::Regular, &**content, ""),
            Kind::Symlink(target) => (tar::EntryType::Symlink, "", &**target),
            Kind::HardLink(target) => (tar::EntryType::Link, "", &**target),
            Kind::Fifo => (tar::EntryType::Fifo, "", ""),
            Kind::Device(_) => (tar::EntryType::Char, "", ""),
        };
        let number = match member.kind {
            Kind::Device(number) => number,
            _ => 0,
        };
        header.set_entry_type(entry_type);
        header.set_mode(member.mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(content.len() as u64);
        header.set_device_major(number).unwrap();
        header.set_device_minor(number).unwrap();
        let fields = header.as_old_mut();
        fields.name[..member.name.len()].copy_from_slice(member.name.as_bytes());
        fields.linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_cksum();
        builder.append(&header, content.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}
