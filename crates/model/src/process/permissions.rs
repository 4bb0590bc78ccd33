//! Files of Python and its packages that the user of the image may not read.

use super::knowledge::Knowledge;
use super::program::Program;
use super::unreadable::Unreadable;
use crate::stack::{Environment, Stack};
use imgcheck_base::lexical::{directory_of, name_of};
use imgcheck_image::{Access, Credentials, Node, RootFilesystem};
use imgcheck_launch::Launch;

/// Maximum number of files of a package to check.
const MOST_FILES: usize = 100_000;

/// What the user may not read of each Python environment that has packages.
pub(super) fn find(
    root: &RootFilesystem,
    launch: &Launch,
    stack: &Stack,
    knowledge: &Knowledge,
    programs: &[Program],
) -> Vec<Unreadable> {
    let user = &launch.user.credentials;
    // The superuser may read everything.
    if user.uid == 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (place, environment) in stack.environments.iter().enumerate() {
        let of_environment = |it: &&Program| it.environment == environment.prefix;
        let program = programs.iter().find(of_environment);
        let looker = Looker {
            root,
            user,
            release: &environment.release,
        };
        let has_main = programs.iter().any(|it| it.main);
        let main = program.map_or(place == 0 && !has_main, |it| it.main);
        let of_packages = packages(&looker, environment, knowledge);
        let own = match main {
            true => interpreter(&looker, environment)
                .into_iter()
                .chain(script(&looker, launch)),
            false => None.into_iter().chain(None),
        };
        let name = program.map(|it| it.name.clone());
        let name = name.unwrap_or_else(|| match main {
            true => "python".to_owned(),
            false => format!("python ({})", environment.prefix),
        });
        found.extend(own.chain(of_packages).map(|it| Unreadable {
            process: name.clone(),
            main,
            user: match launch.user.name.as_str() {
                "" => launch.user.written.to_string(),
                name => name.to_owned(),
            },
            ..it
        }));
    }
    found
}

/// Looks at files as the user does.
pub(crate) struct Looker<'l, 'r> {
    pub root: &'r RootFilesystem<'r>,
    pub user: &'l Credentials,
    /// Release of Python: `3.11`.
    pub release: &'l str,
}

impl<'r> Looker<'_, 'r> {
    /// Whether Python can run a source file: if it may not read it, there may be a compiled one, which is used if the source has not changed
    /// since (`SourceLoader.get_code` of importlib).
    pub fn runs(&self, source: Node) -> bool {
        source.allows(self.user, Access::Read) || self.is_compiled(source)
    }

    fn is_compiled(&self, source: Node) -> bool {
        let stem = source.name().trim_end_matches(".py");
        let tag = self.release.replace('.', "");
        let name = format!("__pycache__/{stem}.cpython-{tag}.pyc");
        let path = format!("{}/{name}", directory_of(&source.path()));
        let compiled = self.root.resolve_as(&path, self.user);
        compiled.is_ok_and(|it| it.allows(self.user, Access::Read))
    }

    /// What keeps the user from a file: the first directory on the way that the user may not search, or the file itself.
    fn closed(&self, node: Node<'r>) -> Node<'r> {
        let path = node.path();
        let ends = path.match_indices('/').map(|(end, _)| end).skip(1);
        let mut above = ends.filter_map(|end| self.root.resolve(&path[..end]).ok());
        let closed = above.find(|it| !it.allows(self.user, Access::Execute));
        closed.unwrap_or(node)
    }

    fn unreadable(&self, node: Node<'r>, kind: &str) -> Unreadable {
        let node = self.closed(node);
        Unreadable {
            path: node.path(),
            layer: node.layer(),
            kind: kind.to_owned(),
            count: 1,
            mode: node
                .mode()
                .map_or_else(String::new, |it| format!("{:04o}", it & 0o7777)),
            ..Unreadable::default()
        }
    }
}

/// The packages of the tables: what cannot be imported, and other files of those that can.
fn packages(looker: &Looker, environment: &Environment, knowledge: &Knowledge) -> Vec<Unreadable> {
    let plans = knowledge.packages();
    let plans = plans.filter(|it| !it.companion && !it.directory.is_empty());
    let mut found = Vec::new();
    for plan in plans {
        let sites = environment.sites.iter();
        let paths = sites.map(|site| format!("{site}/{}", plan.directory));
        let own = package(looker, paths).map(|it| Unreadable {
            package: plan.package.clone(),
            ..it
        });
        found.extend(own);
    }
    found
}

