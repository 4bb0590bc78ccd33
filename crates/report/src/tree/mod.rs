//! `imgcheck tree`: the loader model for a terminal and for Graphviz.

mod about;
mod graph;
mod imports;
mod parts;
mod whole;

use std::fmt::Write;

use super::details::count;
use super::{one_line, started};
use imgcheck_model::process::tree::Tree;
use parts::BOLD;

pub use graph::dot;
pub use imports::imports;
pub use parts::TreeQuery;

/// The trees for a terminal; `None` if no process has anything to do with `query.library`.
pub fn text(query: TreeQuery, tree: &Tree) -> Option<String> {
    let mut out = format!("{BOLD}{}{BOLD:#}\n", one_line(query.image));
    if let Some(launch) = query.launch.filter(|_| query.library.is_none())
        && let Some(chain) = started::chain(launch)
    {
        let _ = writeln!(out, "starts {chain}");
        for change in started::changes(launch) {
            let _ = writeln!(out, "  sets {change}");
        }
    }
    let mut is_found = query.library.is_none();
    for process in &tree.processes {
        match query.library {
            None => whole::write(&mut out, process),
            Some(library) => is_found |= about::write(&mut out, process, library),
        }
    }
    if tree.processes.is_empty() {
        out.push_str("\nNo program that imgcheck knows of loads GPU libraries.\n");
    }
    if tree.programs_left_out > 0 {
        let programs = count(tree.programs_left_out, "more program");
        let _ = writeln!(
            out,
            "\n{programs} linked to GPU libraries: not examined, because there are too many."
        );
    }
    is_found.then_some(out)
}
