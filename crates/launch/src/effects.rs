//! Side effects of programs that start no other program: files they write, text they print.

use std::rc::Rc;

use super::chain::Chain;
use super::conda::{Answer, Conda};
use super::knowledge::{Changes, Harmless, Writes};
use super::locate::absolute;
use super::options::Given;
use super::permissions;
use super::process::Process;
use super::sed::only_edits;
use super::shell::Outcome;
use super::value::{Cause, Status, Value};
use imgcheck_image::{Access, Credentials, Node};

impl Chain<'_, '_> {
    /// What a program of conda answers a shell.
    pub fn ask_conda(
        &mut self,
        process: &Process,
        cause: &Rc<Cause>,
        path: &str,
        executable: &str,
        name: &str,
    ) -> Option<Outcome> {
        if !matches!(name, "conda" | "mamba" | "micromamba") {
            return None;
        }
        let conda = Conda {
            process,
            root: self.root,
            executable,
            is_unknown: &|path| self.is_unknown(path),
        };
        Some(match conda.answer()? {
            Answer::Text(text) => Outcome::known(Status::Success, text),
            Answer::Fails => Outcome::known(Status::Failure(Some(1)), String::new()),
            Answer::Unknown(problem) => {
                self.note(
                    cause,
                    &format!("asks {path} about what is not understood: {problem}"),
                );
                Outcome::unknown()
            }
        })
    }

    /// Whether a harmless program is one with these arguments. Notes the files that it writes.
    pub fn stays_harmless(&mut self, row: &Harmless, process: &Process, cause: &Rc<Cause>) -> bool {
        let arguments = &process.arguments[1..];
        if !row.may_be(arguments) {
            return false;
        }
        let given = match &row.options {
            Some(options) if !row.only_reads => options.all(arguments),
            _ => Ok(Given::without_options(arguments)),
        };
        let Ok(given) = given else {
            return false;
        };
        let mut operands = &given.operands[..];
        match row.changes {
            Changes::Nothing => {}
            Changes::Text => match script_of(&given, operands) {
                Some((script, files)) if only_edits(&script) => operands = files,
                _ => return false,
            },
            Changes::Owner => self.changes_owner(operands, process, cause),
            Changes::Permissions => return self.changes_permissions(operands, process, cause),
        }
        if row.refreshes_cache && self.user.id.is_none_or(|id| id == 0) {
            let gap = cause.gap(format!(
                "line {}, {}, changes the cache of the loader",
                cause.line, cause.what
            ));
            self.refreshes_cache.get_or_insert(gap);
        }
        let rewrites = row.rewrites.iter().any(|it| given.has(&[it]));
        let written = match row.writes {
            _ if rewrites => operands,
            None => &[],
            Some(Writes::Operands | Writes::Directories) => operands,
            Some(Writes::Last) => &operands[operands.len().saturating_sub(1)..],
            Some(Writes::Second) => operands.get(1..2).unwrap_or_default(),
        };
        let named = given.options.iter();
        let named = named.filter(|(name, _)| row.files.contains(name));
        let files = written.iter().chain(named.map(|(_, value)| value));
        let is_directory = row.writes == Some(Writes::Directories);
        for file in files.filter(|it| it.known() != Some("-")) {
            let path = file.known();
            match path.and_then(|it| absolute(it, &process.directory)) {
                Some(path) => {
                    self.write_path(&path, is_directory, cause);
                    if row.links {
                        self.written.add_link(&path);
                    }
                }
                None => self.note(cause, "writes files whose names are unknown"),
            }
        }
        true
    }

    /// `chown`, which only matters for what not everybody may read.
    fn changes_owner(&mut self, operands: &[Value], process: &Process, cause: &Rc<Cause>) {
        let stranger = Credentials {
            uid: u32::MAX,
            gids: Vec::new(),
        };
        for file in operands.iter().skip(1) {
            let path = file.known();
            let Some(path) = path.and_then(|it| absolute(it, &process.directory)) else {
                continue;
            };
            let real = self.root.destination(&path);
            let node = self.root.resolve(&real).ok();
            let is_private = node.is_some_and(|it| !it.allows(&stranger, Access::Read));
            if is_private && !self.knowledge.is_data(&real) {
                self.note(cause, &format!("changes the owner of {real}"));
            }
        }
    }

    /// `chmod`. Whether what it does is understood.
    fn changes_permissions(
        &mut self,
        operands: &[Value],
        process: &Process,
        cause: &Rc<Cause>,
    ) -> bool {
        let Some((mode, files)) = operands.split_first() else {
            return false;
        };
        let Some(mode) = mode.known().and_then(permissions::Change::parse) else {
            return false;
        };
        for file in files {
            let path = file.known();
            let Some(path) = path.and_then(|it| absolute(it, &process.directory)) else {
                self.note(cause, "changes files whose names are unknown");
                continue;
            };
            let real = self.root.destination(&path);
            match mode {
                permissions::Change::OfWriting => {}
                permissions::Change::Opens => self.written.make_executable(&real),
                permissions::Change::Restricts if self.knowledge.is_data(&real) => {}
                permissions::Change::Restricts => {
                    self.note(cause, &format!("changes the permissions of {real}"));
                }
            }
        }
        true
    }

    pub fn write_path(&mut self, path: &str, is_directory: bool, cause: &Rc<Cause>) {
        let real = self.root.destination(path);
        if self.written.is_linked(path) || self.is_dangling(&real) {
            self.note(cause, &format!("writes {path}, which leads through a link"));
        } else if !is_directory && !self.knowledge.is_data(&real) {
            self.note(cause, &format!("writes {real}"));
        }
        self.written.add(&real, is_directory, cause);
        if real != path {
            self.written.add(path, is_directory, cause);
        }
    }

    /// Whether a path is a link to a file that does not exist yet.
    fn is_dangling(&self, path: &str) -> bool {
        let is_link = |node: Node| node.symlink_target().is_some();
        self.root.resolve(path).is_err() && self.root.entry(path).is_some_and(is_link)
    }
}

/// The script of `sed`, and its files.
fn script_of<'v>(given: &Given, operands: &'v [Value]) -> Option<(String, &'v [Value])> {
    let is_script = |(name, _): &&(String, Value)| matches!(name.as_str(), "-e" | "--expression");
    let scripts: Vec<&Value> = given
        .options
        .iter()
        .filter(is_script)
        .map(|(_, it)| it)
        .collect();
    if scripts.is_empty() {
        let (script, files) = operands.split_first()?;
        return Some((script.known()?.to_owned(), files));
    }
    let texts: Option<Vec<&str>> = scripts.into_iter().map(Value::known).collect();
    Some((texts?.join("\n"), operands))
}