/// What may not be read of the package in the first of these directories that Python takes.
fn package(looker: &Looker, paths: impl Iterator<Item = String>) -> Option<Unreadable> {
    let mut closed = None;
    for path in paths {
        let Some(directory) = looker
            .root
            .resolve(&path)
            .ok()
            .filter(|it| it.is_directory())
        else {
            continue;
        };
        // Without the right to search it, it is a namespace package to Python, which hides no other.
        let is_open = looker.root.resolve_as(&path, looker.user).is_ok();
        if !is_open || !directory.allows(looker.user, Access::Execute) {
            let has_code = directory.lookup("__init__.py").is_some();
            closed = closed.or(has_code.then_some(directory));
            continue;
        }
        let Some(first) = directory.lookup("__init__.py") else {
            continue;
        };
        // Python lists a directory to find modules in it.
        if !directory.allows(looker.user, Access::Read) {
            return Some(looker.unreadable(directory, "package"));
        }
        if !looker.runs(first) {
            return Some(looker.unreadable(first, "package"));
        }
        let others = others(looker, directory);
        return others.first().map(|it| Unreadable {
            count: others.len(),
            ..looker.unreadable(*it, "file")
        });
    }
    closed.map(|it| looker.unreadable(it, "package"))
}

/// Modules and libraries below a directory that the user may not read, and directories that hold some and that the user may not search.
fn others<'r>(looker: &Looker<'_, 'r>, directory: Node<'r>) -> Vec<Node<'r>> {
    let mut pending = vec![directory];
    let mut files = Vec::new();
    let mut left = MOST_FILES;
    while let Some(directory) = pending.pop() {
        for child in directory.children() {
            left = left.saturating_sub(1);
            let name = child.name();
            let is_code = name.ends_with(".py") || name.ends_with(".so") || name.contains(".so.");
            if left == 0 {
                return files;
            } else if child.is_directory() && name != "__pycache__" {
                match child.is_searchable(looker.user) {
                    true => pending.push(child),
                    false if child.children().next().is_some() => files.push(child),
                    false => {}
                }
            } else if child.content().is_some() && is_code && !looker.runs(child) {
                files.push(child);
            }
        }
    }
    files
}

/// `encodings`, which each Python imports before anything else, and which is not built into it.
fn interpreter(looker: &Looker, environment: &Environment) -> Option<Unreadable> {
    let prefix = directory_of(directory_of(&environment.interpreter));
    let directory = format!("{prefix}/lib/python{}/encodings", looker.release);
    let first = format!("{directory}/__init__.py");
    let node = looker.root.resolve(&first).ok()?;
    match looker.root.resolve_as(&first, looker.user) {
        Ok(_) if looker.runs(node) => None,
        Ok(_) => Some(looker.unreadable(node, "interpreter")),
        Err(_) => Some(looker.unreadable(looker.root.resolve(&directory).ok()?, "interpreter")),
    }
}

/// The script that Python is started with, which it opens itself: no compiled file stands in for it.
fn script(looker: &Looker, launch: &Launch) -> Option<Unreadable> {
    // Options without a value.
    const FLAGS: &str = "bBdEhiIOPqsSuvx";
    let is_python = |it: &&String| name_of(it).starts_with("python");
    launch.executable.as_ref().filter(is_python)?;
    let is_flags = |it: &&String| {
        let letters = it.strip_prefix('-').filter(|it| !it.is_empty());
        letters.is_some_and(|it| it.chars().all(|letter| FLAGS.contains(letter)))
    };
    let mut arguments = launch.arguments.iter().skip(1).skip_while(is_flags);
    let path = launch.absolute(arguments.next().filter(|it| !it.starts_with('-'))?);
    let node = looker.root.resolve(&path).ok()?;
    let seen = looker.root.resolve_as(&path, looker.user);
    let is_open = seen.is_ok_and(|it| it.allows(looker.user, Access::Read));
    (!is_open && node.content().is_some()).then(|| looker.unreadable(node, "script"))
}
