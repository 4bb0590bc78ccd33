//! The files that scripts write before the program starts.

use std::rc::Rc;

use super::value::Cause;
use crate::image::RootFilesystem;

/// The most files that are remembered; with more, everything counts as written.
const MAX_WRITTEN: usize = 512;

/// Files of which it is unknown what they contain, and whether they exist.
#[derive(Debug, Default)]
pub(super) struct Written {
    files: Vec<WrittenFile>,
    is_full: bool,
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

    /// Whether a path may have changed: it was written, or is below something that was, such as a copied directory.
    pub fn touches(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let is_at = |it: &WrittenFile| {
            is_below(path, &it.path) || (it.is_directory && is_below(&it.path, path))
        };
        self.is_full || self.files.iter().any(is_at)
    }

    /// The command that writes something into a directory from which code is loaded.
    pub fn inside(&self, directory: &str) -> Option<(&str, &Rc<Cause>)> {
        let directory = directory.trim_end_matches('/');
        let is_code = |it: &&WrittenFile| {
            let name = it.path.rsplit('/').next().unwrap_or_default();
            let is_module = name.rsplit_once('.').is_none_or(|(_, ending)| {
                matches!(ending, "py" | "pyc" | "pth" | "so" | "zip" | "egg")
            }) || name.contains(".so.");
            let is_inside = match directory {
                "" => it.path.rfind('/') == Some(0),
                directory => is_below(&it.path, directory),
            };
            !it.is_directory && is_module && (is_inside || is_below(directory, &it.path))
        };
        let found = self.files.iter().find(is_code);
        found.map(|it| (it.path.as_str(), &it.cause))
    }

    /// The path without links in its directory, as far as the image has it.
    pub fn real(&self, root: &RootFilesystem, path: &str) -> String {
        let path = path.trim_end_matches('/');
        if let Ok(node) = root.resolve(path) {
            return node.path();
        }
        // The first directories exist; nothing behind them can be a link.
        let mut end = path.len();
        while let Some(slash) = path[..end].rfind('/') {
            end = slash;
            if let Ok(node) = root.resolve(&path[..end]) {
                let directory = node.path();
                return format!("{}{}", directory.trim_end_matches('/'), &path[end..]);
            }
        }
        path.to_owned()
    }
}

/// Whether a path is another one, or below it.
fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
