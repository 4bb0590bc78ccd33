//! The trees of `imgcheck tree`: for a terminal, and as a graph for Graphviz.

use std::collections::HashMap;
use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use crate::process::tree::{Failed, Mapped, ProcessTree, Searched, Tree};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default();

/// A text of the image on one line.
fn printable(text: &str) -> String {
    super::printable(text).replace('\n', "\\n")
}

/// Columns of indentation; what lies deeper stays there.
const DEEPEST: usize = 90;

/// What is asked of the trees: all, or one library.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The image as it was named.
    pub image: &'a str,
    /// A SONAME, file name or path, or the beginning of a name; `None` for everything.
    pub library: Option<&'a str>,
}

/// Trees for a terminal. `None` if a library was asked for and no process has to do with it.
pub fn text(question: Question, tree: &Tree) -> Option<String> {
    let mut out = format!("{BOLD}{}{BOLD:#}\n", printable(question.image));
    let mut answered = question.library.is_none();
    for process in &tree.processes {
        match question.library {
            None => whole(&mut out, process),
            Some(library) => answered |= about(&mut out, process, library),
        }
    }
    if tree.processes.is_empty() {
        out.push_str("\nThe image has no program that uses GPU libraries, and no Python.\n");
    }
    answered.then_some(out)
}

/// All of one process.
fn whole(out: &mut String, process: &ProcessTree) {
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

fn heading(out: &mut String, process: &ProcessTree) {
    let role = if process.main {
        "the process that the image starts"
    } else {
        "another process"
    };
    let _ = writeln!(
        out,
        "\n{BOLD}{}{BOLD:#} {DIM}{role}{DIM:#}",
        printable(&process.name)
    );
    if !process.library_path.is_empty() {
        let path = printable(&process.library_path);
        let from = match process.library_path_from.as_str() {
            "" | "image" => "set by the image".to_owned(),
            script => format!("set by {}, as far as it can be read", printable(script)),
        };
        let _ = writeln!(out, "{DIM}LD_LIBRARY_PATH={path} ({from}){DIM:#}");
    }
}

/// What belongs to one step of a process.
struct Section<'p> {
    title: String,
    roots: Vec<usize>,
    failures: Vec<&'p Failed>,
}

/// The start, each import and the first uses, in the order in which they come.
fn sections(process: &ProcessTree) -> Vec<Section<'_>> {
    let mut sections: Vec<((&str, &str), Section)> = Vec::new();
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
        .map(|(id, object)| (of(&object.facts.package, &object.facts.when), id))
        .collect();
    let failures: Vec<(usize, &Failed)> = process
        .failures
        .iter()
        .map(|failure| (of(&failure.package, &failure.when), failure))
        .collect();
    for (section, root) in roots {
        sections[section].1.roots.push(root);
    }
    for (section, failure) in failures {
        sections[section].1.failures.push(failure);
    }
    sections.into_iter().map(|(_, section)| section).collect()
}

/// Whether an object came at another step than the one that asked for it.
fn is_elsewhere(process: &ProcessTree, object: &Mapped, parent: usize) -> bool {
    let (facts, parent) = (&object.facts, process.objects.get(parent));
    parent.is_none_or(|it| (&it.facts.package, &it.facts.when) != (&facts.package, &facts.when))
}

fn title(process: &ProcessTree, package: &str, when: &str) -> String {
    let version = process
        .imports
        .iter()
        .find(|import| import.package == package);
    let version = version.map_or("", |import| import.version.as_str());
    match when {
        "start" => "start".to_owned(),
        "import" => printable(format!("import {package} {version}").trim_end()),
        _ => printable(&format!("first use of {package}")),
    }
}

/// An object and what was loaded for it, at the same step.
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

/// By object, what was loaded for it at the same step.
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

/// `libcudnn.so.9 => /…/libcudnn.so.9  9.10.2  DT_RPATH of libtorch_cuda.so`.
fn object_line(object: &Mapped) -> String {
    let facts = &object.facts;
    let mut line = match facts.request == facts.path || facts.request.contains('/') {
        true => printable(&facts.path),
        false => format!(
            "{} => {}",
            printable(&facts.request),
            printable(&facts.path)
        ),
    };
    if let Some(version) = facts.readings.get("version") {
        let _ = write!(line, "  {}", printable(version));
    }
    let _ = write!(line, "  {DIM}{}{DIM:#}", printable(&facts.reason));
    if facts.global && facts.when != "start" {
        let _ = write!(line, " {DIM}RTLD_GLOBAL{DIM:#}");
    }
    if !object.others.is_empty() {
        let count = object.others.len();
        let copies = if count == 1 { "copy" } else { "copies" };
        let _ = write!(
            line,
            "  {YELLOW}{count} other {copies} in the image{YELLOW:#}"
        );
    }
    line
}

fn failure_line(failure: &Failed) -> String {
    let message = printable(&failure.message);
    let needed_by = match failure.needed_by.as_str() {
        "" => String::new(),
        path => format!(" {DIM}(for {}){DIM:#}", printable(path)),
    };
    match failure.optional {
        true => format!("{YELLOW}not loaded{YELLOW:#} {message}{needed_by}"),
        false => format!("{RED}FAILS{RED:#} {message}{needed_by}"),
    }
}

