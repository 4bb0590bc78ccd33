//! `sys.path` under construction.

use std::collections::HashSet;

use imgcheck_base::gap::{Gap, GapCode};
use imgcheck_image::{Credentials, Node};

/// Maximum number of gaps of one environment that are listed.
const MAX_GAPS: usize = 16;

/// `sys.path` without the standard library.
#[derive(Default)]
pub(super) struct SearchPath<'r> {
    pub directories: Vec<String>,
    pub seen: HashSet<Node<'r>>,
    /// The directories of PYTHONPATH, which come before the standard library.
    pub named: Vec<String>,
    /// The number of directories that the command adds.
    pub of_command: usize,
    /// The number of directories that come before the standard library.
    pub before_standard: usize,
    /// The directories of the standard library.
    pub standard_library: Vec<String>,
    pub user: Credentials,
    pub gaps: Vec<Gap>,
    /// With one directory more, the path is too long, and what follows does not matter.
    pub most: u64,
}

impl<'r> SearchPath<'r> {
    /// Appends an existing directory, unless it is there. True if it is new.
    pub fn push(&mut self, node: Node<'r>) -> bool {
        let is_too_long = self.directories.len() as u64 > self.most;
        // Python passes over a directory that it may not list.
        let is_searched = node.is_directory() && node.is_searchable(&self.user);
        if !is_searched || is_too_long || self.seen.contains(&node) {
            return false;
        }
        self.seen.insert(node);
        self.directories.push(node.path());
        true
    }

    /// Appends a directory; a file may be an archive with modules, which is not read.
    pub fn push_element(&mut self, node: Node<'r>) {
        if node.is_directory() {
            self.push(node);
        } else if node.content().is_some() {
            let message =
                "Python imports from this file if it is an archive, which imgcheck does not read";
            self.gap(message.to_owned(), Some(node));
        }
    }

    pub fn gap(&mut self, message: String, file: Option<Node>) {
        let path = file.map(|node| node.path());
        let gap = Gap {
            code: GapCode::PythonStartup,
            message: path
                .iter()
                .map(|path| format!("{path}: "))
                .chain([message])
                .collect(),
            path,
            layer: file.and_then(|node| node.layer()),
        };
        if self.gaps.len() < MAX_GAPS && !self.gaps.contains(&gap) {
            self.gaps.push(gap);
        }
    }
}
