//! The user of a container (OCI image specification, `config.md`, "User").

use std::rc::Rc;

use crate::image::{Node, RootFilesystem};

/// The user that a container starts as.
#[derive(Debug, Clone)]
pub(super) struct User {
    /// User and group as the image configuration writes them.
    pub written: Rc<str>,
    /// `None` if the name is not in `/etc/passwd`, or that was not read.
    pub id: Option<u32>,
    /// The home directory that a container engine sets HOME to.
    pub home: String,
    /// The user name; empty if it is unknown.
    pub name: String,
}

impl User {
    pub fn of(root: &RootFilesystem, written: &str) -> Self {
        let user = written.split(':').next().unwrap_or_default();
        let passwd = root.resolve("/etc/passwd").ok().and_then(Node::text);
        let lines = passwd.into_iter().flat_map(str::lines);
        let mut rows = lines.map(|line| line.split(':').collect::<Vec<_>>());
        let user = if user.is_empty() { "0" } else { user };
        let row = rows.find(|row| row.first() == Some(&user) || row.get(2) == Some(&user));
        let field = |index: usize| row.as_ref().and_then(|row| row.get(index).copied());
        let id = field(2).unwrap_or(user).parse().ok();
        let id = id.or((user == "root").then_some(0));
        let home = field(5).map(str::to_owned);
        User {
            written: written.into(),
            id,
            home: home.unwrap_or_else(|| if id == Some(0) { "/root" } else { "/" }.to_owned()),
            name: field(0).unwrap_or_default().to_owned(),
        }
    }
}
