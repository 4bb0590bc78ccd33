//! The user of a container (OCI image specification, `config.md`, "User").

use std::rc::Rc;

use crate::image::{Credentials, Node, RootFilesystem};

/// The user that a program runs as.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// User and group as the image configuration writes them.
    pub written: Rc<str>,
    /// `None` if the name is not in `/etc/passwd`, or that was not read.
    pub id: Option<u32>,
    /// The home directory that a container engine sets HOME to.
    pub home: String,
    /// The user name; empty if it is unknown.
    pub name: String,
    /// What decides which files it may use. No container starts as a user that is unknown: that one counts as root.
    pub credentials: Credentials,
}

impl User {
    /// The user that a text such as `app`, `1000` or `1000:1000` names.
    pub fn of(root: &RootFilesystem, written: &str) -> Self {
        let (user, group) = match written.split_once(':') {
            Some((user, group)) => (user, Some(group)),
            None => (written, None),
        };
        let rows = |path: &str| -> Vec<Vec<&str>> {
            let text = root.resolve(path).ok().and_then(Node::text);
            let lines = text.into_iter().flat_map(str::lines);
            lines.map(|line| line.split(':').collect()).collect()
        };
        let user = if user.is_empty() { "0" } else { user };
        let has =
            |row: &Vec<&str>, key: &str| row.first() == Some(&key) || row.get(2) == Some(&key);
        let row = rows("/etc/passwd").into_iter().find(|row| has(row, user));
        let field = |index: usize| row.as_ref().and_then(|row| row.get(index).copied());
        let id = field(2).unwrap_or(user).parse().ok();
        let id = id.or((user == "root").then_some(0));
        let home = field(5).map(str::to_owned);
        let name = field(0).unwrap_or_default().to_owned();
        let number = |row: Vec<&str>| row.get(2).and_then(|id| id.parse::<u32>().ok());
        // Without a group, those of the user count (`GetExecUser` of github.com/moby/sys/user).
        let gids = match group {
            Some(group) => {
                let row = rows("/etc/group").into_iter().find(|row| has(row, group));
                let id = row.and_then(number).or(group.parse().ok());
                vec![id.unwrap_or(0)]
            }
            None => {
                let own = field(3).and_then(|id| id.parse().ok());
                let is_member = |row: &Vec<&str>| {
                    let members = row.get(3).copied().unwrap_or_default();
                    !name.is_empty() && members.split(',').any(|it| it == name)
                };
                let others = rows("/etc/group").into_iter().filter(is_member);
                let others = others.filter_map(number);
                std::iter::once(own.unwrap_or(0)).chain(others).collect()
            }
        };
        User {
            written: written.into(),
            id,
            home: home.unwrap_or_else(|| if id == Some(0) { "/root" } else { "/" }.to_owned()),
            name,
            credentials: Credentials {
                uid: id.unwrap_or(0),
                gids,
            },
        }
    }
}
