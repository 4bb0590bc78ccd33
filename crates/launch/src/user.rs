//! The user of a container (OCI image specification, `config.md`, "User").

use imgcheck_image::{Credentials, Node, RootFilesystem};

/// Where names of users and groups are looked up.
pub(crate) const PASSWD: &str = "/etc/passwd";
pub(crate) const GROUP: &str = "/etc/group";
/// The greatest id that container engines accept (`maxID` of github.com/moby/sys/user).
const MAX_ID: i64 = (1 << 31) - 1;

/// Why no container engine starts a container as a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// `user` or `group`.
    pub kind: &'static str,
    /// The name or number.
    pub name: String,
    /// What the engine says.
    pub message: String,
}

/// The user that a program runs as.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// User and group as the image configuration writes them.
    pub written: String,
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
        let rows = |path: &str| rows(root, path);
        let user = if user.is_empty() { "0" } else { user };
        let row = rows(PASSWD).into_iter().find(|row| has(row, user));
        let field = |index: usize| row.as_ref().and_then(|row| row.get(index).copied());
        let id = field(2).unwrap_or(user).parse().ok();
        let id = id.or((user == "root").then_some(0));
        let home = field(5).map(str::to_owned);
        let name = field(0).unwrap_or_default().to_owned();
        let number = |row: Vec<&str>| row.get(2).and_then(|id| id.parse::<u32>().ok());
        // Without a group, those of the user count (`GetExecUser` of github.com/moby/sys/user).
        let gids = match group {
            Some(group) => {
                let row = rows(GROUP).into_iter().find(|row| has(row, group));
                let id = row.and_then(number).or(group.parse().ok());
                vec![id.unwrap_or(0)]
            }
            None => {
                let own = field(3).and_then(|id| id.parse().ok());
                let is_member = |row: &Vec<&str>| {
                    let members = row.get(3).copied().unwrap_or_default();
                    !name.is_empty() && members.split(',').any(|it| it == name)
                };
                let others = rows(GROUP).into_iter().filter(is_member);
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

    /// Why no container starts as the user that a text names: a name must be in `/etc/passwd` or `/etc/group`, a number must not
    /// (`GetExecUser` of github.com/moby/sys/user, which Docker, Podman and containerd use).
    pub(crate) fn refusal(root: &RootFilesystem, written: &str) -> Option<Refusal> {
        let mut parts = written.split(':');
        let parts = [
            ("user", PASSWD, parts.next()),
            ("group", GROUP, parts.next()),
        ];
        let named = parts
            .into_iter()
            .filter_map(|(kind, file, name)| Some((kind, file, name?)));
        let refuse = |kind, name: &str, message| {
            Some(Refusal {
                kind,
                name: name.to_owned(),
                message,
            })
        };
        for (kind, file, name) in named.filter(|(_, _, name)| !name.is_empty()) {
            match name.parse::<i64>() {
                Ok(0..=MAX_ID) => {}
                Ok(_) => {
                    let message = format!("uids and gids must be in range 0-{MAX_ID}");
                    return refuse(kind, name, message);
                }
                Err(_) if is_unread(root, file) => {}
                Err(_) if rows(root, file).iter().any(|row| has(row, name)) => {}
                Err(_) => {
                    let entries = file.trim_start_matches("/etc/");
                    let message = format!(
                        "unable to find {kind} {name}: no matching entries in {entries} file"
                    );
                    return refuse(kind, name, message);
                }
            }
        }
        None
    }
}

/// Whether it is unknown what is in a file that the image has.
fn is_unread(root: &RootFilesystem, path: &str) -> bool {
    let node = root.resolve(path);
    node.is_ok_and(|it| it.text().is_none() && it.size() > 0)
}

/// The fields of the lines of a file.
fn rows<'r>(root: &'r RootFilesystem, path: &str) -> Vec<Vec<&'r str>> {
    let text = root.resolve(path).ok().and_then(Node::text);
    let lines = text.into_iter().flat_map(str::lines);
    lines.map(|line| line.trim().split(':').collect()).collect()
}

/// Whether a line is about a name or number.
fn has(row: &Vec<&str>, key: &str) -> bool {
    row.first() == Some(&key) || row.get(2) == Some(&key)
}
