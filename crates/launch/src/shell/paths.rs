//! `cd`, and pathname expansion on the files of the image (POSIX.1-2024, Shell Command Language, 2.6.6).

use super::host::{MissingFile, Presence};
use super::interpreter::{Flow, Shell};
use super::pattern::{Pattern, PatternChar, is_pattern};
use super::state::Contents;
use crate::value::{Status, Value};
use imgcheck_base::lexical;
use imgcheck_image::Access;

/// Maximum number of paths that one pattern may match.
const MAX_PATHS: usize = 4096;

impl Shell<'_, '_> {
    /// An absolute path; `None` if it is relative and the working directory is unknown.
    pub(super) fn absolute(&self, path: &str) -> Option<String> {
        match path.starts_with('/') {
            true => Some(path.to_owned()),
            false => {
                let directory = self.state.directory.known()?;
                Some(format!("{}/{path}", directory.trim_end_matches('/')))
            }
        }
    }

    pub(super) fn cd(&mut self, arguments: &[Value]) -> Flow {
        let cause = self.command_cause();
        let mut operands = arguments.iter();
        let mut operand = operands.next();
        let mut is_physical = false;
        while let Some(option) = operand.and_then(Value::known) {
            match option {
                "-P" => is_physical = true,
                "-L" | "--" => {}
                _ => break,
            }
            operand = operands.next();
        }
        let target = match operand.map(Value::known) {
            None => self.variable_value("HOME").ok().flatten(),
            Some(Some("-")) => {
                self.write_unknown();
                self.variable_value("OLDPWD").ok().flatten()
            }
            Some(Some(path)) => Some(path.into()),
            Some(None) => operand.cloned(),
        };
        let target = target.as_ref().and_then(Value::known);
        let has_search = self.state.variables.contains_key("CDPATH");
        let path = target
            .filter(|_| !has_search)
            .and_then(|it| self.absolute(it));
        let Some(path) = path.map(|it| format!("/{}", lexical::normalized(&it))) else {
            self.enter(Value::Unknown(cause));
            return self.ends(Status::Unknown);
        };
        match self.host.file(&path) {
            Presence::Exists(node)
                if node.is_directory()
                    && node.allows(&self.host.user().credentials, Access::Execute) =>
            {
                let path = if is_physical { node.path() } else { path };
                self.enter(path.into());
                self.ends(Status::Success)
            }
            Presence::Exists(_) => self.ends(Status::Failure(None)),
            Presence::Missing => {
                self.host.add_missing_file(MissingFile {
                    kind: "directory",
                    name: target.unwrap_or_default(),
                    path: &path,
                    message: format!("cd: {path}: No such file or directory"),
                    shell: String::new(),
                    cause,
                });
                self.ends(Status::Failure(None))
            }
            Presence::Unknown => {
                let before = self.state.directory.clone();
                self.enter(before.or(&path.into(), &cause));
                self.ends(Status::Unknown)
            }
        }
    }

    fn enter(&mut self, directory: Value) {
        let before = std::mem::replace(&mut self.state.directory, directory.clone());
        self.assign("OLDPWD", Contents::Text(before), false);
        self.assign("PWD", Contents::Text(directory), false);
    }

    /// The paths that match, in order; the error says why they are unknown.
    pub(super) fn expand_path(&mut self, pattern: &[PatternChar]) -> Result<Vec<String>, String> {
        let shown: String = pattern.iter().map(|(c, _)| *c).collect();
        let unknown = || format!("the files `{shown}`");
        let mut found = vec![String::new()];
        let mut rest = pattern;
        while !rest.is_empty() {
            let end = rest.iter().position(|(c, _)| *c == '/');
            let (component, behind) = rest.split_at(end.unwrap_or(rest.len()));
            let slashes = behind.iter().take_while(|(c, _)| *c == '/').count();
            let is_last = behind.is_empty();
            rest = &behind[slashes..];
            let separator = "/".repeat(slashes);
            let mut next = Vec::new();
            for prefix in found {
                if !is_pattern(component) {
                    let literal: String = component.iter().map(|(c, _)| *c).collect();
                    next.push(format!("{prefix}{literal}{separator}"));
                    continue;
                }
                let names = self
                    .names_in(&prefix, component, is_last)
                    .ok_or_else(unknown)?;
                next.extend(
                    names
                        .into_iter()
                        .map(|name| format!("{prefix}{name}{separator}")),
                );
                if next.len() > MAX_PATHS || !self.spend(next.len()) {
                    return Err(unknown());
                }
            }
            found = next;
        }
        let mut existing = Vec::new();
        for path in found {
            let absolute = self.absolute(&path).ok_or_else(unknown)?;
            match self.host.file(&absolute) {
                Presence::Exists(_) => existing.push(path),
                // A broken link matches, too.
                Presence::Missing if self.host.root().entry(&absolute).is_some() => {
                    existing.push(path);
                }
                Presence::Missing => {}
                Presence::Unknown => return Err(unknown()),
            }
        }
        self.sorted(existing).ok_or_else(unknown)
    }

    /// The names in a directory that match; `None` if they are unknown.
    fn names_in(
        &mut self,
        prefix: &str,
        component: &[PatternChar],
        is_last: bool,
    ) -> Option<Vec<String>> {
        let pattern = Pattern::new(component, self.state.options.extglob)?;
        let is_hidden = matches!(component.first(), Some(('.', _)));
        // Shells disagree whether `.*` matches `.` and `..`.
        if is_hidden {
            return None;
        }
        let directory = self.absolute(if prefix.is_empty() { "." } else { prefix })?;
        let node = match self.host.file(&directory) {
            Presence::Exists(node) => node,
            Presence::Missing => return Some(Vec::new()),
            Presence::Unknown => return None,
        };
        let mut names = Vec::new();
        for child in node.children() {
            let name = child.name();
            if !self.spend(1) || name.contains("\\x") {
                return None;
            }
            let chars: Vec<char> = name.chars().collect();
            if name.starts_with('.') || !pattern.matches(&chars) {
                continue;
            }
            let is_directory = node.lookup(name).is_some_and(|it| it.is_directory());
            if is_last || is_directory {
                names.push(name.to_owned());
            }
        }
        // Files that are not in the image may match as well.
        let probe: String = component.iter().map(|(c, _)| *c).collect();
        let probe = format!("{}/{probe}", directory.trim_end_matches('/'));
        match self.host.file(&probe) {
            Presence::Unknown => None,
            _ => Some(names),
        }
    }

    /// In the order of the shell, which is that of the locale; `None` if locales differ.
    fn sorted(&self, mut paths: Vec<String>) -> Option<Vec<String>> {
        paths.sort();
        let locale = ["LC_ALL", "LC_COLLATE", "LANG"]
            .into_iter()
            .find_map(|name| {
                let value = self.state.variables.get(name)?;
                match value.contents.as_ref()? {
                    super::state::Contents::Text(value) => {
                        Some(value.known().unwrap_or("?").to_owned())
                    }
                    super::state::Contents::Array(_) => None,
                }
            });
        let locale = locale.unwrap_or_default();
        let is_plain =
            locale.is_empty() || locale == "POSIX" || locale == "C" || locale.starts_with("C.");
        let key = |path: &String| -> String {
            let letters = path.chars().filter(|c| c.is_alphanumeric());
            letters.flat_map(char::to_lowercase).collect()
        };
        let is_alike = paths.windows(2).all(|pair| key(&pair[0]) < key(&pair[1]));
        (is_plain || is_alike).then_some(paths)
    }
}
