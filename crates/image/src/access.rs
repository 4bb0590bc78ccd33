//! What a user may do with a file: the permission bits ([`path_resolution(7)`](https://man7.org/linux/man-pages/man7/path_resolution.7.html),
//! "Permissions"). Access control lists are not modeled.

use super::{Node, Permissions};
use imgcheck_archive::archive::capabilities::FILE_CAPABILITIES;

/// A user and the groups of a process; the default is root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// User id.
    pub uid: u32,
    /// Group ids.
    pub gids: Vec<u32>,
}

/// What a process does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Opens it, or lists it.
    Read,
    /// Writes it, or makes and removes files in it.
    Write,
    /// Executes it, or looks up files in it.
    Execute,
}

impl Access {
    /// The bits of this right, for owner, group and others.
    fn bits(self) -> u32 {
        match self {
            Access::Read => 0o444,
            Access::Write => 0o222,
            Access::Execute => 0o111,
        }
    }
}

impl Node<'_> {
    /// Whether a user may do this with the file or directory itself. A directory that no layer lists is open to everybody to read, as
    /// container engines make it.
    pub fn allows(self, user: &Credentials, access: Access) -> bool {
        let Some(permissions) = self.permissions() else {
            return user.uid == 0 || access != Access::Write;
        };
        let granted = permissions.mode & access.bits();
        // The superuser only needs one of the bits, and only to execute a file.
        if user.uid == 0 {
            return access != Access::Execute || self.is_directory() || granted != 0;
        }
        let class = if user.uid == permissions.owner.uid {
            0o700
        } else if user.gids.contains(&permissions.owner.gid) {
            0o070
        } else {
            0o007
        };
        granted & class != 0
    }

    /// Whether the kernel sets AT_SECURE when a user starts this program: it changes the user or the group, or a user other than root gains
    /// capabilities by it (`bprm_fill_uid` in fs/exec.c and `cap_bprm_creds_from_file` in security/commoncap.c of Linux).
    pub fn is_secure_for(self, user: &Credentials) -> bool {
        const SET_USER_ID: u32 = 0o4000;
        /// Without the right to execute, the bit means something else.
        const SET_GROUP_ID: u32 = 0o2010;
        let Some(Permissions { mode, owner }) = self.permissions() else {
            return false;
        };
        let gid = user.gids.first().copied().unwrap_or(0);
        mode & SET_USER_ID != 0 && owner.uid != user.uid
            || mode & SET_GROUP_ID == SET_GROUP_ID && owner.gid != gid
            || mode & FILE_CAPABILITIES != 0 && user.uid != 0
    }

    /// Whether a user may list a directory and look up the files in it.
    pub fn is_searchable(self, user: &Credentials) -> bool {
        self.allows(user, Access::Read) && self.allows(user, Access::Execute)
    }
}