/// All about one library; whether there was anything to say.
fn about(out: &mut String, process: &ProcessTree, library: &str) -> bool {
    let objects: Vec<usize> = (0..process.objects.len())
        .filter(|&id| is_meant(&process.objects[id], library))
        .collect();
    let failures: Vec<&Failed> = process
        .failures
        .iter()
        .filter(|failure| matches(&failure.library, library))
        .collect();
    if objects.is_empty() && failures.is_empty() {
        return false;
    }
    heading(out, process);
    let relations = Relations::of(process);
    for id in objects {
        out.push('\n');
        explain(out, process, &relations, id);
    }
    for failure in failures {
        let _ = writeln!(out, "\n{}", failure_line(failure));
        places(out, &failure.searched);
        list(out, "there is", &failure.others);
    }
    true
}

fn is_meant(object: &Mapped, library: &str) -> bool {
    let facts = &object.facts;
    [&facts.path, &facts.soname, &facts.request]
        .iter()
        .any(|name| matches(name, library))
}

/// Whether a name or path is the one that is asked for, or begins with it: `libcudnn` means all of cuDNN.
fn matches(name: &str, library: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    name == library || (!library.contains('/') && !library.is_empty() && file.starts_with(library))
}

/// By object, who has to do with it.
struct Relations {
    /// Those whose DT_NEEDED entries lead to it.
    users: Vec<Vec<usize>>,
    /// Those that it opens at run time.
    opened: Vec<Vec<usize>>,
}

impl Relations {
    fn of(process: &ProcessTree) -> Self {
        let count = process.objects.len();
        let mut relations = Relations {
            users: vec![Vec::new(); count],
            opened: vec![Vec::new(); count],
        };
        for (id, object) in process.objects.iter().enumerate() {
            for &need in &object.needs {
                if relations.users[need].last() != Some(&id) {
                    relations.users[need].push(id);
                }
            }
        }
        for (id, object) in process.objects.iter().enumerate() {
            if let Some(parent) = object.parent
                && relations.users[id].binary_search(&parent).is_err()
            {
                relations.opened[parent].push(id);
            }
        }
        relations
    }
}

fn explain(out: &mut String, process: &ProcessTree, relations: &Relations, id: usize) {
    let object = &process.objects[id];
    let facts = &object.facts;
    let _ = writeln!(out, "{}", object_line(object));
    if let Some(layer) = facts.layer {
        let _ = writeln!(out, "  layer {layer}");
    }
    let asked = match object.parent {
        Some(parent) => printable(&process.objects[parent].facts.path),
        None => title(process, &facts.package, &facts.when),
    };
    let _ = writeln!(out, "  loaded for {asked}");
    let paths = |ids: &[usize]| -> Vec<String> {
        let objects = ids.iter().map(|&id| &process.objects[id]);
        objects.map(|object| object.facts.path.clone()).collect()
    };
    list(out, "needed by", &paths(&relations.users[id]));
    places(out, &object.searched);
    let _ = writeln!(
        out,
        "  found: {}, {}",
        printable(&facts.path),
        printable(&facts.reason)
    );
    list(out, "not loaded", &object.others);
    list(out, "opens", &paths(&relations.opened[id]));
}

fn places(out: &mut String, searched: &[Searched]) {
    for place in searched {
        let outcome = match place.wrong_machine {
            true => "there for another machine",
            false if place.reason == "ld.so.cache" => "no entry that leads to a file",
            false => "not there",
        };
        let _ = writeln!(
            out,
            "  looked in {}  {DIM}{}: {outcome}{DIM:#}",
            printable(&place.place),
            printable(&place.reason)
        );
    }
}

fn list(out: &mut String, title: &str, paths: &[String]) {
    for path in paths {
        let _ = writeln!(out, "  {title} {}", printable(path));
    }
}

/// The trees as a graph in the language of Graphviz: solid arrows are DT_NEEDED, dashed ones are opened at run time, what fails
/// is red.
pub fn dot(question: Question, tree: &Tree) -> String {
    let mut out = String::from(
        "digraph loader {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n",
    );
    for (number, process) in tree.processes.iter().enumerate() {
        let _ = writeln!(
            out,
            "  subgraph cluster_{number} {{\n    label={};",
            quoted(&process.name)
        );
        let shown = shown(process, question.library);
        for &id in &shown {
            let facts = &process.objects[id].facts;
            let name = facts.path.rsplit('/').next().unwrap_or(&facts.path);
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
        failures(&mut out, number, process, question.library, &shown);
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

/// The objects of a graph: all, or those that have to do with a library.
fn shown(process: &ProcessTree, library: Option<&str>) -> Vec<usize> {
    let all = 0..process.objects.len();
    let Some(library) = library else {
        return all.collect();
    };
    let meant: Vec<bool> = process
        .objects
        .iter()
        .map(|object| is_meant(object, library))
        .collect();
    let mut related = meant.clone();
    for (id, object) in process.objects.iter().enumerate() {
        for other in object.needs.iter().copied().chain(object.parent) {
            related[id] |= meant[other];
            related[other] |= meant[id];
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
    let asked =
        |failure: &&Failed| library.is_none_or(|library| matches(&failure.library, library));
    let by_path: HashMap<&str, usize> = shown
        .iter()
        .map(|&id| (process.objects[id].facts.path.as_str(), id))
        .collect();
    for (place, failure) in process.failures.iter().filter(asked).enumerate() {
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

/// A text as a string of Graphviz.
fn quoted(text: &str) -> String {
    let text = super::printable(text);
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    )
}
