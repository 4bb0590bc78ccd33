//! `imgcheck tree --python`: which file each imported module is, and what raises.

use std::collections::HashMap;
use std::fmt::Write;

use super::parts::BOLD;
use crate::details::count;
use crate::one_line;
use imgcheck_model::imports::{ImportTree, ImportedModule};

/// Modules below modules that are indented further.
const MOST_INDENT: usize = 12;

/// The imports of an image's programs for a terminal.
pub fn imports(image: &str, trees: &[ImportTree]) -> String {
    let mut out = format!("{BOLD}{}{BOLD:#}\n", one_line(image));
    if trees.is_empty() {
        out.push_str("\nThe image starts no Python program that imgcheck can read, and has none of the packages that it knows.\n");
    }
    for tree in trees {
        let modules = count(tree.modules.len(), "module");
        let _ = writeln!(
            out,
            "\n{BOLD}{}{BOLD:#} in {}, {modules}",
            one_line(&tree.program),
            one_line(&tree.environment)
        );
        write_below(&mut out, tree);
        for failure in &tree.failures {
            let _ = writeln!(out, "{BOLD}fails{BOLD:#}: {}", one_line(failure));
        }
        if !tree.similar.is_empty() {
            let _ = writeln!(out, "did you mean {}?", one_line(&tree.similar));
        }
    }
    out
}

fn write_below(out: &mut String, tree: &ImportTree) {
    let mut below: HashMap<&str, Vec<&ImportedModule>> = HashMap::new();
    let names = tree.modules.iter().map(|it| it.name.as_str());
    let names: std::collections::HashSet<&str> = names.collect();
    for module in &tree.modules {
        let importer = Some(module.importer.as_str()).filter(|it| names.contains(it));
        below
            .entry(importer.unwrap_or_default())
            .or_default()
            .push(module);
    }
    let mut waiting: Vec<(usize, &ImportedModule)> = Vec::new();
    let mut push = |waiting: &mut Vec<_>, name: &str, level| {
        let modules = below.remove(name).unwrap_or_default();
        waiting.extend(modules.into_iter().rev().map(|it| (level, it)));
    };
    push(&mut waiting, "", 1);
    while let Some((level, module)) = waiting.pop() {
        let indent = "  ".repeat(level.min(MOST_INDENT));
        let _ = write!(out, "{indent}{}", one_line(&module.name));
        if !module.file.is_empty() {
            let _ = write!(out, "  {}", one_line(&module.file));
        }
        if !module.raises.is_empty() {
            let _ = write!(out, "  raises {}", one_line(&module.raises));
        }
        if module.is_unread {
            out.push_str("  not examined");
        }
        if module.changes_search {
            out.push_str("  changes where modules are found");
        }
        out.push('\n');
        push(&mut waiting, &module.name, level + 1);
    }
}
