//! The files that scripts write before the program starts.

use std::rc::Rc;

use super::value::Cause;
use imgcheck_base::lexical::name_of;

/// Maximum number of files that are remembered; beyond it, every file counts as written.
const MAX_WRITTEN: usize = 512;

/// Files of which it is unknown what they contain, and whether they exist.
#[derive(Debug, Default)]
pub(crate) struct Written {
    files: Vec<WrittenFile>,
    /// Files that became executable, and directories with all that is in them.
    executable: Vec<String>,
    /// Links: what is written below them is elsewhere.
    links: Vec<String>,
    is_full: bool,
}

/// What is loaded from a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Modules and libraries.
    Modules,
    /// Files of any name.
    Programs,
}

#[derive(Debug)]
struct WrittenFile {
    path: String,
    is_directory: bool,
    cause: Rc<Cause>,
}

impl Written {
    pub fn add(&mut self, path: &str, is_directory: bool, cause: &Rc<Cause>) {
        if self
            .files
            .iter()
            .any(|it| it.path == path && it.is_directory == is_directory)
        {
            return;
        }
        self.is_full |= self.files.len() >= MAX_WRITTEN;
        if !self.is_full {
            self.files.push(WrittenFile {
                path: path.trim_end_matches('/').to_owned(),
                is_directory,
                cause: cause.clone(),
            });
        }
    }

    /// Notes that a file and what is below it can be executed from here on.
    pub fn make_executable(&mut self, path: &str) {
        self.is_full |= self.executable.len() >= MAX_WRITTEN;
        if !self.is_full {
            self.executable.push(path.trim_end_matches('/').to_owned());
        }
    }

    /// Whether a script changed the permissions of a file.
    pub fn changes_mode(&self, path: &str) -> bool {
        self.executable.iter().any(|it| is_below(path, it))
    }

    /// Notes a link.
    pub fn add_link(&mut self, path: &str) {
        self.links.push(path.trim_end_matches('/').to_owned());
    }

    /// Whether a path leads through a link that a script made.
    pub fn is_linked(&self, path: &str) -> bool {
        let is_through = |link: &String| is_below(path, link) && path.len() > link.len();
        self.links.iter().any(is_through)
    }

    /// Whether a path may have changed: it was written, or is below something that was, such as a copied directory.
    pub fn touches(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let is_at = |it: &WrittenFile| {
            is_below(path, &it.path) || (it.is_directory && is_below(&it.path, path))
        };
        self.is_full || self.files.iter().any(is_at)
    }

    /// The command that writes a file.
    pub fn writer_of(&self, path: &str) -> Option<&Rc<Cause>> {
        let written = self.files.iter().find(|it| is_below(path, &it.path));
        written.map(|it| &it.cause)
    }

    /// The command that writes code to a file or into a directory from which it is loaded. `is_data` says of a path whether its name is
    /// that of data.
    pub fn inside(
        &self,
        location: &str,
        holds: Holds,
        is_data: impl Fn(&str) -> bool,
    ) -> Option<(&str, &Rc<Cause>)> {
        let location = location.trim_end_matches('/');
        let is_code = |it: &&WrittenFile| {
            let name = name_of(&it.path);
            let is_module = name.rsplit_once('.').is_none_or(|(_, ending)| {
                matches!(ending, "py" | "pyc" | "pth" | "so" | "zip" | "egg")
            }) || name.contains(".so.");
            let counts = holds == Holds::Programs || is_module;
            let is_inside = match location {
                "" => it.path.rfind('/') == Some(0),
                location => is_below(&it.path, location),
            };
            // What is above replaces the location itself.
            let is_above = is_below(location, &it.path);
            !it.is_directory && (is_above || is_inside && counts && !is_data(&it.path))
        };
        let found = self.files.iter().find(is_code);
        found.map(|it| (it.path.as_str(), &it.cause))
    }
}

/// Whether a path is another one, or below it.
fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
