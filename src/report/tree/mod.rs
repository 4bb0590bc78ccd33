//! `imgcheck tree`: the loader model for a terminal and for Graphviz.

mod about;
mod graph;
mod parts;
mod whole;

use std::fmt::Write;

use super::details::programs_left_out;
use super::one_line;
use crate::process::tree::Tree;
use parts::BOLD;

pub use graph::dot;
pub use parts::TreeQuery;

/// The trees for a terminal; `None` if no process has anything to do with `query.library`.
pub fn text(query: TreeQuery, tree: &Tree) -> Option<String> {
    let mut out = format!("{BOLD}{}{BOLD:#}\n", one_line(query.image));
    let mut is_found = query.library.is_none();
    for process in &tree.processes {
        match query.library {
            None => whole::write(&mut out, process),
            Some(library) => is_found |= about::write(&mut out, process, library),
        }
    }
    if tree.processes.is_empty() {
        out.push_str("\nThe image has neither Python nor a program linked to GPU libraries.\n");
    }
    if let Some(remark) = programs_left_out(tree.programs_left_out) {
        let _ = writeln!(out, "\n{remark}");
    }
    is_found.then_some(out)
}
