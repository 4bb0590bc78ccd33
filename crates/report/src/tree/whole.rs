//! Everything that one process loads, in order.

use imgcheck_model::process::cause::When;
use std::collections::HashMap;
use std::fmt::Write;

use super::parts::{BOLD, failure_line, heading, object_line, title};
use imgcheck_model::process::tree::{FailedLoad, MappedObject, ProcessTree};

/// The deepest indentation, in columns.
const DEEPEST: usize = 90;

pub(super) fn write(out: &mut String, process: &ProcessTree) {
    heading(out, process);
    let children = children(process);
    for section in sections(process) {
        let _ = writeln!(out, "\n{BOLD}{}{BOLD:#}", section.title);
        let last = section.roots.len();
        for (place, &root) in section.roots.iter().enumerate() {
            let is_last = place + 1 == last && section.failures.is_empty();
            branch(out, process, &children, root, is_last);
        }
        for (place, failure) in section.failures.iter().enumerate() {
            let corner = if place + 1 == section.failures.len() {
                "└─"
            } else {
                "├─"
            };
            let _ = writeln!(out, "{corner} {}", failure_line(failure));
        }
    }
}

/// The objects and failures of one step of a process.
struct Section<'p> {
    title: String,
    roots: Vec<usize>,
    failures: Vec<&'p FailedLoad>,
}

/// The start, each import and the first uses, in their order.
fn sections(process: &ProcessTree) -> Vec<Section<'_>> {
    let mut sections: Vec<((&str, When), Section)> = Vec::new();
    let mut of = |package, when| -> usize {
        let known = sections.iter().position(|(key, _)| *key == (package, when));
        known.unwrap_or_else(|| {
            let title = title(process, package, when);
            let section = Section {
                title,
                roots: Vec::new(),
                failures: Vec::new(),
            };
            sections.push(((package, when), section));
            sections.len() - 1
        })
    };
    let roots: Vec<(usize, usize)> = process
        .objects
        .iter()
        .enumerate()
        .filter(|(_, object)| {
            object
                .parent
                .is_none_or(|parent| is_elsewhere(process, object, parent))
        })
        .map(|(id, object)| (of(&object.facts.package, object.facts.when), id))
        .collect();
    let failures: Vec<(usize, &FailedLoad)> = process
        .failures
        .iter()
        .map(|failure| (of(&failure.package, failure.when), failure))
        .collect();
    for (section, root) in roots {
        sections[section].1.roots.push(root);
    }
    for (section, failure) in failures {
        sections[section].1.failures.push(failure);
    }
    sections.into_iter().map(|(_, section)| section).collect()
}

/// Whether an object was loaded in a different step than its parent.
fn is_elsewhere(process: &ProcessTree, object: &MappedObject, parent: usize) -> bool {
    let (facts, parent) = (&object.facts, process.objects.get(parent));
    parent.is_none_or(|it| (&it.facts.package, it.facts.when) != (&facts.package, facts.when))
}

/// An object and everything loaded for it in the same step.
fn branch(
    out: &mut String,
    process: &ProcessTree,
    children: &Children,
    root: usize,
    is_last: bool,
) {
    let mut open = vec![(root, String::new(), is_last)];
    while let Some((id, indent, is_last)) = open.pop() {
        let corner = if is_last { "└─" } else { "├─" };
        let _ = writeln!(
            out,
            "{indent}{corner} {}",
            object_line(&process.objects[id])
        );
        let deeper = match indent.chars().count() < DEEPEST {
            true => format!("{indent}{}", if is_last { "   " } else { "│  " }),
            false => indent,
        };
        let below = children.get(&id).map_or(&[][..], Vec::as_slice);
        for (place, &child) in below.iter().enumerate().rev() {
            open.push((child, deeper.clone(), place + 1 == below.len()));
        }
    }
}

/// For each object, the objects loaded for it in the same step.
type Children = HashMap<usize, Vec<usize>>;

fn children(process: &ProcessTree) -> Children {
    let mut children = Children::new();
    for (id, object) in process.objects.iter().enumerate() {
        if let Some(parent) = object.parent
            && !is_elsewhere(process, object, parent)
        {
            children.entry(parent).or_default().push(id);
        }
    }
    children
}
