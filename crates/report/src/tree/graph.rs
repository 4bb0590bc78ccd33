//! The loader model as a Graphviz graph.

use std::collections::HashMap;
use std::fmt::Write;

use super::parts::{Relations, TreeQuery, is_match, matches};
use crate::printable;
use imgcheck_base::lexical::name_of;
use imgcheck_model::process::tree::{FailedLoad, ProcessTree, Tree};

/// The loader model in Graphviz's DOT language: solid arrows are DT_NEEDED, dashed arrows libraries opened at run time, red is
/// a failure.
pub fn dot(query: TreeQuery, tree: &Tree) -> String {
    let mut out = String::from(
        "digraph loader {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n",
    );
    for (number, process) in tree.processes.iter().enumerate() {
        let _ = writeln!(
            out,
            "  subgraph cluster_{number} {{\n    label={};",
            quoted(&process.name)
        );
        let shown = shown(process, query.library);
        for &id in &shown {
            let facts = &process.objects[id].facts;
            let name = name_of(&facts.path);
            let label = match facts.readings.get("version") {
                Some(version) => format!("{name}\n{version}"),
                None => name.to_owned(),
            };
            let _ = writeln!(
                out,
                "    p{number}_{id} [label={}, tooltip={}];",
                quoted(&label),
                quoted(&facts.path)
            );
        }
        edges(&mut out, number, process, &shown);
        failures(&mut out, number, process, query.library, &shown);
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

/// The objects to draw: all, or those that match `library` and their neighbors.
fn shown(process: &ProcessTree, library: Option<&str>) -> Vec<usize> {
    let all = 0..process.objects.len();
    let Some(library) = library else {
        return all.collect();
    };
    let matching: Vec<bool> = process
        .objects
        .iter()
        .map(|object| is_match(object, library))
        .collect();
    let mut related = matching.clone();
    for (id, object) in process.objects.iter().enumerate() {
        for other in object.needs.iter().copied().chain(object.parent) {
            related[id] |= matching[other];
            related[other] |= matching[id];
        }
    }
    all.filter(|&id| related[id]).collect()
}

fn edges(out: &mut String, number: usize, process: &ProcessTree, shown: &[usize]) {
    let relations = Relations::of(process);
    let is_shown = |id: &usize| shown.binary_search(id).is_ok();
    for &id in shown {
        let object = &process.objects[id];
        for need in object.needs.iter().filter(|need| is_shown(need)) {
            let _ = writeln!(out, "    p{number}_{id} -> p{number}_{need};");
        }
        if let Some(parent) = object.parent.filter(|parent| is_shown(parent))
            && relations.users[id].binary_search(&parent).is_err()
        {
            let _ = writeln!(
                out,
                "    p{number}_{parent} -> p{number}_{id} [style=dashed];"
            );
        }
    }
}

fn failures(
    out: &mut String,
    number: usize,
    process: &ProcessTree,
    library: Option<&str>,
    shown: &[usize],
) {
    let is_shown =
        |failure: &&FailedLoad| library.is_none_or(|library| matches(&failure.library, library));
    let by_path: HashMap<&str, usize> = shown
        .iter()
        .map(|&id| (process.objects[id].facts.path.as_str(), id))
        .collect();
    for (place, failure) in process.failures.iter().filter(is_shown).enumerate() {
        let name = failure
            .library
            .rsplit('/')
            .next()
            .unwrap_or(&failure.library);
        let node = format!("p{number}_missing{place}");
        let _ = writeln!(
            out,
            "    {node} [label={}, tooltip={}, color=red, fontcolor=red];",
            quoted(name),
            quoted(&failure.message)
        );
        let user = by_path.get(failure.needed_by.as_str());
        if let Some(user) = user {
            let _ = writeln!(out, "    p{number}_{user} -> {node} [color=red];");
        }
    }
}

/// A quoted DOT string.
fn quoted(text: &str) -> String {
    let text = printable(text);
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    )
}
